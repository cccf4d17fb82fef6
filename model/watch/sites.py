"""What a recording found: sites with their kind and layer, and what else was seen."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import torch
from torch import Tensor

from model.record.intervention import Intervention
from model.record.recording import AttentionRecord, CaptureError, Recording, TraceFields, join_heads
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.watch.call_sites import Place, Spot
from model.watch.editing import Edits, site_edits
from model.watch.joining import Call, Joined, joined
from model.watch.lineage import Softmax
from model.watch.report import OtherSoftmax, Report, Suspicion

Origins = tuple[frozenset[int], frozenset[int]]
"""What queries and keys were computed from, as numbers of tensors."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedSite:
    """One attention of a model, and what each of its calls did.

    Attributes:
        site: its kind and layer; layers are counted from 0 by kind, in the order of first calls.
            The kind is that of the first call: with a cache, later ones look like
            cross-attention.
        place: where it ran; of heads that are modules of their own, the first.
        calls: in order, for the whole batch: several where a module is shared between layers, or
            where a text is written token by token. Weights are those that the model used, before
            dropout. Scores, q, k and v are None where they could not be told.
    """

    site: Site
    place: Place
    calls: tuple[AttentionRecord, ...]

    @property
    def n_heads(self) -> int:
        """How many heads there are."""
        return self.calls[0].weights.shape[1]


@dataclass(slots=True, eq=False)
class _Found:
    """The calls of one place, with what the first of them read."""

    place: Place
    origins: Origins | None
    keys: tuple[Hashable, ...]
    calls: list[Call] = field(default_factory=list)

    @property
    def records(self) -> tuple[AttentionRecord, ...]:
        return tuple(call.record for call in self.calls)


class Collection:
    """What the recorder hands over while it runs."""

    def __init__(self) -> None:
        self.softmaxes: list[Softmax] = []
        self.suspicions: Counter[tuple[Place, tuple[int, ...]]] = Counter()
        self.places: dict[Hashable, _Found] = {}
        self.n_calls = 0

    def call(self, spot: Spot, record: AttentionRecord, origins: Origins | None) -> None:
        """One call of an attention; without origins, queries and keys are of one text."""
        key = object() if spot.key is None else spot.key
        found = self.places.setdefault(key, _Found(spot.place, origins, (spot.key,)))
        queries = None if origins is None else origins[0]
        found.calls.append(Call(record, self.n_calls, spot.run, queries))
        self.n_calls += 1

    def suspicion(self, place: Place, shape: tuple[int, ...]) -> None:
        """A product whose left factor looks like weights."""
        self.suspicions[place, shape] += 1


class Watched:
    """What `watching` saw; readable while it watches and afterwards."""

    def __init__(self, found: Collection, like: Watched | None = None) -> None:
        self._found = found
        # Edited attention may look like another kind, and so is called as it was.
        self._names: dict[Hashable, Site] = {}
        if like is not None:
            for each, found_there in like._sites():
                self._names |= dict.fromkeys(found_there.keys, each.site)

    @property
    def sites(self) -> tuple[WatchedSite, ...]:
        """Every attention that ran, in the order of first calls."""
        return tuple(site for site, _ in self._sites())

    def edits(self, under: Intervention, weights: Mapping[Any, Any]) -> Edits:
        """What `watching` does under an intervention, by the sites that were seen here.

        Raises:
            CaptureError, HeadError, MaskError: as `site_edits`.
        """
        return site_edits(
            under,
            weights,
            {
                each.site: (
                    found.keys,
                    each.n_heads,
                    len(each.calls) == 1,
                    len(each.calls[0].extra_keys),
                )
                for each, found in self._sites()
            },
        )

    def _sites(self) -> list[tuple[WatchedSite, _Found]]:
        found = _heads_joined(list(self._found.places.values()))
        names = [self._names.get(each.keys[0]) for each in found]
        known = [name for name in names if name is not None]
        sites = known if len(known) == len(found) else _named(found)
        return [
            (WatchedSite(site, each.place, each.records), each)
            for site, each in zip(sites, found, strict=True)
        ]

    def recording(self) -> Recording:
        """The same as taps would have recorded it, for maps by sentence and for traces.

        Raises:
            CaptureError: if no attention ran.
        """
        self._require_any()
        seen = Recording()
        for each in self.sites:
            for call in each.calls:
                seen.add(each.site, 0, 1, call)
        return seen

    def trace(self, sentence: int = 0, **named: Unpack[TraceFields]) -> Trace:
        """One sentence of the batch as a trace; arguments as of `Recording.trace`.

        Each call of a module that is shared between layers is a layer of its own, and the steps of
        a text written token by token are the rows of one map; `report` says so.

        Weights stand as the model used them: a query without allowed keys has what the model's
        own softmax made of it, which may be NaN.

        Raises:
            CaptureError: if no attention ran, or a site several times that belong to no one pass,
                as where beams take the place of one another, or to parts of one text.
            TraceError: if the lengths of labels, predictions and log_probs disagree.
        """
        self._require_any()
        return self._joined().recording.trace(sentence, **named)

    def _require_any(self) -> None:
        if not self._found.places:
            raise CaptureError(
                "No attention ran while this watched; run the model inside `with watching()`, and "
                "see report() for what else ran."
            )

    def _joined(self) -> Joined:
        return joined([(each.site, found.calls) for each, found in self._sites()])

    def report(self) -> Report:
        """What was seen and what was not; `str` of it is for people."""
        others = Counter(
            (each.place, each.shape, each.reason)
            for each in self._found.softmaxes
            if each.reason is not None
        )
        try:
            sentences = self._joined().sentences
        except CaptureError as error:
            sentences = (f"no trace: {error}",)
        return Report(
            joined=sentences,
            sites=self.sites,
            others=tuple(OtherSoftmax(*what, times) for what, times in others.items()),
            suspicions=tuple(
                Suspicion(*what, times) for what, times in self._found.suspicions.items()
            ),
        )


