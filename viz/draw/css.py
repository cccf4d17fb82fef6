"""The style sheets of the page, its stage and what we write as HTML.

They cover what Streamlit's theme cannot express.
"""

from __future__ import annotations

from viz.draw.themes import Theme

TRANSLATION_SIZES = {70: 2.4, 160: 1.7}
"""The translation's size in rem, by maximum number of characters: readable from the back row."""

LONG_TRANSLATION_SIZE = 1.25

PAGE_CSS = """
<style>
/* Streamlit writes captions too faintly for a projector: 4.2 to 1 and links 2.8 to 1. */
[data-testid="stCaptionContainer"] :is(p, a) { opacity: 1 }
[data-testid="stCaptionContainer"] { opacity: 0.8 }
[data-testid="stCaptionContainer"] a { color: inherit }
/* They draw nothing here, and should take no room. */
.st-key-talk-keys, [data-testid="stLayoutWrapper"]:has(> .st-key-reader),
[data-testid="stLayoutWrapper"]:has(> .st-key-headline-words),
[data-testid="stLayoutWrapper"]:has(> .st-key-scene-room) {
  position: absolute; left: 0 }
/* A page that is read ends, and scrolls to its end, above the text. */
[data-testid="stMain"] { scroll-padding: 4rem 0 calc(var(--reader-room, 0px) + 0.5rem) }
[data-testid="stMainBlockContainer"] { padding-bottom: calc(6rem + var(--reader-room, 0px)) }
/* What was dismissed takes no room, and what was not brings its own. */
[data-testid="stLayoutWrapper"]:has(> .st-key-welcome) { margin-bottom: -1rem }
/* More and Save stand at the right of a picture's caption, however long that is. */
[class*="st-key-captioned-"] { flex-wrap: nowrap }
[class*="st-key-captioned-"] > :first-child { flex: 1 1 0; min-width: 0 }
[class*="st-key-captioned-"] > :not(:first-child) { flex: none; width: auto }
/* Its menu opens empty, and would stay as low as the room below it instead of opening above. */
[data-testid="stPopoverBody"][aria-label="Save"] { min-height: min(22rem, 60vh) }
/* Streamlit's smallest targets, 7 to 22 pixels high, reach what WCAG 2.2 asks of a target: 24. */
[data-testid="stTooltipHoverTarget"]:not([data-testid="stElementToolbar"] *):not(
  :where(.st-key-scenes-panel .stButton *)) > button {
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
[data-testid="stLayoutWrapper"]:has(> .st-key-answer:empty) { display: none }
/* In the line of the fields' names, so that it costs the page no height. */
[data-testid="stLayoutWrapper"]:has(> .st-key-ask) { position: relative; height: 0;
  margin-bottom: -1rem; z-index: 1 }
.st-key-ask { position: absolute; left: 9.5rem; top: -0.4rem }
:is(.st-key-ask, .st-key-ask-alone) { width: max-content; flex-wrap: nowrap }
:is(.st-key-ask, .st-key-ask-alone) > * { flex: none; width: max-content !important }
/* Beside more fields there is less room. */
.stApp:has(.st-key-step) .st-key-ask { --ask-keys: none }
.stApp:has(.st-key-step) .st-key-ask > :nth-child(2) { display: none }
@media (max-width: 66rem) {
  .st-key-ask { --ask-keys: none }
  .st-key-ask > :nth-child(2) { display: none }
}
.st-key-answer-line { flex-wrap: nowrap; padding: 0.3rem 0.5rem 0.3rem 0.9rem;
  border-left: 4px solid #0b63a5; border-radius: 0.4rem;
  background: color-mix(in srgb, currentColor 6%, transparent) }
.st-key-answer-line > :first-child { flex: 1 1 0; min-width: 0 }
.st-key-answer-line > :last-child { flex: none; width: auto }
.st-key-answer-line p { margin: 0 }
.st-key-dismiss-answer [data-testid="stMarkdownContainer"] { position: absolute; width: 1px;
  height: 1px; overflow: hidden; clip-path: inset(50%) }
/* Streamlit darkens an open button of text, which a dark page then swallows. */
:is([class*="st-key-keep-"], [class*="st-key-more-"]) button { color: inherit !important }
/* On a phone, upright or not, the picture comes first: what is seldom set is folded. */
[data-testid="stLayoutWrapper"]:has(> .st-key-sentence-more), .st-key-sentence-more {
  display: contents }
.st-key-sentence-unfold { display: none }
/* What cannot be changed is to be read all the same. */
.st-key-trace-text :is([data-testid="stWidgetLabel"], input) { color: inherit !important;
  -webkit-text-fill-color: currentColor !important; cursor: text }
.st-key-checkpoint input { text-overflow: ellipsis }
/* Titles of models are longer than the field: its open menu shows them whole. */
body:has(.st-key-checkpoint [aria-expanded="true"]) [data-testid="stSelectboxVirtualDropdown"] {
  min-width: min(22.375rem, calc(100vw - 2rem)) }
/* Seldom needed, so its words leave the room to the sentence; its tooltip says them. */
[class*="st-key-open-trace"] button [data-testid="stMarkdownContainer"] { position: absolute;
  width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
[class*="st-key-open-trace"] button > div > [aria-hidden] { display: none }
[class*="st-key-open-trace"] [data-testid="stTooltipHoverTarget"] > button { margin: 0 !important;
  min-width: 2.5rem; min-height: 2.5rem }
@media (max-width: 40rem), (max-height: 30rem) {
  .st-key-ask { left: auto; right: 0 }
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
"""Rules for parts that Streamlit's theme settings do not reach."""

