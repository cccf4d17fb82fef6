"""Words made of tokens, and weights between words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import NO_ID, BoolArray, Tokens
from model.trace.token_schemes import WORD_START, special


def punctuation(token: str) -> bool:
    """Whether a token is all punctuation (Unicode categories P*), a leading space aside."""
    text = token.removeprefix(WORD_START)
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)


def words(tokens: Tokens) -> Iterator[slice]:
    """The tokens of each word, in order: every position once.

    Spaces separate words; each punctuation mark before or after a word is a word by itself, and so
    are special tokens and labels that are no tokens. Tokens that do not mark words are one each.
    """
    alone = [
        special(token) or token_id == NO_ID or not tokens.marked
        for token, token_id in zip(tokens.tokens, tokens.ids, strict=True)
    ]
    first = 0
    for position in range(1, len(tokens) + 1):
        if (
            position == len(tokens)
            or alone[position]
            or alone[position - 1]
            or tokens.tokens[position].startswith(WORD_START)
        ):
            yield from _parts(tokens.tokens, first, position)
            first = position


def _parts(tokens: Sequence[str], first: int, end: int) -> Iterator[slice]:
    """The words between two spaces: each punctuation mark before the word, the word, each after."""
    cuts = list(range(first, end + 1))
    if end - first > 1 and tokens[first] == WORD_START:
        # A space by itself belongs to the next token.
        del cuts[1]
    marks = [punctuation(tokens[right - 1]) for right in cuts[1:]]
    if all(marks):
        inner = cuts
    else:
        before = marks.index(False)
        after = len(marks) - marks[::-1].index(False)
        inner = [*cuts[: before + 1], *cuts[after:]]
    yield from map(slice, inner, inner[1:])


def word_weights(
    weights: NDArray[np.floating[Any]],
    query_starts: NDArray[np.intp],
    key_starts: NDArray[np.intp],
    looking: BoolArray | None = None,
) -> NDArray[np.floating[Any]]:
    """Weights between words, (head, query word, key word): sums over keys, means over queries.

    Rows still sum to 1 ("What Does BERT Look At?", Clark et al. 2019, section 4.1). The weights
    are (head, query, key), the starts positions of each word's first token. Only queries that are
    looking count, (query,) or (head, query); the row of a word without any is zero. If every word
    is one token, the weights themselves come back.
    """
    n_queries, n_keys = weights.shape[1:]
    if len(key_starts) < n_keys:
        weights = np.add.reduceat(weights, key_starts, axis=2)
    if len(query_starts) < n_queries:
        counted = np.ones(n_queries) if looking is None else looking
        counts = np.add.reduceat(counted.astype(np.float32), query_starts, axis=-1)
        weights = np.add.reduceat(weights, query_starts, axis=1)
        weights = weights / np.maximum(counts, 1)[..., None]
    return weights
