"""The attention of some heads while a translation is written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from model.trace.trace import Trace
from viz.draw.constants import CONSTANTS

NAMED: int = CONSTANTS["NAMED_HEADS"]
"""The name of a mean lists at most this many heads."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadMean:
    """The weights of one head, or the mean over several.

    Attributes:
        name: the heads in words.
        weights: (query, key); row t is what the decoder looks at while it writes token t, or the
            last token of hypothesis t.
        heads: layer and head of each.
    """

    name: str
    weights: FloatArray
    heads: tuple[tuple[int, int], ...]


def head_mean(trace: Trace, kind: AttentionKind, heads: Iterable[Head]) -> HeadMean:
    """The mean over those of some heads that are of a kind and in the trace, or else over all."""
    return mean_weights({site: each.weights for site, each in trace.maps.items()}, kind, heads)


def mean_weights(
    weights: Mapping[Site, FloatArray], kind: AttentionKind, heads: Iterable[Head]
) -> HeadMean:
    """The same for (head, query, key) weights by site."""
    every = [
        (site, head)
        for site in sorted(weights)
        if site.kind is kind
        for head in range(len(weights[site]))
    ]
    shown = sorted(set(heads) & set(every)) or every
    mean = np.mean([weights[site][head] for site, head in shown], axis=0)
    places = tuple((site.layer, head) for site, head in shown)
    if len(shown) == 1:
        ((site, head),) = shown
        name = site.head_name(head)
    elif len(shown) == len(every):
        name = f"{kind.full_name}, mean of all {len(every)} heads"
    elif len(shown) <= NAMED:
        named = ", ".join(f"{layer}.{head}" for layer, head in places)
        name = f"{kind.full_name}, mean of the heads {named}"
    else:
        name = f"{kind.full_name}, mean of {len(shown)} heads"
    return HeadMean(name, mean, places)
