"""How the heads of a model came to do what they do, while it was trained: measures as curves.

The curves are computed once, over the model's examples, for more steps of training than the
checkpoint keeps weights of, and lie beside them as growth.json; model.training.growth writes it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.growth import GROWN, Growth
from model.explain.labels import Rule
from model.explain.measures import MEASURES, ON_SOURCE
from model.trace.attention_map import AttentionKind, FloatArray
from viz.draw import style
from viz.draw.labels import escape_html

NAMES = {measure.key: measure.name for measure in (*MEASURES, *ON_SOURCE)}

_HEIGHT, _AXIS = 340, 46
_MOST_TICKS = 9
_TITLE, _TITLE_LINE = 30, 26
"""Characters of a line of the title on a phone, and pixels of each line but the first."""

_EDGE = 0.01
"""Of the axis's length, left free at both ends for the width of a line."""


_CHOSEN, _LABELLED = "the head that is shown", "heads with the label at some step"
_OTHER, _NEEDED = "other heads", "needed for the label"
"""What the legend calls the lines."""


def growth_figure(
    growth: Growth,
    measure: str,
    kind: AttentionKind,
    chosen: tuple[int, int] | None = None,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """One measure of every head of a kind over the steps of training.

    The axis of steps is logarithmic and begins where the measure does. Step 0, which has no
    logarithm, stands at half of the step after it.

    Args:
        growth: of the model.
        measure: the key of one that the kind has.
        kind: of attention.
        chosen: layer and head of the one that stands out; None for none.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme, rule = style.look(dark), GROWN[measure]
    first = growth.measured_from(measure, kind)
    steps = growth.steps[first:]
    across = _on_log_axis(steps)
    strokes = {
        _CHOSEN: (theme.heads[0], 4),
        _LABELLED: (theme.heads[1], 2),
        _OTHER: (theme.muted, 1),
    }
    used: set[str] = set()
    data: list[dict[str, Any]] = []
    for site, curves in growth.of_kind(measure, kind).items():
        for head, curve in enumerate(curves):
            is_chosen = chosen == (site.layer, head)
            has_label = rule.text in growth.labels[site][head]
            drawn_as = _CHOSEN if is_chosen else _LABELLED if has_label else _OTHER
            color, width = strokes[drawn_as]
            used.add(drawn_as)
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": across,
                    "y": curve[first:],
                    "customdata": steps,
                    "line": {"color": color, "width": width},
                    "showlegend": False,
                    "name": f"layer {site.layer}, head {head}",
                    "zorder": 2 * is_chosen + has_label,
                    "hovertemplate": "step %{customdata:,}<br><b>%{y:.0%}</b>"
                    "<extra>%{fullData.name}</extra>",
                }
            )
    named = [
        *(
            (name, color, width, "solid")
            for name, (color, width) in strokes.items()
            if name in used
        ),
        (_NEEDED, theme.text, 2, "dash"),
    ]
    data += [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [None],
            "y": [None],
            "name": name,
            "line": {"color": color, "width": width, "dash": dash},
        }
        for name, color, width, dash in named
    ]
    title = textwrap.wrap(f"{NAMES[measure]}: {_short(kind)}", _TITLE if narrow else 1000)
    shared = style.layout(
        theme,
        title="<br>".join(map(escape_html, title)),
        height=_HEIGHT,
        lines=["Across – steps of training (log scale)"] if narrow else [],
    )
    more = _TITLE_LINE * (len(title) - 1)
    # Plotly holds the last line of a title where a single one would stand.
    shared["title"]["pad"]["t"] += more
    below = shared["margin"]["b"] + _AXIS + (2 * style.LEGEND_HEIGHT if narrow else 0)
    tick = {"tickfont": {"size": style.SMALL_FONT_SIZE}, "automargin": True}
    ticks = _ticks(steps, across)
    ends = np.log10([across[0], across[-1]])
    edge = _EDGE * (ends[1] - ends[0]) or 0.5
    layout = {
        **shared,
        "height": shared["height"] + more - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "t": shared["margin"]["t"] + more, "b": below},
        "plot_bgcolor": style.CLEAR,
        "legend": style.legend_below(shared),
        "shapes": [
            {
                **{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y"},
                **{"y0": rule.least, "y1": rule.least},
                "line": {"color": theme.text, "width": 2, "dash": "dash"},
            }
        ],
        "xaxis": {
            "type": "log",
            "range": [ends[0] - edge, ends[1] + edge],
            "title": style.axis_title("" if narrow else "Steps of training (log scale)"),
            "tickvals": list(ticks.values()),
            "ticktext": [f"{step:,}" for step in ticks],
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
        "yaxis": {
            "title": style.axis_title("" if narrow else _share(rule)),
            "range": [min(0.0, _least(growth, measure, kind)), 1],
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": False,
            **tick,
        },
    }
    return go.Figure({"data": data, "layout": layout})


def _on_log_axis(steps: Sequence[int]) -> list[float]:
    """Where steps stand on an axis of logarithms."""
    zero = next((step for step in steps if step), 1) / 2
    return [step or zero for step in steps]


def _ticks(steps: Sequence[int], across: Sequence[float]) -> dict[int, float]:
    """Round steps between the first and the last, each with its place; 0 where it is among them."""
    powers = [10**power for power in range(len(str(steps[-1])))]
    for factors in ((1, 2, 5), (1,)):
        round_steps = [factor * power for power in powers for factor in factors]
        shown = [step for step in round_steps if across[0] <= step <= steps[-1]]
        if len(shown) <= _MOST_TICKS:
            break
    zero = {} if steps[0] else {0: across[0]}
    return {**zero, **{step: float(step) for step in shown}}


def _least(growth: Growth, measure: str, kind: AttentionKind) -> float:
    return min(float(np.nanmin(each)) for each in growth.of_kind(measure, kind).values())


def _share(rule: Rule) -> str:
    return "Share of the most" if rule.measure == "entropy_share" else "Share of the weight"


def _short(kind: AttentionKind) -> str:
    name = kind.full_name
    return name[:1].lower() + name[1:]


def growth_alt_text(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """The curves in words; arguments as in `growth_figure`."""
    curves = np.concatenate(list(growth.of_kind(measure, kind).values()))
    begin = growth.measured_from(measure, kind)
    first, last = (curves[:, place][np.isfinite(curves[:, place])] for place in (begin, -1))

    def among(values: FloatArray) -> str:
        if not len(values):
            return "no value"
        return f"{style.percent(values.min())} to {style.percent(values.max())}"

    steps = growth.steps[begin:]
    return (
        f"{NAMES[measure]} of {style.count_of(len(curves), 'head')} of {_short(kind)} at "
        f"{style.count_of(len(steps), 'step')} of training: {among(first)} at step {steps[0]:,}, "
        f"{among(last)} at step {steps[-1]:,}. {_kept_words(growth, measure, kind)}"
    )


def growth_caption(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """How to read the curves, in plain text."""
    begin = growth.measured_from(measure, kind)
    first = growth.steps[begin]
    start = f"step {first:,}" if first else "the untrained model"
    before = "" if begin == 0 else " Before that, it cannot be measured."
    return (
        f"Each line is one head’s mean over the example sentences, from {start} to step "
        f"{growth.steps[-1]:,}.{before} The label needs {GROWN[measure].needs}. "
        f"{_kept_words(growth, measure, kind)}"
    )


def _kept_words(growth: Growth, measure: str, kind: AttentionKind) -> str:
    """Which heads end with the label of a measure, and from which step on."""
    text = GROWN[measure].text
    found = [
        f"layer {site.layer}, head {head}, from step {since:,} on"
        for site, head, label, since in growth.kept()
        if site.kind is kind and label == text
    ]
    if not found:
        return f"No head ends up with the label “{text}”."
    heads = "One head ends" if len(found) == 1 else f"{len(found)} heads end"
    return f"{heads} up with the label “{text}”: {'; '.join(found)}."
