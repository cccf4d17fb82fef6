"""Which words attention links: from the weights between tokens to links between words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.explain.alignment_error import Link
from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from model.trace.word_grouping import special, word_weights, words

Weights = NDArray[np.floating[Any]]


def word_map(trace: Trace, values: Weights, *, later: bool = False) -> Weights:
    """Weights of cross-attention between the words of source and target, specials left out.

    A target word's row is the mean over those of its tokens, a source word's weight the sum over
    its tokens.

    Args:
        trace: recorded with this target.
        values: (head, query, key): the weights of a site, or what else there is for each of these
            cells, such as the norms of what is added (Kobayashi et al. 2020).
        later: whether a target word is read off the rows that have read its tokens, which are one
            later than those that predict them (Chen et al. 2020, "Accurate Word Alignment Induction
            from Neural Machine Translation", section 3).

    Returns:
        (head, target word, source word).

    Raises:
        ValueError: if the values are not of the trace's queries and keys.
    """
    if values.ndim != 3 or values.shape[1:] != (len(trace.target), len(trace.source)):
        raise ValueError(
            f"The values have the shape {values.shape}, but the trace's tokens make "
            f"(head, {len(trace.target)}, {len(trace.source)})."
        )
    rows, kept_rows = _starts(trace.target if later else trace.predictions)
    columns, kept_columns = _starts(trace.source)
    return word_weights(values, rows, columns)[:, kept_rows][:, :, kept_columns]


def _starts(tokens: Tokens) -> tuple[NDArray[np.intp], list[int]]:
    """Where each word begins, and which words stand for text."""
    starts = [word.start for word in words(tokens)]
    kept = [place for place, start in enumerate(starts) if not special(tokens.tokens[start])]
    return np.array(starts, dtype=np.intp), kept


def row_argmax(weights: Weights) -> frozenset[Link]:
    """Each target word with the source word of its largest weight.

    Args:
        weights: (target word, source word), neither of them none.
    """
    return frozenset(
        (source, target) for target, source in enumerate(weights.argmax(axis=1).tolist())
    )


def mutual_argmax(weights: Weights) -> frozenset[Link]:
    """The links that row and column agree on: each word has its largest weight with the other.

    The intersection of both directions, as of two models in Och and Ney 2003, section 4.

    Args:
        weights: (target word, source word), neither of them none.
    """
    columns = enumerate(weights.argmax(axis=0).tolist())
    return row_argmax(weights) & frozenset(columns)


def diagonal(n_source: int, n_target: int) -> frozenset[Link]:
    """Each target word with the source word as far along in its sentence: what order alone gives.

    Args:
        n_source: words of the source, at least 1.
        n_target: words of the target.
    """
    return frozenset(
        (int((target + 0.5) * n_source / n_target), target) for target in range(n_target)
    )
