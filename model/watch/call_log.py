"""What the recorder notes while a model runs: calls of attention by place, other softmaxes."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from model.paper.masks import rows_without_keys
from model.record.recording import join_heads
from model.record.sentence_map import AttentionRecord
from model.watch.arrangement import UNCERTAIN
from model.watch.call_sites import CallSite, Spot
from model.watch.keeping import Keeping
from model.watch.node import Node, Softmax
from model.watch.texts import Call

Origins = tuple[frozenset[int], frozenset[int]]
"""The tensors that queries and keys were computed from, by number."""


@dataclass(slots=True, eq=False)
class PlaceCalls:
    """The calls of one place, with the inputs of the first."""

    place: CallSite
    origins: Origins | None
    keys: tuple[Hashable, ...]
    calls: list[Call] = field(default_factory=list)
    # In order, each once.
    doubts: dict[str, None] = field(default_factory=dict)
    splits: bool = False
    # How many calls one after another hold the heads of one layer.
    turns: int = 1

    @property
    def module(self) -> Hashable:
        """What is the same for calls of one module; None where none is known."""
        key = self.keys[0]
        return key[0] if self.place.module and isinstance(key, tuple) else None

    @property
    def records(self) -> tuple[AttentionRecord, ...]:
        """What its calls did."""
        return tuple(call.record for call in self.calls)


class CallLog:
    """The notes of one recording.

    Attributes:
        softmaxes: each that ran.
        suspicions: products that look like attention, with their number.
        places: the calls of attention, by place.
        keeping: writes weights to a file as they come; None if they stay in memory.
        n_events: the number of calls, and of texts looked up in a table of embeddings.
        reads: the bit of each event that the running operation reads the outcome of.
    """

    def __init__(
        self, keeping: Keeping | None = None, wanted: frozenset[Hashable] | None = None
    ) -> None:
        self.keeping = keeping
        self._wanted = wanted
        self.softmaxes: list[Softmax] = []
        self.suspicions: Counter[tuple[CallSite, tuple[int, ...]]] = Counter()
        self.places: dict[Hashable, PlaceCalls] = {}
        self.n_events = 0
        self.reads = 0
        self._roots: dict[Hashable, set[int]] = {}
        self._texts: dict[Hashable, int] = {}
        self._is_text = 0

    def add_call(
        self,
        spot: Spot,
        record: AttentionRecord,
        nodes: tuple[Node, Node] | None,
        doubts: tuple[str, ...] = (),
        *,
        splits: bool = False,
    ) -> None:
        """One call of an attention, with what its queries and keys are; None for one text.

        Nothing is noted of a place that is not wanted. The doubts are for the report; it splits if
        an item of its batch is a part of one input.
        """
        if not self.wants(spot):
            return
        origins = None if nodes is None else (nodes[0].origins, nodes[1].origins)
        sources = None
        if nodes is not None and nodes[0].rows == record.shape[0] * record.n_queries:
            sources = nodes[0].source, nodes[1].source
        key = object() if spot.key is None else spot.key
        place_calls = self.places.setdefault(key, PlaceCalls(spot.place, origins, (spot.key,)))
        if spot.stacked:
            doubts = (
                f"{UNCERTAIN}: it ran under torch.vmap, whose axis stands among them; run one "
                "model alone",
                *doubts,
            )
        kept = None if self.keeping is None else self.keeping.keep(record, spot.key)
        empty: tuple[str, ...] = ()
        if kept is None:
            record, empty = _with_empty_rows(record)
            kept = record if self.keeping is None else self.keeping.keep_exact(record)
        place_calls.doubts |= dict.fromkeys((*doubts, *empty))
        place_calls.splits |= splits
        queries = None if origins is None else origins[0]
        place_calls.calls.append(
            Call(
                kept,
                self.n_events,
                spot.run,
                queries,
                self.reads & ~self._is_text,
                self.reads & self._is_text,
                sources,
            )
        )
        self.n_events += 1

    def wants(self, spot: Spot) -> bool:
        """Whether calls of a place are recorded."""
        return self._wanted is None or spot.key is None or spot.key in self._wanted

    def add_text(self, ids: Tensor) -> int:
        """The bit of a text whose embeddings are looked up; the same for the same ids."""
        key = tuple(ids.shape), ids.cpu().numpy().tobytes()
        if key not in self._texts:
            self._texts[key] = 1 << self.n_events
            self._is_text |= 1 << self.n_events
            self.n_events += 1
        return self._texts[key]

    def roots_of(self, spot: Spot, roots: set[int]) -> set[int]:
        """What the queries of a place began as, in this call and all before."""
        self._roots.setdefault(spot.key, set()).update(roots)
        return self._roots[spot.key]

    def add_suspicion(self, place: CallSite, shape: tuple[int, ...]) -> None:
        """A product whose left factor looks like weights."""
        self.suspicions[place, shape] += 1


def _with_empty_rows(record: AttentionRecord) -> tuple[AttentionRecord, tuple[str, ...]]:
    """A record whose queries without keys have zeros for weights, with what that says."""
    weights = record.weights
    if not bool(weights.sum().isnan()):
        return record, ()
    missing = weights.isnan().any(dim=-1, keepdim=True)
    empty = torch.zeros_like(missing)
    if record.allowed is not None:
        empty = missing & rows_without_keys(record.allowed)
    notes = []
    if bool(empty.any()):
        notes.append(
            "queries without any key have weights of NaN in the model; they are empty here"
        )
    if bool((missing & ~empty).any()):
        _, head, query, _ = (missing & ~empty).nonzero()[0].tolist()
        notes.append(
            f"weights are NaN in the model, first those of head {head} and query {query}, though "
            "they have keys: its numbers overflow, or were NaN before"
        )
    return replace(record, weights=weights.masked_fill(empty, 0)), tuple(notes)


def heads_joined(places: list[PlaceCalls]) -> list[PlaceCalls]:
    """Heads in separate modules, joined into one place: consecutive ones with equal inputs."""
    joined: list[list[PlaceCalls]] = []
    for each in map(_turns_joined, places):
        if joined and _is_next_head(joined[-1][-1], each):
            joined[-1].append(each)
        else:
            joined.append([each])
    return [
        heads[0]
        if len(heads) == 1
        else PlaceCalls(
            heads[0].place,
            heads[0].origins,
            tuple(key for head in heads for key in head.keys),
            [
                replace(parts[0], record=join_heads([each.record for each in parts]))
                for parts in zip(*(head.calls for head in heads), strict=True)
            ],
            {doubt: None for head in heads for doubt in head.doubts},
            any(head.splits for head in heads),
        )
        for heads in joined
    ]


def _turns_joined(place: PlaceCalls) -> PlaceCalls:
    """Heads that ran one after another at one place, joined into one call."""
    layers: list[list[Call]] = []
    for call in place.calls:
        if layers and all(map(call.is_beside, layers[-1])):
            layers[-1].append(call)
        else:
            layers.append([call])
    lengths = {len(heads) for heads in layers}
    turns = max(lengths)
    if turns == 1 or len(lengths) > 1:
        return place
    calls = []
    for heads in layers:
        record = join_heads([head.record for head in heads])
        reads = functools.reduce(operator.or_, (head.reads for head in heads))
        calls.append(replace(heads[-1], record=record, reads=reads))
    n_heads = calls[0].record.shape[1]
    said = f"its {n_heads} heads ran in {turns} calls, one after another, which are joined"
    return replace(place, calls=calls, doubts={**place.doubts, said: None}, turns=turns)


def _is_next_head(one: PlaceCalls, other: PlaceCalls) -> bool:
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
        a.shape == b.shape and a.shape[1] == 1
        for a, b in zip(one.records, other.records, strict=True)
    )
