"""All heads at once as one figure to keep: layers down, heads across, on one colour scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import AttentionMap
from viz.draw import style
from viz.draw.labels import axis_labels

TILE, NARROW_TILE = 110, 60
"""Pixels along the side of a head at most, and on a narrow figure."""

LEAST_HEIGHT = 150
"""Pixels of the plot: in less, Plotly moves the colour bar's title away from it."""

GAP = 0.08
"""Between two heads, as a share of a head's side."""


def heads_overview(
    maps: Sequence[AttentionMap],
    heads: Sequence[int],
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Heads of several layers as small heatmaps: layers down, heads across, 0 to 1 in one scale.

    The first trace holds all weights, with NaN between heads. Cells that may not be attended to are
    grey.

    Args:
        maps: one a layer, of one kind of attention and with the same tokens.
        heads: counted from 0.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        IndexError: if there is no such head.
        ValueError: if the maps differ in kind or tokens, or there is no map or no head.
    """
    if len({(seen.site.kind, seen.queries, seen.keys) for seen in maps}) != 1 or not heads:
        raise ValueError(
            "An overview needs at least one layer and one head, and layers of one kind of "
            "attention with the same tokens."
        )
    theme = style.look(dark)
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
    layout = style.layout(
        theme,
        title=first.site.kind.full_name,
        height=height,
        top=style.FONT_SIZE + 10,
        lines=["Layers down, heads across"] if narrow else [],
    )
    layout |= {
        "plot_bgcolor": style.CLEAR,
        "xaxis": _axis(
            [str(head) if narrow else f"Head {head}" for head in heads], n_keys, across, side="top"
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
    layout["xaxis"] |= {
        "range": [-0.5, shape[1] - 0.5],
        "constrain": "domain",
        "constraintoward": "left",
    }
    layout["yaxis"]["range"] = [shape[0] - 0.5, -0.5]
    return go.Figure({"data": data, "layout": layout})


def overview_alt_text(maps: Sequence[AttentionMap], heads: Sequence[int]) -> str:
    """The overview in words, for those who do not see it."""
    first = maps[0]
    layers = ", ".join(str(seen.site.layer) for seen in maps)
    return (
        f"{first.site.kind.full_name}, layers {layers}, heads {', '.join(map(str, heads))}: one "
        f"small heatmap each, of "
        f"{style.count_of(len(first.queries), 'query', 'queries')} by "
        f"{style.count_of(len(first.keys), 'key')}."
    )


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
