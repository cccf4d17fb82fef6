"""How everything looks: the only place that holds colours, heights and hover texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.numbers import count_of as count_of
from model.numbers import fixed as fixed
from model.numbers import number as number
from model.numbers import percent as percent
from viz.draw.constants import CONSTANTS

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("icon.svg"))
"""A local file: Streamlit would fetch a tab icon named :material/…: from the internet."""

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", "Helvetica Neue", Arial, sans-serif'
"""Streamlit's own font, then common ones."""

FONT_SIZE = 16
SMALL_FONT_SIZE = 14

FEW_LABELS, DENSE_FONT_SIZE = 24, 12
"""With more labels than this, an axis uses smaller text."""

BLACK, WHITE = "#000000", "#ffffff"

BAR, NARROW_BAR = 260, 180
"""Pixels of a colour bar, and of one on a phone."""

CLIPPED = 0.99
"""The share of numbers that `clipped_axis` distinguishes; the rest get the end colours."""

CLEAR = "rgba(0, 0, 0, 0)"
"""Transparent."""


@dataclass(frozen=True, slots=True)
class Look:
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
LIGHT = Look(
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
DARK = Look(
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

_NAMED = "<b>%{customdata[0]}</b> to <b>%{customdata[1]}</b><br>"
_PLACED = "<b>%{y}</b> to <b>%{x}</b><br>"

LOG_PROB_HOVER = (
    "<b>%{customdata[0]}</b><br>%{customdata[1]}<br>log-probability <b>%{y:.4~g}</b><br>"
    "probability <b>%{customdata[2]:.4~g}</b><extra></extra>"
)
"""The hover text of a bar; customdata is the token, the name of its side, and e^y."""

NAMED_CELLS = 64 * 64
"""With more cells than this, cells carry no names, which would take longer than the weights."""


NOTES_COLORS = {
    "ground": "#12161c",
    "text": DARK.text,
    "muted": DARK.muted,
    "accent": DARK.accent,
    "line": DARK.hatch,
}
"""The look of the notes window: dark, like lecture halls."""


LABEL_COLUMN_WIDTH = 360
"""The width of a table's label column in pixels: as wide as the longest label."""

ROW_HEIGHT = 34
"""Row height in pixels with few rows."""

MIN_ROW_HEIGHT = 16
"""Row height in pixels with many rows: the smallest at which labels are readable."""

MIN_PLOT_HEIGHT = 220
MAX_PLOT_HEIGHT = 2400
"""The maximum height; beyond it, rows shrink and only some are labelled."""

LOWEST_OVER_BAR = 150
"""Pixels of a plot with a colour bar below: below a lower one, Plotly tears the bar and its title
apart."""

COMFORTABLE_HEIGHT = 460
"""The height that fits on a laptop's screen together with the sentence and the controls."""

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
"""The minimum width of a plot in pixels, on a laptop and on a phone."""

NUMBERED_ROWS, NUMBERED_COLUMNS, NARROW_NUMBERED_COLUMNS = 20, 16, 5
"""The most columns with room for each weight as a number."""

LABELLED_COLUMNS, NARROW_LABELLED_COLUMNS = 56, 12
"""The most columns with room for every label."""

NARROW_LABEL = 10
"""The maximum length of a label in a narrow figure; longer ones would leave the plot no room."""


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


STAGE_ENLARGED = 1.5
"""The factor on a figure's text, lines and margins on a stage: 24 pixels instead of 16."""


def plot_height(n_rows: int) -> int:
    """The height of this many rows in pixels, from comfortable to barely readable rows."""
    comfortable = min(n_rows * ROW_HEIGHT, COMFORTABLE_HEIGHT)
    wanted = max(comfortable, n_rows * MIN_ROW_HEIGHT, MIN_PLOT_HEIGHT)
    return min(wanted, MAX_PLOT_HEIGHT)


def hover_template(*, named: bool, unit: str = "weight", forbidden: bool = False) -> str:
    """The hover text of a cell.

    Args:
        named: whether customdata holds the names of query and key; the axes' labels serve else.
        unit: what the numbers are.
        forbidden: for the cells that may not be attended to.
    """
    value = "not allowed" if forbidden else f"{unit} <b>%{{z:.6~g}}</b>"
    return f"{_NAMED if named else _PLACED}{value}<extra></extra>"


def label_step(n_labels: int, room: int) -> int:
    """1 if every label fits, otherwise n to label every n-th."""
    return max(1, -(-n_labels // max(room, 1)))


def row_height(usual: int, n_rows: int) -> int:
    """Row height in pixels above a colour bar: larger than usual if there are very few rows."""
    return max(usual, math.ceil(LOWEST_OVER_BAR / n_rows))


def labels_height(texts: list[str], width: int = PLOT_WIDTH) -> int:
    """The height of the labels above a plot in pixels: one line, or their length if rotated.

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
        # Streamlit replaces the default template by placeholders for its own colours.
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


def with_bottom(shared: Mapping[str, Any], below: int) -> dict[str, Any]:
    """A `layout` with this many pixels below its plot, without changing the plot's height."""
    return {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
    }


def legend_below(shared: Mapping[str, Any]) -> dict[str, Any]:
    """The legend of a `layout` in the figure's lower left corner, in the order of the data."""
    place = {"x": 0, "xref": "container", "xanchor": "left", "y": 0, "traceorder": "normal"}
    return {**shared["legend"], **place}


def bar_layout(
    theme: Look, *, title: str, height: int, top: int, lines: Sequence[str]
) -> dict[str, Any]:
    """`layout` for a figure that has a colour bar and no legend."""
    shared = layout(theme, title=title, height=height, top=top, lines=lines)
    return with_bottom(shared, BOTTOM)


def axis_title(text: str, standoff: int = 10) -> dict[str, Any]:
    """The title of an axis without tokens, in the style of `axis`."""
    return {"text": text, "standoff": standoff, "font": {"size": SMALL_FONT_SIZE}}


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
    """The colour bar of attention weights, below the plot so that it costs no width."""
    return {
        "title": {
            "text": "weight",
            "side": "bottom",
            "font": {"size": SMALL_FONT_SIZE, "color": theme.muted},
        },
        "orientation": "h",
        "thickness": 12,
        "len": BAR,
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


def value_bar(theme: Look, limit: float, title: str, *, narrow: bool = False) -> dict[str, Any]:
    """The colour bar of numbers from -limit to limit, below the plot.

    Args:
        theme: the colours.
        limit: the number at its right end.
        title: what the numbers are.
        narrow: for a plot as narrow as on a phone.
    """
    bar = weight_bar(theme)
    end = f"{limit:.3g}"
    return {
        **bar,
        "title": {**bar["title"], "text": title},
        "len": NARROW_BAR if narrow else bar["len"],
        "tickvals": [-limit, 0, limit],
        "ticktext": [f"−{end}", "0", end],
    }


def clipped_limit(values: Sequence[NDArray[np.floating[Any]]]) -> float:
    """The end of a colour scale, chosen so that a few large numbers do not pale all others."""
    sizes = np.concatenate([np.abs(each).ravel() for each in values])
    return float(np.quantile(sizes, CLIPPED)) or 1.0


def clipped_axis(
    theme: Look, values: Sequence[NDArray[np.floating[Any]]], title: str, *, length: int
) -> dict[str, Any]:
    """A colour axis to both sides of 0 that ends at `clipped_limit`, with its bar.

    Args:
        theme: the colours.
        values: all numbers that are drawn on it.
        title: what they are.
        length: of the bar, in pixels.
    """
    limit = clipped_limit(values)
    bar = value_bar(theme, limit, title)
    low, middle, high = bar["ticktext"]
    return {
        "cmin": -limit,
        "cmax": limit,
        "colorscale": theme.signed_colorscale,
        "colorbar": {**bar, "len": length, "ticktext": [f"≤ {low}", middle, f"≥ {high}"]},
    }


def signed_bar(theme: Look, limit: float, *, y: float) -> dict[str, Any]:
    """The colour bar of numbers from -limit to limit, for a place right below its plot.

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
    """A trace without points that adds a colour to the legend.

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


CHART_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    # Always visible: nobody looks for buttons that appear only under the pointer.
    "displayModeBar": True,
    "scrollZoom": False,
    # No camera button: the Save menu saves figures.
    "modeBarButtons": [["zoom2d", "resetScale2d"]],
}
"""Plotly's controls, reduced to zooming in and back."""
