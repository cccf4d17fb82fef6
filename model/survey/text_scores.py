"""BLEU and chrF of many sentences and of samples of them, each sentence counted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import sacrebleu
from numpy.typing import NDArray

TextScore = Literal["bleu", "chrf"]

SCORES = {"bleu": sacrebleu.BLEU(), "chrf": sacrebleu.CHRF()}
"""As sacrebleu computes them by default (Post 2018)."""

RESAMPLED = 500
"""Samples of the sentences from which an interval is made."""

Counts = NDArray[np.float64]


def counts_of(score: TextScore, texts: Sequence[str], references: Sequence[str]) -> Counts:
    """What a score adds up over sentences, of each sentence, (text, count)."""
    counted = SCORES[score]._extract_corpus_statistics(texts, [references])
    return np.array(counted, dtype=np.float64)


def score_of(score: TextScore, counts: Counts) -> float:
    """The score of sentences, from their counts together, (count,)."""
    return float(SCORES[score]._compute_score_from_stats(counts.tolist()).score)


def resampled(
    n_sentences: int, score: Callable[[NDArray[np.intp]], Sequence[float]]
) -> NDArray[np.float64]:
    """Scores of samples of sentences, drawn with replacement, (sample, score)."""
    generator = np.random.default_rng(0)
    samples = [generator.integers(n_sentences, size=n_sentences) for _ in range(RESAMPLED)]
    return np.array([score(sample) for sample in samples])
