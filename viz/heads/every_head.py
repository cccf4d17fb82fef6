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
from viz.draw import style, themes
from viz.draw.labels import axis_labels
from viz.heads.one_head import CELL, OfTrace
from viz.save.numbers import Arrays, Axes, Numbers
from viz.save.picture import Layout

TILE, NARROW_TILE = 110, 60
"""Pixels along the side of a head at most, and on a narrow figure."""

LEAST_HEIGHT = 150
"""Pixels of the plot: in less, Plotly moves the colour bar's title away from it."""

GAP = 0.08
"""Between two heads, as a share of a head's side."""


@dataclass(frozen=True, slots=True, eq=False)
class EveryHead(OfTrace):
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

    @property
    def caption(self) -> str:
        return (
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
        theme, narrow = themes.page(layout.dark), layout.narrow
        first = maps[0]
        n_queries, n_keys = len(first.queries), len(first.keys)
        down, across = n_queries + _gap(n_queries), n_keys + _gap(n_keys)
        shape = (len(maps) * down - _gap(n_queries), len(heads) * across - _gap(n_keys))
        weights = np.full(shape, np.nan, dtype=np.float32)
        forbidden = np.full(shape, np.nan, dtype=np.float32)
        for row, seen in enumerate(maps):
            for column, head in enumerate(heads):
                place = np.s_[
                    row * down : row * down + n_queries, column * across : column * across + n_keys
                ]
                one = seen.head(head)
                weights[place] = one.weights
                forbidden[place] = np.where(one.allowed, np.nan, 1)
        data = [
            {
                "type": "heatmap",
                "z": weights,
                "zmin": 0,
                "zmax": 1,
                "colorscale": theme.colorscale,
                "colorbar": style.weight_bar(theme),
                "customdata": _names(maps, heads, shape, down, across),
                "hoverongaps": False,
                "hovertemplate": "%{customdata}<br>weight <b>%{z:.6~g}</b><extra></extra>",
                "name": "weight",
            }
        ]
        if np.isfinite(forbidden).any():
            data += [
                {
                    "type": "heatmap",
                    "z": forbidden,
                    "zmin": 0,
                    "zmax": 1,
                    "colorscale": [[0, theme.forbidden], [1, theme.forbidden]],
                    "showscale": False,
                    "hoverinfo": "skip",
                    "name": "not allowed",
                },
                style.legend_square(theme, "not allowed", theme.forbidden),
            ]
        tile = min(NARROW_TILE if narrow else TILE, (300 if narrow else 760) // len(heads))
        height = max(len(maps) * (tile + round(GAP * tile)), LEAST_HEIGHT)
        spec = style.layout(
            theme,
            title=first.site.kind.full_name,
            height=height,
            top=style.FONT_SIZE + 10,
            lines=["Layers down, heads across"] if narrow else [],
        )
        spec |= {
            "plot_bgcolor": style.CLEAR,
            "xaxis": _axis(
                [str(head) if narrow else f"Head {head}" for head in heads],
                n_keys,
                across,
                side="top",
            ),
            "yaxis": _axis(
                [str(seen.site.layer) if narrow else f"Layer {seen.site.layer}" for seen in maps],
                n_queries,
                down,
                # Every head a square, as in the app, whatever its tokens.
                scaleanchor="x",
                scaleratio=across / down,
                constrain="domain",
                constraintoward="top",
            ),
        }
        spec["xaxis"] |= {
            "range": [-0.5, shape[1] - 0.5],
            "constrain": "domain",
            "constraintoward": "left",
        }
        spec["yaxis"]["range"] = [shape[0] - 0.5, -0.5]
        return go.Figure({"data": data, "layout": spec})

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


def _axis(names: list[str], count: int, step: int, **more: object) -> dict[str, object]:
    """An axis on which each head is named in its middle."""
    axis = style.axis("", names, 1, **more)
    axis["tickvals"] = [place * step + (count - 1) / 2 for place in range(len(names))]
    return axis


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
