"""The numbers between a query, a key and their weight, and how they are printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import AttentionMap, FloatArray
from viz.draw import style
from viz.save.formats import ExportError

_MOST_DIGITS = 6
"""Most decimals of a printed sum; more than three only if its quotient needs them."""

# Rounding differs between kernels and grows with the vectors, not with their product.
_TOLERANCE = 2e-3


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The numbers between a query, a key and their weight (Vaswani et al. 2017, section 3.2.1).

    Attributes:
        d_k: how many dimensions the two vectors have.
        gain: the sum of the positive products.
        loss: the sum of the negative products, 0 or less.
        dot: the sum of all products, q · k.
        divisor: what the sum is divided by: √d_k, or 1 where scores are not scaled.
        scaled: the recorded score, before masking.
        allowed: whether the query may attend to the key.
        weight: the recorded weight.
        n_allowed: to how many keys the query may attend.
        row_max: the largest score among these, or None if there are none.
        rank: how many of these have a larger score, plus 1; None for a key that is not allowed.
        complete: whether the softmax of the row's allowed scores gives the row's weights. It does
            not where keys are hidden, or where something was added to the scores.
    """

    d_k: int
    gain: float
    loss: float
    dot: float
    divisor: float
    scaled: float
    allowed: bool
    weight: float
    n_allowed: int
    row_max: float | None
    rank: int | None
    complete: bool

    @property
    def is_scaled(self) -> bool:
        """Whether the score is the product divided by √d_k."""
        return self.divisor == math.sqrt(self.d_k)

    @property
    def scaling(self) -> str:
        """What is done to the product, in words."""
        return f"divided by √{self.d_k}" if self.is_scaled else "not scaled"

    @property
    def standing(self) -> str:
        """The key's place among those that the query may attend to, in words."""
        return "not allowed" if self.rank is None else f"rank {self.rank} of {self.n_allowed}"


def arithmetic(seen: AttentionMap, head: int, query: int, key: int) -> Arithmetic:
    """The numbers of one cell.

    The products and their sum are computed from the recorded vectors; the score and the weight are
    the recorded ones.

    Raises:
        IndexError: if there is no such head, query or key.
        ExportError: if the vectors were not recorded, or the scores are not made of their product.
    """
    q, k, scores = vectors_of(seen, head, query, key)
    one = seen.head(head)
    allowed = one.allowed[query]
    divisor = divisor_of(q, k, scores)
    if divisor is None:
        raise ExportError(
            "This head's scores are not plain dot products, with or without division by √d_k; "
            "there is no such sum to show."
        )
    products = q[query].astype(np.float64) * k[key]
    gain = float(products[products > 0].sum())
    loss = float(products[products < 0].sum())
    row = scores[query].astype(np.float64)
    seen_row = row[allowed]
    is_allowed = bool(allowed[key])
    return Arithmetic(
        d_k=q.shape[-1],
        gain=gain,
        loss=loss,
        dot=gain + loss,
        divisor=divisor,
        scaled=float(row[key]),
        allowed=is_allowed,
        weight=float(one.weights[query, key]),
        n_allowed=int(allowed.sum()),
        row_max=float(seen_row.max()) if seen_row.size else None,
        rank=1 + int((seen_row > row[key]).sum()) if is_allowed else None,
        complete=_is_softmax(one.weights[query], row, allowed),
    )


@dataclass(frozen=True, slots=True)
class Equations:
    """What is printed of the products' sum and of its quotient, so that a reader can check it.

    Attributes:
        dot: the sum of all products, with as many digits as its quotient needs.
        sum_: gain and loss add up to it; "≈" where the digits that are shown do not.
        quotient: divided by √d_k it is the score; "≈" where the digits that are shown do not say
            so, since the score is the recorded one.
    """

    dot: str
    sum_: str
    quotient: str


def equations(numbers: Arithmetic) -> Equations:
    """The arithmetic of one cell in print, with a minus that is a minus and not a hyphen."""
    scaled = style.number(numbers.scaled)
    written = [style.number(numbers.dot)]
    written += [style.fixed(numbers.dot, digits) for digits in range(3, _MOST_DIGITS + 1)]
    fitting = [
        text for text in written if style.number(float(_decimal(text)) / numbers.divisor) == scaled
    ]
    dot = (fitting or written)[0]
    digits = max(-int(_decimal(dot).as_tuple().exponent), 0)
    gain, loss = style.fixed(numbers.gain, digits), style.fixed(-numbers.loss, digits)
    adds_up = _decimal(gain) - _decimal(loss) == _decimal(dot)
    return Equations(
        dot=dot,
        sum_=f"{gain} − {loss} {'=' if adds_up else '≈'} {dot}",
        quotient=f"{dot} ÷ √{numbers.d_k} {'=' if fitting else '≈'} {scaled}",
    )


def _decimal(text: str) -> Decimal:
    """What a reader takes a printed number for."""
    return Decimal(text.replace("−", "-"))


def vectors_of(
    seen: AttentionMap, head: int, query: int, key: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Queries (query, d_k), keys (key, d_k) and scores (query, key) of a head with such a cell.

    Raises:
        IndexError: if there is no such head, query or key.
        ExportError: if the vectors were not recorded.
    """
    for axis, place, length in zip(
        ("query", "key"), (query, key), seen.head(head).weights.shape, strict=True
    ):
        if not 0 <= place < length:
            there = f"the positions 0 to {length - 1}" if length else "no positions"
            raise IndexError(f"The {axis} axis has {there}; there is no {axis} {place}.")
    if seen.q is None or seen.k is None or seen.scores is None:
        raise ExportError(
            "This head's queries and keys were not recorded, so there is no product to show. "
            "Choose a head of a model that records them, and read token by token."
        )
    return seen.q[head], seen.k[head], seen.scores[head]


def divisor_of(q: FloatArray, k: FloatArray, scores: FloatArray) -> float | None:
    """√d_k or 1, whichever leads from a head's products to all its scores; None where neither does.

    Queries are (query, d_k), keys (key, d_k) and scores (query, key).
    """
    products = q @ k.T
    size = np.linalg.norm(q, axis=-1).max(initial=0) * np.linalg.norm(k, axis=-1).max(initial=0)
    # 1 comes second: with one dimension both are the same, and the formula of the paper holds.
    for divisor in (math.sqrt(q.shape[-1]), 1.0):
        if np.abs(products / divisor - scores).max(initial=0) <= _TOLERANCE * size / divisor:
            return divisor
    return None


def _is_softmax(
    weights: FloatArray, scores: NDArray[np.float64], allowed: NDArray[np.bool_]
) -> bool:
    """Whether one row's weights are the softmax over its allowed scores, (key,) each."""
    if not allowed.any():
        return not weights.any()
    powers = np.where(allowed, np.exp(np.minimum(scores - scores[allowed].max(), 0)), 0)
    return bool(np.allclose(weights, powers / powers.sum(), atol=_TOLERANCE))
