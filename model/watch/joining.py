"""Joins several calls of a site for a trace: one call per layer, or the queries of all steps.

A trace has one map per site. If layers share a module, each of its calls on one text is a layer; if
a text is written step by step, each run of the model holds queries of the same maps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F

from model.record.recording import AttentionRecord, CaptureError, Recording
from model.trace.attention_map import AttentionKind, Site
from model.watch.texts import Call, of_text, several, texts_of

_CLOSE = 1e-4
"""The tolerance for weights and keys of the same text, computed with fewer queries."""


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The calls of all sites, one a site as a trace has them, with sentences on what was joined."""

    recording: Recording
    sentences: tuple[str, ...]


def joined(sites: Sequence[tuple[Site, Sequence[Call]]], text: int = 0) -> Joined:
    """Join calls so that every site has one, of one of the texts that a run of the model read.

    Raises CaptureError if several calls are neither texts or layers of one run nor steps of one
    text, if there is no such text, or sites hold batches of different sizes.
    """
    found = [(site, texts_of(site, calls)) for site, calls in sites]
    n_texts = max([len(texts) for _, texts in found], default=1)
    layers = [(site, steps) for site, each in of_text(found, text) for steps in each]
    layers.sort(key=lambda each: each[1][0].order)
    recording, count = Recording(), Counter[AttentionKind]()
    named: dict[Site, list[Site]] = {}
    steps: dict[Site, int] = {}
    batches: dict[int, Site] = {}
    for site, calls in layers:
        own = Site(site.kind, count[site.kind])
        count[site.kind] += 1
        named.setdefault(site, []).append(own)
        if len(calls) > 1:
            steps[own] = len(calls)
        record = _steps(site, [call.record for call in calls])
        batches.setdefault(len(record.weights), site)
        recording.add(own, 0, 1, record)
    if len(batches) > 1:
        listing = ", ".join(f"{size} at {site}" for size, site in batches.items())
        raise CaptureError(
            f"Sites hold batches of different sizes ({listing}), as with several beams, samples or "
            "windows for a sentence, so that no trace can tell which belong together; record one "
            "pass over the source and the whole target, or choose among calls."
        )
    sentences = []
    if n_texts > 1:
        shared = ", ".join(str(site) for site, texts in found if len(texts) > 1)
        sentences.append(
            f"{shared} ran on {n_texts} texts in one run of the model; trace(text=0) to "
            f"trace(text={n_texts - 1}) have one each"
        )
    of_each = " on each text" if n_texts > 1 else ""
    sentences += [
        f"{site} ran {len(own)} times{of_each} in one run of the model; a trace has its calls as "
        f"{', '.join(map(str, own))}"
        for site, own in named.items()
        if len(own) > 1
    ]
    sentences += [
        f"{site} ran in {n} steps; a trace has the queries of all of them"
        for site, n in steps.items()
    ]
    return Joined(recording, tuple(sentences))


def _steps(site: Site, calls: Sequence[AttentionRecord]) -> AttentionRecord:
    """Join one layer's calls in several runs into that of a pass over the whole text."""
    if len(calls) == 1:
        return calls[0]
    first = calls[0]
    if any(
        (call.extra_keys, len(call.weights)) != (first.extra_keys, len(first.weights))
        for call in calls
    ):
        raise several(site, len(calls), "with keys of its own or with batches that change")
    if all(a.n_queries < b.n_queries for a, b in pairwise(calls)):
        return _last(site, calls)
    return _rows(site, calls)


def _last(site: Site, calls: Sequence[AttentionRecord]) -> AttentionRecord:
    """The last of several passes over the whole text so far; it contains the others."""
    last = calls[-1]
    for call in calls[:-1]:
        part = last.weights[:, :, : call.n_queries, : call.n_keys]
        if not _equal(part, call.weights[..., : call.n_keys]):
            raise several(site, len(calls), "on texts that are not one continued")
    return last


def _rows(site: Site, calls: Sequence[AttentionRecord]) -> AttentionRecord:
    """The rows of all steps, one below the other; each step read only the new tokens."""
    total, last = sum(call.n_queries for call in calls), calls[-1]
    grows = site.kind is not AttentionKind.CROSS
    n_keys = total if grows else last.n_keys
    read = 0
    for call in calls:
        read += call.n_queries
        known = read if grows else n_keys
        beyond = call.weights[..., known : call.n_keys]
        if (
            call.k is None
            or last.k is None
            or call.n_keys < known
            or bool(beyond.any())
            # A beam replaced by another has other keys from then on.
            or not _equal(call.k[:, :, :known], last.k[:, :, :known])
        ):
            raise several(site, len(calls), "on texts that are not one continued")

    n_extra = len(last.extra_keys)

    def row(x: torch.Tensor) -> torch.Tensor:
        text = x[..., : min(n_keys, x.shape[-1] - n_extra)]
        text = F.pad(text, (0, n_keys - text.shape[-1]))
        return torch.cat([text, x[..., x.shape[-1] - n_extra :]], dim=-1)

    def keys(x: torch.Tensor | None) -> torch.Tensor | None:
        return None if x is None else torch.cat([x[:, :, :n_keys], x[:, :, last.n_keys :]], dim=2)

    causal = torch.ones(n_keys, n_keys, dtype=torch.bool, device=last.weights.device).tril()
    causal = F.pad(causal, (0, n_extra), value=True)
    allowed = [
        torch.ones((), dtype=torch.bool, device=call.weights.device)
        if call.allowed is None
        else call.allowed
        for call in calls
    ]
    rows = [row(each.expand(call.weights.shape)) for each, call in zip(allowed, calls, strict=True)]
    scores = [call.scores for call in calls if call.scores is not None]
    queries = [call.q for call in calls if call.q is not None]
    return AttentionRecord(
        weights=torch.cat([row(call.weights) for call in calls], dim=2),
        # The scores of later keys were never computed.
        scores=torch.cat(scores, dim=2) if len(scores) == len(calls) and not grows else None,
        q=torch.cat(queries, dim=2) if len(queries) == len(calls) else None,
        k=keys(last.k),
        v=keys(last.v),
        allowed=torch.cat(rows, dim=2) & causal if grows else torch.cat(rows, dim=2),
        extra_keys=last.extra_keys,
        extra_before=last.extra_before,
    )


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(
        one, other, atol=_CLOSE, rtol=_CLOSE, equal_nan=True
    )
