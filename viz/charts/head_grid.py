"""Grids of heads: layers down, heads across, one grid a kind of attention."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from numpy.typing import NDArray

from viz.charts.axes import head_axis, layer_axis
from viz.charts.chart import Layout, Plot, chart, title_lines
from viz.charts.marks import Mark, cells
from viz.charts.scale import Scale
from viz.draw import style

ROW = 44
"""Pixels of a layer."""

LINE = "Rows – layer, columns – head"
"""What rows and columns are, for a figure without axis titles."""

_HEADING, _BELOW = 24, (style.BOTTOM + 46, style.BOTTOM + 24)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadGrid:
    """The numbers of one kind's heads.

    Attributes:
        name: above the grid.
        values: (layer, head).
        said: what the pointer says of a cell besides its layer and head, for Plotly.
        heads: the names of the columns; none for their numbers.
    """

    name: str
    values: NDArray[Any]
    said: str
    marks: Sequence[Mark] = ()
    heads: Sequence[str] = ()
    more: dict[str, Any]


def head_grids(
    layout: Layout, title: str, grids: Sequence[HeadGrid], scale: Scale, *, short: str | None = None
) -> go.Figure:
    """One cell a head, all in one scale; the first traces are the grids' cells.

    A narrow figure with a `short` title has the whole one in lines below it.
    """
    row = style.row_height(ROW, max(len(grid.values) for grid in grids))
    return chart(
        layout,
        title,
        [_plot(grid, row) for grid in grids],
        short=short,
        lines=[LINE] if short is None else title_lines(title, LINE),
        scale=scale,
        top=_HEADING,
        below=_BELOW,
        ground="grid",
    )


def _plot(grid: HeadGrid, row: int) -> Plot:
    n_layers, n_heads = grid.values.shape
    hover = f"{grid.name}<br>layer <b>%{{y}}</b>, head <b>%{{x}}</b><br>{grid.said}"
    return Plot(
        across=head_axis(grid.heads or [*map(str, range(n_heads))]),
        up=layer_axis(n_layers),
        marks=[cells(grid.values, name=grid.name, hover=hover, **grid.more), *grid.marks],
        heading=grid.name,
        height=row * n_layers,
    )
