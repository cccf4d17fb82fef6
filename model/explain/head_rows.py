"""The rows of a head's attention, and what several measures need of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import (
    BoolArray,
    FloatArray,
    Tokens,
)
from model.trace.token_schemes import END, START
from model.trace.word_grouping import punctuation

Values = NDArray[np.float64]

OFFSETS = {"previous": -1, "same": 0, "next": 1}
"""How far the key lies from the query, for the shares that compare positions."""

TOKENS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {"start": START.__eq__, "end": END.__eq__, "punctuation": punctuation}
)
"""Which keys count, for the shares that look at tokens."""


class Rows:
    """The rows of some heads of one site, with what several measures need of them."""

    def __init__(self, weights: FloatArray, allowed: BoolArray, keys: Tokens) -> None:
        """Take weights (head, query, key), and a mask as `allowed_per_head` gives it."""
        self.weights, self.allowed, self.keys = weights, allowed, keys
        self.n_queries, self.n_keys = weights.shape[1:]

    @cached_property
    def choices(self) -> NDArray[np.intp]:
        """To how many keys each row may attend."""
        return np.count_nonzero(self.allowed, axis=-1)

    @cached_property
    def precise(self) -> Values:
        """The weights in float64."""
        return self.weights.astype(np.float64)

    @cached_property
    def _sums(self) -> tuple[Values, Values, Values]:
        """Of a row's weights, of each times its key's position, and times the position's square."""
        keys = np.arange(self.n_keys, dtype=np.float64)
        # A product with so narrow a matrix takes twenty times as long.
        total, first, second = (
            np.vecdot(self.precise, power) for power in (np.ones(self.n_keys), keys, keys * keys)
        )
        return total, first, second

    @cached_property
    def live(self) -> BoolArray:
        """Which rows have any weight, (head, query)."""
        return self._sums[0] > 0

    @cached_property
    def total(self) -> Values:
        """What a row's sums are divided by, (head, query)."""
        return np.where(self.live, self._sums[0], 1)

    @cached_property
    def entropies(self) -> Values:
        """In bits, (head, query)."""
        logarithms = np.log2(np.maximum(self.weights, np.finfo(np.float32).tiny))
        total = self.total
        return np.maximum(np.log2(total) - np.vecdot(self.precise, logarithms) / total, 0)

    def entropy(self) -> Values:
        """The mean over the rows, (head,)."""
        return row_mean(self.entropies, self.live)

    def entropy_share(self) -> Values:
        """The same as a share of the most a row could have, over the rows with a choice."""
        most = np.log2(np.maximum(self.choices, 2))
        return row_mean(self.entropies / most, self.live & (self.choices >= 2))

    def distance(self) -> Values:
        """How far away from itself a row looks; nan where positions are not of one axis."""
        if self.n_queries != self.n_keys:
            return np.full(len(self.weights), np.nan)
        places = np.arange(self.n_keys, dtype=np.float64)
        away = np.vecdot(self.precise, np.abs(places[:, None] - places))
        return row_mean(away / self.total, self.live)

    def diagonal(self) -> Values:
        """The correlation of the positions of rows and of what they look at."""
        _, first, second = self._sums
        queries = np.arange(self.n_queries, dtype=np.float64)
        return _correlation(queries, first / self.total, second / self.total, self.live)

    def pairing(self, entropy: NDArray[np.floating] | None = None) -> Values:
        """The mutual information of row and key as a share of the most there could be.

        Args:
            entropy: what `entropy` gives, if it is known.
        """
        rows = np.count_nonzero(self.live, axis=-1)
        each = self.live / self.total
        shares = np.einsum("hqk,hq->hk", self.precise, each) / np.maximum(rows, 1)[:, None]
        tiny = np.finfo(np.float64).tiny
        overall = -(shares * np.log2(np.maximum(shares, tiny))).sum(axis=-1)
        most = np.log2(np.minimum(rows, self.n_keys).clip(1))
        shared = np.maximum(overall - (self.entropy() if entropy is None else entropy), 0)
        return np.divide(shared, most, out=np.full(len(most), np.nan), where=most > 0)


ShareOnKeys = Callable[[Rows], tuple[NDArray[Any], BoolArray] | None]
"""Gives the share of each row's weight on certain keys, and the rows that count, (head, row)."""


@dataclass(frozen=True, slots=True)
class WeightOn:
    """The weight on certain keys, over the rows that may look there and elsewhere; (head,)."""

    place: ShareOnKeys

    def __call__(self, rows: Rows) -> Values:
        """The mean; nan where fewer than MIN_ROWS of the rows count."""
        if (there := self.place(rows)) is None:
            return np.full(len(rows.weights), np.nan)
        many = np.count_nonzero(there[1], axis=-1) >= MIN_ROWS * rows.n_queries
        return np.where(many, row_mean(*there), np.nan)


def weight_at(offset: int) -> WeightOn:
    """The weight on the key that lies so far from the query."""

    def place(rows: Rows) -> tuple[NDArray[Any], BoolArray] | None:
        if rows.n_queries != rows.n_keys:
            return None
        shares = np.diagonal(rows.weights, offset, 1, 2)
        counted = np.diagonal(rows.allowed, offset, 1, 2)
        first = max(0, -offset)
        return shares, counted & (rows.choices >= 2)[:, first : first + shares.shape[1]]

    return WeightOn(place)


def weight_on(counts: Callable[[str], bool]) -> WeightOn:
    """The weight on the tokens that count."""

    def place(rows: Rows) -> tuple[NDArray[Any], BoolArray] | None:
        columns = _columns(rows.keys, counts)
        if not len(columns):
            return None
        shares = rows.weights[:, :, columns].sum(axis=-1, dtype=np.float64)
        return shares, (rows.choices >= 2) & rows.allowed[:, :, columns].any(axis=-1)

    return WeightOn(place)


@lru_cache(maxsize=64)
def _columns(tokens: Tokens, counts: Callable[[str], bool]) -> NDArray[np.intp]:
    """The positions of the tokens that count."""
    return np.flatnonzero([counts(token) for token in tokens])


MIN_ROWS = 0.5
"""The share of rows that must have such a token to look at, or the sentence cannot tell."""

_ROUNDING = 1e-9


def allowed_per_head(allowed: BoolArray) -> BoolArray:
    """A map's mask as (head, query, key), with one entry for all heads where they share it."""
    return allowed if allowed.ndim == 3 else allowed[None]


def _correlation(
    queries: Values, mean_keys: Values, mean_squares: Values, live: BoolArray
) -> Values:
    """Pearson's, of query and key where all rows weigh the same, (head,); nan for a point."""
    queries = np.broadcast_to(queries, live.shape)
    query, key = row_mean(queries, live), row_mean(mean_keys, live)
    query_variance = row_mean(queries * queries, live) - query * query
    key_variance = row_mean(mean_squares, live) - key * key
    covariance = row_mean(queries * mean_keys, live) - query * key
    # Rounding leaves a variance of 0 a little beside it.
    known = (query_variance > _ROUNDING * query * query) & (key_variance > _ROUNDING * key * key)
    scale = np.sqrt(np.where(known, query_variance * key_variance, np.nan))
    return np.clip(covariance / scale, -1, 1)


def row_mean(values: NDArray[Any], rows: BoolArray) -> Values:
    """The mean over the rows that count, (head,); nan where none does."""
    counts = np.count_nonzero(rows, axis=-1)
    sums = np.vecdot(values, rows.astype(np.float64))
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
