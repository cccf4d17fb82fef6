"""One step of a decoding as a figure: what the decoder looks at, and what it may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import FloatArray, Tokens
from model.trace.translation import DecodingStep
from viz.draw import style
from viz.draw.labels import axis_labels, escape_html

_ROW, _STRIP, _HEADING = 30, 34, 66
"""Pixels of a bar, of a row of weights, and of what stands above either."""


def step_figure(
    step: DecodingStep,
    chosen: int | None,
    looks: Sequence[tuple[str, Tokens, FloatArray]],
    title: str,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Rows of weights over the tokens they are on; below them, the likeliest tokens it may write.

    The first traces are the rows; the last is the bars, likeliest at the top.

    Args:
        step: of a decoding.
        chosen: which of the likeliest was taken; None for another.
        looks: whose weights, the tokens looked at, and the weights (key,).
        title: in plain text.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    labels = axis_labels(step.likeliest)
    heights = [_STRIP] * len(looks) + [_ROW * len(labels)]
    full = sum(heights) + _HEADING * len(looks)
    shared = style.bar_layout(theme, title=title, height=full, top=_HEADING, lines=[])
    below = 0 if narrow else style.SMALL_FONT_SIZE + 30
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] + below,
        "margin": {**shared["margin"], "b": shared["margin"]["b"] + below},
        "plot_bgcolor": style.CLEAR,
        "coloraxis": {
            "cmin": 0,
            "cmax": 1,
            "colorscale": theme.colorscale,
            "colorbar": style.weight_bar(theme),
        },
        "annotations": [],
    }
    data: list[dict[str, Any]] = []
    top = float(full)
    for place, (name, tokens, weights) in enumerate(looks):
        suffix = "" if place == 0 else str(place + 1)
        texts = axis_labels(tokens)
        data.append(
            {
                "type": "heatmap",
                "z": weights[np.newaxis],
                "coloraxis": "coloraxis",
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "xgap": 1,
                "name": name,
                "hovertemplate": "<b>%{z:.4~g}</b><extra></extra>",
            }
        )
        layout[f"xaxis{suffix}"] = style.axis(
            "",
            texts,
            style.label_step(len(texts), 12 if narrow else 24),
            range=[-0.5, len(texts) - 0.5],
            side="top",
            anchor=f"y{suffix}",
        )
        layout[f"yaxis{suffix}"] = {
            "domain": [(top - _STRIP) / full, top / full],
            "visible": False,
            "anchor": f"x{suffix}",
        }
        layout["annotations"].append(
            {
                "text": escape_html(name),
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": top / full,
                "yshift": _HEADING - style.SMALL_FONT_SIZE - 16,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": style.SMALL_FONT_SIZE, "color": theme.muted},
            }
        )
        top -= _STRIP + _HEADING
    last = str(len(looks) + 1)
    layout[f"xaxis{last}"] = {
        "title": style.axis_title("" if narrow else "Probability of the next token"),
        "range": [0, 1],
        "tickvals": [0, 0.25, 0.5, 0.75, 1],
        "ticktext": [f"{each}%" for each in (0, 25, 50, 75, 100)],
        "gridcolor": theme.grid,
        "zeroline": False,
        "automargin": True,
        "anchor": f"y{last}",
    }
    layout[f"yaxis{last}"] = style.axis(
        "",
        labels,
        1,
        range=[len(labels) - 0.5, -0.5],
        domain=[0, max(0.0, top / full)],
        anchor=f"x{last}",
    )
    data.append(
        {
            "type": "bar",
            "orientation": "h",
            "x": list(step.probabilities),
            "y": list(range(len(labels))),
            "xaxis": f"x{last}",
            "yaxis": f"y{last}",
            "marker": {
                "color": [
                    theme.accent if place == chosen else theme.beside
                    for place in range(len(labels))
                ]
            },
            "text": [style.percent(share, 1) for share in step.probabilities],
            "textposition": "outside",
            "cliponaxis": False,
            "textfont": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
            "showlegend": False,
            "hovertemplate": "%{x:.3%}<extra></extra>",
        }
    )
    return go.Figure({"data": data, "layout": layout})
