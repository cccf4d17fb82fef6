"""The frequency of each source of the training data in an epoch."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from model.survey.parallel_text import CorpusError, columns_of

T = TypeVar("T")


def weight_of(labels: Sequence[str], weights: Mapping[str, float]) -> float:
    """The weight of a pair, 1 by default, by the columns of its origin ("ding-2023", "word").

    Weights are by source, or by source and tier ("ding-2023/word"), which takes precedence.
    """
    for name in ("/".join(labels[:2]), *labels[:1]):
        if name in weights:
            return weights[name]
    return 1.0


def read_weights(paths: Sequence[Path], weights: Mapping[str, float]) -> list[float]:
    """The weight of each pair of `read_pairs`, from `weight_of` the columns of its origin.

    Raises CorpusError as `read_pairs`, and if a weight names a source that no pair has.
    """
    labels = [tuple(columns[:-2]) for columns in columns_of(paths)]
    sources = {name for each in set(labels) for name in (*each[:1], "/".join(each[:2]))}
    unknown = sorted(set(weights) - sources)
    if unknown:
        raise CorpusError(
            f"No pair has the source {unknown[0]!r}; correct training.weights or add its file."
        )
    return [weight_of(each, weights) for each in labels]


def drawn(pairs: Sequence[T], weights: Sequence[float], seed: int) -> list[T]:
    """The pairs of one epoch, each as often as its weight says.

    A pair of weight 2.3 comes twice, and a third time in three of ten epochs.
    """
    chances = np.random.default_rng(seed).random(len(pairs))
    return [
        pair
        for pair, weight, chance in zip(pairs, weights, chances, strict=True)
        for _ in range(math.floor(weight + chance))
    ]
