"""Preset masks in place of a model's own: (query, key), boolean, True = may attend.

PRESETS["window"](5, 5, width=2)        for these lengths
PRESETS["window"].rule(width=2)         for every length

Every function takes `n_queries`, the number of rows, and `n_keys`, the number of columns, which
differ in cross-attention. It gives a boolean tensor (query, key) on the CPU, and raises MaskError
if a number is negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from model.arguments import unknown
from model.record.mask_rules import MaskError, Preset
from model.trace.attention_map import AttentionKind
from model.trace.token_schemes import WORD_START


def everything(n_queries: int, n_keys: int) -> Tensor:
    """No mask: every query may look at every key."""
    _require_lengths(n_queries, n_keys)
    return torch.ones(n_queries, n_keys, dtype=torch.bool)


def causal(n_queries: int, n_keys: int) -> Tensor:
    """Each query may look at its own position and at those before it (section 3.2.3)."""
    return look_ahead(n_queries, n_keys, k=0)


def strictly_causal(n_queries: int, n_keys: int) -> Tensor:
    """Each query may look at earlier positions, not at its own; the first at nothing."""
    query, key = _positions(n_queries, n_keys)
    return key < query


def look_ahead(n_queries: int, n_keys: int, *, k: int) -> Tensor:
    """Each query may look at most k positions ahead, and at everything before; 0 is causal.

    In cross-attention, queries get keys at the pace of the wait-(k + 1) policy of simultaneous
    translation (Ma et al. 2019, section 3). That alone is not the policy, since through a
    bidirectional encoder every key contains the whole source. With a causal mask in the encoder as
    well, a query depends on the source up to k positions ahead only.
    """
    _require_count("look-ahead k", k)
    query, key = _positions(n_queries, n_keys)
    return key <= query + k


def window(n_queries: int, n_keys: int, *, width: int) -> Tensor:
    """Each query may look at most `width` positions back or ahead (Beltagy et al. 2020, 3.1).

    In cross-attention, the window is around the same position of the source, and a query far beyond
    the source's end has no key.
    """
    _require_count("window width", width)
    query, key = _positions(n_queries, n_keys)
    return (query - key).abs() <= width


def causal_window(n_queries: int, n_keys: int, *, width: int) -> Tensor:
    """Each query may look at its position and at most `width` positions back."""
    return window(n_queries, n_keys, width=width) & causal(n_queries, n_keys)


def first_token(n_queries: int, n_keys: int) -> Tensor:
    """Every query may look at the first key alone, where attention often rests (Xiao et al. 2024).

    The decoder's first key is <s>, the source's its first word.
    """
    return everything(n_queries, n_keys) & (torch.arange(n_keys) == 0)


def block_words(n_queries: int, n_keys: int, *, keys: Iterable[int]) -> Tensor:
    """No query may look at the keys at these positions, from 0; all others are allowed.

    A position beyond the last key blocks nothing, so that the same positions work for a sentence
    that is still growing.
    """
    allowed = everything(n_queries, n_keys)
    for position in keys:
        _require_count("position of a blocked word", position)
        allowed[:, position : position + 1] = False
    return allowed


def block_diagonal(
    n_queries: int,
    n_keys: int,
    *,
    lengths: Sequence[int],
    key_lengths: Sequence[int] | None = None,
) -> Tensor:
    """Each query may look at its own block alone.

    This separates sentences packed into one text (Krell et al. 2021).

    Args:
        n_queries: number of rows.
        n_keys: number of columns.
        lengths: queries of each block, in order, as from `sentence_lengths`; later queries belong
            to the last block.
        key_lengths: keys of each block; None if queries and keys are the same text. Queries of a
            block without keys may look at nothing.

    Raises:
        MaskError: if there is no block, or one without a position.
    """
    query, key = _positions(n_queries, n_keys)
    own = _blocks(query, lengths)
    return own == _blocks(key, lengths if key_lengths is None else key_lengths)


def sentence_lengths(tokens: Iterable[str]) -> tuple[int, ...]:
    """The number of tokens in each sentence of a text, for `block_diagonal`.

    A sentence ends where a new word follows a token that ends with a full stop, a question or an
    exclamation mark, or an ellipsis; closing quotes and </s> belong to it. An abbreviation such as
    "e.g." counts as an end, since tokens do not distinguish them. A word starts with "▁".
    """
    lengths: list[int] = []
    ended = False
    for token in tokens:
        if not lengths or (ended and token.startswith(WORD_START)):
            lengths.append(0)
            ended = False
        lengths[-1] += 1
        body = token.strip(WORD_START).rstrip(_CLOSING)
        if body:
            ended = body.endswith(_SENTENCE_ENDS)
    return tuple(lengths)


_SENTENCE_ENDS = (".", "!", "?", "…")
_CLOSING = "\"')]}»«“”’"


def _positions(n_queries: int, n_keys: int) -> tuple[Tensor, Tensor]:
    # (query, 1) and (1, key), which broadcast to (query, key).
    _require_lengths(n_queries, n_keys)
    return torch.arange(n_queries)[:, None], torch.arange(n_keys)[None, :]


def _require_lengths(n_queries: int, n_keys: int) -> None:
    _require_count("number of queries", n_queries)
    _require_count("number of keys", n_keys)


def _blocks(positions: Tensor, lengths: Sequence[int]) -> Tensor:
    for length in lengths:
        _require_count("length of a block", length)
    if not lengths or min(lengths) < 1:
        raise MaskError(
            "There must be a block, and each needs at least one position; the lengths are "
            f"{list(lengths)}."
        )
    # The last block has no end.
    ends = torch.tensor(list(lengths[:-1]), dtype=torch.long).cumsum(0)
    return torch.bucketize(positions, ends, right=True)


def _require_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise MaskError(f"The {name} must be a whole number of at least 0; it is {value!r}.")


_SELF = (AttentionKind.ENCODER, AttentionKind.DECODER)
_ANY = (*_SELF, AttentionKind.CROSS)


class _Presets(dict[str, Preset]):
    def __missing__(self, name: str) -> Preset:
        raise unknown("preset", name, self)


PRESETS: dict[str, Preset] = _Presets(
    {
        "none": Preset(
            title="No mask",
            description="Every query may look at every key, later ones included.",
            kinds=_ANY,
            build=everything,
        ),
        "causal": Preset(
            title="Causal",
            description="Each query may look at itself and at earlier positions.",
            kinds=_SELF,
            build=causal,
            reason="at a later position",
            causal=True,
        ),
        "strictly_causal": Preset(
            title="Strictly causal",
            description="Each query may look only at earlier positions; the first at nothing.",
            kinds=_SELF,
            build=strictly_causal,
            reason="not before the query",
            causal=True,
        ),
        "look_ahead": Preset(
            title="Look ahead by k",
            description="Each query may look at most k positions ahead, and at everything before.",
            kinds=_ANY,
            build=look_ahead,
            reason="too far ahead",
        ),
        "window": Preset(
            title="Window",
            description="Each query may look at most this many positions back or ahead.",
            kinds=_ANY,
            build=window,
            reason="outside the window",
        ),
        "causal_window": Preset(
            title="Causal window",
            description="Each query may look at itself and at most this many positions back.",
            kinds=_SELF,
            build=causal_window,
            reason="outside the window",
            causal=True,
        ),
        "first_token": Preset(
            title="First token only",
            description="Every query may look at the first key only.",
            kinds=_ANY,
            build=first_token,
            reason="not the first token",
        ),
        # Not for the decoder, whose causal mask hides padding from all rows that matter.
        "ignore_padding": Preset(
            title="Ignore padding",
            description="Padding counts as words: every query may look at it.",
            kinds=(AttentionKind.ENCODER, AttentionKind.CROSS),
            build=everything,
            over_padding=True,
        ),
        "block_words": Preset(
            title="Block words",
            description="No query may look at these keys; in the decoder, combine it with causal.",
            kinds=_ANY,
            build=block_words,
            reason="blocked",
        ),
        "block_diagonal": Preset(
            title="Sentence by sentence",
            description="Each query may look at its sentence; in the decoder, combine it with "
            "causal.",
            kinds=_ANY,
            build=block_diagonal,
            reason="in another sentence",
        ),
    }
)
"""Every preset by name: PRESETS["window"](5, 5, width=2) or PRESETS["window"].rule(width=2)."""
