"""One step of a decoding as a figure: the likeliest next tokens."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from model.translation import DecodingStep
from viz.draw import style
from viz.draw.labels import axis_labels

_ROW = 30


def step_figure(
    step: DecodingStep, chosen: int | None, title: str, *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """The likeliest next tokens as bars, likeliest at the top.

    Args:
        step: of a decoding.
        chosen: which of them was taken; None for another.
        title: in plain text.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    labels = axis_labels(step.likeliest)
    colors = [theme.accent if place == chosen else theme.grid for place in range(len(labels))]
    shared = style.layout(theme, title=title, height=_ROW * len(labels))
    layout: dict[str, Any] = {
        **shared,
        "plot_bgcolor": style.CLEAR,
        "xaxis": {
            "title": style.axis_title("" if narrow else "Probability"),
            "range": [0, 1],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "automargin": True,
        },
        "yaxis": style.axis("", labels, 1, autorange="reversed"),
    }
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": list(step.probabilities),
        "y": list(range(len(labels))),
        "marker": {"color": colors},
        "hovertemplate": "%{x:.2%}<extra></extra>",
    }
    return go.Figure({"data": [bars], "layout": layout})
