"""Where panels lie in a figure, and how large their cells are."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from viz.draw import style
from viz.draw.labels import side_texts
from viz.draw.panels import Panel

WIDE, _NARROW = 780, 396
"""Width in pixels of several panels on paper: two columns, one column."""

_SLIDES = (WIDE, 980, 1180)
"""The same on a slide: the smallest width that fits all panels side by side, for the largest
possible text."""

_CELL, _SMALL_CELL, LEAST_CELL, NUMBERED_CELL = 30, 20, 13, 28
"""Pixels of a cell: the most; the most with many cells or in a narrow figure; the least before
panels are stacked; the least for a number."""

_LEAST_SLOT = 110
"""The minimum width of a panel's title in pixels."""

_BETWEEN, _BELOW_ROW, EDGE = 18, 22, 8
"""Pixels between panels side by side, below a row of them, and at the edges of the figure."""

_TITLE_LINE = 18
"""The line height of a panel's title in pixels."""


@dataclass(frozen=True, slots=True)
class PanelPlace:
    """Where a panel lies, in pixels from the upper left corner of the plot.

    Attributes:
        left: of its first column.
        top: of its first row.
        labels: how high the labels above it are.
        has_rows: whether its rows are named, which they are not again beside the same ones.
    """

    left: float
    top: float
    labels: int
    title: list[str]
    has_rows: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """Where all panels lie, in a plot of so many pixels, and how large a cell is."""

    places: list[PanelPlace]
    cell: float
    width: float
    height: float
    label_size: int

    def ends(self, panel: Panel, place: PanelPlace) -> tuple[list[float], list[float]]:
        """Where a panel lies across and up, as shares."""
        n_queries, n_keys = panel.values.shape
        right, bottom = place.left + n_keys * self.cell, place.top + n_queries * self.cell
        return (
            [place.left / self.width, min(1.0, right / self.width)],
            [max(0.0, 1 - bottom / self.height), 1 - place.top / self.height],
        )


def plan_of(panels: Sequence[Panel], narrow: bool, slide: bool) -> Plan:
    """As few rows of panels as stay readable, with the largest text."""
    width, rows, cell = _rows(panels, narrow, slide)
    places: list[PanelPlace] = []
    top = 0.0
    size = _label_size(cell)
    for row in rows:
        gaps = [_label_width(panel, size, narrow) for panel in _named(row)]
        slots = [max(len(panel.keys) * cell, _LEAST_SLOT) for panel in row]
        titles = [
            textwrap.wrap(f"{panel.sign} {panel.title}".strip(), max(8, int(slot / 7.4)))
            for panel, slot in zip(row, slots, strict=True)
        ]
        labels = max(_labels_height(panel, cell, size, narrow) for panel in row)
        top += labels + _TITLE_LINE * max(map(len, titles)) + 4
        ends = accumulate(gap + slot + _BETWEEN for gap, slot in zip(gaps, slots, strict=True))
        places += [
            PanelPlace(end - slot - _BETWEEN, top, labels, lines, gap > 0)
            for end, slot, lines, gap in zip(ends, slots, titles, gaps, strict=True)
        ]
        top += max(len(panel.queries) for panel in row) * cell + _BELOW_ROW
    return Plan(places, cell, width, top - _BELOW_ROW, size)


def _rows(
    panels: Sequence[Panel], narrow: bool, slide: bool
) -> tuple[float, list[Sequence[Panel]], float]:
    """The width in pixels, the panels in rows, and the cell size: as few rows as stay readable."""
    count = len(panels)
    rooms = (_NARROW,) if narrow else _SLIDES if slide else (WIDE,)
    is_small = narrow or max(len(panel.queries) for panel in panels) > style.NUMBERED_ROWS
    # Rows as even as possible: four panels make two rows of two, not three and one.
    for abreast in dict.fromkeys(-(-count // rows) for rows in range(1, count + 1)):
        rows = [panels[start : start + abreast] for start in range(0, count, abreast)]
        for room in rooms:
            width = room - 2 * EDGE
            cell = min(_cell_size(row, width, narrow) for row in rows)
            if cell >= LEAST_CELL:
                return width, rows, min(cell, _SMALL_CELL if is_small else _CELL)
    return width, rows, cell


def _named(row: Sequence[Panel]) -> list[Panel | None]:
    """The panels of a row that need row labels; None for one with its left neighbour's rows."""
    before = [None, *row[:-1]]
    return [
        None if left is not None and left.queries == panel.queries else panel
        for left, panel in zip(before, row, strict=True)
    ]


def _cell_size(row: Sequence[Panel], width: float, narrow: bool) -> float:
    """The cell size that fits these panels side by side; too small if they do not fit.

    Panels of few columns keep the room of their titles.
    """
    size = style.DENSE_FONT_SIZE
    labels = sum(_label_width(panel, size, narrow) for panel in _named(row))
    left = width - labels - _BETWEEN * (len(row) - 1)
    keys = [len(panel.keys) for panel in row]
    cell = left / sum(keys)
    few = [n_keys for n_keys in keys if n_keys * cell < _LEAST_SLOT]
    if few and len(few) < len(keys):
        cell = (left - _LEAST_SLOT * len(few)) / (sum(keys) - sum(few))
    elif few and left < _LEAST_SLOT * len(keys):
        return 0.0 if len(keys) > 1 else cell
    return cell


def _label_size(cell: float) -> int:
    return style.SMALL_FONT_SIZE if cell >= NUMBERED_CELL else style.DENSE_FONT_SIZE


def _text_width(texts: Sequence[str], size: int) -> float:
    """The width of the longest text in pixels: a letter is slightly wider than half its height."""
    return max(map(len, texts)) * size * 0.54


def _label_width(panel: Panel | None, size: int, narrow: bool) -> float:
    return 0.0 if panel is None else _text_width(side_texts(panel.queries, narrow), size) + 10


def _labels_height(panel: Panel, cell: float, size: int, narrow: bool) -> int:
    texts = side_texts(panel.keys, narrow)
    return size + 8 if lie_flat(texts, cell, size) else round(_text_width(texts, size)) + 12


def lie_flat(texts: Sequence[str], cell: float, size: int) -> bool:
    """Whether labels fit above their columns without being turned."""
    return _text_width(texts, size) + 4 <= cell
