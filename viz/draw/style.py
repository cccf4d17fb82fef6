"""How everything looks: the only place that holds colours, heights and hover texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from viz.draw.constants import CONSTANTS

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("icon.svg"))
"""A file of our own: Streamlit fetches an icon named :material/…: from the internet for a tab."""

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", "Helvetica Neue", Arial, sans-serif'
"""What Streamlit serves itself, then what most machines have."""

FONT_SIZE = 16
SMALL_FONT_SIZE = 14

FEW_LABELS, DENSE_FONT_SIZE = 24, 12
"""An axis with more labels than that writes them smaller."""

BLACK, WHITE = "#000000", "#ffffff"

CLEAR = "rgba(0, 0, 0, 0)"
"""No colour: what lies below shows."""


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of one theme.

    Attributes:
        text: titles, axis labels and numbers; at least 4.5 to 1 on the page.
        muted: what stands back, at least 4.5 to 1 on the page as well.
        accent: what the model predicts.
        grid: the gaps between cells.
        forbidden: the ground of a cell that may not be attended to.
        hatch: the lines on it.
        hover: the ground of hover texts.
        weights: colours of the weights 0 to 1 at equal steps. They run in lightness alone, in one
            hue, so they read under every colour blindness and in grey.
        signed: colours from the most negative number to the most positive one at equal steps, blue
            to orange through the page's own lightness, so that 0 stands back.
        heads: colours of heads laid over each other, Okabe and Ito's hues in their order; they stay
            apart under every common colour blindness.
        cells: colours of a mask's cells: allowed, future, padding, both, forbidden by an edit. They
            differ in lightness too.
        compared: colours of two masks' cells: both allow, both forbid, only A allows, only B.
    """

    text: str
    muted: str
    accent: str
    grid: str
    forbidden: str
    hatch: str
    hover: str
    weights: tuple[str, ...]
    signed: tuple[str, ...]
    heads: tuple[str, ...]
    cells: tuple[str, ...]
    compared: tuple[str, ...]

    def ink(self, weight: float) -> str:
        """Black or white: the one in which a number stands out on the cell of that weight."""
        color = self.weights[round(weight * (len(self.weights) - 1))]
        # Where black and white have the same contrast by WCAG 2, 4.6 to 1.
        return BLACK if luminance(color) > CONSTANTS["INK_THRESHOLD"] else WHITE

    @property
    def colorscale(self) -> list[list[Any]]:
        """`weights` as Plotly takes them, each with its place from 0 to 1."""
        return _colorscale(self.weights)

    @property
    def signed_colorscale(self) -> list[list[Any]]:
        """`signed` as Plotly takes them, each with its place from 0 to 1; 0.5 is the number 0."""
        return _colorscale(self.signed)

    @property
    def beside(self) -> str:
        """What is compared with the one thing in `accent`."""
        return self.weights[4]

    @property
    def negative(self) -> str:
        """A negative number as one colour, where its size is drawn and not coloured."""
        return self.signed[_SIGN_STEP]

    @property
    def positive(self) -> str:
        """A positive number as one colour."""
        return self.signed[-1 - _SIGN_STEP]


_SIGN_STEP = 2
"""Where along `signed` a colour says its sign and still stands out on the page."""


def _colorscale(colors: tuple[str, ...]) -> list[list[Any]]:
    last = len(colors) - 1
    return [[index / last, color] for index, color in enumerate(colors)]


