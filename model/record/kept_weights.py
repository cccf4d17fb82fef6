"""Weights of one call that are in a file, for the whole batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.trace.stored import FileArray, OnDemand, Stored


class KeptWeights(OnDemand):
    """The weights of one call of an attention, (batch, head, query, key), in a file.

    Attributes:
        latest: the last key on which each query has weight, (batch, head, query); -1 for none. It
            is None where a mask tells.
    """

    def __init__(
        self,
        sentences: Sequence[FileArray],
        scales: NDArray[np.float32] | None,
        latest: torch.Tensor | None,
    ) -> None:
        """Describe what was written.

        Args:
            sentences: what is stored of each, (head, query, key).
            scales: of steps of 8 bits, (batch, head, query).
            latest: as the attribute.
        """
        self._sentences, self._scales, self.latest = sentences, scales, latest
        self.shape = (len(sentences), *sentences[0].shape)

    def of(self, sentence: int, rows: slice, columns: Sequence[int]) -> Stored:
        """Some queries and keys of one sentence; nothing is read."""
        raw = self._sentences[sentence]
        scales = None if self._scales is None else self._scales[sentence]
        is_whole = len(range(*rows.indices(raw.shape[1]))) == raw.shape[1]
        if is_whole and len(columns) == raw.shape[2]:
            return Stored(raw, scales=scales)
        return Stored(raw, scales=scales, part=(rows, np.array(columns, np.intp)))

    def read(self) -> torch.Tensor:
        """All of them."""
        weights = np.empty(self.shape, np.float32)
        for sentence, own in enumerate(weights):
            stored = self.of(sentence, slice(None), range(self.shape[3]))
            for head in range(self.shape[1]):
                own[head] = stored[head]
        return torch.from_numpy(weights)
