"""Weights in fewer bits: 16-bit floats, or 8 bits a weight with a scale for each row."""

from __future__ import annotations

import functools
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from model.trace.array_values import TraceError

Bits = Literal[8, 16, 32]
"""The bits of a stored weight; 32 are exact."""

PRECISION: dict[Bits, str] = {
    8: "Weights are rounded to 8 bits: each by at most 2% of the largest in its row, and every row "
    "keeps its sum.",
    16: "Weights are rounded to 16 bits, that is to three digits.",
    32: "Weights are exact.",
}
"""What each number of bits means, in a sentence for people."""


def require_bits(bits: Bits) -> None:
    """Raises TraceError for another number of bits."""
    if bits not in get_args(Bits):
        raise TraceError(f"A weight is kept in 8, 16 or 32 bits, not in {bits}.")


_MOST = 255
_GOLDEN = 0.6180339887498949


def rounded(
    weights: NDArray[np.float32], room: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Weights as steps of 8 bits, (…, query, key), and a scale for each row, (…, query).

    A weight is its step squared times the scale of its row: squares keep small weights apart, of
    which a row of a long text has many. Steps round up or down in a fixed pattern over the keys,
    because equal weights that all round one way would change the sum of their row.

    Args:
        weights: from 0 on, (…, query, key).
        room: of the same shape, to be written over; None for new memory, which takes time.
    """
    largest = weights.max(axis=-1, keepdims=True, initial=0)
    # A row without weights stays zero.
    factors = np.float32(_MOST**2) / np.where(largest > 0, largest, 1)
    steps = np.multiply(weights, factors, out=room)
    np.sqrt(steps, out=steps)
    steps += _pattern(weights.shape[-1])
    np.floor(steps, out=steps)
    whole = steps.astype(np.uint8)
    squares = np.vecdot(steps, steps)
    scales = weights.sum(axis=-1) / np.where(squares == 0, 1, squares)
    return whole, scales.astype(np.float32, copy=False)


@functools.lru_cache(maxsize=8)
def _pattern(n_keys: int) -> NDArray[np.float32]:
    """What is added before steps are cut to whole ones, which stay what they are; (key,)."""
    pattern = (np.arange(n_keys) * _GOLDEN) % 1
    return (0.0005 + 0.999 * pattern).astype(np.float32)


def restored(steps: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """The weights of `rounded`."""
    weights = steps.astype(np.float32)
    weights *= weights
    weights *= scales[..., None]
    return weights
