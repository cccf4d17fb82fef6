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

import numpy as np
import torch
from torch import Tensor

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


class Batches:
    """Token-bucketed batches over encoded pairs.

    Args:
        sources: token ids of each source, without special tokens.
        targets: token ids of each target, likewise.
        tokens: the longer side's tokens in one batch, padding included.

    Pairs longer than the last bucket are left out; `skipped` counts them.
    """

    def __init__(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], *, tokens: int
    ) -> None:
        self._sources = sources
        self._targets = targets
        buckets: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.skipped = 0
        for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
            longest = max(len(source), len(target)) + 1
            if longest > BUCKETS[-1]:
                self.skipped += 1
            else:
                buckets[_bucket(len(source) + 1), _bucket(len(target) + 1)].append(index)
        # A rare pair of lengths joins the square bucket of its longer side, so that no batch is
        # mostly empty.
        self._buckets: dict[tuple[int, int], list[int]] = defaultdict(list)
        for shape, indices in sorted(buckets.items()):
            longest = max(shape)
            rare = len(indices) * longest < 4 * tokens
            self._buckets[(longest, longest) if rare else shape] += indices
        self._tokens = tokens

    def epoch(self, seed: int, epoch: int) -> list[tuple[tuple[int, int], np.ndarray]]:
        """The epoch's batches in order, as (shape, indices of pairs)."""
        random = np.random.default_rng((seed, epoch))
        plan = []
        for shape, indices in self._buckets.items():
            order = random.permutation(np.asarray(indices))
            rows = self._rows(shape)
            plan += [(shape, order[start : start + rows]) for start in range(0, len(order), rows)]
        return [plan[place] for place in random.permutation(len(plan))]

    def build(self, shape: tuple[int, int], indices: np.ndarray) -> Batch:
        """The tensors of one planned batch; unused rows are all padding."""
        rows = self._rows(shape)
        source = np.full((rows, shape[0]), PAD, dtype=np.int64)
        inputs = np.full((rows, shape[1]), PAD, dtype=np.int64)
        labels = np.full((rows, shape[1]), PAD, dtype=np.int64)
        for row, index in enumerate(indices):
            ids, target = self._sources[index], self._targets[index]
            source[row, : len(ids)] = ids
            source[row, len(ids)] = EOS
            inputs[row, 0] = BOS
            inputs[row, 1 : len(target) + 1] = target
            labels[row, : len(target)] = target
            labels[row, len(target)] = EOS
        return Batch(
            torch.from_numpy(source),
            torch.from_numpy(inputs),
            torch.from_numpy(labels),
            self.target_tokens(indices),
        )

    def target_tokens(self, indices: np.ndarray) -> int:
        """Labels of these pairs, end tokens included."""
        return sum(len(self._targets[index]) + 1 for index in indices)

    def longest(self, indices: np.ndarray) -> tuple[int, int]:
        """Tokens of the longest source and the longest target of these pairs, with end token."""
        longest_source = max(len(self._sources[index]) for index in indices)
        longest_target = max(len(self._targets[index]) for index in indices)
        return longest_source + 1, longest_target + 1

    def _rows(self, shape: tuple[int, int]) -> int:
        return max(1, self._tokens // max(shape))


def _bucket(length: int) -> int:
    return next(bucket for bucket in BUCKETS if length <= bucket)


def padded(token_ids: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> Tensor:
    """Sources for decoding: (batch, source), each with its end token, padded to the longest."""
    width = max(len(ids) for ids in token_ids) + 1
    rows = [[*ids, EOS, *[PAD] * (width - len(ids) - 1)] for ids in token_ids]
    return torch.tensor(rows, device=device)
