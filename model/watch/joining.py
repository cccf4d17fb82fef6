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

from model.record.recording import CaptureError, Recording
from model.record.sentence_map import AttentionRecord
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
    # Without a module that layers share, every site keeps its number, also beside ones left out.
    keeps_numbers = len(layers) == len(found)
    recording, count = Recording(), Counter[AttentionKind]()
    named: dict[Site, list[Site]] = {}
    steps: dict[Site, int] = {}
    batches: dict[int, Site] = {}
    for site, calls in layers:
        own = site if keeps_numbers else Site(site.kind, count[site.kind])
        count[site.kind] += 1
        named.setdefault(site, []).append(own)
        if len(calls) > 1:
            steps[own] = len(calls)
        record = _steps(site, [call.record for call in calls])
        batches.setdefault(record.shape[0], site)
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
    if any(call.extra_keys != first.extra_keys for call in calls):
        raise several(site, len(calls), "with other keys of the model's own each time")
    if any(call.shape[0] != first.shape[0] for call in calls):
        raise several(site, len(calls), "on batches of different sizes")
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
    grows = site.kind is not AttentionKind.CROSS
    last = calls[-1]
    starts, k, v, n_keys = [0] * len(calls), last.k, last.v, last.n_keys
    if grows:
        starts, k, v = _steps_of_text(site, calls)
        n_keys = sum(call.n_queries for call in calls)
    else:
        for call in calls:
            if call.k is None or k is None or not _equal(call.k, k):
                raise several(site, len(calls), "on texts of different keys")
    n_extra = len(last.extra_keys)

    def row(x: torch.Tensor, start: int) -> torch.Tensor:
        text = x[..., : min(n_keys - start, x.shape[-1] - n_extra)]
        text = F.pad(text, (start, n_keys - start - text.shape[-1]))
        return torch.cat([text, x[..., x.shape[-1] - n_extra :]], dim=-1)

    causal = torch.ones(n_keys, n_keys, dtype=torch.bool, device=last.weights.device).tril()
    causal = F.pad(causal, (0, n_extra), value=True)
    allowed = [
        torch.ones((), dtype=torch.bool, device=call.weights.device)
        if call.allowed is None
        else call.allowed
        for call in calls
    ]
    rows = [
        row(each.expand(call.weights.shape), start)
        for each, call, start in zip(allowed, calls, starts, strict=True)
    ]
    scores = [call.scores for call in calls if call.scores is not None]
    queries = [call.q for call in calls if call.q is not None]
    return AttentionRecord(
        weights=torch.cat(
            [row(call.weights, start) for call, start in zip(calls, starts, strict=True)], dim=2
        ),
        # The scores of later keys were never computed.
        scores=torch.cat(scores, dim=2) if len(scores) == len(calls) and not grows else None,
        q=torch.cat(queries, dim=2) if len(queries) == len(calls) else None,
        k=k,
        v=v,
        allowed=torch.cat(rows, dim=2) & causal if grows else torch.cat(rows, dim=2),
        extra_keys=last.extra_keys,
        extra_before=last.extra_before,
    )


def _steps_of_text(
    site: Site, calls: Sequence[AttentionRecord]
) -> tuple[list[int], torch.Tensor | None, torch.Tensor | None]:
    """The position of each step's first key, and the keys and values of all positions.

    A cache of fixed size keeps the latest keys alone, which begin later from then on.
    """
    starts: list[int] = []
    keys: torch.Tensor | None = None
    values: torch.Tensor | None = None
    for call in calls:
        if call.k is None:
            raise several(
                site, len(calls), "with keys that are not known, so that none can be told"
            )
        before = 0 if keys is None else keys.shape[2]
        # What a step reads beyond the text so far is room that a cache has left.
        n_keys = min(call.n_keys, before + call.n_queries)
        start = before + call.n_queries - n_keys
        kept = n_keys - call.n_queries
        # Without any earlier key, nothing shows that the text goes on.
        if bool(call.weights[..., n_keys : call.n_keys].any()) or kept < (keys is not None):
            raise several(site, len(calls), "on texts that are not one continued")
        if keys is not None and not _equal(call.k[:, :, :kept], keys[:, :, start:]):
            if _equal(call.k[:, :, :kept], keys[:, :, :kept]):
                how = "and took back tokens that it had read, as assisted decoding does"
            elif start:
                how = "with a cache that keeps other keys than the latest"
            else:
                how = (
                    "each time with other keys of the tokens before, as where beams replace each "
                    "other or a cache rounds what it keeps"
                )
            raise several(site, len(calls), how)
        starts.append(start)
        keys = _longer(keys, call.k[:, :, kept:n_keys])
        values = None if call.v is None else _longer(values, call.v[:, :, kept:n_keys])
    last = calls[-1]
    if keys is not None and values is not None and keys.shape[2] != values.shape[2]:
        values = None
    return starts, _with_extra(keys, last.k, last), _with_extra(values, last.v, last)


def _with_extra(
    x: torch.Tensor | None, last: torch.Tensor | None, call: AttentionRecord
) -> torch.Tensor | None:
    """Keys or values of a text, with those that the model adds behind them."""
    if x is None or last is None:
        return None
    return torch.cat([x, last[:, :, call.n_keys :]], dim=2)


def _longer(one: torch.Tensor | None, more: torch.Tensor) -> torch.Tensor:
    return more if one is None else torch.cat([one, more], dim=2)


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(
        one, other, atol=_CLOSE, rtol=_CLOSE, equal_nan=True
    )