def _heads_joined(found: list[_Found]) -> list[_Found]:
    """Heads that are modules of their own, as one place each: they read the same, in a row."""
    joined: list[list[_Found]] = []
    for each in found:
        if joined and _is_next_head(joined[-1][-1], each):
            joined[-1].append(each)
        else:
            joined.append([each])
    return [
        heads[0]
        if len(heads) == 1
        else _Found(
            heads[0].place,
            heads[0].origins,
            tuple(key for head in heads for key in head.keys),
            [
                replace(parts[0], record=join_heads([each.record for each in parts]))
                for parts in zip(*(head.calls for head in heads), strict=True)
            ],
        )
        for heads in joined
    ]


def _is_next_head(one: _Found, other: _Found) -> bool:
    numbers = [
        (a, b)
        for a, b in itertools.zip_longest(one.place.path.split("."), other.place.path.split("."))
        if a != b
    ]
    if len(numbers) != 1 or not all(str(part).isdigit() for part in numbers[0]):
        return False
    if one.origins is None or other.origins is None or len(one.calls) != len(other.calls):
        return False
    return all(
        bool(mine & theirs) for mine, theirs in zip(one.origins, other.origins, strict=True)
    ) and all(
        a.weights.shape == b.weights.shape and a.weights.shape[1] == 1
        for a, b in zip(one.records, other.records, strict=True)
    )


def _named(found: list[_Found]) -> list[Site]:
    crosses = [_is_cross(each) for each in found]
    count: Counter[AttentionKind] = Counter()
    sites = []
    for number, (each, is_cross) in enumerate(zip(found, crosses, strict=True)):
        kind = AttentionKind.ENCODER
        followed = found[number + 1] if crosses[number + 1 : number + 2] == [True] else None
        if is_cross:
            kind = AttentionKind.CROSS
        elif _is_causal(each) or (followed and _in_one_layer(each.place, followed.place)):
            kind = AttentionKind.DECODER
        sites.append(Site(kind, count[kind]))
        count[kind] += 1
    return sites


def _is_cross(found: _Found) -> bool:
    first = found.records[0]
    if found.origins is None:
        return first.n_queries != first.n_keys
    queries, keys = found.origins
    return not queries & keys


def _is_causal(found: _Found) -> bool:
    """Whether no query sees a later key; of single queries, whether keys grow call by call."""
    lengths = [call.n_keys for call in found.records]
    if all(call.n_queries == 1 for call in found.records):
        return len(lengths) > 1 and lengths == sorted(set(lengths))
    return all(_sees_nothing_later(call) for call in found.records if call.n_queries > 1)


def _sees_nothing_later(call: AttentionRecord) -> bool:
    seen: Tensor = call.weights > 0
    if call.allowed is not None:
        seen = call.allowed.expand(seen.shape)
    later = torch.ones(call.n_queries, call.n_keys, dtype=torch.bool, device=seen.device)
    later = later.triu(1 + call.n_keys - call.n_queries)
    return not bool((seen[..., : call.n_keys] & later).any())


def _in_one_layer(place: Place, cross: Place) -> bool:
    """Whether two modules have an owner in common that is less than the whole model."""
    mine, theirs = (each.path.split(".")[:-1] for each in (place, cross))
    shared = [a for a, b in zip(mine, theirs, strict=False) if a == b]
    return mine == theirs or any(part.isdigit() for part in shared)
