"""What is left of a translation while heads are removed one after another, as lines."""

from __future__ import annotations

from typing import Any, Literal

import plotly.graph_objects as go

from model.explain.ablation_results import ExamplesRemoval, Removal
from viz.draw import style
from viz.draw.labels import escape_html
from viz.effects.effect_map import lower_first

TITLE = "Heads removed one after another"
LOG_PROB = "Log-probability of the translation"

Measure = Literal["log_prob", "chrf"]
MEASURES: dict[Measure, str] = {"log_prob": "Log-probability", "chrf": "chrF"}
"""Of curves over examples, what they hold."""

_HEIGHT, _AXIS = 320, 46
_LEAST, _RANDOM, _BAND = "least important first", "random order, mean", "random orders, all"
_HOVER = "heads removed: %{x}<br>VALUE <b>%{y:.4~g}</b><extra>%{fullData.name}</extra>"


def removal_figure(
    removal: Removal,
    title: str = TITLE,
    value: str = LOG_PROB,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """What is left over the number of heads that are gone.

    The first trace is the order of importance, the second the mean of the random orders.

    Args:
        removal: of one translation, or of examples.
        title: in plain text.
        value: what is left, in sentence case.
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
            "hovertemplate": _HOVER.replace("VALUE", escape_html(lower_first(value))),
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
        title=escape_html(title),
        height=_HEIGHT,
        lines=["Across – heads removed", f"Up – {lower_first(value)}"] if narrow else [],
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
            "title": style.axis_title("" if narrow else value),
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
    }
    return go.Figure({"data": data, "layout": layout})


def _pale(color: str) -> str:
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.2)"


def removal_alt_text(removal: Removal, title: str = TITLE, value: str = LOG_PROB) -> str:
    """The lines in words; arguments as in `removal_figure`."""
    half = len(removal.removed) // 2
    return (
        f"{title}: {lower_first(value)} from "
        f"{style.number(float(removal.least_first[0]))} with all heads to "
        f"{style.number(float(removal.least_first[-1]))} without any. With "
        f"{style.count_of(removal.removed[half], 'head')} removed it is "
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


def examples_value(measure: Measure) -> str:
    """What is left, "log_prob" or "chrf" of `ExamplesRemoval`, in sentence case."""
    return MEASURES[measure]


def examples_caption(found: ExamplesRemoval, measure: Measure) -> str:
    """How to read the lines over a checkpoint's examples, in plain text."""
    what = {
        "log_prob": "The mean natural logarithm of a token’s probability, over the given "
        f"translations of the model’s {found.sentences} examples.",
        "chrf": f"chrF of what the model writes greedily for its {found.sentences} examples, held "
        "against the given translations: 100 is the same text.",
    }[measure]
    return (
        f"{what} Solid: heads go in the order of what these translations together lose without "
        f"each alone; dashed: the mean of {len(found.chrf.at_random)} random orders, all of them "
        "in the band. Computed once for this model, after Michel et al. 2019 and Voita et al. 2019."
    )
