"""Whether one map ranks as another does: Spearman's correlation of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]

RESAMPLES = 2000
SEED = 2017


@dataclass(frozen=True, slots=True, eq=False)
class RankCorrelation:
    """Of two maps of one sentence.

    Attributes:
        rows: of each row, from -1 to 1; nan where a row is constant in either map, for then it
            ranks nothing.
    """

    rows: Values

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64).view()
        rows.setflags(write=False)
        object.__setattr__(self, "rows", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is read-only as well.
        return RankCorrelation, (self.rows,)

    @property
    def mean(self) -> float:
        """Over the rows that rank; nan where none does."""
        ranking = self.rows[~np.isnan(self.rows)]
        return float(ranking.mean()) if len(ranking) else float("nan")

    @property
    def n_constant(self) -> int:
        """How many rows are left out."""
        return int(np.isnan(self.rows).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRankCorrelation:
    """Of two maps over several sentences, with its bootstrap interval.

    Attributes:
        mean: over the sentences' means; nan where no sentence has one.
        low: where the interval begins.
        high: where it ends.
        n_sentences: how many sentences have a mean.
        n_constant: how many rows are left out, of all sentences together.
    """

    mean: float
    low: float
    high: float
    n_sentences: int
    n_constant: int


def rank_correlation(one: ArrayLike, other: ArrayLike) -> RankCorrelation:
    """Spearman's correlation of each row of two maps (Spearman 1904).

    Equal values share the mean of their ranks.

    Args:
        one: (row, column).
        other: of the same shape.

    Raises:
        ValueError: if the shapes are not equal, or have not two axes.
    """
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(
            "Two maps that are compared need the same rows and columns; their shapes are "
            f"{first.shape} and {second.shape}."
        )
    return RankCorrelation(np.array([_spearman(*rows) for rows in zip(first, second, strict=True)]))


def mean_rank_correlation(
    sentences: Sequence[RankCorrelation], *, level: float = 0.95
) -> MeanRankCorrelation:
    """The mean over sentences, with its bootstrap interval.

    Its ends are percentiles (Efron and Tibshirani 1993, section 13.3) of the means of sentences
    that are drawn anew with replacement; the draws are the same on every run.

    Args:
        sentences: the correlation of each.
        level: the share of the draws' means that lie within the interval.
    """
    means = np.array([sentence.mean for sentence in sentences], dtype=np.float64)
    means = means[~np.isnan(means)]
    n_constant = sum(sentence.n_constant for sentence in sentences)
    mean = low = high = float("nan")
    if len(means):
        draws = np.random.default_rng(SEED).choice(means, (RESAMPLES, len(means)))
        outside = (1 - level) / 2
        mean = float(means.mean())
        low, high = map(float, np.quantile(draws.mean(axis=1), [outside, 1 - outside]))
    return MeanRankCorrelation(
        mean=mean, low=low, high=high, n_sentences=len(means), n_constant=n_constant
    )


def _spearman(one: NDArray[Any], other: NDArray[Any]) -> float:
    first, second = (ranks - ranks.mean() for ranks in (_ranks(one), _ranks(other)))
    length = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / length if length else float("nan")


def _ranks(values: NDArray[Any]) -> Values:
    # Of equal values, the last has as rank how many are no greater; the mean is half a group less.
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Values = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks
