"""The colours of the light and the dark theme, on a page and on a stage."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from viz.draw.constants import CONSTANTS

BLACK, WHITE = "#000000", "#ffffff"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme.

    Attributes:
        text: titles, axis labels and numbers; at least 4.5 to 1 on the page.
        muted: what stands back, at least 4.5 to 1 on the page as well.
        accent: what the model predicts.
        now: what happens at this moment of something played, at least 4.5 to 1 on the page as well.
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
    now: str
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
        """Black or white, whichever reads better on the cell of that weight."""
        return _ink(self.weights, weight)

    def signed_ink(self, place: float) -> str:
        """The same for a cell of `signed`, by its place among these colours, from 0 to 1."""
        return _ink(self.signed, place)

    def color(self, color: str | int) -> str:
        """A colour by its name here, or of a head by its number; others are colours themselves."""
        if isinstance(color, int):
            return self.heads[color % len(self.heads)]
        named: str = getattr(self, color, color)
        return named

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
        """The colour for comparison with whatever is in `accent`."""
        return self.weights[4]

    @property
    def negative(self) -> str:
        """One colour for negative numbers drawn by size instead of colour."""
        return self.signed[_SIGN_STEP]

    @property
    def positive(self) -> str:
        """One colour for positive numbers drawn by size instead of colour."""
        return self.signed[-1 - _SIGN_STEP]


_SIGN_STEP = 2
"""The place along `signed` where a colour shows its sign and stands out on the page."""


def _ink(colors: tuple[str, ...], place: float) -> str:
    color = colors[round(place * (len(colors) - 1))]
    # Where black and white have the same contrast by WCAG 2, 4.6 to 1.
    return BLACK if luminance(color) > CONSTANTS["INK_THRESHOLD"] else WHITE


def _colorscale(colors: tuple[str, ...]) -> list[list[Any]]:
    last = len(colors) - 1
    return [[index / last, color] for index, color in enumerate(colors)]


# The colours of .streamlit/config.toml, so that figures belong to their page.
LIGHT = Theme(
    text="#1b2430",
    muted="#56606d",
    accent="#0b63a5",
    now="#b35900",
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
DARK = Theme(
    text="#e6eaf0",
    muted="#a7b0bd",
    accent="#7cc0f2",
    now="#f5a83d",
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

# On a stage, every text has a contrast of at least 7 to 1, for the back row and a weak projector.
STAGE_LIGHT = replace(LIGHT, text="#0b0f14", muted="#39424e", accent="#07497c", now="#8a4400")
STAGE_DARK = replace(DARK, text="#f7f9fb", muted="#d0d7e0", accent="#a5d5f8", now="#ffc266")

THEMES = {"light": asdict(LIGHT), "dark": asdict(DARK)}
"""Both looks as our browser components take them."""

STAGE_THEMES = {"light": asdict(STAGE_LIGHT), "dark": asdict(STAGE_DARK)}
"""The same for a stage."""

NOTES_COLORS = {
    "ground": "#12161c",
    "text": DARK.text,
    "muted": DARK.muted,
    "accent": DARK.accent,
    "line": DARK.hatch,
}
"""The look of the notes window: dark, like lecture halls."""


def luminance(color: str) -> float:
    """The relative luminance of "#rrggbb", 0 to 1, as WCAG 2 defines it."""
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def page(dark: bool) -> Theme:
    """The colours of the light or the dark theme."""
    return DARK if dark else LIGHT


def stage(dark: bool) -> Theme:
    """The colours of the light or the dark stage."""
    return STAGE_DARK if dark else STAGE_LIGHT


def pale(color: str) -> str:
    """A colour "#rrggbb" as the ground of a line in it."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.2)"
