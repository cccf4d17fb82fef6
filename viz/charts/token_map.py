"""Maps of tokens: rows down, columns across, one map or several of the same tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import BoolArray, FloatArray, Tokens
from viz.charts.axes import Axis, label_axis
from viz.charts.chart import Layout, Plot, chart, title_lines
from viz.charts.marks import Mark, Sheet, cells, frames, grey, in_legend, points
from viz.charts.scale import Scale
from viz.draw import style
from viz.draw.labels import axis_labels, escape_html, lower_first, side_texts

_BETWEEN, _BELOW = 0.04, 40
"""The gap between two maps: side by side, as a share of the plot; stacked, in pixels."""

_BAR, _NARROW_BAR = 200, 110

_LARGEST_ROW = 30
"""The row height in pixels from which on spots grow no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenMap:
    """One map of several.

    Attributes:
        name: its heading, in sentence case.
        short_name: the same for a colour bar with little room.
        values: (row, column).
        allowed: (row, column); other cells are hatched. None if all are allowed.
        high: the number of the strongest colour; None for the largest.
    """

    name: str
    short_name: str
    unit: str
    values: FloatArray
    marks: Sequence[Mark] = ()
    allowed: BoolArray | None = None
    high: float | None = None


def cell_names(queries: Tokens, keys: Tokens) -> NDArray[np.object_] | None:
    """Both labels of every cell and their positions, (query, key, 2); None if too many."""
    if len(queries) * len(keys) > style.NAMED_CELLS:
        return None
    rows, columns = (
        [f"{label} ({position})" for position, label in enumerate(axis_labels(tokens))]
        for tokens in (queries, keys)
    )
    return np.stack(
        np.meshgrid(np.array(rows, object), np.array(columns, object), indexing="ij"), axis=-1
    )


def hatched(
    forbidden: BoolArray, named: NDArray[np.object_] | None, gap: int, *, legend: bool = True
) -> Mark:
    """A grey ground over forbidden cells, with one hatched outline per run of them in a row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row, each in enumerate(forbidden):
        edges = np.flatnonzero(np.diff(each.astype(np.int8), prepend=0, append=0)) - 0.5
        for left, right in edges.reshape(-1, 2).tolist():
            x += [left, right, right, left, left, None]
            y += [row - 0.5, row - 0.5, row + 0.5, row + 0.5, row - 0.5, None]

    def draw(sheet: Sheet) -> None:
        hover = style.hover_template(named=named is not None, forbidden=True)
        grey(forbidden, gap, customdata=named, hover=hover)(sheet)
        sheet.add(
            {
                "type": "scatter",
                "x": x,
                "y": y,
                "mode": "lines",
                "line": {"width": 0},
                "fill": "toself",
                "fillpattern": {
                    **{"shape": "/", "size": 9, "solidity": 0.15},
                    **{"fgcolor": sheet.theme.hatch, "bgcolor": sheet.theme.forbidden},
                },
                "hoverinfo": "skip",
                "name": "not allowed",
                "showlegend": legend,
            }
        )

    return draw


def spots(
    name: str, places: Sequence[tuple[int, int]], values: FloatArray, *, ring: bool = False
) -> Mark:
    """Dots or rings on cells (row, column), in black or white, named in the legend."""
    symbol, share, size = ("circle-open", 0.62, 14) if ring else ("circle", 0.24, 8)

    def draw(sheet: Sheet) -> None:
        assert sheet.scale is not None, "every map has a scale"
        shown = [float(values[place]) for place in places]
        points(
            [column for _, column in places],
            [row for row, _ in places],
            symbol=symbol,
            size=share * min(sheet.height / len(values), _LARGEST_ROW),
            color=[
                "text" if np.isnan(value) else sheet.scale.ink(sheet.theme, value)
                for value in shown
            ],
            edge=2,
        )(sheet)
        entry = points(
            [], name=name, symbol=symbol, size=size, color="text", edge=2, edge_color="text"
        )
        in_legend(entry)(sheet)

    return draw


def greatest(values: FloatArray) -> list[tuple[int, int]]:
    """The largest cells of each row; none if all cells of a row are equal."""
    return [
        (row, int(column))
        for row, each in enumerate(values)
        if each.min() < each.max()
        for column in np.flatnonzero(each == each.max())
    ]


def key_axis(title: str, keys: Tokens, layout: Layout, *, abreast: int = 1) -> Axis:
    """Keys above a map, with as many labels as there is room for."""
    return label_axis(
        title,
        keys,
        room=(style.LABELLED_COLUMNS // abreast, style.NARROW_LABELLED_COLUMNS),
        side="top",
        # Slanted labels lean out of a narrow figure.
        autotickangles=[0, -90] if layout.narrow else [0, -45, -90],
    )


def keys_height(keys: Tokens, layout: Layout, *, abreast: int = 1) -> int:
    """The pixels of these labels."""
    room = style.NARROW_PLOT_WIDTH if layout.narrow else style.PLOT_WIDTH // abreast
    return style.labels_height(side_texts(keys, layout.narrow), room)


def token_maps(
    layout: Layout,
    title: str,
    maps: Sequence[TokenMap],
    rows: tuple[str, Tokens],
    columns: tuple[str, Tokens],
    *,
    short: str = "",
    framed: int | None = None,
) -> go.Figure:
    """One map or two of the same tokens, each with its scale; the first traces are the maps.

    Args:
        title: in sentence case.
        rows: what rows are, and one token each.
        columns: the same of columns.
        short: the title of a narrow figure, with the whole one in lines below it; "" for none.
    """
    names = cell_names(rows[1], columns[1])
    abreast, gap = len(maps), 1 if len(rows[1]) <= style.NUMBERED_ROWS else 0
    labels = keys_height(columns[1], layout, abreast=abreast)
    frame = [] if framed is None else [frames([(framed, 0)], columns=len(columns[1]))]
    plots, legend = [], style.LEGEND_HEIGHT
    for place, each in enumerate(maps):
        bar = {"xanchor": ("left", "right")[place], "x": place} if layout.narrow else {}
        scale = Scale.of(
            each.values if each.high is None else np.array([each.high]),
            # Two bars share the width of a phone, so they name the map, not the unit.
            each.short_name if layout.narrow else each.unit,
            lengths=(_BAR, _NARROW_BAR),
            under=2 * legend if layout.narrow else legend,
            bar={"x": place * (1 + _BETWEEN) / 2, **bar},
        )
        hover = style.hover_template(named=names is not None, unit=each.unit)
        drawn = [
            cells(each.values, name=each.name, scale=scale, gap=gap, customdata=names, hover=hover)
        ]
        if each.allowed is not None and not each.allowed.all():
            # One legend entry is enough for both maps.
            drawn.append(hatched(~each.allowed, names, gap, legend=not place))
        heading = style.axis_title(_heading(each, layout.narrow))
        plots.append(
            Plot(
                across=key_axis("", columns[1], layout, abreast=abreast).with_(title=heading),
                up=label_axis(rows[0], rows[1], shared=True),
                marks=[*drawn, *each.marks, *frame],
                height=style.plot_height(len(rows[1])),
                scale=scale,
            )
        )
    lines = [f"Rows – {lower_first(rows[0])}", f"Columns – {lower_first(columns[0])}"]
    return chart(
        layout,
        title,
        plots,
        short=short or None,
        lines=title_lines(title, *lines) if short else lines,
        top=labels + (style.LINE_HEIGHT if layout.narrow else 0),
        below=(style.BOTTOM + legend, style.BOTTOM + 2 * legend),
        between=_BETWEEN,
        gap=_BELOW + labels,
        ground="grid",
    )


def _heading(each: TokenMap, narrow: bool) -> str:
    is_named = narrow or each.unit in lower_first(each.name)
    return f"<b>{escape_html(each.name)}</b>" + ("" if is_named else f" – {escape_html(each.unit)}")