DARK_PAGE_CSS = """
<style>
/* Streamlit writes white on the primary colour, which is light on a dark page. */
[data-testid="stBaseButton-primary"], [data-tag] { color: #12161c !important }
[data-tag] button { color: inherit !important }
.st-key-answer-line { border-left-color: #7cc0f2 }
[data-testid="stCheckbox"] svg { stroke: #12161c }
</style>
"""
"""Further rules for a dark page."""

STALE_CSS = """
<style>
.st-key-answered-before, [data-testid="stLayoutWrapper"]:has(> .st-key-asked) ~ * {
  filter: grayscale(1) opacity(0.6) }
</style>
"""
"""Dims everything about the previous sentence, from its translation on."""

STALE_STAGE_CSS = """
<style>
.st-key-picture { filter: grayscale(1) opacity(0.6) }
</style>
"""
"""The same for a stage, where a filter on the picture's container would move it."""

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
/* Names of pages that have no room left of the tools go into Streamlit's own menu of more. */
[data-testid="stTopNav"] { max-width: calc(100vw - 11rem - 27rem) }
@media (max-width: 66rem) {
  /* Beside the names of the pages there is room for the icons alone. */
  [data-testid="stTopNav"] { max-width: calc(100vw - 11rem - 15.5rem) }
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
"""The position of the row of tools."""

DOOR_CSS = """
<style>
/* The picture writes the translation itself, and has the whole width. */
.answer:not(:has(> div)), .answer > div > p:first-child { display: none }
@media (min-width: 64rem) {
  [data-testid="stMainBlockContainer"] { padding-left: 2.5rem; padding-right: 2.5rem }
}
[data-testid="stMainBlockContainer"] { padding-top: 4rem; padding-bottom: 0.5rem }
</style>
"""
"""The first page gives most of its space to the picture."""

SCENES_CSS = """
.st-key-scenes-panel { width: min(27rem, calc(100vw - 4rem)) }
[data-testid="stPopoverBody"]:has(.st-key-scenes-panel) {
  max-height: calc(100vh - 5rem) !important }
.st-key-talk-read { flex: none; width: auto }
.st-key-talk-read button p { white-space: nowrap }
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

ANSWER_CSS = """
.answer { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 2rem;
  justify-content: space-between }
.answer > :not(.model) { min-width: 0; overflow-wrap: anywhere }
/* A long text is folded to two lines, and unfolds where it stands. */
.answer summary { cursor: pointer; list-style: none }
.answer summary::-webkit-details-marker { display: none }
.answer details:not([open]) summary > span { display: -webkit-box; -webkit-box-orient: vertical;
  -webkit-line-clamp: 2; overflow: hidden }
.answer summary::after { content: "Show all"; font-size: 0.875rem; font-weight: 400;
  text-decoration: underline; text-underline-offset: 0.2em }
.answer details[open] summary::after { content: "Show less" }
.answer .model { margin: 0; font-size: 0.875rem; line-height: 1.35; opacity: 0.7 }
"""
"""The translation, with the model's facts at its right if they fit, otherwise below."""

CHANGE_CSS = """
.change { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 1rem; font-size: 1.5rem;
  line-height: 1.3 }
.change span { font-size: 0.875rem; line-height: 2.2; opacity: 0.7 }
.change div { font-weight: 600 }
"""
"""Two translations, one below the other."""

CERTAINTY_CSS = """
.certainty { margin: 0; font-size: 1.6rem; line-height: 1.3; word-spacing: 0.1em }
.certainty > span { display: inline-flex; flex-direction: column; align-items: center;
  padding: 0.1rem 0.25rem; margin: 0.1rem 0; border-radius: 0.3rem }
.certainty b { font-weight: 600 }
.certainty small { word-spacing: 0; font-size: 0.8rem; font-variant-numeric: tabular-nums }
"""
"""A sentence whose tokens have a number below each."""

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


FOLDED = 240
"""Longer translations are folded to two lines."""


def translation_css(text: str) -> str:
    """The translation's style: large, but smaller if it would push everything else off the page."""
    fitting = [size for most, size in TRANSLATION_SIZES.items() if len(text) <= most]
    size = fitting[0] if fitting else LONG_TRANSLATION_SIZE
    return f"font-size: {size}rem; font-weight: 650; line-height: 1.25; margin: 0"


def grid_css(theme: Theme) -> str:
    """The style of a batch's tokens: one row per sentence, padding hatched."""
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


def change_css(theme: Theme, *, removed: bool) -> str:
    """The style of words that a text lost or gained.

    A line tells them from others without colour; their letters keep the page's own contrast.
    """
    line, color = ("line-through", 0) if removed else ("underline", 1)
    return (
        f"text-decoration: {line} 2px {theme.heads[color]}; background: {theme.heads[color]}2e; "
        "border-radius: 3px; padding: 0 2px"
    )


def stage_css(theme: Theme) -> str:
    """The style of a stage: hides everything around the picture and enlarges the rest.

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
[data-testid="stLayoutWrapper"]:has(> :is(.st-key-tools, .st-key-ask, .st-key-ask-alone)) {{
  visibility: hidden }}
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
/* Over the picture's lower edge, where its answer is awaited. */
[data-testid="stSpinner"] {{ position: fixed; left: 1rem; bottom: var(--stage-foot); z-index: 20;
  width: auto; padding: 0.2rem 0.8rem; border-radius: 0.4rem; background: {theme.hover};
  color: {theme.text} }}
.st-key-leave-stage {{ position: fixed; right: 0.5rem; bottom: 0; z-index: 30; width: auto;
  height: min(3.5rem, var(--stage-foot)); display: flex; align-items: center }}
.st-key-leave-stage button {{ min-height: 0; padding: 0.1rem 0.4rem }}
.st-key-leave-stage button, [data-testid="stMain"] a, [data-testid="stMain"] :is(p, li, h1, h2) {{
  color: {theme.text} }}
.st-key-leave-stage button * {{ color: {theme.muted} !important; opacity: 1 !important }}
[data-testid="stCaptionContainer"], .change span {{ opacity: 1 }}
</style>
"""
