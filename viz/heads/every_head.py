"""All heads at once as one figure to keep: layers down, heads across, on one colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.reading import selected_maps
from model.trace.attention_map import AttentionKind, AttentionMap
from viz.charts.axes import ALL, Axis, label_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import cells, grey, legend_square
from viz.charts.scale import weights as weight_scale
from viz.draw import style
from viz.draw.labels import axis_labels
from viz.heads.one_head import CELL, TraceQuestion
from viz.save.numbers import Arrays, Axes, Numbers
from viz.save.picture import Layout

TILE, NARROW_TILE = 110, 60
"""Pixels along the side of a head at most, and on a narrow figure."""

LEAST_HEIGHT = 150
"""Pixels of the plot: in less, Plotly moves the colour bar's title away from it."""

GAP = 0.08
"""Between two heads, as a share of a head's side."""


@dataclass(frozen=True, slots=True, eq=False)
class EveryHead(TraceQuestion):
    """The heads of one kind of attention: all, those of a layer, or those of a number.

    Attributes:
        kind: of attention.
        layer: counted from 0; None for every layer.
        head: counted from 0; None for every number.
    """

    kind: AttentionKind
    layer: int | None = None
    head: int | None = None

    @property
    def title(self) -> str:
        return f"{self.kind.full_name}, every head"

    @property
    def name(self) -> str:
        return f"{self.kind}-every-head"

    @property
    def alt(self) -> str:
        maps, heads = self._chosen
        first = maps[0]
        layers = ", ".join(str(seen.site.layer) for seen in maps)
        return (
            f"{first.site.kind.full_name}, layers {layers}, heads "
            f"{', '.join(map(str, heads))}: one small heatmap each, of "
            f"{style.count_of(len(first.queries), 'query', 'queries')} by "
            f"{style.count_of(len(first.keys), 'key')}."
        )

    caption = (
        "Each square is one head: queries down, keys across; the stronger the colour, the "
        "larger the weight."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """Small heatmaps, layers down and heads across, 0 to 1 in one scale.

        The first trace holds all weights, with NaN between heads. Cells that may not be attended to
        are grey.
        """
        maps, heads = self._chosen
        if len({(seen.site.kind, seen.queries, seen.keys) for seen in maps}) != 1 or not heads:
            raise ValueError(
                "An overview needs at least one layer and one head, and layers of one kind of "
                "attention with the same tokens."
            )
        narrow, first = layout.narrow, maps[0]
        n_queries, n_keys = len(first.queries), len(first.keys)
        down, across = n_queries + _gap(n_queries), n_keys + _gap(n_keys)
        shape = (len(maps) * down - _gap(n_queries), len(heads) * across - _gap(n_keys))
        weights = np.full(shape, np.nan, dtype=np.float32)
        forbidden = np.zeros(shape, dtype=np.bool_)
        for row, seen in enumerate(maps):
            for column, head in enumerate(heads):
                place = np.s_[
                    row * down : row * down + n_queries, column * across : column * across + n_keys
                ]
                one = seen.head(head)
                weights[place] = one.weights
                forbidden[place] = ~one.allowed
        scale = weight_scale()
        marks = [
            cells(
                weights,
                name="weight",
                scale=scale,
                gap=0,
                customdata=_names(maps, heads, shape, down, across),
                hoverongaps=False,
                hover="%{customdata}<br>weight <b>%{z:.6~g}</b>",
            )
        ]
        if forbidden.any():
            marks += [
                grey(forbidden, 0),
                legend_square("not allowed", "forbidden"),
            ]
        tile = min(NARROW_TILE if narrow else TILE, (300 if narrow else 760) // len(heads))
        columns, rows = (
            [str(number) if narrow else f"{name} {number}" for number in numbers]
            for name, numbers in (("Head", heads), ("Layer", [seen.site.layer for seen in maps]))
        )
        return chart(
            layout,
            first.site.kind.full_name,
            Plot(
                across=_axis(columns, n_keys, across, range=[-0.5, shape[1] - 0.5]).with_(
                    side="top", constrain="domain", constraintoward="left"
                ),
                up=_axis(rows, n_queries, down, range=[shape[0] - 0.5, -0.5]).with_(
                    # Every head a square, as in the app, whatever its tokens.
                    scaleanchor="x",
                    scaleratio=across / down,
                    constrain="domain",
                    constraintoward="top",
                ),
                marks=marks,
                height=max(len(maps) * (tile + round(GAP * tile)), LEAST_HEIGHT),
            ),
            lines=["Layers down, heads across"],
            scale=scale,
            top=style.FONT_SIZE + 10,
            below=(style.BOTTOM, style.BOTTOM + style.LEGEND_HEIGHT),
        )

    def numbers(self) -> Numbers:
        maps, heads = self._chosen
        by_layer = [[each.head(head) for head in heads] for each in maps]
        axes = ("layer", "head", *CELL)

        def stacked(array: str) -> NDArray[Any]:
            return np.array([[getattr(head, array) for head in row] for row in by_layer])

        arrays: Arrays = {"weight": (axes, stacked("weights"))}
        if all(each.scores is not None for each in maps):
            arrays["score"] = (axes, stacked("scores"))
        arrays["allowed"] = (axes, stacked("allowed"))
        along: Axes = {
            "layer": [each.site.layer for each in maps],
            "head": heads,
            "query": maps[0].queries,
            "key": maps[0].keys,
        }
        return Numbers({"attention": str(self.kind)}, along, arrays)

    @property
    def _chosen(self) -> tuple[list[AttentionMap], list[int]]:
        return selected_maps(self.seen, self.kind, self.layer, self.head)


def _gap(count: int) -> int:
    return max(1, round(GAP * count))


def _axis(names: list[str], count: int, step: int, **more: Any) -> Axis:
    """An axis on which each head is named in its middle."""
    middles = [place * step + (count - 1) / 2 for place in range(len(names))]
    return label_axis("", names, room=ALL, tickvals=middles, **more)


def _names(
    maps: Sequence[AttentionMap],
    heads: Sequence[int],
    shape: tuple[int, int],
    down: int,
    across: int,
) -> NDArray[np.object_] | None:
    """What each cell is called under the pointer, as the weights lie; None if they are many."""
    if shape[0] * shape[1] > 4 * style.NAMED_CELLS:
        return None
    queries, keys = axis_labels(maps[0].queries), axis_labels(maps[0].keys)
    named = np.full(shape, "", dtype=object)
    for row, seen in enumerate(maps):
        for column, head in enumerate(heads):
            for place, query in enumerate(queries):
                start = column * across
                named[row * down + place, start : start + len(keys)] = [
                    f"Layer {seen.site.layer}, head {head}<br><b>{query}</b> to <b>{key}</b>"
                    for key in keys
                ]
    return named
