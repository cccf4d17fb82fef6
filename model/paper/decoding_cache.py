"""Keys and values that decoding keeps, so that each step computes the newest position alone."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar

import torch
from torch import Tensor

from model.paper.attention import Relative
from model.paper.multi_head import KeyValue, MultiHead

_ROOM = 32
"""Target positions that a cache first has room for."""

decoding_position: ContextVar[int | None] = ContextVar("decoding_position", default=None)
"""The target position that `Transformer.step` computes in this thread; None in every other pass.

Attention over the source cannot tell from its shapes which target position it serves.
"""

decoding_tokens: ContextVar[Tensor | None] = ContextVar("decoding_tokens", default=None)
"""What every hypothesis has read so far there, (sentence * beam, position + 1); None elsewhere."""


class LayerCache:
    """Keys and values of one decoder layer.

    Attributes:
        cross: those of the sources, (sentence, head, source, width), one pair for each length of
            source.
    """

    def __init__(self, cross: list[KeyValue]) -> None:
        self.cross = cross
        self.length = 0
        # (sentence * beam, head, room, width), filled up to `length`.
        self._own: KeyValue | None = None

    def extend(self, key_value: KeyValue) -> KeyValue:
        """Keys and values of all target positions, (sentence * beam, head, target, width) each.

        The newest position's are appended, (sentence * beam, head, 1, width).
        """
        if self._own is None:
            self._own = _with_room(key_value[0], 0), _with_room(key_value[1], 0)
        elif self.length == self._own[0].shape[2]:
            k, v = self._own
            self._own = _with_room(k, self.length), _with_room(v, self.length)
        for own, newest in zip(self._own, key_value, strict=True):
            own[:, :, self.length : self.length + 1] = newest
        self.length += 1
        k, v = self._own
        return k[:, :, : self.length], v[:, :, : self.length]

    def attending(self, attention: MultiHead, relative: Relative) -> Callable[[Tensor], Tensor]:
        """Self-attention from the newest position to all positions so far."""

        def attend(y: Tensor) -> Tensor:
            # Keys are kept rotated: the angle is that of their own position.
            q, key_value = attention.project(y, relative.rotation)
            return attention.attend(q, self.extend(key_value), None, relative.bias)[0]

        return attend

    def select(self, rows: Tensor) -> None:
        """Keep these hypotheses, in this order."""
        if self._own is not None:
            self._own = self._own[0].index_select(0, rows), self._own[1].index_select(0, rows)

    def select_sentences(self, sentences: Sequence[Tensor]) -> None:
        """Keep the sources of these sentences, given for each length; the others are finished."""
        self.cross = [
            (k.index_select(0, rows), v.index_select(0, rows))
            for (k, v), rows in zip(self.cross, sentences, strict=True)
            if len(rows)
        ]


def _with_room(x: Tensor, length: int) -> Tensor:
    # Room grows by a half at a time: appending in place costs less than copying all at each step.
    rows, heads, _, width = x.shape
    room = x.new_empty(rows, heads, max(_ROOM, length + length // 2), width)
    room[:, :, :length] = x[:, :, :length]
    return room


class DecodingState:
    """The caches of all layers and the number of positions decoded so far.

    Rows are hypotheses, (sentence * beam), the beams of a sentence beside each other.

    Args:
        memory_allowed: the source tokens that may be attended to, one mask for each length of
            source; None for all.
    """

    def __init__(self, caches: list[LayerCache], memory_allowed: Sequence[Tensor | None]) -> None:
        self.caches = caches
        self.memory_allowed = memory_allowed
        self.position = 0
        self._read: Tensor | None = None

    def read(self, tokens: Tensor) -> Tensor:
        """All tokens read so far, (sentence * beam, token), with the newest, (sentence * beam,)."""
        newest = tokens[:, None]
        self._read = newest if self._read is None else torch.cat([self._read, newest], dim=1)
        return self._read

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> None:
        """Keep these hypotheses, in this order.

        Rows are indices into the present ones, sentences ascending indices; None keeps all of
        them.
        """
        for cache in self.caches:
            cache.select(rows)
        if self._read is not None:
            self._read = self._read.index_select(0, rows)
        if sentences is None:
            return
        remaining, start = [], 0
        for k, _ in self.caches[0].cross:
            remaining.append(sentences[(sentences >= start) & (sentences < start + len(k))] - start)
            start += len(k)
        for cache in self.caches:
            cache.select_sentences(remaining)
        self.memory_allowed = [
            None if allowed is None else allowed.index_select(0, own)
            for allowed, own in zip(self.memory_allowed, remaining, strict=True)
            if len(own)
        ]
