"""Batches of about equally many tokens, in a few fixed shapes.

Sentences of similar length share a batch, and lengths are rounded up to a short list of buckets:
oneDNN and torch.compile keep a program for every shape, and arbitrary shapes would fill the memory.
The order depends on the seed and the epoch alone, so that a resumed run sees the batches of an
uninterrupted one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from model.paper.tokenizer import BOS, EOS, PAD

BUCKETS = (6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128)
"""Lengths to which sources and targets are padded, end token included."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The token ids of one forward pass.

    Attributes:
        source: (batch, source), with end token, padded.
        inputs: (batch, target), the decoder's input, with start token.
        labels: (batch, target), the right predictions, with end token.
        target_tokens: labels that are not padding.
    """

    source: Tensor
    inputs: Tensor
    labels: Tensor
    target_tokens: int

    def to(self, device: torch.device) -> Batch:
        """The batch on another device; the copy may still be running."""

        def moved(ids: Tensor) -> Tensor:
            # Only from pinned memory can a GPU copy while Python goes on.
            return (ids.pin_memory() if device.type == "cuda" else ids).to(
                device, non_blocking=True
            )

        return Batch(moved(self.source), moved(self.inputs), moved(self.labels), self.target_tokens)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Token ids of many sentences in one array, without special tokens.

    Attributes:
        ids: (token,), one sentence after another.
        lengths: (sentence,).
    """

    ids: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Sentences:
        """The sentences, each a list of token ids."""
        lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        ids = np.fromiter(chain.from_iterable(sentences), np.int32, count=int(lengths.sum()))
        return cls(ids, lengths)

    @classmethod
    def joined(cls, parts: Sequence[Sentences]) -> Sentences:
        """All sentences of the parts, in order."""
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.lengths for part in parts]),
        )


class Batches:
    """Token-bucketed batches over encoded pairs.

    Args:
        targets: each target, in the same order.
        tokens: the longer side's tokens in one batch, padding included.

    Pairs longer than the last bucket are left out; `skipped` counts them.
    """

    def __init__(self, sources: Sentences, targets: Sentences, *, tokens: int) -> None:
        self._sources = sources
        self._targets = targets
        self._starts = [side.lengths.cumsum() - side.lengths for side in (sources, targets)]
        widths = np.array(BUCKETS)
        sides = [np.searchsorted(widths, side.lengths + 1) for side in (sources, targets)]
        fits = np.maximum(*sides) < len(widths)
        self.skipped = int((~fits).sum())
        kept = np.flatnonzero(fits)
        shapes = sides[0][kept] * len(widths) + sides[1][kept]
        order = np.argsort(shapes, kind="stable")
        starts = np.flatnonzero(np.diff(shapes[order], prepend=-1))
        # A rare pair of lengths joins the square bucket of its longer side, so that no batch is
        # mostly empty.
        buckets: dict[tuple[int, int], list[np.ndarray]] = defaultdict(list)
        for start, places in zip(starts, np.split(order, starts)[1:], strict=True):
            source, target = divmod(int(shapes[order[start]]), len(widths))
            shape = (BUCKETS[source], BUCKETS[target])
            indices = kept[places]
            longest = max(shape)
            rare = len(indices) * longest < 4 * tokens
            buckets[(longest, longest) if rare else shape].append(indices)
        self._buckets = {shape: np.concatenate(parts) for shape, parts in buckets.items()}
        self._tokens = tokens

    def epoch(self, seed: int, epoch: int) -> list[tuple[tuple[int, int], np.ndarray]]:
        """The epoch's batches in order, as (shape, indices of pairs)."""
        random = np.random.default_rng((seed, epoch))
        plan = []
        for shape, indices in self._buckets.items():
            order = random.permutation(indices)
            rows = self._rows(shape)
            plan += [(shape, order[start : start + rows]) for start in range(0, len(order), rows)]
        return [plan[place] for place in random.permutation(len(plan))]

    def build(self, shape: tuple[int, int], indices: np.ndarray) -> Batch:
        """The tensors of one planned batch; unused rows are all padding."""
        source, labels = (self._table(side, indices, shape) for side in (0, 1))
        inputs = np.roll(labels, 1, axis=1)
        inputs[inputs == EOS] = PAD
        inputs[: len(indices), 0] = BOS
        return Batch(
            torch.from_numpy(source),
            torch.from_numpy(inputs),
            torch.from_numpy(labels),
            self.target_tokens(indices),
        )

    def _table(self, side: int, indices: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
        """(row, width) token ids of sources (0) or targets (1), each with its end token."""
        sentences = (self._sources, self._targets)[side]
        places = np.arange(shape[side])
        lengths = sentences.lengths[indices, None]
        within = places < lengths
        table = np.full((self._rows(shape), shape[side]), PAD, dtype=np.int64)
        filled = table[: len(indices)]
        filled[within] = sentences.ids[(self._starts[side][indices, None] + places)[within]]
        filled[places == lengths] = EOS
        return table

    def target_tokens(self, indices: np.ndarray) -> int:
        """Labels of these pairs, end tokens included."""
        return int(self._targets.lengths[indices].sum()) + len(indices)

    def longest(self, indices: np.ndarray) -> tuple[int, int]:
        """Tokens of the longest source and the longest target of these pairs, with end token."""
        source, target = (
            int(side.lengths[indices].max()) + 1 for side in (self._sources, self._targets)
        )
        return source, target

    def _rows(self, shape: tuple[int, int]) -> int:
        return max(1, self._tokens // max(shape))


def padded(token_ids: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Tensor:
    """Sources for decoding: (batch, source), each with its end token, padded to the longest."""
    return filled([[*ids, EOS] for ids in token_ids]).to(device)


def filled(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of token ids, (row, token), padded to the longest."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
