"""The results of a recording: sites with their kind and layer, and other observations."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import torch
from torch import Tensor

from model.record.intervention import Intervention
from model.record.recording import AttentionRecord, CaptureError, Recording, TraceFields, join_heads
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.watch.arrangement import UNCERTAIN
from model.watch.call_sites import Place, Spot
from model.watch.editing import Edits, site_edits
from model.watch.joining import Call, Joined, joined
from model.watch.left_padding import without_left_padding
from model.watch.lineage import Softmax
from model.watch.report import OtherSoftmax, Report, Suspicion

_ROUNDING = 0.02
"""The tolerance for weights of a query that add up to 1, as half precision needs."""

Origins = tuple[frozenset[int], frozenset[int]]
"""The tensors that queries and keys were computed from, by number."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedSite:
    """One attention of a model, with its calls.

    Attributes:
        site: its kind and layer; layers are counted from 0 by kind, in the order of first calls.
            The kind is that of the first call: with a cache, later ones look like
            cross-attention.
        place: where it ran; of heads that are modules of their own, the first.
        calls: in order, for the whole batch: several where a module is shared between layers, or
            where a text is written token by token. Weights are those that the model used, before
            dropout. Scores, q, k and v are None where they could not be told.
        notes: what is uncertain about it, and what else has to be known to read it.
    """

    site: Site
    place: Place
    calls: tuple[AttentionRecord, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_heads(self) -> int:
        """The number of heads."""
        return self.calls[0].weights.shape[1]


@dataclass(slots=True, eq=False)
class _Found:
    """The calls of one place, with the inputs of the first."""

    place: Place
    origins: Origins | None
    keys: tuple[Hashable, ...]
    calls: list[Call] = field(default_factory=list)
    # In order, each once.
    doubts: dict[str, None] = field(default_factory=dict)
    splits: bool = False

    @property
    def records(self) -> tuple[AttentionRecord, ...]:
        return tuple(call.record for call in self.calls)


class Collection:
    """The results that the recorder collects while it runs."""

    def __init__(self) -> None:
        self.softmaxes: list[Softmax] = []
        self.suspicions: Counter[tuple[Place, tuple[int, ...]]] = Counter()
        self.places: dict[Hashable, _Found] = {}
        self.n_calls = 0

    def call(
        self,
        spot: Spot,
        record: AttentionRecord,
        origins: Origins | None,
        doubts: tuple[str, ...] = (),
        *,
        splits: bool = False,
    ) -> None:
        """One call of an attention; without origins, queries and keys are of one text.

        Args:
            spot: where.
            record: what it did.
            origins: what queries and keys were computed from.
            doubts: what is to be said of it.
            splits: whether an item of its batch is a part of one input.
        """
        key = object() if spot.key is None else spot.key
        found = self.places.setdefault(key, _Found(spot.place, origins, (spot.key,)))
        if spot.stacked:
            doubts = (
                f"{UNCERTAIN}: it ran under torch.vmap, whose axis stands among them; run one "
                "model alone",
                *doubts,
            )
        found.doubts |= dict.fromkeys(doubts)
        found.splits |= splits
        queries = None if origins is None else origins[0]
        found.calls.append(Call(record, self.n_calls, spot.run, queries))
        self.n_calls += 1

    def suspicion(self, place: Place, shape: tuple[int, ...]) -> None:
        """A product whose left factor looks like weights."""
        self.suspicions[place, shape] += 1


class Watched:
    """The results of `watching`; readable during and after the block."""

    def __init__(
        self,
        found: Collection,
        like: Watched | None = None,
        kinds: AttentionKind | Mapping[str, AttentionKind] | None = None,
    ) -> None:
        self._found = found
        self._kinds = kinds
        # Edited attention may look like another kind, so it keeps its name.
        self._names: dict[Hashable, Site] = {}
        if like is not None:
            for each, found_there in like._sites():
                self._names |= dict.fromkeys(found_there.keys, each.site)

    @property
    def sites(self) -> tuple[WatchedSite, ...]:
        """Every attention that ran, in the order of first calls."""
        return tuple(site for site, _ in self._sites())

    def edits(self, under: Intervention, weights: Mapping[Any, Any]) -> Edits:
        """The edits of an intervention at the sites seen here.

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
        named = len(known) == len(found)
        given = [None if named else self._kind_of(each.place) for each in found]
        sites = known if named else _named(found, given)
        twins = _twins(found, sites)
        return [
            (
                WatchedSite(
                    site,
                    each.place,
                    each.records,
                    (*each.doubts, *(() if named or kind else _kind_doubts(each, site)), *twin),
                ),
                each,
            )
            for site, each, kind, twin in zip(sites, found, given, twins, strict=True)
        ]

    def _kind_of(self, place: Place) -> AttentionKind | None:
        return self._kinds.get(place.path) if isinstance(self._kinds, Mapping) else self._kinds

    def recording(self) -> Recording:
        """The results as taps would have recorded them, for maps by sentence and for traces.

        Raises:
            CaptureError: if no attention ran.
        """
        self._require_any()
        seen = Recording()
        for each in self.sites:
            for call in each.calls:
                seen.add(each.site, 0, 1, call)
        return seen

    def trace(
        self,
        sentence: int = 0,
        *,
        sites: Iterable[Site | str] | None = None,
        **named: Unpack[TraceFields],
    ) -> Trace:
        """One sentence of the batch as a trace; arguments as of `Recording.trace`.

        A sentence with padding before it is labelled without its padding, or throughout.

        Args:
            sentence: index into the batch; of the windows, where chosen sites have these there.
            sites: those to take, as the report names them ("encoder.0"); None for all.
            named: labels and texts.

        Each call of a module that is shared between layers is a layer of its own, and the steps of
        a text written token by token are the rows of one map; `report` says so.

        Weights stand as the model used them: a query without allowed keys has what the model's
        own softmax made of it, which may be NaN.

        Raises:
            CaptureError: if no attention ran, or a site several times that belong to no one pass,
                as where beams take the place of one another, or to parts of one text.
            CaptureError: also if there is no such site, it is uncertain what is batch, or weights
                were changed so that they are no shares.
            TraceError: if the lengths of labels, predictions and log_probs disagree.
        """
        self._require_any()
        chosen = None if sites is None else {str(each) for each in sites}
        known = self._sites()
        names = {str(each.site) for each, _ in known}
        if chosen is not None and chosen - names:
            raise CaptureError(
                f"There is no {min(chosen - names)} here; there is {', '.join(sorted(names))}."
            )
        taken = [each for each in known if chosen is None or str(each[0].site) in chosen]
        recording = joined([(each.site, found.calls) for each, found in taken]).recording
        for each, found in taken:
            _require_certain(each, found, chosen is not None)
        return without_left_padding(recording, sentence, named)

    def _require_any(self) -> None:
        if not self._found.places:
            raise CaptureError(
                "No attention ran while this watched; run the model inside `with watching()`, and "
                "see report() for what else ran. Models without softmax attention, such as Mamba, "
                "RWKV and FNet, have no weights to record."
            )

    def _joined(self) -> Joined:
        return joined([(each.site, found.calls) for each, found in self._sites()])

    def report(self) -> Report:
        """The report; `str` makes it readable."""
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
    """Heads in separate modules, joined into one place: consecutive ones with equal inputs."""
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
            {doubt: None for head in heads for doubt in head.doubts},
            any(head.splits for head in heads),
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


def _require_certain(site: WatchedSite, found: _Found, chosen: bool) -> None:
    """Refuse weights that a trace could not describe."""
    for note in site.notes:
        if note.startswith(UNCERTAIN):
            raise CaptureError(f"{site.site}: {note}, or choose other sites= for the trace.")
    if found.splits and not chosen:
        raise CaptureError(
            f"{site.site}: {next(iter(found.doubts))}; choose sites= for the trace, and sentence= "
            "counts these."
        )
    for call in site.calls:
        sums = call.weights.float().sum(dim=-1)
        shares = (sums - 1).abs() <= _ROUNDING
        if found.doubts and not bool(
            (shares | (sums == 0) | sums.isnan()).all() and (call.weights >= 0).all()
        ):
            raise CaptureError(
                f"{site.site}: {next(iter(found.doubts))}, and they are no shares of 1; choose "
                "other sites= for the trace."
            )


def _twins(found: list[_Found], sites: Sequence[Site]) -> list[tuple[str, ...]]:
    """Remarks on places whose module uses the same weights twice."""
    others: list[list[str]] = [[] for _ in found]
    for (i, one), (j, other) in itertools.combinations(enumerate(found), 2):
        if one.place.path == other.place.path and _same_weights(one, other):
            others[i].append(str(sites[j]))
            others[j].append(str(sites[i]))
    return [
        (
            f"its module has the same weights at {' and '.join(each)}, for other values: both are "
            "parts of one layer, and an edit of one leaves the other as it is",
        )
        if each
        else ()
        for each in others
    ]


def _same_weights(one: _Found, other: _Found) -> bool:
    # All weights on one key are 1.
    return (
        len(one.calls) == len(other.calls)
        and any(call.n_keys > 1 for call in one.records)
        and all(
            torch.equal(a.weights, b.weights)
            for a, b in zip(one.records, other.records, strict=True)
        )
    )


def _kind_doubts(found: _Found, site: Site) -> tuple[str, ...]:
    first = found.records[0]
    doubts = []
    if site.kind is AttentionKind.ENCODER:
        if first.n_queries == first.n_keys == 1 and len(found.calls) == 1:
            doubts.append("a single token does not show its mask")
        elif _is_causal(found) is None:
            doubts.append("no query sees a later key, nor do later ones see more")
    elif (
        site.kind is AttentionKind.DECODER
        and first.n_queries > 1
        and all(call.allowed is None for call in found.records)
        and _is_causal(found)
    ):
        doubts.append("no mask was seen, though no weight falls on a later key")
    said = [f"encoder or decoder uncertain: {each}; give kind= to watching" for each in doubts]
    if site.kind is AttentionKind.ENCODER and first.n_queries != first.n_keys:
        queries = "1 query" if first.n_queries == 1 else f"{first.n_queries} queries"
        said.append(
            f"{queries} and {first.n_keys} keys of one text, which the model pools, repeats, adds "
            "to or leaves out: a key is not the token of the same number"
        )
    return tuple(said)


def _named(found: list[_Found], given: Sequence[AttentionKind | None]) -> list[Site]:
    crosses = [_is_cross(each) for each in found]
    count: Counter[AttentionKind] = Counter()
    sites: list[Site] = []
    for number, (each, is_cross, own) in enumerate(zip(found, crosses, given, strict=True)):
        kind = AttentionKind.ENCODER
        if is_cross:
            kind = AttentionKind.CROSS
        elif _is_causal(each) or _beside_cross(number, found, crosses, sites):
            kind = AttentionKind.DECODER
        kind = own or kind
        sites.append(Site(kind, count[kind]))
        count[kind] += 1
    return sites


def _beside_cross(
    number: int, found: list[_Found], crosses: list[bool], before: list[Site]
) -> bool:
    """Whether cross-attention follows in the layer, or followed another one of its own kind."""
    place = found[number].place
    followed = found[number + 1] if crosses[number + 1 : number + 2] == [True] else None
    if followed and _in_one_layer(place, followed.place):
        return True
    return (
        number > 1
        and crosses[number - 1]
        and before[number - 2].kind is AttentionKind.DECODER
        and all(_in_one_layer(place, each.place) for each in found[number - 2 : number])
    )


def _is_cross(found: _Found) -> bool:
    first = found.records[0]
    if found.origins is None:
        return first.n_queries != first.n_keys
    queries, keys = found.origins
    return not queries & keys


def _is_causal(found: _Found) -> bool | None:
    """Whether no query sees a later key; for single queries, whether keys grow with each call.

    None where that is so because all queries see the same keys, as those of one word and padding.
    """
    lengths = [call.n_keys for call in found.records]
    if all(call.n_queries == 1 for call in found.records):
        return len(lengths) > 1 and lengths == sorted(set(lengths))
    grows = False
    for call in found.records:
        if call.n_queries > 1:
            latest = _latest_seen(call)
            own = torch.arange(call.n_queries, device=latest.device) + call.n_keys - call.n_queries
            if bool((latest > own).any()):
                return False
            grows = grows or _grows(latest)
    return grows or None


def _latest_seen(call: AttentionRecord) -> Tensor:
    """The last key that each query sees, (batch, head, query); -1 for none."""
    seen: Tensor = call.weights > 0
    if call.allowed is not None:
        seen = call.allowed.expand(seen.shape)
    numbers = torch.arange(1, call.n_keys + 1, dtype=torch.int32, device=seen.device)
    return (seen[..., : call.n_keys] * numbers).amax(dim=-1) - 1


def _grows(latest: Tensor) -> bool:
    """Whether in any head one query sees further than another."""
    none = latest < 0
    lowest = latest.masked_fill(none, torch.iinfo(latest.dtype).max).amin(dim=-1)
    return bool((latest.amax(dim=-1) > lowest).any())


def _in_one_layer(place: Place, cross: Place) -> bool:
    """Whether two modules share an owner other than the whole model."""
    mine, theirs = (each.path.split(".")[:-1] for each in (place, cross))
    shared = [a for a, b in zip(mine, theirs, strict=False) if a == b]
    return mine == theirs or any(part.isdigit() for part in shared)