# The colours of .streamlit/config.toml, so that figures belong to their page.
LIGHT = Look(
    text="#1b2430",
    muted="#56606d",
    accent="#0b63a5",
    grid="#d5dbe3",
    forbidden="#eceef1",
    hatch="#a3abb6",
    hover="#ffffff",
    weights=(
        *("#f4f8fc", "#dfebf6", "#c5dcef", "#a3c9e5", "#7cb2d9"),
        *("#5599cb", "#347fb9", "#1b65a0", "#0d4b80", "#06325a"),
    ),
    signed=(
        *("#06325a", "#1b65a0", "#5599cb", "#a3c9e5", "#dfebf6"),
        *("#fbe9d9", "#f3c396", "#e0914a", "#b9651b", "#7a3d08"),
    ),
    heads=(
        *("#0072b2", "#d55e00", "#009e73", "#cc79a7"),
        *("#e69f00", "#56b4e9", "#8a5a00", "#5f6a78"),
    ),
    cells=("#d3e8f7", "#e69f00", "#8e98a6", "#6b4300", "#a83279"),
    compared=("#d3e8f7", "#8e98a6", "#0072b2", "#d55e00"),
)
DARK = Look(
    text="#e6eaf0",
    muted="#a7b0bd",
    accent="#7cc0f2",
    grid="#343d4a",
    forbidden="#262c35",
    hatch="#5b6675",
    hover="#1d232c",
    weights=(
        *("#151d28", "#16283a", "#173650", "#1a4769", "#205b85"),
        *("#2f74a3", "#4a90bf", "#71add6", "#a2cbe8", "#dcecf8"),
    ),
    signed=(
        *("#a2cbe8", "#5fa3d2", "#2f74a3", "#1f4c70", "#1b2b3c"),
        *("#352a20", "#6b431d", "#a8641f", "#dd9145", "#f8cf9f"),
    ),
    heads=(
        *("#56b4e9", "#e8743b", "#2bb58d", "#cc79a7"),
        *("#e69f00", "#3d8fd1", "#f0e442", "#a7b0bd"),
    ),
    cells=("#a2cbe8", "#c07f00", "#5b6675", "#5a3b00", "#c2609a"),
    compared=("#a2cbe8", "#5b6675", "#3d8fd1", "#e8743b"),
)

# On a stage every text has 7 to 1 and more on its page, for the back row and a weak projector.
STAGE_LIGHT = replace(LIGHT, text="#0b0f14", muted="#39424e", accent="#07497c")
STAGE_DARK = replace(DARK, text="#f7f9fb", muted="#d0d7e0", accent="#a5d5f8")

THEMES = {"light": asdict(LIGHT), "dark": asdict(DARK)}
"""Both looks as our browser components take them."""

STAGE_THEMES = {"light": asdict(STAGE_LIGHT), "dark": asdict(STAGE_DARK)}
"""The same for a stage."""

_NAMED = "<b>%{customdata[0]}</b> to <b>%{customdata[1]}</b><br>"
_PLACED = "<b>%{y}</b> to <b>%{x}</b><br>"

LOG_PROB_HOVER = (
    "<b>%{customdata[0]}</b><br>%{customdata[1]}<br>log-probability <b>%{y:.4~g}</b><br>"
    "probability <b>%{customdata[2]:.4~g}</b><extra></extra>"
)
"""What a bar of a log-probability says; customdata is the token, whose bar it is, and e^y."""

NAMED_CELLS = 64 * 64
"""Up to so many, every cell carries its names; beyond, they would take longer than the weights."""

TRANSLATION_SIZES = {70: 2.4, 160: 1.7}
"""Up to so many characters, the translation's size in rem: what is read first in the back row."""

LONG_TRANSLATION_SIZE = 1.25

