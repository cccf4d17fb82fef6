"""The weight matrices of one head: what it reads of a token, and what it writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import FloatArray, Site
from model.trace.terms import HeadMatrices
from viz.draw import style

HEIGHT = 150
"""Pixels of one matrix."""

_GAP = 62
"""Pixels between two rows of matrices."""

_AXIS_ROOM, _LEFT = 34, 62
"""Pixels of the title of the axis across, above the colour bar, and of all that stands left."""

_HOVER = (
    "row <b>%{y}</b>, dimension <b>%{x}</b> of the token<br><b>%{z:.3~g}</b><extra>%{fullData.name}"
    "</extra>"
)


def matrices_figure(
    matrices: HeadMatrices, site: Site, head: int, *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """W_Q, W_K, W_V and W_O of one head as heatmaps on one colour scale to both sides of 0.

    The head's own numbers run down, d_k or d_v of them, and the token's, d_model, run across; so
    W_Q, W_K and W_V are drawn transposed. The traces are these four, in that order.

    Args:
        matrices: of `Translator.head_matrices`.
        site: where the head is.
        head: counted from 0.
        narrow: for a width below `style.NARROW`: one matrix a row.
        dark: for a dark page.
    """
    theme = style.look(dark)
    drawn = _drawn(matrices)
    columns = 1 if narrow else 2
    rows = len(drawn) // columns
    full = rows * HEIGHT + (rows - 1) * _GAP
    title = site.head_name(head)
    shared = style.layout(theme, title=title, height=full, top=style.SMALL_FONT_SIZE + 10, lines=[])
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] + _AXIS_ROOM,
        "margin": {**shared["margin"], "l": _LEFT, "b": shared["margin"]["b"] + _AXIS_ROOM},
        "plot_bgcolor": style.CLEAR,
        "coloraxis": style.clipped_axis(
            theme, list(drawn.values()), "weight in the matrix", length=style.BAR
        ),
        "annotations": [],
    }
    data = []
    for place, (name, values) in enumerate(drawn.items()):
        suffix = str(place + 1) if place else ""
        row, column = divmod(place, columns)
        top = 1 - row * (HEIGHT + _GAP) / full
        across = [0.0, 1.0] if narrow else [column * 0.53, column * 0.53 + 0.47]
        data.append(
            go.Heatmap(
                z=values,
                coloraxis="coloraxis",
                hovertemplate=_HOVER,
                xaxis=f"x{suffix}",
                yaxis=f"y{suffix}",
                name=name,
            )
        )
        height, width = values.shape
        plain = {
            "ticks": "",
            "tickformat": "d",
            "tickfont": {"size": style.DENSE_FONT_SIZE},
            "showgrid": False,
            "zeroline": False,
        }
        small = {"size": style.SMALL_FONT_SIZE}
        is_last = row == rows - 1
        layout[f"xaxis{suffix}"] = {
            **plain,
            "domain": across,
            "anchor": f"y{suffix}",
            "range": [-0.5, width - 0.5],
            "nticks": 5,
            "title": {"text": "Token’s dimension" if is_last else "", "standoff": 6, "font": small},
        }
        layout[f"yaxis{suffix}"] = {
            **plain,
            "domain": [max(0.0, top - HEIGHT / full), top],
            "anchor": f"x{suffix}",
            "range": [height - 0.5, -0.5],
            "nticks": 4,
            "title": {"text": "" if column else "Head’s number", "standoff": 4, "font": small},
        }
        layout["annotations"].append(
            {
                "text": name,
                "x": across[0],
                "y": top,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
            }
        )
    return go.Figure({"data": data, "layout": layout})


def matrices_alt_text(matrices: HeadMatrices, site: Site, head: int) -> str:
    """The four heatmaps in words; arguments as in `matrices_figure`."""
    sizes = "; ".join(
        f"W_{name} with root mean square {style.number(float(np.sqrt((values**2).mean())))}"
        for name, values in zip("QKVO", _drawn(matrices).values(), strict=True)
    )
    d_model, d_k = matrices.w_q.shape
    return (
        f"{site.head_name(head)}: four heatmaps, the head’s numbers down and the token’s {d_model} "
        f"dimensions across; queries and keys have {d_k} numbers, values {len(matrices.w_o)}: "
        f"{sizes}."
    )


def matrices_caption(matrices: HeadMatrices) -> str:
    """How to read the four heatmaps, in plain text."""
    d_model, d_k = matrices.w_q.shape
    d_v = len(matrices.w_o)
    numbers = f"{d_k} numbers each" if d_k == d_v else f"{d_k}, {d_k} and {d_v} numbers"
    return (
        f"Each row of W_Q, W_K and W_V makes one number of the head’s query, key and value, "
        f"{numbers}, from the token’s {d_model}; W_O writes what the head found back into the "
        "token. A column in the colour of 0 is a dimension that the matrix hardly uses. All four "
        f"share one scale; the largest {style.percent(1 - style.CLIPPED)} of the numbers have its "
        "end colours."
    )


def _drawn(matrices: HeadMatrices) -> dict[str, FloatArray]:
    """The head's numbers down and the token's across, by name."""
    return {
        "W<sub>Q</sub>, to the query": matrices.w_q.T,
        "W<sub>K</sub>, to the key": matrices.w_k.T,
        "W<sub>V</sub>, to the value": matrices.w_v.T,
        "W<sub>O</sub>, back to the token": matrices.w_o,
    }
