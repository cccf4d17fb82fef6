"""The head elsewhere that behaves most like one: by their measures on the same sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.survey.corpus_survey import KEYS
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head

UNITS = 8.0
"""A head that looks this many tokens, or has as many bits, farther than another differs by 1."""

_IN_UNITS = tuple(KEYS.index(key) for key in ("distance", "entropy"))


@dataclass(frozen=True, slots=True)
class Nearest:
    """A head that behaves much like another.

    Attributes:
        site: of the head.
        head: its number there.
        difference: the mean difference of their measures, 0 for equal behaviour.
        by_chance: the same with the other's sentences interchanged.
    """

    site: Site
    head: int
    difference: float
    by_chance: float


def nearest(
    own: FloatArray, others: Mapping[Site, FloatArray], kind: AttentionKind, *, most: int = 3
) -> list[Nearest]:
    """The heads of one kind of attention that differ least from a head, nearest first.

    Args:
        own: the head's measures, (sentence, measure).
        others: of the heads to choose from, as `probed` gives them.
        kind: of attention.
        most: how many.
    """
    found = []
    for site, heads in others.items():
        if site.kind is not kind or heads.shape[1:] != own.shape:
            continue
        apart = _apart(own, heads)
        by_chance = _apart(np.roll(own, 1, axis=0), heads)
        found += [
            Nearest(site, head, float(apart[head]), float(by_chance[head]))
            for head in range(len(heads))
            if not np.isnan(apart[head])
        ]
    return sorted(found, key=lambda each: (each.difference, each.site, each.head))[:most]


def matched(ones: Mapping[Site, FloatArray], others: Mapping[Site, FloatArray]) -> dict[Head, Head]:
    """For each head of one model, the head of another that behaves most alike on the probes.

    Heads of one kind are paired one to one, the least different first; empty for models that were
    measured on other sentences.

    Args:
        ones: measures of the heads of one model, as `probed` gives them.
        others: of the heads of the other.
    """
    found: dict[Head, Head] = {}
    if len({each.shape[1:] for each in (*ones.values(), *others.values())}) != 1:
        return found
    for kind in dict.fromkeys(site.kind for site in ones):
        own, same = _of_kind(ones, kind), _of_kind(others, kind)
        if own and same:
            measures = np.stack([others[site][head] for site, head in same])
            apart = np.stack([_apart(ones[site][head], measures) for site, head in own])
            found |= {own[one]: same[other] for one, other in one_to_one(apart)}
    return found


def _of_kind(measured: Mapping[Site, FloatArray], kind: AttentionKind) -> list[Head]:
    return [
        Head(site, head)
        for site, heads in measured.items()
        if site.kind is kind
        for head in range(len(heads))
    ]


def one_to_one(apart: NDArray[np.floating[Any]]) -> list[tuple[int, int]]:
    """Pairs of rows and columns, each once, the least apart first; NaN for no pair.

    Args:
        apart: how far a row is from a column, (row, column).
    """
    pairs: dict[int, int] = {}
    for place in apart.argsort(axis=None, kind="stable").tolist():
        one, other = divmod(place, apart.shape[1])
        if one not in pairs and other not in pairs.values() and not np.isnan(apart[one, other]):
            pairs[one] = other
    return list(pairs.items())


def _apart(own: FloatArray, heads: FloatArray) -> NDArray[np.float64]:
    """The mean difference of a head's measures from those of others, (head,)."""
    scale = np.ones(own.shape[-1])
    scale[[*_IN_UNITS]] = UNITS
    apart = np.abs(heads.astype(np.float64) - own) / scale
    known = ~np.isnan(apart)
    counts = known.sum(axis=(1, 2))
    sums = np.where(known, apart, 0).sum(axis=(1, 2))
    return np.divide(sums, counts, out=np.full(len(heads), np.nan), where=counts > 0)