PAGE_CSS = """
<style>
/* Streamlit writes captions too faintly for a projector: 4.2 to 1 and links 2.8 to 1. */
[data-testid="stCaptionContainer"] :is(p, a) { opacity: 1 }
[data-testid="stCaptionContainer"] { opacity: 0.8 }
[data-testid="stCaptionContainer"] a { color: inherit }
/* They draw nothing here, and should take no room. */
.st-key-talk-keys, [data-testid="stLayoutWrapper"]:has(> .st-key-reader),
[data-testid="stLayoutWrapper"]:has(> .st-key-scene-room) {
  position: absolute; left: 0 }
/* A page that is read ends, and scrolls to its end, above the text. */
[data-testid="stMain"] { scroll-padding: 4rem 0 calc(var(--reader-room, 0px) + 0.5rem) }
[data-testid="stMainBlockContainer"] { padding-bottom: calc(6rem + var(--reader-room, 0px)) }
/* What was dismissed takes no room, and what was not brings its own. */
[data-testid="stLayoutWrapper"]:has(> .st-key-welcome) { margin-bottom: -1rem }
/* What saves a picture stands at the right of the picture's caption, however long that is. */
[class*="st-key-captioned-"] { flex-wrap: nowrap }
[class*="st-key-captioned-"] > :first-child { flex: 1 1 0; min-width: 0 }
[class*="st-key-captioned-"] > :last-child:not(:first-child) { flex: none; width: auto }
/* Its menu opens empty, and would stay as low as the room below it instead of opening above. */
[data-testid="stPopoverBody"][aria-label="Save"] { min-height: min(22rem, 60vh) }
/* Streamlit's smallest targets, 7 to 22 pixels high, reach what WCAG 2.2 asks of a target: 24. */
[data-testid="stTooltipHoverTarget"]:not([data-testid="stElementToolbar"] *) > button {
  display: grid; place-items: center; min-width: 1.5rem; min-height: 1.5rem; margin: -0.25rem }
[data-testid="stMultiSelect"] button { min-width: 1.5rem; min-height: 1.5rem }
[data-testid="stMultiSelect"] [data-tag] { min-height: 1.5rem }
[data-testid="stCheckbox"] label { min-height: 1.5rem }
.modebar-btn { min-height: 24px }
/* It fills a page's name when that has the focus as when it is the current page. */
:is([data-testid="stTopNavLink"], [data-testid="stSidebarNavLink"]):focus-visible {
  outline: 2px solid currentColor; outline-offset: 1px }
:is([data-testid="stTopNavLink"], [data-testid="stSidebarNavLink"]):focus-visible:not(
  [aria-current]) { background: none }
/* Always there, since what comes and goes moves all that follows, and has it drawn anew. */
[data-testid="stLayoutWrapper"]:has(> .st-key-notices:empty) { display: none }
/* Streamlit darkens an open button of text, which a dark page then swallows. */
[class*="st-key-keep-"] button { color: inherit !important }
/* On a phone, upright or not, the picture comes first: what is seldom set is folded. */
[data-testid="stLayoutWrapper"]:has(> .st-key-sentence-more), .st-key-sentence-more {
  display: contents }
.st-key-sentence-unfold { display: none }
@media (max-width: 40rem), (max-height: 30rem) {
  .st-key-sentence-bar { gap: 0.5rem }
  .st-key-sentence-unfold { display: block }
  .stApp:not(:has(.st-key-sentence-unfold input:checked)) :is(
    .st-key-sentence-more, .answer .model) { display: none }
  .answer > p:first-child { font-size: 1.4rem !important }
  [data-testid="stMainBlockContainer"] { padding-top: 4rem }
}
/* Where there are no keys, none is named. */
@media (hover: none) and (pointer: coarse) {
  :is(.st-key-leave-stage, .st-key-present-button) :is(kbd, button > div > [aria-hidden="true"]) {
    display: none }
}
@media (max-height: 30rem) {
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem }
  [data-testid="stButtonGroup"] [data-testid="stIconMaterial"] { display: none }
  .st-key-sentence-bar :is([data-testid="stTextInput"], [data-testid="stSelectbox"])
    [data-testid="stWidgetLabel"] { position: absolute; width: 1px;
    height: 1px; overflow: hidden; clip-path: inset(50%) }
}
</style>
"""
"""What no setting of Streamlit's theme reaches."""

DARK_PAGE_CSS = """
<style>
/* Streamlit writes white on the primary colour, which is light on a dark page. */
[data-testid="stBaseButton-primary"], [data-tag] { color: #12161c !important }
[data-tag] button { color: inherit !important }
[data-testid="stCheckbox"] svg { stroke: #12161c }
</style>
"""
"""What else a dark page needs."""

