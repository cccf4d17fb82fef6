"""The attention of chosen heads while a translation is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace

NAMED = 4
"""Up to so many heads of a mean are named."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadMean:
    """The weights of one head, or the mean over several.

    Attributes:
        name: which heads, in words.
        weights: (query, key); row t is what the decoder looks at while it writes token t, or the
            hypothesis t its last token.
        heads: layer and head of each.
    """

    name: str
    weights: FloatArray
    heads: tuple[tuple[int, int], ...]


def head_mean(trace: Trace, kind: AttentionKind, heads: Iterable[tuple[Site, int]]) -> HeadMean:
    """The mean over those of some heads that are of one kind; over all of it where none is.

    Args:
        trace: of the translation.
        kind: of attention.
        heads: of any kind; those that the trace does not have are left out.
    """
    return mean_weights({site: found.weights for site, found in trace.maps.items()}, kind, heads)


def mean_weights(
    of: Mapping[Site, FloatArray], kind: AttentionKind, heads: Iterable[tuple[Site, int]]
) -> HeadMean:
    """The same of (head, query, key) weights by site."""
    every = [
        (site, head) for site in sorted(of) if site.kind is kind for head in range(len(of[site]))
    ]
    chosen = sorted(set(heads) & set(every)) or every
    weights = np.mean([of[site][head] for site, head in chosen], axis=0)
    places = tuple((site.layer, head) for site, head in chosen)
    if len(chosen) == 1:
        ((site, head),) = chosen
        name = site.head_name(head)
    elif len(chosen) == len(every):
        name = f"{kind.full_name}, mean of all {len(every)} heads"
    elif len(chosen) <= NAMED:
        named = ", ".join(f"{layer}.{head}" for layer, head in places)
        name = f"{kind.full_name}, mean of the heads {named}"
    else:
        name = f"{kind.full_name}, mean of {len(chosen)} heads"
    return HeadMean(name, weights, places)
