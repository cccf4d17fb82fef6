"""Which map to believe: every method's agreement with the truth, as bars and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.agreement import Agreement, MeanAgreement, mean_agreement
from model.explain.attribution import METHODS, TELLING, Agreements, Attributions
from model.trace.attention_map import Site
from viz.draw import style
from viz.draw.labels import escape_html
from viz.effects.effect_map import lower_first
from viz.effects.estimate_vs_deletion import part_name

CORRELATION, TOP = "Rank correlation", "Same token on top"
"""The two numbers of a method."""

PLAIN = "weights"
"""The method that the others are held against."""

_ALIKE = 1e-9
"""Numbers that differ by less are the same."""

_ROW, _HEADING, _AXIS, _BELOW = 34, 30, 30, 34
_BETWEEN = 0.06
_NUMBER_ROOM = 0.14
"""Right of the bars, as a share of a panel, for their numbers."""

_SHORT = {"residual_norms": "Norms with residual"}
"""On a narrow figure, where a title is too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well one method agrees with the truth; nan where nothing tells it.

    Attributes:
        method: its name.
        correlation: of this sentence, or of one of its target tokens.
        top: the same for the greatest cell.
        examples: both over the examples, or None where they were not measured.
    """

    method: str
    correlation: float
    top: float
    examples: tuple[MeanAgreement, MeanAgreement] | None = None

    @property
    def both(self) -> tuple[float, float]:
        """Its two numbers."""
        return self.correlation, self.top


def scores(
    found: Attributions,
    site: Site | None = None,
    head: int | None = None,
    *,
    later: bool = False,
    token: int | None = None,
    examples: Sequence[Agreements] = (),
) -> list[Score]:
    """Every method of one part of the model, the one with the highest rank correlation first.

    Args:
        found: the maps of the sentence that is looked at.
        site: of cross-attention; None for the whole model.
        head: None for all heads together.
        later: whether the layer is read one row later.
        token: one target token, from 0; None for the mean of all.
        examples: of other sentences, for a mean over them.

    Raises:
        AttributionError: if there is no such map.
    """
    listed = []
    for method in dict.fromkeys(each.method for each in found.maps):
        place = method, site, head
        over = None
        if examples:
            over = (
                mean_agreement([each[place].correlation for each in examples]),
                mean_agreement([each[place].top for each in examples]),
            )
        listed.append(
            Score(
                method=method,
                correlation=_of(found.correlation(*place, later=later), token),
                top=_of(found.top_agreement(*place, later=later), token),
                examples=over,
            )
        )
    return sorted(listed, key=lambda each: _order(each.correlation), reverse=True)


def _of(agreement: Agreement, token: int | None) -> float:
    if token is None:
        return agreement.mean
    # Read one row later, there is no row for the last token.
    return float(agreement.rows[token]) if token < len(agreement.rows) else float("nan")


def _order(value: float) -> float:
    return -2.0 if np.isnan(value) else value


def ranking_title(site: Site | None, head: int | None) -> str:
    """What the bars are called."""
    return f"Agreement with the truth: {part_name(site, head)}"


def ranking_figure(
    ranked: Sequence[Score],
    title: str,
    *,
    marked: str = "",
    of_token: bool = False,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """A row a method, with two bars: rank correlation with the truth, and the same token on top.

    The first two traces are the bars; where examples were measured, the next two are their means
    with their intervals.

    Args:
        ranked: as `scores` gives them.
        title: in plain text.
        marked: a method whose bars stand out.
        of_token: whether they are of one target token, and not of the whole sentence.
        narrow: for a width below `style.NARROW`: one panel below the other.
        dark: for a dark page.
    """
    theme = style.look(dark)
    names = [
        _SHORT.get(each.method, METHODS[each.method].title)
        if narrow
        else METHODS[each.method].title
        for each in ranked
    ]
    rows = list(range(len(ranked)))
    plot = _ROW * len(ranked)
    full = 2 * plot + _HEADING + _AXIS + _BELOW if narrow else plot
    shared = style.layout(
        theme,
        title="Agreement with the truth" if narrow else escape_html(title),
        height=full,
        top=_HEADING if narrow else 0,
        lines=[escape_html(title.partition(": ")[2])] if narrow else [],
    )
    of = "this target token" if of_token else "this sentence"
    over = any(each.examples for each in ranked)
    below = _AXIS + style.LEGEND_HEIGHT * (2 if narrow and over else 1) + 12
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] - shared["margin"]["b"] + below,
        "margin": {**shared["margin"], "b": below},
        "legend": style.legend_below(shared),
        "plot_bgcolor": style.CLEAR,
        "bargap": 0.35,
        "annotations": [],
    }
    bars, means = [], []
    for place, name in enumerate((CORRELATION, TOP)):
        suffix = ("", "2")[place]
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        values = [each.both[place] for each in ranked]
        bars.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": values,
                "y": rows,
                "marker": {
                    "color": [
                        theme.accent if each.method == marked else theme.beside for each in ranked
                    ]
                },
                "customdata": [METHODS[each.method].title for each in ranked],
                "hovertemplate": f"%{{customdata}}<br>{name.lower()} <b>%{{x:.4~g}}</b>"
                f"<extra>{of}</extra>",
                "name": of,
                "showlegend": not place,
                **axes,
            }
        )
        if over:
            means.append(_means(ranked, place, name, theme) | axes)
        lows = [each.examples[place].low for each in ranked if each.examples]
        low = min([0.0, *(value for value in [*values, *lows] if not np.isnan(value))])
        start = place * (1 + _BETWEEN) / 2
        across = [0.0, 1.0] if narrow else [start, start + (1 - _BETWEEN) / 2]
        top = full - place * (plot + _HEADING + _AXIS + _BELOW) if narrow else full
        down = [max(0.0, (top - plot) / full), top / full]
        layout[f"xaxis{suffix}"] = {
            "domain": across,
            "anchor": f"y{suffix}",
            "range": [low * 1.05, 1 + (1 - low) * _NUMBER_ROOM],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"] if not place else ["0%", "50%", "100%"],
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "gridcolor": theme.grid,
            "zeroline": True,
            "zerolinecolor": theme.muted,
        }
        layout[f"yaxis{suffix}"] = style.axis(
            "",
            [escape_html(each) for each in names],
            1,
            range=[len(ranked) - 0.5, -0.5],
            domain=down,
            anchor=f"x{suffix}",
            showticklabels=narrow or not place,
        )
        layout["annotations"] += [
            _note(name, across[0], down[1], theme, xref="paper", yref="paper", yanchor="bottom"),
            *(
                _note(
                    _written(value, place),
                    1 + (1 - low) * _NUMBER_ROOM,
                    row,
                    theme,
                    xref=f"x{suffix}",
                    yref=f"y{suffix}",
                    xanchor="right",
                )
                for row, value in enumerate(values)
            ),
        ]
    return go.Figure({"data": [*bars, *means], "layout": layout})


def _means(ranked: Sequence[Score], place: int, name: str, theme: style.Look) -> dict[str, Any]:
    each = [(row, score.examples[place]) for row, score in enumerate(ranked) if score.examples]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [mean.mean for _, mean in each],
        "y": [row for row, _ in each],
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [mean.high - mean.mean for _, mean in each],
            "arrayminus": [mean.mean - mean.low for _, mean in each],
            "color": theme.text,
            "thickness": 2,
        },
        "marker": {"symbol": "diamond", "size": 10, "color": theme.text},
        "customdata": [METHODS[score.method].title for score in ranked if score.examples],
        "hovertemplate": f"%{{customdata}}<br>{name.lower()} <b>%{{x:.4~g}}</b>"
        "<extra>the examples</extra>",
        "name": "the model’s examples, mean and 95% interval",
        "showlegend": not place,
    }


def _note(text: str, x: float, y: float, theme: style.Look, **more: Any) -> dict[str, Any]:
    return {
        "text": text,
        "x": x,
        "y": y,
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
        **more,
    }


def _written(value: float, place: int) -> str:
    """A number beside its bar: a correlation, or a share."""
    if np.isnan(value):
        return "–"
    return style.percent(value) if place else style.fixed(value, 2)


def ranking_alt_text(ranked: Sequence[Score], title: str) -> str:
    """The bars in words."""
    listed = "; ".join(
        f"{lower_first(METHODS[each.method].title)} {_written(each.correlation, 0)} and "
        f"{_written(each.top, 1)}"
        for each in ranked
    )
    return (
        f"{title}. Rank correlation with the truth, and how often the same token is on top: "
        f"{listed}."
    )


def ranking_caption(token: int | None, *, later: bool = False) -> str:
    """How to read the bars, in plain text.

    Args:
        token: as in `scores`.
        later: as in `scores`.
    """
    rows = (
        " This layer is read one row later, which leaves out the last target token; only "
        "gradient × weight counts it."
        if later
        else ""
    )
    of = "of this target token" if token is not None else "on average over target tokens"
    return (
        "Rank correlation: how alike a map and the truth order the source tokens (Spearman’s, "
        f"{of}); 1 is the same order, 0 none. Same token on top: whether the source token whose "
        "deletion costs most is also the greatest of the map, counting only target tokens that "
        f"lose at least {TELLING} when some source token is deleted. Lines: the model’s "
        "examples, where they are measured; "
        f"one sentence alone says little.{rows}"
    )


def ranking_sentences(ranked: Sequence[Score], token_name: str = "") -> list[str]:
    """Which map to believe, in a number, in plain text.

    Args:
        ranked: as `scores` gives them.
        token_name: the target token that they are of; "" for the whole sentence.
    """
    where = f"For “{token_name}”" if token_name else "For this sentence"
    found = [_believed(where, {each.method: each.correlation for each in ranked})]
    if not token_name:
        found[0] += _on_top({each.method: each.top for each in ranked})
    means = {each.method: each.examples for each in ranked if each.examples}
    if means:
        intervals = {
            method: f" [{_written(held.low, 0)}, {_written(held.high, 0)}]"
            for method, (held, _) in means.items()
        }
        count = max(held.n_sentences for held, _ in means.values())
        found.append(
            _believed(
                f"Over {count} examples of this model",
                {method: held.mean for method, (held, _) in means.items()},
                intervals,
            )
            + _on_top({method: held.mean for method, (_, held) in means.items()})
        )
    return found


def brief_sentence(ranked: Sequence[Score]) -> str:
    """Which map comes nearest the truth, over the examples where they were measured."""
    values = {
        each.method: each.examples[0].mean if each.examples else each.correlation for each in ranked
    }
    best, most = _best(values)
    if not best:
        return "Nothing tells which map to believe"
    text = f"Nearest the truth: {_names(best)}, {_written(most, 0)}"
    return text if PLAIN in best else f"{text}; plain weights {_written(values[PLAIN], 0)}"


def _best(values: Mapping[str, float]) -> tuple[list[str], float]:
    """The methods that share the greatest number, and that number; none where there is none."""
    told = {method: value for method, value in values.items() if not np.isnan(value)}
    most = max(told.values(), default=float("nan"))
    return [method for method, value in told.items() if value >= most - _ALIKE], most


def _believed(
    where: str, values: Mapping[str, float], intervals: Mapping[str, str] | None = None
) -> str:
    best, most = _best(values)
    if not best:
        return f"{where}, nothing tells which map to believe."
    interval = intervals or dict.fromkeys(values, "")
    text = (
        f"{where}, believe {_names(best)} first: rank correlation {_written(most, 0)}"
        f"{interval[best[0]]} with the truth"
    )
    if PLAIN in best:
        return f"{text}. No other map does better than the plain weights."
    return f"{text}; the plain weights reach {_written(values[PLAIN], 0)}{interval[PLAIN]}."


def _on_top(values: Mapping[str, float]) -> str:
    best, most = _best(values)
    if not best:
        return ""
    text = (
        f" The token that matters most is on top most often by {_names(best)}, {_written(most, 1)}"
    )
    if PLAIN in best:
        return f"{text}."
    return f"{text}; by the plain weights, {_written(values[PLAIN], 1)}."


def _names(methods: Sequence[str]) -> str:
    *others, last = [lower_first(METHODS[method].title) for method in methods]
    return f"{', '.join(others)} and {last}" if others else last