STALE_CSS = """
<style>
.st-key-answered-before, [data-testid="stLayoutWrapper"]:has(> .st-key-asked) ~ * {
  filter: grayscale(1) opacity(0.6) }
</style>
"""
"""Dims what belongs to the sentence before, from its translation on."""

STALE_STAGE_CSS = """
<style>
.st-key-picture { filter: grayscale(1) opacity(0.6) }
</style>
"""
"""The same for a stage, where a filter on what is around the picture would move it."""

TOOLS_CSS = """
<style>
/* Beside Streamlit's own menu, so that the tools cost the page no height. */
[data-testid="stLayoutWrapper"]:has(> .st-key-tools) { position: fixed; top: 0.45rem;
  right: 3.75rem; width: max-content;
  /* Above the header, which comes before it, and below the drawer of pages. */
  z-index: 999990 }
.st-key-tools { width: max-content; flex-wrap: nowrap }
.st-key-tools > * { width: max-content; flex: none }
.st-key-tools button { min-height: 2.25rem; padding: 0.1rem 0.6rem }
.st-key-tools button p { white-space: nowrap }
/* The icon alone: it is there for who looks for it. */
.st-key-glossary button p { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%) }
.st-key-glossary button > div > [aria-hidden="true"] { display: none }
@media (max-width: 62rem) {
  /* Beside the names of the pages there is room for the icons alone. */
  .st-key-tools button { padding: 0.1rem 0.5rem }
  .st-key-tools button p { position: absolute; width: 1px; height: 1px; overflow: hidden;
    clip-path: inset(50%) }
  .st-key-tools :is(kbd, button > div > [aria-hidden="true"]) { display: none }
}
@media (max-width: 28rem) {
  /* The sign without the name, and closer tools: the drawer's button and the menu need room too. */
  .st-key-tools { gap: 0.15rem }
  .st-key-tools button { min-width: 2.25rem; padding: 0 }
  [data-testid="stHeaderLogo"] { width: 2rem; object-fit: cover; object-position: left }
}
</style>
"""
"""Where the row of tools stands."""

SCENES_CSS = """
.st-key-scenes-panel { width: min(27rem, calc(100vw - 4rem)) }
[data-testid="stPopoverBody"]:has(.st-key-scenes-panel) {
  max-height: calc(100vh - 5rem) !important }
.st-key-talk-order { flex-wrap: nowrap; align-items: stretch }
.st-key-talk-order > :first-child { flex: none; width: 1.5rem }
.st-key-talk-order > :last-child { min-width: 0; flex: 1 }
.st-key-talk-list [class*="st-key-talk-row-"] { flex-wrap: nowrap }
.st-key-talk-list [class*="st-key-talk-row-"] > :first-child { min-width: 0 }
.st-key-talk-list [class*="st-key-talk-scene-"] { flex: none; width: auto }
/* Three dots say it to the eye, and the words to a screen reader. */
[class*="st-key-talk-scene-"] [data-testid="stMarkdownContainer"] { position: absolute;
  width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
[class*="st-key-talk-scene-"] button > div > [aria-hidden="true"] { display: none }
.st-key-talk-list button { min-height: 2.1rem; padding: 0.15rem 0.5rem }
.st-key-talk-list [class*="st-key-talk-go-"] button { justify-content: flex-start;
  text-align: left }
.st-key-talk-list [class*="st-key-talk-go-"] button > div { justify-content: flex-start }
"""
"""The list of a talk's scenes."""

SCENE_TITLE_CSS = """
:root { --stage-title: 2.6rem }
@media (max-height: 480px) { :root { --stage-title: 2rem } }
@media (max-width: 600px) { :root { --stage-title: 3.4rem } }
.st-key-picture { top: var(--stage-title) !important }
.st-key-stage-text { padding-top: calc(var(--stage-title) + 1rem) !important }
"""
"""Room for a scene's title on stage: the picture begins below it."""

