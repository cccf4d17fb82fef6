"""Writes the weights of each call to a temporary file, in fewer bits, while a model runs."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from model.files import reason
from model.record.kept_weights import KeptWeights
from model.record.recording import CaptureError
from model.record.sentence_map import AttentionRecord
from model.trace.rounded_weights import Bits, rounded
from model.trace.stored import FileArray, StoredFile
from model.watch.kernels import ByHead


class Keeping:
    """A temporary file for the weights of one recording; it is gone with what reads it.

    It holds one head in memory at a time. `TMPDIR` says in which folder it is, as for every
    temporary file of Python.
    """

    def __init__(
        self,
        bits: Bits,
        expected: Mapping[Hashable, tuple[int, int, int]] | None = None,
        *,
        shows: bool = False,
    ) -> None:
        """Open the file.

        Args:
            bits: of each weight; weights that are no shares, and so cannot be rounded, take 32.
            expected: the shapes (head, query, key) of a shorter text's weights by place, where the
                model was watched before: what tells how large the file will be.
            shows: whether a progress bar stands on standard error.
        """
        self._bits = bits
        self._expected = dict(expected or {})
        self._file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._stored = StoredFile(self._file)
        self._end = 0
        self._room = np.empty((0, 0), np.float32)
        self._bar = tqdm(total=len(self._expected) or None, unit=" sites", disable=not shows)

    def close(self) -> None:
        """End the progress bar; what was written stays readable."""
        self._bar.close()

    def keep(self, record: AttentionRecord, place: Hashable) -> AttentionRecord | None:
        """A record whose weights are in the file, without scores, queries, keys and values.

        None if a weight is NaN or below 0. Raises CaptureError if the file would not fit, or cannot
        be written.
        """
        if self._end == 0:
            self._require_room(record, place)
        return self._kept(record, self._bits)

    def keep_exact(self, record: AttentionRecord) -> AttentionRecord:
        """The same for weights that cannot be rounded."""
        kept = self._kept(record, 32)
        assert kept is not None
        return kept

    def _kept(self, record: AttentionRecord, bits: Bits) -> AttentionRecord | None:
        weights = vars(record)["weights"]
        batch, heads, n_queries, n_keys = weights.shape
        scales = np.empty((batch, heads, n_queries), np.float32) if bits == 8 else None
        latest = None
        if record.allowed is None:
            latest = torch.empty((batch, heads, n_queries), dtype=torch.int64)
        start = self._end
        for sentence in range(batch):
            for head in range(heads):
                own = (
                    weights.head(sentence, head)
                    if isinstance(weights, ByHead)
                    else weights[sentence, head]
                )
                own = own.detach().float().cpu().numpy()
                if latest is not None:
                    latest[sentence, head] = _latest(own[:, : record.n_keys])
                raw, totals = self._encoded(own, bits)
                if bits != 32 and not np.isfinite(totals).all():
                    self._end = start
                    return None
                if scales is not None:
                    scales[sentence, head] = totals
                self._write(raw)
        dtype = np.dtype(_STORED[bits])
        size = heads * n_queries * n_keys * dtype.itemsize
        sentences = [
            FileArray(self._stored, start + size * sentence, dtype, (heads, n_queries, n_keys))
            for sentence in range(batch)
        ]
        self._bar.set_postfix_str(f"{self._end / 1e9:.2f} GB", refresh=False)
        self._bar.update()
        kept: Any = KeptWeights(sentences, scales, latest)
        return replace(record, weights=kept, scores=None, q=None, k=None, v=None)

    def _encoded(self, weights: NDArray[np.float32], bits: Bits) -> tuple[NDArray[Any], Any]:
        """Weights as they are written; and scales or sums, which are finite for shares alone."""
        if bits == 8:
            # Of weights below 0 there is no root.
            with np.errstate(invalid="ignore"):
                if self._room.shape != weights.shape:
                    self._room = np.empty_like(weights)
                return rounded(weights, self._room)
        return weights.astype(_STORED[bits]), weights.sum(axis=-1)

    def _require_room(self, record: AttentionRecord, place: Hashable) -> None:
        """Say how large the file will be, and refuse what the disk has no room for."""
        known = self._expected.get(place)
        if known is None:
            return
        batch, *shape = record.shape
        longer = batch * math.prod(shape) / math.prod(known)
        size = int(longer * sum(map(math.prod, self._expected.values())) * self._bits / 8)
        self._bar.set_description(f"About {size / 1e9:.2f} GB of weights")
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if size > free:
            raise CaptureError(
                f"The weights take about {size / 1e9:.1f} GB, and {tempfile.gettempdir()} has "
                f"{free / 1e9:.1f} GB left; set TMPDIR to another folder, name fewer sites=, or "
                "keep fewer bits."
            )

    def _write(self, raw: NDArray[Any]) -> None:
        view = np.ascontiguousarray(raw).reshape(-1).view(np.uint8).data
        try:
            self._file.seek(self._end)
            while len(view):
                n = self._file.write(view)
                self._end += n
                view = view[n:]
        except OSError as error:
            raise CaptureError(
                f"The weights cannot be written to {tempfile.gettempdir()}: {reason(error)}; set "
                "TMPDIR to another folder, name fewer sites=, or keep fewer bits."
            ) from error


_STORED: dict[Bits, str] = {8: "u1", 16: "f2", 32: "f4"}


def _latest(weights: NDArray[np.float32]) -> Tensor:
    """The last key with weight of each query, (query,); -1 for none."""
    n_keys = weights.shape[-1]
    if n_keys == 0 or (weights[:, -1] > 0).all():
        return torch.full((len(weights),), n_keys - 1)
    is_seen = weights[:, ::-1] > 0
    first = is_seen.argmax(axis=-1)
    return torch.from_numpy(np.where(is_seen.any(axis=-1), n_keys - 1 - first, -1))
