"""How everything looks: the only place that holds colours, heights and hover texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

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
    """

    text: str
    muted: str
    accent: str
    grid: str
    forbidden: str
    hatch: str
    hover: str
    weights: tuple[str, ...]

    def ink(self, weight: float) -> str:
        """Black or white: the one in which a number stands out on the cell of that weight."""
        color = self.weights[round(weight * (len(self.weights) - 1))]
        # Where black and white have the same contrast by WCAG 2, 4.6 to 1.
        return BLACK if luminance(color) > 0.179 else WHITE

    @property
    def colorscale(self) -> list[list[Any]]:
        """`weights` as Plotly takes them, each with its place from 0 to 1."""
        last = len(self.weights) - 1
        return [[index / last, color] for index, color in enumerate(self.weights)]


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
)

_NAMED = "<b>%{customdata[0]}</b> to <b>%{customdata[1]}</b><br>"
_PLACED = "<b>%{y}</b> to <b>%{x}</b><br>"

NAMED_CELLS = 64 * 64
"""Up to so many, every cell carries its names; beyond, they would take longer than the weights."""

TRANSLATION_SIZES = {70: 2.4, 160: 1.7}
"""Up to so many characters, the translation's size in rem: what is read first in the back row."""

LONG_TRANSLATION_SIZE = 1.25

ROW_HEIGHT = 34
"""Pixels a row while there are few."""

MIN_ROW_HEIGHT = 16
"""Pixels a row when there are many: as low as a label can be read."""

MIN_PLOT_HEIGHT = 220
MAX_PLOT_HEIGHT = 2400
"""Taller than this, rows are squeezed and only every so many are labelled."""

COMFORTABLE_HEIGHT = 460
"""What fits on a laptop's screen beside the sentence and the controls."""

TOP, BOTTOM = 64, 68
"""Pixels above the plot's labels, for title and axis title, and below it, for the colour bar."""

NARROW_PLOT = 660
"""Pixels that a plot has across at least, on a laptop's screen."""

NUMBERED_ROWS, NUMBERED_COLUMNS = 20, 16
"""Up to so many, a cell has room for its weight as a number."""

LABELLED_COLUMNS = 56
"""Up to so many, every column has room for its label."""


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


def translation_css(text: str) -> str:
    """How the translation is set: large, and smaller where it would push all else off the page."""
    fitting = [size for most, size in TRANSLATION_SIZES.items() if len(text) <= most]
    size = fitting[0] if fitting else LONG_TRANSLATION_SIZE
    return f"font-size: {size}rem; font-weight: 650; line-height: 1.25; margin: 0"


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


def labels_height(texts: list[str]) -> int:
    """Pixels that labels above a plot need: one line, or their length where they must turn.

    Args:
        texts: as they are read, not as they are escaped.
    """
    size = _label_size(texts)
    # A letter is about half as wide as it is high.
    widths = [len(text) * size / 2 for text in texts]
    room = NARROW_PLOT / max(len(texts), 1)
    if all((left + right) / 2 + 4 <= room for left, right in pairwise(widths)):
        return size + 10
    return round(max(widths)) + 14


def layout(theme: Look, *, title: str, height: int, top: int = 0) -> dict[str, Any]:
    """What every figure's layout shares.

    Args:
        theme: the colours.
        title: in sentence case.
        height: of the plot without what surrounds it, in pixels.
        top: of labels above the plot, in pixels.
    """
    return {
        "title": {
            "text": title,
            "font": {"size": 19, "color": theme.text, "weight": 600},
            "x": 0,
            "xref": "container",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6, "l": 2, "b": 6},
        },
        "height": height + top + TOP + BOTTOM,
        "margin": {"l": 8, "r": 8, "t": top + TOP, "b": BOTTOM},
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
            "x": 1,
            "xanchor": "right",
            "y": 0,
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
        "title": {"text": title, "standoff": 10},
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


def chart_config(name: str) -> dict[str, Any]:
    """Plotly's own controls: a vector picture to download, full view, and nothing that surprises.

    Args:
        name: of a downloaded file, without its suffix.
    """
    return {
        "displaylogo": False,
        "scrollZoom": False,
        "modeBarButtons": [["zoom2d", "resetScale2d", "toImage"]],
        "toImageButtonOptions": {"format": "svg", "filename": name},
    }