NOTES_COLORS = {
    "ground": "#12161c",
    "text": DARK.text,
    "muted": DARK.muted,
    "accent": DARK.accent,
    "line": DARK.hatch,
}
"""Of the window with the speaker's notes, which is dark, since halls are."""

ANSWER_CSS = """
.answer { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 2rem;
  justify-content: space-between }
.answer .model { margin: 0; font-size: 0.875rem; line-height: 1.35; opacity: 0.7 }
"""
"""The translation with the model's facts at its right where there is room, and below it else."""

CHANGE_CSS = """
.change { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 1rem; font-size: 1.5rem;
  line-height: 1.3 }
.change span { font-size: 0.875rem; line-height: 2.2; opacity: 0.7 }
.change div { font-weight: 600 }
"""
"""Two translations, one below the other."""

FACTS_CSS = """
.facts small { display: block; opacity: 0.75; line-height: 1.3; padding-bottom: 0.25rem }
.facts details { border-bottom: 1px solid color-mix(in srgb, currentColor 15%, transparent) }
.facts summary { display: flex; justify-content: space-between; gap: 1rem; padding: 0.25rem 0;
  cursor: pointer }
.facts summary span { flex: 1 }
.facts summary::before { content: "+"; width: 0.6rem; opacity: 0.75 }
.facts details[open] summary::before { content: "−" }
.facts b { white-space: nowrap; font-variant-numeric: tabular-nums }
"""
"""A list of facts: names on the left, values on the right."""

LABEL_COLUMN_WIDTH = 250
"""Pixels of the column of labels in a table: as wide as the longest label."""

ROW_HEIGHT = 34
"""Pixels a row while there are few."""

MIN_ROW_HEIGHT = 16
"""Pixels a row when there are many: as low as a label can be read."""

MIN_PLOT_HEIGHT = 220
MAX_PLOT_HEIGHT = 2400
"""Taller than this, rows are squeezed and only every so many are labelled."""

COMFORTABLE_HEIGHT = 460
"""What fits on a laptop's screen beside the sentence and the controls."""

TOP, BOTTOM, LEGEND_HEIGHT = 64, 68, 26
"""Pixels above the plot's labels, for title and axis title, and below it, for the colour bar and,
where the two do not stand side by side, for the legend."""

TITLE_HEIGHT, LINE_HEIGHT = 44, 20
"""Pixels of a title, and of each line below it that takes the place of axis titles."""

NARROW: int = CONSTANTS["NARROW"]
SIDE_BY_SIDE: int = CONSTANTS["SIDE_BY_SIDE"]
"""A figure with fewer pixels across than the first, as on a phone, is laid out narrow; one with as
many as the second has room for two parts side by side."""

PLOT_WIDTH, NARROW_PLOT_WIDTH = 660, 190
"""Pixels that a plot has across at least, on a laptop's screen and on a phone's."""

NUMBERED_ROWS, NUMBERED_COLUMNS, NARROW_NUMBERED_COLUMNS = 20, 16, 5
"""Up to so many, a cell has room for its weight as a number."""

LABELLED_COLUMNS, NARROW_LABELLED_COLUMNS = 56, 12
"""Up to so many, every column has room for its label."""

NARROW_LABEL = 10
"""Characters of a label in a narrow figure, where labels would leave no room for the plot."""


def luminance(color: str) -> float:
    """The relative luminance of "#rrggbb", 0 to 1, as WCAG 2 defines it."""
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def look(dark: bool) -> Look:
    """The colours of the light or the dark theme."""
    return DARK if dark else LIGHT


def stage_look(dark: bool) -> Look:
    """The colours of the light or the dark stage."""
    return STAGE_DARK if dark else STAGE_LIGHT


def translation_css(text: str) -> str:
    """How the translation is set: large, and smaller where it would push all else off the page."""
    fitting = [size for most, size in TRANSLATION_SIZES.items() if len(text) <= most]
    size = fitting[0] if fitting else LONG_TRANSLATION_SIZE
    return f"font-size: {size}rem; font-weight: 650; line-height: 1.25; margin: 0"


