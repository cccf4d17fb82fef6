"""One head in words: its behaviour on one sentence, for readers who do not read numbers.

A head leans to a place, such as the token before, where it gives it clearly more weight than an
even spread would: a fifth of the way from the even share to all of the weight. Pairs stand out by
the same rule. A token is ignored where it gets less than a fifth of its even share. Labels, by
contrast, are earned over many sentences; see model.explain.measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.explain.facts import joined
from model.explain.head_numbers import even_shares
from model.explain.head_rows import OFFSETS, TOKENS, allowed_per_head
from model.explain.label_rules import HALF
from model.explain.measures import MANY
from model.explain.reading import AS_RECORDED, Reading
from model.side_by_side import side_by_side
from model.trace.attention_map import AttentionMap, BoolArray, Site, weights_in
from viz.draw.constants import CONSTANTS

_STATED: dict[str, Any] = CONSTANTS["HEAD_SENTENCES"]

LEANS: float = _STATED["LEANS"]
"""The share of the way from an even share to all weight at which a place stands out."""

EVEN: float = _STATED["EVEN"]
"""The share of the greatest possible entropy from which on a row counts as even; as for labels."""

DIFFERENT, ALIKE, IN_ORDER = (_STATED[name] for name in ("DIFFERENT", "ALIKE", "IN_ORDER"))
"""Pairing from which on rows look at different tokens, up to which they look at much the same ones,
and the correlation from which on they do so in order."""

IGNORED: float = _STATED["IGNORED"]
"""The share of its even share below which a token is ignored."""

MOST_PAIRS: int = _STATED["MOST_PAIRS"]

_PLACES: dict[str, str] = _STATED["PLACE_NAMES"]
_COUNTS: list[str] = _STATED["COUNT_NAMES"]


@dataclass(frozen=True, slots=True)
class HeadWords:
    """The behaviour of one head on one sentence.

    Attributes:
        sentence: such as "A row looks at about two tokens, mostly at the one before it."
        pairs: positions of query and key of the rows that single out a key the most, the strongest
            first.
        ignored: positions of the keys that get next to no weight, in their order.
    """

    sentence: str
    pairs: tuple[tuple[int, int], ...]
    ignored: tuple[int, ...]


def head_words(
    seen: AttentionMap, facts: Mapping[str, NDArray[np.floating]], reading: Reading = AS_RECORDED
) -> list[HeadWords]:
    """Every head of one site in words.

    Args:
        facts: of model.explain.measures.head_facts, of this map; measures may be missing.
    """
    # Held, so that those of a long text are read once.
    weights = seen.weights
    allowed = allowed_per_head(seen.allowed)
    choices = np.count_nonzero(allowed, axis=-1)
    pairs = _pairs(seen, choices)
    ignored = _ignored(seen, allowed, choices)
    even = even_shares(seen)
    on_hidden = np.zeros(seen.n_heads, dtype=np.bool_)
    if not reading.specials:
        rows = weights.sum(axis=-1)
        live = np.count_nonzero(rows > 0, axis=-1)
        on_hidden = rows.sum(axis=-1) < 0.5 * live
    described = []
    columns = {key: column.tolist() for key, column in facts.items()}
    chances = {key: column.tolist() for key, column in even.items()}
    for head in range(seen.n_heads):
        values = {key: column[head] for key, column in columns.items()}
        by_chance = {key: column[head % len(column)] for key, column in chances.items()}
        sentence = _sentence(values, by_chance, "word" if reading.words else "token")
        if on_hidden[head]:
            rest = sentence[0].lower() + sentence[1:]
            sentence = f"Most of its weight is on hidden special tokens; otherwise {rest}"
        described.append(HeadWords(sentence, pairs[head], ignored[head]))
    return described


def words_of(
    maps: Mapping[Site, AttentionMap],
    facts: Mapping[Site, Mapping[str, NDArray[np.floating]]],
    reading: Reading = AS_RECORDED,
) -> dict[Site, list[HeadWords]]:
    """`head_words` of every site of a trace."""

    def described(group: tuple[Mapping[Site, slice], AttentionMap]) -> dict[Site, list[HeadWords]]:
        sites, seen = group
        together = {
            key: np.concatenate([facts[site][key] for site in sites]) for key in facts[seen.site]
        }
        words = head_words(seen, together, reading)
        return {site: words[heads] for site, heads in sites.items()}

    is_large = weights_in(maps.values()) > MANY
    found = side_by_side(described, joined(maps), large=is_large)
    return {site: words for each in found for site, words in each.items()}


def _sentence(facts: Mapping[str, float], even: Mapping[str, float], noun: str) -> str:
    entropy = facts.get("entropy", math.nan)
    share = facts.get("entropy_share", math.nan)
    if math.isnan(entropy):
        return "There is no row to describe."
    if math.isnan(share):
        return f"A row has only one {noun} to look at."
    if share >= EVEN:
        return f"A row spreads its weight almost evenly over the {noun}s it may look at."
    count = max(round(2**entropy), 1)
    named = _COUNTS[count] if count < len(_COUNTS) else str(count)
    return f"A row looks at about {named} {noun}{'' if count == 1 else 's'}{_manner(facts, even)}."


def _manner(facts: Mapping[str, float], even: Mapping[str, float]) -> str:
    """Where a row looks, or how rows differ; empty if nothing stands out."""
    above = {
        key: _above(facts[key], even[key])
        for key in (*OFFSETS, *TOKENS)
        if key in even and not math.isnan(facts.get(key, math.nan))
    }
    place = max(above, key=lambda key: above[key], default="")
    if place and above[place] >= LEANS:
        return f", {'mostly' if facts[place] >= HALF else 'often'} at {_PLACES[place]}"
    pairing = facts.get("pairing", math.nan)
    if pairing >= DIFFERENT:
        in_order = facts.get("diagonal", math.nan) >= IN_ORDER
        return f"; rows look at different ones{', roughly in order' if in_order else ''}"
    return "; all rows look at nearly the same ones" if pairing <= ALIKE else ""


def _above(share: float, even: float) -> float:
    """How far a share lies from the even one towards 1; as kappa corrects agreement for chance."""
    return (share - even) / (1 - even) if even < 1 else 0.0


def _pairs(seen: AttentionMap, choices: NDArray[np.intp]) -> Sequence[tuple[tuple[int, int], ...]]:
    n_heads, n_queries, n_keys = seen.weights.shape
    if n_queries == 0 or n_keys == 0:
        return [()] * n_heads
    keys = seen.weights.argmax(axis=-1)
    weights = np.take_along_axis(seen.weights, keys[..., None], axis=-1)[..., 0]
    even = 1 / np.maximum(choices, 2)
    singled = (choices >= 2) & ((weights - even) / (1 - even) >= LEANS)
    order = np.argsort(np.where(singled, -weights, np.inf), axis=-1, kind="stable")[:, :MOST_PAIRS]
    return [
        tuple((int(query), int(keys[head, query])) for query in rows if singled[head, query])
        for head, rows in enumerate(order)
    ]


def _ignored(
    seen: AttentionMap, allowed: BoolArray, choices: NDArray[np.intp]
) -> Sequence[tuple[int, ...]]:
    # (head, query, key): what a row with a choice would give to each key if it made none.
    counting = allowed & (choices >= 2)[..., None]
    even = (counting / np.maximum(choices, 1)[..., None]).sum(axis=1)
    rows = np.count_nonzero(counting, axis=1)
    received = np.einsum("hqk,hq->hk", seen.weights, np.float32(choices >= 2))
    is_ignored = (rows >= 2) & (received < IGNORED * even)
    return [tuple(map(int, np.flatnonzero(keys))) for keys in is_ignored]
