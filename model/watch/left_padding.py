"""Handles padding before a sentence, as in a batch that a decoder continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from model.record.recording import CaptureError, Recording
from model.record.sentence_map import AttentionRecord
from model.trace.attention_map import TextSide
from model.trace.trace import Trace


def without_left_padding(recording: Recording, sentence: int, named: Mapping[str, Any]) -> Trace:
    """One sentence as a trace, from its first token on; arguments as of `Recording.trace`.

    Raises CaptureError if labels fit neither the sentence without its padding nor with it.
    """
    before: dict[TextSide, int] = {}
    for site in recording:
        record = recording[site]
        side = site.kind.key_side
        labels = None if side is None else named.get(side)
        # Weights of a long text are read from a file, so they are not asked without need.
        if (
            side is not None
            and labels is not None
            and len(labels) != _length(recording, side)
            and 0 <= sentence < record.shape[0]
        ):
            before[side] = max(before.get(side, 0), _padding(record, sentence, site.kind))
    skipped: dict[TextSide, int] = {}
    for side, n in before.items():
        labels = named[side]
        total = _length(recording, side)
        if not n:
            continue
        if len(labels) != total - n:
            raise CaptureError(
                f"The {side} of sentence {sentence} has padding before it, at {n} of {total} "
                f"positions, but there are {len(labels)} labels; give {total - n} labels for what "
                f"comes after the padding, or {total} with it."
            )
        skipped[side] = n
    if not skipped:
        return recording.trace(sentence, **named)
    cut = Recording()
    for site in recording:
        rows, columns = (
            0 if side is None else skipped.get(side, 0)
            for side in (site.kind.query_side, site.kind.key_side)
        )
        cut.add(site, 0, 1, _cut(recording[site], rows, columns))
    return cut.trace(sentence, **named)


def _length(recording: Recording, side: TextSide) -> int:
    return next(recording[site].n_keys for site in recording if site.kind.key_side == side)


def _padding(record: AttentionRecord, sentence: int, kind: str) -> int:
    """The number of initial keys that no later query sees."""
    if record.allowed is None:
        visible = record.weights[sentence] > 0
    else:
        visible = record.allowed.expand(record.shape)[sentence]
    visible = visible[..., : record.n_keys].any(dim=0)
    n_queries, n_keys = visible.shape
    if kind != "cross" and n_queries == n_keys:
        # Each query's first key; queries without keys do not count.
        some = visible.any(dim=1)
        earliest = torch.where(some, visible.int().argmax(dim=1), n_keys)
        earliest = earliest.flip(0).cummin(0).values.flip(0)
        after = [n for n in range(1, n_queries) if n <= int(earliest[n]) < n_keys]
        return after[-1] if after else 0
    used = visible.any(dim=0)
    return int(used.int().argmax()) if bool(used.any()) else 0


def _cut(record: AttentionRecord, rows: int, columns: int) -> AttentionRecord:
    def part(x: torch.Tensor | None, *axes: int) -> torch.Tensor | None:
        if x is None:
            return None
        for axis, n in zip((2, 3), axes, strict=True):
            if n and axis < x.dim():
                x = x[(slice(None),) * axis + (slice(n, None),)]
        return x

    weights = part(record.weights, rows, columns)
    assert weights is not None
    allowed = record.allowed
    if allowed is not None:
        allowed = part(allowed.expand(record.weights.shape), rows, columns)
    return replace(
        record,
        weights=weights,
        scores=part(record.scores, rows, columns),
        q=part(record.q, rows, 0),
        k=part(record.k, columns, 0),
        v=part(record.v, columns, 0),
        allowed=allowed,
    )
