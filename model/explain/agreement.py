"""The agreement of an estimated map with the true one, row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.trace.array_values import ArrayValue

Values = NDArray[np.float64]

RESAMPLES = 2000
SEED = 2017


@dataclass(frozen=True, slots=True, eq=False)
class Agreement(ArrayValue):
    """The agreement of two maps of one sentence: 1 a row for full, nan if a row cannot tell."""

    rows: Values

    @property
    def mean(self) -> float:
        """The mean over the rows that can tell; nan if none can."""
        telling = self.rows[~np.isnan(self.rows)]
        return float(telling.mean()) if len(telling) else float("nan")

    @property
    def n_left_out(self) -> int:
        """The number of rows left out."""
        return int(np.isnan(self.rows).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanAgreement:
    """The mean agreement of two maps over several sentences, with its bootstrap interval.

    The mean is nan if no sentence has one; `n_left_out` counts rows over all sentences.
    """

    mean: float
    low: float
    high: float
    n_sentences: int
    n_left_out: int


def rank_correlation(estimate: ArrayLike, truth: ArrayLike) -> Agreement:
    """Spearman's correlation of each row of two maps, (row, column), from -1 to 1 (Spearman 1904).

    Equal values share the mean of their ranks. A row that is constant in either map is left out.
    Raises ValueError if the shapes differ, or have not two axes.
    """
    rows = zip(*_alike(estimate, truth), strict=True)
    return Agreement(np.array([_spearman(*both) for both in rows]))


def top_agreement(estimate: ArrayLike, truth: ArrayLike, *, least: float) -> Agreement:
    """Whether the greatest cell of each row, (row, column), is the same in two maps: 1 or 0.

    If n cells of the estimate are greatest, the right one counts 1/n. Rows with a constant
    estimate, or without a true cell of at least `least`, are left out. Errors as rank_correlation.
    """
    rows = []
    for estimated, true in zip(*_alike(estimate, truth), strict=True):
        top = estimated == estimated.max()
        telling = true.max() >= least and not top.all()
        rows.append(top[true.argmax()] / top.sum() if telling else float("nan"))
    return Agreement(np.array(rows))


def mean_agreement(sentences: Sequence[Agreement], *, level: float = 0.95) -> MeanAgreement:
    """The mean over sentences, with its bootstrap interval that holds a share `level` of the means.

    Its ends are percentiles (Efron and Tibshirani 1993, section 13.3) of the means of sentences
    drawn with replacement; every run draws the same.
    """
    means = np.array([sentence.mean for sentence in sentences], dtype=np.float64)
    means = means[~np.isnan(means)]
    n_left_out = sum(sentence.n_left_out for sentence in sentences)
    mean = low = high = float("nan")
    if len(means):
        draws = np.random.default_rng(SEED).choice(means, (RESAMPLES, len(means)))
        outside = (1 - level) / 2
        mean = float(means.mean())
        low, high = map(float, np.quantile(draws.mean(axis=1), [outside, 1 - outside]))
    return MeanAgreement(
        mean=mean, low=low, high=high, n_sentences=len(means), n_left_out=n_left_out
    )


def _alike(one: ArrayLike, other: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape or first.ndim != 2:
        raise ValueError(
            "Two maps that are compared need the same rows and columns; their shapes are "
            f"{first.shape} and {second.shape}."
        )
    return first, second


def _spearman(one: NDArray[Any], other: NDArray[Any]) -> float:
    first, second = (ranks - ranks.mean() for ranks in (_ranks(one), _ranks(other)))
    length = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / length if length else float("nan")


def _ranks(values: NDArray[Any]) -> Values:
    # The last of equal values has the rank of all values up to it; their mean is half a group less.
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Values = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks
