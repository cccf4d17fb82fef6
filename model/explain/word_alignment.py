"""Word links from attention: from weights between tokens to links between words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.explain.alignment_error import Link
from model.trace.attention_map import Tokens, TraceError
from model.trace.token_schemes import special
from model.trace.trace import Trace
from model.trace.word_grouping import word_weights, words

Weights = NDArray[np.floating[Any]]


def word_map(trace: Trace, values: Weights, *, later: bool = False) -> Weights:
    """Cross-attention between words, without special tokens: (head, target word, source word).

    A target word's row is the mean over its tokens, a source word's weight the sum over its tokens.

    Args:
        trace: recorded with this target.
        values: (head, query, key): the weights of a site, or other values of the same cells, such
            as norms (Kobayashi et al. 2020).
        later: whether to use the rows that read a target word's tokens, one later than the rows
            that predict them (Chen et al. 2020, "Accurate Word Alignment Induction from Neural
            Machine Translation", section 3).

    Raises:
        ValueError: if the values do not fit the trace's queries and keys.
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
    """The first position of each word, then the indices of words that are text."""
    starts = [word.start for word in words(tokens)]
    kept = [place for place, start in enumerate(starts) if not special(tokens.tokens[start])]
    return np.array(starts, dtype=np.intp), kept


def row_argmax(weights: Weights) -> frozenset[Link]:
    """Links of each target word (row) to the source word (column) of its largest weight."""
    return frozenset(
        (source, target) for target, source in enumerate(weights.argmax(axis=1).tolist())
    )


def mutual_argmax(weights: Weights) -> frozenset[Link]:
    """Links of words that have their largest weights with each other, by row and by column.

    Weights are (target word, source word). This is the intersection of both directions, like that
    of two models in Och and Ney 2003, section 4.

    Raises TraceError if the weights have other axes.
    """
    if np.ndim(weights) != 2 or not np.size(weights):
        raise TraceError(
            "Weights must be (target word, source word); theirs have the shape "
            f"{np.shape(weights)}."
        )
    columns = enumerate(weights.argmax(axis=0).tolist())
    return row_argmax(weights) & frozenset(columns)


def diagonal(n_source: int, n_target: int) -> frozenset[Link]:
    """Links of each target word to the source word at the same relative place, by order alone."""
    return frozenset(
        (int((target + 0.5) * n_source / n_target), target) for target in range(n_target)
    )
