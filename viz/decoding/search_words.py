"""What the results of searches say of each other, in words."""

import math
from collections.abc import Sequence

from model.paper.search import Search
from model.trace.translation import Decoding, SearchNode
from viz.draw import style

TELLING = 7.0
"""Larger differences of log-probability, beyond about a thousandfold, get no factor in words."""


def is_many(search: Search) -> bool:
    """Whether it draws several translations."""
    return search.sampling is not None and search.sampling.n_samples > 1


def comparison_words(one: Decoding, other: Decoding, a: Search, b: Search) -> str:
    """Which translation the model finds likelier, and whether scores compare, in plain text."""
    names = [
        f"the best sample of {mark}" if is_many(search) else mark
        for mark, search in (("A", a), ("B", b))
    ]
    if one.translation.token_ids == other.translation.token_ids:
        if is_many(a) or is_many(b):
            return f"{names[0][0].upper()}{names[0][1:]} and {names[1]} are the same translation."
        return "Both searches find the same translation."
    gap = one.ranked[0].log_prob - other.ranked[0].log_prob
    words = likelier(names[0], names[1], gap)
    if (a.length_penalty, a.rules.penalty) == (b.length_penalty, b.rules.penalty):
        return words
    return f"{words} Their scores are not comparable, because the length penalties differ."


def likelier(one: str, other: str, gap: float) -> str:
    """Which of two the model finds likelier, by the difference of their log-probabilities."""
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
    """Log-probability over length penalty, without rounding noise."""
    return round(node.score or 0.0, 5)


def widths_words(best: Sequence[SearchNode], texts: Sequence[str], alpha: float) -> str:
    """How widths compare, and whether wider is better, in plain text."""
    scores = [score(node) for node in best]
    narrowest = 1 + scores.index(max(scores))
    count = len(set(texts))
    words = (
        "Every width finds the same translation."
        if count == 1
        else f"{len(best)} widths find {count} translations; {narrowest} is the narrowest width "
        "that finds the best-scoring one."
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
        words += (
            f" Wider is not always better: width {worse} ends with a lower score than a narrower "
            "one."
        )
    return (
        f"{words} A width of 1 is greedy decoding. All scores are log-probability over a length "
        f"penalty of {alpha:g}; closer to 0 is better."
    )
