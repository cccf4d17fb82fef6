"""What switching heads off costs a translation, in words."""

import math

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.effects.effect_map import LISTED, change_words

LogProbs = NDArray[np.floating]
"""The natural logarithm of each token's probability, (target,)."""

SAME = 1.05
"""Up to so many times likelier or less likely counts as unchanged."""

MOST = 1e6
"""From so many times on, nobody needs the number."""


def price(before: LogProbs, after: LogProbs) -> str:
    """How much less likely a translation has become, in a few words.

    Args:
        before: of the translation's tokens, with every head.
        after: of the same tokens, with some heads switched off.
    """
    gain = float(np.sum(after, dtype=np.float64) - np.sum(before, dtype=np.float64))
    if abs(gain) < math.log(SAME):
        return "as likely as before"
    than = "less likely" if gain < 0 else "likelier"
    if abs(gain) >= math.log(MOST):
        return f"over a million times {than}"
    times = math.exp(abs(gain))
    return f"{times:.1f} times {than}" if times < 10 else f"{times:,.0f} times {than}"


def price_words(predictions: Tokens, before: LogProbs, after: LogProbs) -> str:
    """What happens to the probability of a translation, and to which of its tokens most.

    Args:
        before: as in `price`.
        after: likewise.
    """
    one, other = (np.asarray(each, np.float64) for each in (before, after))
    tokens = axis_texts(predictions)
    order = np.argsort(-np.abs(one - other))[:LISTED]
    moved = [
        f"“{tokens[place]}” {change_words(float(one[place]), float(one[place] - other[place]))}"
        for place in order.tolist()
        if one[place] != other[place]
    ]
    change = style.number_change(float(one.sum()), float(other.sum()))
    total = f"The log-probability of the unchanged translation {change}"
    return f"{total}: {', '.join(moved)}." if moved else f"{total}."