def grid_css(theme: Look) -> str:
    """How the tokens of a batch are set out: one row a sentence, padding hatched."""
    hatch = f"repeating-linear-gradient(-45deg, {theme.hatch} 0 1.5px, {theme.forbidden} 1.5px 5px)"
    return f"""
.token-grid {{ overflow-x: auto }}
.token-grid table {{ border-collapse: separate; border-spacing: 2px; margin: 0 }}
.token-grid caption {{ text-align: left; font-weight: 600; padding: 0.25rem 0 }}
.token-grid th, .token-grid td {{ padding: 0.2rem 0.5rem; text-align: center; white-space: nowrap;
  font-weight: 400; border: 1px solid {theme.grid} }}
.token-grid th {{ border: 0; color: {theme.muted} }}
.token-grid .padding {{ background: {hatch}; color: {theme.muted} }}
.token-grid .framed td {{ border: 2px solid {theme.accent} }}
"""


def change_css(theme: Look, *, removed: bool) -> str:
    """How words are set that a text lost, or that it gained.

    A line tells them from others without colour; their letters keep the page's own contrast.
    """
    line, color = ("line-through", 0) if removed else ("underline", 1)
    return (
        f"text-decoration: {line} 2px {theme.heads[color]}; background: {theme.heads[color]}2e; "
        "border-radius: 3px; padding: 0 2px"
    )


def stage_css(theme: Look) -> str:
    """What a stage leaves out, and how large the rest is.

    All sizes follow the root's: a 38th of the window's height, and no less than a reader has set.
    """
    return f"""
<style>
:root {{ --stage-foot: 3.5rem }}
@media (max-height: 480px) {{ :root {{ --stage-foot: 3rem }} }}
@media (max-width: 600px) {{ :root {{ --stage-foot: 5.9rem }} }}
html {{ font-size: clamp(100%, min(2.65vh, 1.66vw), 400%) !important }}
[data-testid="stHeader"], [data-testid="stSidebar"], [data-testid="stDecoration"],
[class*="st-key-keep-"] {{ display: none !important }}
/* Not taken away, since their keys still work. */
[data-testid="stLayoutWrapper"]:has(> .st-key-tools) {{ visibility: hidden }}
[data-testid="stMain"] {{ overflow: hidden; scroll-behavior: auto }}
[data-testid="stMain"]:has(.st-key-stage-text) {{ overflow: auto }}
[data-testid="stMainBlockContainer"] {{ padding: 0; max-width: none }}
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] {{ gap: 0 }}
/* A new answer replaces the old one; nothing fades meanwhile. */
[data-stale="true"] {{ opacity: 1 !important; transition: none !important }}
.st-key-picture {{ position: fixed; inset: 0 0 var(--stage-foot) 0; gap: 0.4rem;
  padding: 0.9rem 1.2rem 0.3rem; overflow: hidden; box-sizing: border-box }}
.st-key-picture > * {{ flex: none }}
.st-key-picture > [data-testid="stLayoutWrapper"]:has(> .st-key-stage-figures) {{ flex: 1 1 0;
  min-height: 0; width: 100% }}
.st-key-stage-figures {{ height: 100%; flex-wrap: nowrap }}
.st-key-stage-figures > * {{ flex: 1 1 0 !important; min-width: 0; height: 100% !important }}
.st-key-stage-text {{ max-width: 44rem; margin: 0 auto;
  padding: 1.5rem 1rem calc(var(--stage-foot) + 1.5rem) }}
.st-key-notices {{ position: relative; z-index: 20; padding-right: 1rem }}
.st-key-clean-address {{ margin-top: 0.5rem }}
[data-testid="stAlert"], [data-testid="stExpander"] {{ position: relative; z-index: 20;
  width: auto; margin: 0.5rem 1rem; background: {theme.hover} }}
.st-key-leave-stage {{ position: fixed; right: 0.5rem; bottom: 0; z-index: 30; width: auto;
  height: min(3.5rem, var(--stage-foot)); display: flex; align-items: center }}
.st-key-leave-stage button {{ min-height: 0; padding: 0.1rem 0.4rem }}
.st-key-leave-stage button, [data-testid="stMain"] a, [data-testid="stMain"] :is(p, li, h1, h2) {{
  color: {theme.text} }}
.st-key-leave-stage button * {{ color: {theme.muted} !important; opacity: 1 !important }}
[data-testid="stCaptionContainer"], .change span {{ opacity: 1 }}
</style>
"""


