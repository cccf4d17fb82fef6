"""The facts of every head of a sentence, one measure after another."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from model.explain.head_rows import Rows, Values, allowed_per_head
from model.explain.measures import MANY, MEASURES
from model.side_by_side import side_by_side
from model.trace.attention_map import AttentionMap, Site, weights_in

_CHUNK = 1 << 18
"""Cells worked on at a time: they stay in the processor's cache, and no long trace is doubled."""


def head_facts(attention: AttentionMap) -> dict[str, Values]:
    """Every measure of every head of one site.

    Rows without an allowed key attended to nothing and count nowhere. Shares count the rows that
    may look at such a key and at another one: without a choice, a row says nothing of its head, and
    where fewer than MIN_ROWS of the rows have it, the few say nothing of the head either.
    Rows whose weights add up to less than 1, as with special tokens hidden, are scaled to 1 for
    what describes a distribution (entropy, distance, pairing, diagonal), and stay as they are for
    the shares of weight; rows left without weight count for these alone. Positions are those of the
    axes given. Sums run in float64, logarithms in float32: values are exact to about 1e-6.

    Returns:
        Each measure's key with (head,) values; nan where it does not apply: to the kind, to axes of
        different lengths where positions are compared, to a head all of whose weight lies on one
        key where a correlation is asked for, or where no row counts.
    """
    facts = {measure.key: np.full(attention.n_heads, np.nan) for measure in MEASURES}
    for heads, rows in rows_by_heads(attention):
        for measure in MEASURES:
            if measure.of is not None and attention.site.kind in measure.kinds:
                facts[measure.key][heads] = measure.of(rows)
    return facts


def facts_of(
    maps: Mapping[Site, AttentionMap], progress: Callable[[float], object] = lambda _: None
) -> dict[Site, dict[str, Values]]:
    """`head_facts` of every site of a trace.

    Args:
        maps: of one trace.
        progress: called with the share of the sites that is measured.
    """
    by_site = {}
    groups = list(joined(maps))
    is_large = weights_in(maps.values()) > MANY
    measured = side_by_side(head_facts, [each for _, each in groups], large=is_large)
    for (sites, _), facts in zip(groups, measured, strict=True):
        for site, heads in sites.items():
            by_site[site] = {key: values[heads] for key, values in facts.items()}
        progress(len(by_site) / len(maps))
    return by_site


def joined(
    maps: Mapping[Site, AttentionMap],
) -> Iterator[tuple[Mapping[Site, slice], AttentionMap]]:
    """The layers of one kind as one map where they can be, and where in it each site's heads are.

    For what is found head by head: numpy takes longer to be called than to compute as little as
    one layer of a sentence.
    """
    groups: list[list[AttentionMap]] = []
    for each in maps.values():
        if groups and _go_together(groups[-1], each):
            groups[-1].append(each)
        else:
            groups.append([each])
    for layers in groups:
        first = layers[0]
        ends = np.cumsum([each.n_heads for each in layers]).tolist()
        sites = {
            each.site: slice(end - each.n_heads, end)
            for each, end in zip(layers, ends, strict=True)
        }
        if len(layers) == 1:
            yield sites, first
            continue
        weights = np.concatenate([each.weights for each in layers])
        yield (
            sites,
            AttentionMap(
                first.site,
                weights=weights,
                allowed=first.allowed,
                queries=first.queries,
                keys=first.keys,
            ),
        )


def _go_together(layers: Sequence[AttentionMap], other: AttentionMap) -> bool:
    first = layers[0]
    return (
        first.site.kind is other.site.kind
        and (first.queries, first.keys) == (other.queries, other.keys)
        # One mask for all heads.
        and first.allowed.ndim == 2
        and np.array_equal(first.allowed, other.allowed)
        # Those of a long sentence are copied for nothing.
        and weights_in([*layers, other]) <= _CHUNK
    )


def rows_by_heads(attention: AttentionMap) -> Iterator[tuple[slice, Rows]]:
    """The rows of a map's heads, in batches of heads that fit into the processor's cache."""
    weights, allowed = attention.weights, allowed_per_head(attention.allowed)
    step = max(1, _CHUNK // max(1, weights[:1].size))
    for first in range(0, len(weights) if weights.size else 0, step):
        heads = slice(first, first + step)
        masks = allowed if len(allowed) == 1 else allowed[heads]
        yield heads, Rows(weights[heads], masks, attention.keys)
