"""What searches found, as a list: each translation, how it was found, and how likely it is."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.translation import Decoding, SearchNode
from viz.decoding.search import search_name
from viz.decoding.tree import hypothesis_text
from viz.draw import style
from viz.draw.labels import escape_html

TELLING = 7.0
"""Up to such a difference of log-probabilities, about a thousandfold, the factor is named."""

_LINE, _BAR, _GAP = 22, 18, 26
"""Pixels of a line of text, of a bar below it, and between two translations."""

_ACROSS, _NARROW_ACROSS = 96, 38
"""Letters that a line of a translation may have."""


@dataclass(frozen=True, slots=True)
class Found:
    """A translation in a list.

    Attributes:
        mark: stands before it, such as "A" or "2–8".
        name: how it was found.
        text: what it reads as.
        node: of the search, which ends it.
        best: whether it stands out.
    """

    mark: str
    name: str
    text: str
    node: SearchNode
    best: bool = False


def _is_many(search: Search) -> bool:
    return search.sampling is not None and search.sampling.n_samples > 1


def compared(decodings: Sequence[Decoding], searches: Sequence[Search]) -> list[Found]:
    """What two searches found: the best of a beam search, and all samples, best first."""
    return [
        Found(f"{mark}, {rank + 1}" if _is_many(search) else mark, search_name(search), text, node)
        for mark, decoding, search in zip("AB", decodings, searches, strict=True)
        for rank, node in enumerate(decoding.ranked if _is_many(search) else decoding.ranked[:1])
        for text in [hypothesis_text(decoding, decoding.nodes.index(node))]
    ]


def comparison_words(one: Decoding, other: Decoding, a: Search, b: Search) -> str:
    """Which translation the model thinks likelier, and what scores can tell."""
    names = [
        f"the best sample of {mark}" if _is_many(search) else mark
        for mark, search in (("A", a), ("B", b))
    ]
    if one.translation.token_ids == other.translation.token_ids:
        if _is_many(a) or _is_many(b):
            return f"{names[0][0].upper()}{names[0][1:]} and {names[1]} are the same translation."
        return "Both searches find the same translation."
    gap = one.ranked[0].log_prob - other.ranked[0].log_prob
    told = likelier(names[0], names[1], gap)
    if a.length_penalty == b.length_penalty:
        return told
    return f"{told} The scores have different length penalties and do not compare."


def likelier(one: str, other: str, gap: float) -> str:
    """Which of two the model thinks likelier, by one's log-probability less the other's."""
    if gap == 0:
        return f"The model gives {one} and {other} the same probability."
    first, second = (one, other) if gap > 0 else (other, one)
    ahead = f"By log-probability {first} is ahead of {second} by {style.number(abs(gap))}"
    if abs(gap) > TELLING:
        return f"{ahead}."
    # Two digits that count: the logarithm before it has no more.
    factor = float(f"{math.exp(abs(gap)):.2g}")
    if factor == 1:
        return f"{ahead}: their probabilities are nearly the same."
    return f"{ahead}: the model gives it {factor:g} times the probability."


def score(node: SearchNode) -> float:
    """Log-probability over length penalty, without what rounding makes of it."""
    return round(node.score or 0.0, 5)


def by_width(decodings: Sequence[Decoding]) -> list[Found]:
    """What beams of width 1, 2, … found; neighbours that found the same stand together."""
    best = [decoding.ranked[0] for decoding in decodings]
    texts = [hypothesis_text(each, each.nodes.index(each.ranked[0])) for each in decodings]
    top = max(map(score, best))
    found = []
    for _, group in groupby(range(len(best)), texts.__getitem__):
        first, *rest = group
        named = f"widths {first + 1} to {rest[-1] + 1}" if rest else f"width {first + 1}"
        mark = f"{first + 1}–{rest[-1] + 1}" if rest else str(first + 1)
        wins = len(set(texts)) > 1 and score(best[first]) == top
        name = f"{named}, best" if wins else named
        found.append(Found(mark, name, texts[first], best[first], wins))
    return found


def widths_words(best: Sequence[SearchNode], texts: Sequence[str], alpha: float) -> str:
    """How to read the list, and whether wider was better."""
    scores = [score(node) for node in best]
    narrowest = 1 + scores.index(max(scores))
    count = len(set(texts))
    said = (
        "Every width finds the same translation."
        if count == 1
        else f"{len(best)} widths find {count} translations; a width of {narrowest} is the "
        f"narrowest that finds the one with the best score."
    )
    worse = next(
        (
            width
            for width in range(2, len(best) + 1)
            if scores[width - 1] < max(scores[: width - 1])
        ),
        None,
    )
    if worse is not None:
        said += (
            f" Wider is not always better: a width of {worse} ends with a lower score than a "
            "narrower one."
        )
    return (
        f"{said} A width of 1 is greedy decoding. All are scored alike: log-probability over a "
        f"length penalty of {alpha:g}; nearer 0 is better."
    )


def found_figure(
    found: Sequence[Found],
    values: Sequence[float],
    title: str,
    unit: str,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Each translation as text, and below it a bar as long as its value is far from 0.

    Args:
        found: in their order.
        values: one each, at most 0.
        title: in plain text.
        unit: what the values are, as the title of their axis.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    across = _NARROW_ACROSS if narrow else _ACROSS
    places: list[float] = []
    notes: list[dict[str, Any]] = []
    down = 0.0
    for each in found:
        text = textwrap.wrap(f"{each.mark}. {each.text or '∅'}", across) or [each.mark]
        how = textwrap.wrap(each.name, across)
        lines = [*(f"<b>{escape_html(line)}</b>" for line in text), *map(escape_html, how)]
        notes.append(
            {
                "text": "<br>".join(lines),
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": down,
                "yanchor": "top",
                "align": "left",
                "showarrow": False,
                "font": {"size": style.FONT_SIZE, "color": theme.text},
            }
        )
        down += _LINE * len(lines)
        places.append(down + _BAR / 2)
        down += _BAR + _GAP
    shared = style.bar_layout(theme, title=title, height=round(down), top=0, lines=[])
    layout: dict[str, Any] = {
        **shared,
        "height": shared["height"] + _GAP,
        "margin": {**shared["margin"], "b": shared["margin"]["b"] + _GAP},
        "plot_bgcolor": style.CLEAR,
        "annotations": notes,
        "xaxis": {
            "title": style.axis_title(unit),
            "range": [0, 1.25 * min([*values, -0.01])],
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "nticks": 4 if narrow else 8,
        },
        "yaxis": {"visible": False, "range": [down, 0], "fixedrange": True},
    }
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": places,
        "width": _BAR,
        "marker": {"color": [theme.accent if each.best else theme.beside for each in found]},
        "text": [style.number(value) for value in values],
        "textposition": "outside",
        "cliponaxis": False,
        "textfont": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
        "showlegend": False,
        "hovertemplate": "%{x:.5~g}<extra></extra>",
    }
    return go.Figure({"data": [bars], "layout": layout})


def found_alt_text(found: Sequence[Found], values: Sequence[float], title: str, unit: str) -> str:
    """The list in words."""
    listed = [
        f"{each.mark}, {each.name}: “{each.text}” with {style.number(value)}"
        for each, value in zip(found, values, strict=True)
    ]
    return f"{title}. {unit}: {'; '.join(listed)}."