STAGE_ENLARGED = 1.5
"""How much larger a figure's texts, lines and margins are on a stage: 24 pixels and not 16."""


def plot_height(n_rows: int) -> int:
    """Pixels for so many rows, between one that reads well and one that still reads."""
    comfortable = min(n_rows * ROW_HEIGHT, COMFORTABLE_HEIGHT)
    wanted = max(comfortable, n_rows * MIN_ROW_HEIGHT, MIN_PLOT_HEIGHT)
    return min(wanted, MAX_PLOT_HEIGHT)


def hover_template(*, named: bool, forbidden: bool = False) -> str:
    """What a cell says under the pointer.

    Args:
        named: whether customdata holds the names of query and key; the axes' labels serve else.
        forbidden: for the cells that may not be attended to.
    """
    value = "not allowed" if forbidden else "weight <b>%{z:.6~g}</b>"
    return f"{_NAMED if named else _PLACED}{value}<extra></extra>"


def label_step(n_labels: int, room: int) -> int:
    """1 where every label has room, else every how manieth has."""
    return max(1, -(-n_labels // max(room, 1)))


def labels_height(texts: list[str], width: int = PLOT_WIDTH) -> int:
    """Pixels that labels above a plot need: one line, or their length where they must turn.

    Args:
        texts: as they are read, not as they are escaped.
        width: of the plot, in pixels.
    """
    size = _label_size(texts)
    # A letter is about half as wide as it is high.
    widths = [len(text) * size / 2 for text in texts]
    room = width / max(len(texts), 1)
    if all((left + right) / 2 + 4 <= room for left, right in pairwise(widths)):
        return size + 10
    return round(max(widths)) + 14


def layout(
    theme: Look, *, title: str, height: int, top: int = 0, lines: Sequence[str] = ()
) -> dict[str, Any]:
    """What every figure's layout shares.

    Args:
        theme: the colours.
        title: in sentence case.
        height: of the plot without what surrounds it, in pixels.
        top: of labels above the plot, in pixels.
        lines: in place of axis titles, for which a narrow figure has no room. The legend then
            stands above the colour bar and not beside it.
    """
    above = top + (TITLE_HEIGHT + LINE_HEIGHT * len(lines) if lines else TOP)
    below = BOTTOM + (LEGEND_HEIGHT if lines else 0)
    in_full = height + above + below
    beside_bar = {"x": 1, "xanchor": "right", "y": 0}
    above_bar = {"x": 0, "xanchor": "left", "y": BOTTOM / in_full}
    return {
        "title": {
            "text": title,
            "subtitle": {
                "text": "<br>".join(lines),
                "font": {"size": SMALL_FONT_SIZE, "color": theme.muted},
            },
            "font": {"size": 19, "color": theme.text, "weight": 600},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6, "l": 2, "b": 6},
        },
        "height": in_full,
        "margin": {"l": 8, "r": 8, "t": above, "b": below},
        "font": {"family": FONT, "size": FONT_SIZE, "color": theme.text},
        "hoverlabel": {
            "bgcolor": theme.hover,
            "bordercolor": theme.grid,
            "font": {"family": FONT, "size": FONT_SIZE, "color": theme.text},
        },
        # Not the default, which Streamlit replaces by placeholders for its own colours.
        "template": "none",
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": theme.grid,
        "dragmode": False,
        "modebar": {"bgcolor": CLEAR, "color": theme.muted, "activecolor": theme.accent},
        "legend": {
            "orientation": "h",
            **(above_bar if lines else beside_bar),
            "yref": "container",
            "yanchor": "bottom",
            "font": {"size": SMALL_FONT_SIZE, "color": theme.muted},
            "itemwidth": 44,
            "itemclick": False,
            "itemdoubleclick": False,
        },
    }


def axis(title: str, labels: list[str], step: int, **more: Any) -> dict[str, Any]:
    """An axis over positions 0, 1, …, with labels that are already safe to show.

    Args:
        title: in sentence case.
        labels: one a position.
        step: 1 labels every position, 2 every other one, and so on.
        more: further settings of Plotly's axis.
    """
    return {
        "title": {"text": title, "standoff": 10, "font": {"size": SMALL_FONT_SIZE}},
        "tickmode": "array",
        "tickvals": list(range(0, len(labels), step)),
        "ticktext": labels[::step],
        "ticks": "",
        "ticklabelstandoff": 6,
        "tickfont": {"size": _label_size(labels)},
        "autotickangles": [0, -45, -90],
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        **more,
    }


def _label_size(labels: list[str]) -> int:
    return FONT_SIZE if len(labels) <= FEW_LABELS else DENSE_FONT_SIZE


def weight_bar(theme: Look) -> dict[str, Any]:
    """The colour bar of attention weights: below the plot, so that it takes no row's room."""
    return {
        "title": {
            "text": "weight",
            "side": "bottom",
            "font": {"size": SMALL_FONT_SIZE, "color": theme.muted},
        },
        "orientation": "h",
        "thickness": 12,
        "len": 260,
        "lenmode": "pixels",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "ypad": 2,
        "xpad": 0,
        "tickvals": [0, 0.25, 0.5, 0.75, 1],
        "ticktext": ["0", "0.25", "0.5", "0.75", "1"],
        "tickfont": {"size": SMALL_FONT_SIZE, "color": theme.muted},
        "outlinecolor": theme.grid,
        "outlinewidth": 1,
    }


def signed_bar(theme: Look, limit: float, *, y: float) -> dict[str, Any]:
    """The colour bar of numbers from -limit to limit, to lie right below what it explains.

    Args:
        theme: the colours.
        limit: the number at its right end.
        y: of its upper edge, as a share of the plot's height.
    """
    return {
        **weight_bar(theme),
        "title": {
            "text": "value",
            "side": "bottom",
            "font": {"size": SMALL_FONT_SIZE, "color": theme.muted},
        },
        "len": 190,
        "y": y,
        "yref": "paper",
        "yanchor": "top",
        "ypad": 0,
        "tickvals": [-limit, 0, limit],
        "ticktext": [number(-limit), "0", number(limit)],
    }


def legend_square(theme: Look, name: str, color: str) -> dict[str, Any]:
    """A trace without points, for the legend to say what a colour stands for.

    Args:
        theme: the colours.
        name: already safe to show.
        color: of the square.
    """
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "marker": {
            "symbol": "square",
            "size": 14,
            "color": color,
            "line": {"width": 1, "color": theme.hatch},
        },
        "name": name,
        "showlegend": True,
    }


def number(value: float) -> str:
    """A number for a title or a sentence: two digits after the point, or two that count.

    The minus is a minus and not a hyphen, so that it stands out and no line breaks behind it.
    """
    written = f"{value:.2f}" if 0.01 <= abs(value) < 1e6 else f"{value:.2g}"
    return written.replace("-", "−")


def chart_config(name: str) -> dict[str, Any]:
    """Plotly's own controls: a vector picture to download, full view, and nothing that surprises.

    Args:
        name: of a downloaded file, without its suffix.
    """
    return {
        "displaylogo": False,
        # Seen at once: nobody looks for a button that appears under the pointer alone.
        "displayModeBar": True,
        "scrollZoom": False,
        "modeBarButtons": [["zoom2d", "resetScale2d", "toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }
