"""Which kind of attention each place ran, and what is uncertain about that."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from model.record.sentence_map import AttentionRecord
from model.trace.attention_map import AttentionKind, Site
from model.watch.call_log import PlaceCalls
from model.watch.call_sites import CallSite


def twin_notes(places: list[PlaceCalls], sites: Sequence[Site]) -> list[tuple[str, ...]]:
    """For each place: a note where its module uses the same weights a second time."""
    others: list[list[str]] = [[] for _ in places]
    for (i, one), (j, other) in itertools.combinations(enumerate(places), 2):
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


def _same_weights(one: PlaceCalls, other: PlaceCalls) -> bool:
    # All weights on one key are 1.
    return (
        len(one.calls) == len(other.calls)
        and any(call.n_keys > 1 for call in one.records)
        and all(
            torch.equal(a.weights, b.weights)
            for a, b in zip(one.records, other.records, strict=True)
        )
    )


def kind_notes(place_calls: PlaceCalls, site: Site) -> tuple[str, ...]:
    """What is uncertain about the kind of a site."""
    first = place_calls.records[0]
    doubts = []
    if site.kind is AttentionKind.ENCODER:
        if first.n_queries == first.n_keys == 1 and len(place_calls.calls) == 1:
            doubts.append("a single token does not show its mask")
        elif _is_causal(place_calls) is None:
            doubts.append("no query sees a later key, nor do later ones see more")
    elif (
        site.kind is AttentionKind.DECODER
        and first.n_queries > 1
        and all(call.allowed is None for call in place_calls.records)
        and _is_causal(place_calls)
    ):
        doubts.append("no mask was seen, though no weight falls on a later key")
    notes = [f"encoder or decoder uncertain: {each}; give kind= to watching" for each in doubts]
    if site.kind is AttentionKind.ENCODER and first.n_queries != first.n_keys:
        queries = "1 query" if first.n_queries == 1 else f"{first.n_queries} queries"
        notes.append(
            f"{queries} and {first.n_keys} keys of one text, which the model pools, repeats, adds "
            "to or leaves out: a key is not the token of the same number"
        )
    return tuple(notes)


def named_sites(places: list[PlaceCalls], kinds: Sequence[AttentionKind | None]) -> list[Site]:
    """Kind and layer of each place, in order; given kinds count before what the calls show."""
    crosses = [_is_cross(each) for each in places]
    count: Counter[AttentionKind] = Counter()
    sites: list[Site] = []
    for number, (each, is_cross, own) in enumerate(zip(places, crosses, kinds, strict=True)):
        kind = AttentionKind.ENCODER
        if is_cross:
            kind = AttentionKind.CROSS
        elif _is_causal(each) or _beside_cross(number, places, crosses, sites):
            kind = AttentionKind.DECODER
        kind = own or kind
        sites.append(Site(kind, count[kind]))
        count[kind] += 1
    return sites


def _beside_cross(
    number: int, places: list[PlaceCalls], crosses: list[bool], before: list[Site]
) -> bool:
    """Whether cross-attention follows in the layer, or followed another one of its own kind."""
    place = places[number].place
    followed = places[number + 1] if crosses[number + 1 : number + 2] == [True] else None
    if followed and _in_one_layer(place, followed.place):
        return True
    return (
        number > 1
        and crosses[number - 1]
        and before[number - 2].kind is AttentionKind.DECODER
        and all(_in_one_layer(place, each.place) for each in places[number - 2 : number])
    )


def _is_cross(place_calls: PlaceCalls) -> bool:
    first = place_calls.records[0]
    if place_calls.origins is None:
        return first.n_queries != first.n_keys
    queries, keys = place_calls.origins
    return not queries & keys


def _is_causal(place_calls: PlaceCalls) -> bool | None:
    """Whether no query sees a later key; for single queries, whether keys grow with each call.

    None where that is so because all queries see the same keys, as those of one word and padding.
    """
    lengths = [call.n_keys for call in place_calls.records]
    if all(call.n_queries == 1 for call in place_calls.records):
        return len(lengths) > 1 and lengths == sorted(set(lengths))
    grows = False
    for call in place_calls.records:
        if call.n_queries > 1:
            latest = _latest_key(call)
            own = torch.arange(call.n_queries, device=latest.device) + call.n_keys - call.n_queries
            if bool((latest > own).any()):
                return False
            grows = grows or _grows(latest)
    return grows or None


def _latest_key(call: AttentionRecord) -> Tensor:
    """The last key that each query sees; -1 for none.

    (batch, head, query), or fewer axes where sentences or heads share a mask.
    """
    if call.allowed is not None:
        # Heads and sentences that share a mask are looked at once.
        leading = call.allowed.shape[:-2]
        visible = call.allowed.expand(*leading, *call.shape[2:])
    elif call.kept is not None and call.kept.latest is not None:
        return call.kept.latest
    else:
        visible = call.weights > 0
    numbers = torch.arange(1, call.n_keys + 1, dtype=torch.int32, device=visible.device)
    return (visible[..., : call.n_keys] * numbers).amax(dim=-1) - 1


def _grows(latest: Tensor) -> bool:
    """Whether in any head one query sees further than another."""
    none = latest < 0
    lowest = latest.masked_fill(none, torch.iinfo(latest.dtype).max).amin(dim=-1)
    return bool((latest.amax(dim=-1) > lowest).any())


def _in_one_layer(place: CallSite, cross: CallSite) -> bool:
    """Whether two modules share an owner other than the whole model."""
    mine, theirs = (each.path.split(".")[:-1] for each in (place, cross))
    shared = [a for a, b in zip(mine, theirs, strict=False) if a == b]
    return mine == theirs or any(part.isdigit() for part in shared)
