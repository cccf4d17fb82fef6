"""The head elsewhere that behaves most like one: by their measures on the same sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.survey.corpus_survey import KEYS
from model.trace.attention_map import AttentionKind, FloatArray, Site

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


def _apart(own: FloatArray, heads: FloatArray) -> NDArray[np.float64]:
    """The mean difference of a head's measures from those of others, (head,)."""
    scale = np.ones(own.shape[-1])
    scale[[*_IN_UNITS]] = UNITS
    apart = np.abs(heads.astype(np.float64) - own) / scale
    known = ~np.isnan(apart)
    counts = known.sum(axis=(1, 2))
    sums = np.where(known, apart, 0).sum(axis=(1, 2))
    return np.divide(sums, counts, out=np.full(len(heads), np.nan), where=counts > 0)
