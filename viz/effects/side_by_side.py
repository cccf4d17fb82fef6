"""One map, or two of the same tokens side by side, with marks on their cells."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import BoolArray, FloatArray, Tokens
from viz.charts.chart import Layout
from viz.charts.marks import Mark, Sheet, frames, in_legend, points
from viz.charts.token_map import TokenMap, token_maps
from viz.save.picture import Picture

Cells = Sequence[tuple[int, int]]

COSTLIEST, GREATEST = "costs most when deleted", "greatest in this row of the map"
"""The meaning of marks: on a source token, and on a cell."""

_SYMBOLS = {COSTLIEST: ("circle-open", 0.62, 14), GREATEST: ("circle", 0.24, 8)}
"""The symbol of each mark, its size as a share of a row's height, and in the legend in pixels."""

_LARGEST_ROW = 30
"""The row height in pixels from which on marks grow no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One map.

    Attributes:
        name: its heading, in sentence case.
        short_name: the same for a colour bar with little room.
        unit: of its numbers.
        values: (row, column).
        marks: the cells with each mark, by the mark's meaning.
        allowed: (row, column); other cells are hatched. None if all are allowed.
    """

    name: str
    short_name: str
    unit: str
    values: FloatArray
    marks: dict[str, Cells]
    allowed: BoolArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The rows and columns of maps.

    Attributes:
        rows: one token each.
        columns: one token each.
        row_title: such as "Target token predicted".
        column_title: such as "Source token".
    """

    rows: Tokens
    columns: Tokens
    row_title: str
    column_title: str


class SideBySide(Picture):
    """One map or two of the same tokens, each on its own scale."""

    __slots__ = ()

    @property
    @abstractmethod
    def panels(self) -> list[Panel]:
        """The maps."""

    @property
    @abstractmethod
    def sides(self) -> Sides:
        """Their rows and columns."""

    @property
    @abstractmethod
    def narrow_title(self) -> str:
        """The title of a narrow figure, with the whole title in lines below it; "" for none."""

    @property
    @abstractmethod
    def framed(self) -> int | None:
        """The row that is framed, from 0; None for none."""

    def figure(self, layout: Layout) -> go.Figure:
        """The first traces are the maps, their values unchanged."""
        sides, framed = self.sides, self.framed
        rows, columns = (sides.row_title, sides.rows), (sides.column_title, sides.columns)
        panels = self.panels
        n_columns = len(sides.columns)
        frame = [] if framed is None else [frames([(framed, 0)], columns=n_columns)]
        used = dict.fromkeys(mark for panel in panels for mark in panel.marks)
        legend = [_legend(mark) for mark in used]
        maps = [
            TokenMap(
                name=panel.name,
                short_name=panel.short_name,
                unit=panel.unit,
                values=panel.values,
                marks=[
                    *(_mark(mark, cells, panel.values) for mark, cells in panel.marks.items()),
                    *(legend if panel is panels[0] else []),
                ],
                allowed=panel.allowed,
            )
            for panel in panels
        ]
        short = self.narrow_title
        return token_maps(layout, self.title, maps, rows, columns, short=short, marks=frame)


def greatest(values: FloatArray) -> list[tuple[int, int]]:
    """The largest cells of each row; none if all cells of a row are equal."""
    return [
        (row, int(column))
        for row, each in enumerate(values)
        if each.min() < each.max()
        for column in np.flatnonzero(each == each.max())
    ]


def _mark(mark: str, cells: Cells, values: FloatArray) -> Mark:
    """A mark on cells, in black or white."""
    symbol, share, _ = _SYMBOLS[mark]

    def draw(sheet: Sheet) -> None:
        assert sheet.scale is not None, "every map has a scale"
        shown = [float(values[cell]) for cell in cells]
        colors = [
            "text" if np.isnan(value) else sheet.scale.ink(sheet.theme, value) for value in shown
        ]
        points(
            [column for _, column in cells],
            [row for row, _ in cells],
            symbol=symbol,
            size=share * min(sheet.height / len(values), _LARGEST_ROW),
            color=colors,
            edge=2,
        )(sheet)

    return draw


def _legend(mark: str) -> Mark:
    symbol, _, size = _SYMBOLS[mark]
    return in_legend(mark, symbol=symbol, size=size, color="text", edge=2, edge_color="text")
