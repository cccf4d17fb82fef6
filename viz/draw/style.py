"""How figures look: sizes, axes, colour bars, legends and hover texts."""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.numbers import count_of as count_of
from model.numbers import fixed as fixed
from model.numbers import number as number
from model.numbers import number_change as number_change
from model.numbers import percent as percent
from viz.draw.constants import CONSTANTS
from viz.draw.themes import Theme

LOGO = str(Path(__file__).with_name("logo.svg"))
ICON = str(Path(__file__).with_name("icon.svg"))
"""A local file: Streamlit would fetch a tab icon named :material/…: from the internet."""

FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", "Helvetica Neue", Arial, sans-serif'
"""Streamlit's own font, then common ones."""

FONT_SIZE = 16
SMALL_FONT_SIZE = 14

FEW_LABELS, DENSE_FONT_SIZE = 24, 12
"""With more labels than this, an axis uses smaller text."""

BAR, NARROW_BAR = 260, 180
"""Pixels of a colour bar, and of one on a phone."""

CLIPPED = 0.99
"""The share of numbers that `clipped_limit` distinguishes; the rest get the end colours."""

CLEAR = "rgba(0, 0, 0, 0)"
"""Transparent."""


_NAMED = "<b>%{customdata[0]}</b> to <b>%{customdata[1]}</b><br>"
_PLACED = "<b>%{y}</b> to <b>%{x}</b><br>"

NAMED_CELLS = 64 * 64
"""With more cells than this, cells carry no names, which would take longer than the weights."""


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

TITLE_HEIGHT, TITLE_LINE, LINE_HEIGHT = 44, 26, 20
"""Pixels of a title of one line, of each further one, and of each line below it that takes the
place of axis titles."""


def pair_columns(count: int, step: int) -> list[int]:
    """The dimensions of every `step`-th pair: a sine is never drawn without its cosine."""
    return [each for first in range(0, count, 2 * step) for each in (first, first + 1)][:count]


NARROW: int = CONSTANTS["NARROW"]
"""A figure with fewer pixels across, as on a phone, is laid out narrow."""

PLOT_WIDTH, NARROW_PLOT_WIDTH = 660, 190
"""The minimum width of a plot in pixels, on a laptop and on a phone."""

NUMBERED_ROWS, NUMBERED_COLUMNS, NARROW_NUMBERED_COLUMNS = 20, 16, 5
"""The most columns with room for each weight as a number."""

LABELLED_COLUMNS, NARROW_LABELLED_COLUMNS = 56, 12
"""The most columns with room for every label."""

NARROW_LABEL = 10
"""The maximum length of a label in a narrow figure; longer ones would leave the plot no room."""


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
    """The pixels of plain labels above a plot: one line, or their length if rotated."""
    size = _label_size(texts)
    # A letter is about half as wide as it is high.
    widths = [len(text) * size / 2 for text in texts]
    room = width / max(len(texts), 1)
    if all((left + right) / 2 + 4 <= room for left, right in pairwise(widths)):
        return size + 10
    return round(max(widths)) + 14


def layout(
    theme: Theme,
    *,
    title: Sequence[str],
    height: int,
    below: int,
    top: int = 0,
    lines: Sequence[str] = (),
) -> dict[str, Any]:
    """What every figure's layout shares.

    Args:
        height: of the plot without what surrounds it, in pixels.
        below: pixels below the plot.
        top: of labels above the plot, in pixels.
        lines: in place of axis titles, for which a narrow figure has no room. The legend then
            stands above the colour bar and not beside it.
    """
    # A figure without a title keeps its line, where the buttons for zooming appear.
    further = TITLE_LINE * max(0, len(title) - 1)
    above = top + further + (TITLE_HEIGHT + LINE_HEIGHT * len(lines) if lines else TOP)
    in_full = height + above + below
    beside_bar = {"x": 1, "xanchor": "right", "y": 0}
    above_bar = {"x": 0, "xanchor": "left", "y": BOTTOM / in_full}
    return {
        "title": {
            "text": "<br>".join(title),
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
            # Plotly positions a title by its last line.
            "pad": {"t": 6 + further, "l": 2, "b": 6},
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


def axis_title(text: str, standoff: int = 10) -> dict[str, Any]:
    """The title of an axis without tokens, in the style of `axis`."""
    return {"text": text, "standoff": standoff, "font": {"size": SMALL_FONT_SIZE}}


def axis(title: str, labels: list[str], step: int, **more: Any) -> dict[str, Any]:
    """An axis over positions 0, 1, … that shows every `step`th label, already safe to show."""
    return {
        "title": axis_title(title),
        "tickmode": "array",
        "tickvals": list(range(0, len(labels), step)),
        "ticktext": labels[::step],
        # Without effect on such an axis; viz.save.image counts by it what was left out.
        "dtick": step,
        # Plotly would drop the last label before the margin has made room for it.
        "ticklabeloverflow": "allow",
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


def clipped_limit(values: Sequence[NDArray[np.floating[Any]]]) -> float:
    """The end of a colour scale, chosen so that a few large numbers do not pale all others."""
    sizes = np.concatenate([np.abs(each).ravel() for each in values])
    return float(np.quantile(sizes, CLIPPED)) or 1.0


_Places = Sequence[int] | NDArray[np.integer[Any]]


def heading(
    theme: Theme, text: str, x: float, y: float, *, size: int = FONT_SIZE, **more: Any
) -> dict[str, Any]:
    """A text, already safe to show, whose lower left corner stands at shares of the plot."""
    return {
        **{"text": text, "x": x, "xref": "paper", "xanchor": "left"},
        **{"y": y, "yref": "paper", "yanchor": "bottom", "showarrow": False},
        "font": {"size": size, "color": theme.text},
        **more,
    }


def without_plot(theme: Theme, text: str) -> dict[str, Any]:
    """The part of a layout that shows one sentence in place of a plot."""
    note = {
        **{"text": text, "x": 0.5, "xref": "paper", "y": 0.5, "yref": "paper"},
        **{"showarrow": False, "font": {"size": FONT_SIZE, "color": theme.muted}},
    }
    return {"xaxis": {"visible": False}, "yaxis": {"visible": False}, "annotations": [note]}


def cell_texts(
    x: _Places, y: _Places, texts: list[str], colors: list[str], size: int, **more: Any
) -> dict[str, Any]:
    """A trace of texts in cells, one a cell, by column and row."""
    return {
        **{"type": "scatter", "mode": "text", "x": x, "y": y, "text": texts},
        "textfont": {"size": size, "color": colors},
        **{"hoverinfo": "skip", "showlegend": False},
        **more,
    }


CHART_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    # The style sheet shows it where a figure is pointed at, touched or focused; Plotly's own way
    # forgets the keyboard.
    "displayModeBar": True,
    "scrollZoom": False,
    # No camera button: the Save menu saves figures.
    "modeBarButtons": [["zoom2d", "resetScale2d"]],
}
"""Plotly's controls, reduced to zooming in and back."""
