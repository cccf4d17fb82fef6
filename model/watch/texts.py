"""Tells apart the several calls of one site: layers, texts, and steps of writing one text.

In one run of the model, a call that reads what an earlier call made is a layer above it; a call
that does not is another text, read by the same modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from model.record.recording import CaptureError
from model.record.sentence_map import AttentionRecord
from model.trace.attention_map import Site


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a site: its record, and its number among the events of the recording.

    `run` is the call of the whole model that it is part of, None where no module ran; `queries` are
    numbers of the tensors that its queries were computed from, None if not known. `reads` has the
    bit of every earlier call whose output it reads, and `looks_up` that of every text whose
    embeddings it reads. `sources` are the tensors whose rows were mapped to its queries and to its
    keys, if its queries are all of them.
    """

    record: AttentionRecord
    order: int
    run: int | None
    queries: frozenset[int] | None
    reads: int = 0
    looks_up: int = 0
    sources: tuple[int, int] | None = None

    def follows(self, other: Call) -> bool:
        """Whether it reads what another call made."""
        return bool(self.reads >> other.order & 1)

    def is_beside(self, other: Call) -> bool:
        """Whether it holds other heads of the same layer: other queries of the same tokens."""
        mine, theirs = self.record, other.record
        return (
            self.run is not None
            and self.run == other.run
            and self.sources is not None
            and self.sources == other.sources
            and not self.follows(other)
            and mine.shape == theirs.shape
            and mine.extra_keys == theirs.extra_keys
            and mine.q is not None
            and theirs.q is not None
            and mine.q.shape == theirs.q.shape
            and not torch.equal(mine.q, theirs.q)
        )


Steps = list[Call]
Layers = list[Steps]


def texts_of(site: Site, calls: Sequence[Call]) -> list[Layers]:
    """The calls of a site by text, then by layer, with one call per run.

    Raises CaptureError if what the calls read does not tell.
    """
    if len(calls) == 1:
        return [[list(calls)]]
    runs: dict[int | None, list[Call]] = {}
    for call in calls:
        runs.setdefault(call.run, []).append(call)
    if None in runs:
        raise several(site, len(calls), "outside of any module, so that nothing tells its passes")
    by_run = [_texts_of_run(site, run, len(calls)) for run in runs.values()]
    if len({tuple(map(len, texts)) for texts in by_run}) > 1:
        raise several(site, len(calls), "not as often in each run of the model")
    return [
        [list(steps) for steps in zip(*layers, strict=True)] for layers in zip(*by_run, strict=True)
    ]


def _texts_of_run(site: Site, run: list[Call], n_calls: int) -> list[list[Call]]:
    texts: list[list[Call]] = []
    for call in run:
        read = [text for text in texts if any(map(call.follows, text))]
        if not read:
            for each in (each for text in texts for each in text):
                if (call.queries or frozenset()) & (each.queries or frozenset()):
                    _require_again(site, n_calls, each.record, call.record)
            texts.append([call])
            continue
        before = read[0][-1]
        if len(read) > 1 or not call.follows(before):
            raise several(
                site,
                n_calls,
                "in calls that read each other in no single line, and so are no layers",
            )
        if call.looks_up >> before.order:
            how = "each time reading another text and what it made of the one before"
            raise several(site, n_calls, how)
        if call.record.shape != before.record.shape:
            how = "each time reading what it made before, but not as many tokens"
            raise several(site, n_calls, how)
        read[0].append(call)
    return texts


def _require_again(site: Site, n_calls: int, one: AttentionRecord, other: AttentionRecord) -> None:
    """Refuse queries of one tensor, unless it is the same text read twice."""
    for mine, theirs in ((one.weights, other.weights), (one.q, other.q), (one.k, other.k)):
        if mine is None or theirs is None or not torch.equal(mine, theirs):
            raise several(site, n_calls, "on parts of one text")


def of_text(sites: Sequence[tuple[Site, list[Layers]]], text: int) -> list[tuple[Site, Layers]]:
    """The layers of each site that belong to one text.

    Raises CaptureError if there is no such text, or a site belongs to no single one.
    """
    n_texts = max((len(texts) for _, texts in sites), default=1)
    if not 0 <= text < n_texts:
        there = "is 1 text" if n_texts == 1 else f"are {n_texts} texts"
        raise CaptureError(f"There {there} here, counted from 0; there is no text {text}.")
    if n_texts == 1:
        return [(site, layers) for site, (layers,) in sites]
    first, texts = next((site, texts) for site, texts in sites if len(texts) == n_texts)
    parts = [_calls(layers) for layers in texts]
    owners = {first: [{n} for n in range(n_texts)]}
    # Each site that found its texts may lead others to theirs.
    while missing := [each for each in sites if each[0] not in owners]:
        known = len(owners)
        for site, texts in missing:
            if len(texts) not in (1, n_texts):
                raise _of_none(site, f"ran on {len(texts)} texts, and {first} on {n_texts}")
            calls = [_calls(layers) for layers in texts]
            read = [{n for n in range(n_texts) if _reads(each, parts[n])} for each in calls]
            # All texts may read one call, as two that are written read the same source.
            fed = [{n for n in range(n_texts) if _reads(parts[n], each)} for each in calls]
            own = [mine or theirs for mine, theirs in zip(read, fed, strict=True)]
            twice = len(texts) > 1 and all(own) and len(set().union(*own)) < n_texts
            if twice or any(len(each) > 1 for each in (read if len(texts) == 1 else own)):
                raise _of_none(site, f"reads several of the {n_texts} texts of {first}")
            if all(own):
                owners[site] = own
                for each, numbers in zip(calls, own, strict=True):
                    if len(numbers) == 1:
                        parts[min(numbers)] += each
        if len(owners) == known:
            raise _of_none(missing[0][0], f"has nothing to do with the {n_texts} texts of {first}")
    return [
        (site, layers)
        for site, texts in sites
        for layers, numbers in zip(texts, owners[site], strict=True)
        if text in numbers
    ]


def _calls(layers: Layers) -> list[Call]:
    return [call for steps in layers for call in steps]


def _reads(calls: Sequence[Call], others: Sequence[Call]) -> bool:
    """Whether one of the calls reads what one of the others made."""
    return any(call.follows(other) for call in calls for other in others)


def _of_none(site: Site, what: str) -> CaptureError:
    return CaptureError(
        f"{site} {what}, so that it is part of no single one; choose other sites= for the trace."
    )


def several(site: Site, n_calls: int, how: str) -> CaptureError:
    """The refusal of several calls that no trace can hold."""
    return CaptureError(
        f"{site} ran {n_calls} times in this recording, {how}; record a single pass, as over the "
        "source and the whole target that was written, or choose among the calls of its site."
    )
