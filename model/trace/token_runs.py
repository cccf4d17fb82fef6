"""Shared and different runs of two sequences of words or tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

PositionPair = tuple[int | None, int | None]
"""The positions of two sequences' tokens at one place; None for a missing token."""


def places(first: Sequence[str], second: Sequence[str]) -> list[PositionPair]:
    """Both sequences in order, with shared tokens at the same place.

    Tokens of a different run share places from its beginning on.
    """
    if tuple(first) == tuple(second):
        return [(position, position) for position in range(len(first))]
    found: list[PositionPair] = []
    for _, one, other in runs(first, second):
        n_one, n_other = one.stop - one.start, other.stop - other.start
        found += [
            (one.start + i if i < n_one else None, other.start + i if i < n_other else None)
            for i in range(max(n_one, n_other))
        ]
    return found


def pairs(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """The places that both sequences have."""
    return [
        (one, other)
        for one, other in places(first, second)
        if one is not None and other is not None
    ]


def runs(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[bool, slice, slice]]:
    """Two sequences as alternating runs, shared and different, in order.

    What they share is a longest common subsequence. A model that is kept from looking repeats
    itself, and difflib's time grows with the cube of the length of two such texts.
    """
    left = _common_lengths(first, second)
    one = other = 0
    while one < len(first) or other < len(second):
        start, beside = one, other
        while one < len(first) and other < len(second) and first[one] == second[other]:
            one, other = one + 1, other + 1
        if one > start:
            yield True, slice(start, one), slice(beside, other)
        start, beside = one, other
        while one < len(first) and other < len(second) and first[one] != second[other]:
            if left[one + 1, other] >= left[one, other + 1]:
                one += 1
            else:
                other += 1
        if one == len(first) or other == len(second):
            one, other = len(first), len(second)
        if (one, other) != (start, beside):
            yield False, slice(start, one), slice(beside, other)


def _common_lengths(first: Sequence[str], second: Sequence[str]) -> NDArray[np.int32]:
    """The length of the longest common subsequence of both rests, by their starts."""
    lengths = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int32)
    others = np.array(second, dtype=object)
    for place in range(len(first) - 1, -1, -1):
        below = lengths[place + 1]
        reached = np.maximum(below[:-1], below[1:] + (others == first[place]))
        lengths[place, :-1] = np.maximum.accumulate(reached[::-1])[::-1]
    return lengths
