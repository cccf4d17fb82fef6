"""What is left of a translation while heads are removed one after another, as lines."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from model.head_effects import Removal
from viz.draw import style

TITLE = "Heads removed one after another"

_HEIGHT, _AXIS = 320, 46
_LEAST, _RANDOM, _BAND = "least important first", "random order, mean", "random orders, all"
_HOVER = "%{x} heads removed<br>log-probability <b>%{y:.4~g}</b><extra>%{fullData.name}</extra>"


def removal_figure(removal: Removal, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """The translation's log-probability over the number of heads that are gone.

    The first trace is the order of importance, the second the mean of the random orders.

    Args:
        removal: of one translation.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    low, high = removal.at_random.min(axis=0), removal.at_random.max(axis=0)
    removed = list(removal.removed)

    def line(name: str, y: Any, **more: Any) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines",
            "x": removed,
            "y": y,
            "name": name,
            "showlegend": True,
            "hovertemplate": _HOVER,
            **more,
        }

    edge = {"line": {"width": 0, "color": theme.muted}, "hoverinfo": "skip", "hovertemplate": None}
    data = [
        line(_LEAST, removal.least_first, line={"color": theme.heads[0], "width": 3}),
        line(
            _RANDOM,
            removal.at_random.mean(axis=0),
            line={"color": theme.heads[1], "width": 2, "dash": "dash"},
        ),
        line(_BAND, low, **{**edge, "showlegend": False}),
        line(_BAND, high, **edge, fill="tonexty", fillcolor=_pale(theme.heads[1])),
    ]
    shared = style.layout(
        theme,
        title=TITLE,
        height=_HEIGHT,
        lines=["Across – heads removed", "Up – log-probability"] if narrow else [],
    )
    below = shared["margin"]["b"] + _AXIS + (style.LEGEND_HEIGHT if narrow else 0)
    tick = {"tickfont": {"size": style.SMALL_FONT_SIZE}, "automargin": True}
    layout = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "plot_bgcolor": style.CLEAR,
        "legend": style.legend_below(shared),
        "xaxis": {
            "title": style.axis_title("" if narrow else "Heads removed"),
            "range": [0, removed[-1]],
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
        "yaxis": {
            "title": style.axis_title("" if narrow else "Log-probability of the translation"),
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
    }
    return go.Figure({"data": data, "layout": layout})


def _pale(color: str) -> str:
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.2)"


def removal_alt_text(removal: Removal) -> str:
    """The lines in words."""
    half = len(removal.removed) // 2
    return (
        f"{TITLE}: log-probability of the translation from "
        f"{style.number(float(removal.least_first[0]))} with all heads to "
        f"{style.number(float(removal.least_first[-1]))} without any. With "
        f"{removal.removed[half]} heads removed it is "
        f"{style.number(float(removal.least_first[half]))} when the least important go first, and "
        f"{style.number(float(removal.at_random[:, half].mean()))} on average over "
        f"{len(removal.at_random)} random orders."
    )


def removal_caption(removal: Removal) -> str:
    """How to read the lines, in plain text."""
    return (
        "The same translation is scored while more and more heads are gone. Solid: first those "
        "that cost least when removed alone; dashed: the mean of "
        f"{len(removal.at_random)} random orders, with all of them in the band. Where the solid "
        "line stays up, the model can do without these heads for this sentence (Michel et al. "
        "2019)."
    )
