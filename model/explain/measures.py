"""What a head does, as numbers: measures of its attention weights.

That heads come in kinds which a few numbers tell apart, such as heads that look at a neighbour, is
from Voita et al. 2019 ("Analyzing Multi-Head Self-Attention", section 5) and Clark et al. 2019
("What Does BERT Look At?", section 3: neighbours, separators, punctuation, and heads that spread
their weight). model/explain/labels.py names heads by these numbers.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from model.explain.head_rows import (
    OFFSETS,
    TOKENS,
    Rows,
    Values,
    WeightOn,
    allowed_per_head,
    row_mean,
    weight_at,
    weight_on,
)
from model.numbers import fixed, percent
from model.side_by_side import side_by_side
from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    Site,
    weights_in,
)
from model.trace.trace import Trace

SELF = frozenset({AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.MODULE})
EVERY = frozenset(AttentionKind)


UNKNOWN = "–"
"""How a value is written that does not apply."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that says something of a head.

    Attributes:
        key: by which `head_facts` gives it.
        unit: "bits", "share" (0 to 1), "tokens", "words", "correlation" (-1 to 1) or "nats".
        kinds: the kinds of attention for which it is defined.
        of: gives it, (head,); None where the model has to run again for it.
    """

    key: str
    name: str
    unit: str
    meaning: str
    kinds: frozenset[AttentionKind]
    of: Callable[[Rows], Values] | None = None


EFFECT = Measure(
    "effect",
    "Loss without the head",
    "nats",
    "The drop in the translation’s log-probability (natural logarithm) when only this head is "
    "switched off.",
    frozenset(kind for kind in AttentionKind if kind is not AttentionKind.MODULE),
)
"""Not read off a trace: the model runs again for it, when heads are to be ordered by it."""


@lru_cache
def measures(*, words: bool = False, specials: bool = True) -> tuple[Measure, ...]:
    """Every measure, in the order in which they are shown.

    Rows and columns are whole words or tokens, with or without the special ones.
    """
    one = "word" if words else "token"
    counted = f", special tokens {'included' if specials else 'left out'}"
    return (
        Measure(
            "entropy",
            "Entropy",
            "bits",
            f"How widely a row spreads its weight, averaged over rows: 0 bits is one {one}; each "
            f"further bit doubles the number of {one}s{counted}.",
            EVERY,
            Rows.entropy,
        ),
        Measure(
            "entropy_share",
            "Entropy, share of maximum",
            "share",
            "A row's entropy as a share of its maximum, averaged over rows with a choice: 0% is "
            f"one {one}, 100% is equal weight on all allowed {one}s{counted}.",
            EVERY,
            Rows.entropy_share,
        ),
        Measure(
            "distance",
            "Mean distance",
            f"{one}s",
            f"How many {one}s away from itself a row looks, averaged by weight{counted}.",
            SELF,
            Rows.distance,
        ),
        Measure(
            "previous",
            f"Weight on the previous {one}",
            "share",
            f"The weight on the {one} just before the row's own, averaged over rows that have one "
            f"and may also look elsewhere{counted}.",
            SELF,
            weight_at(OFFSETS["previous"]),
        ),
        Measure(
            "same",
            f"Weight on the same {one}",
            "share",
            f"The weight on the row's own {one}, averaged over rows that may also look "
            f"elsewhere{counted}.",
            SELF,
            weight_at(OFFSETS["same"]),
        ),
        Measure(
            "next",
            f"Weight on the next {one}",
            "share",
            f"The weight on the {one} just after the row's own, averaged over rows that have one "
            f"and may also look elsewhere{counted}.",
            SELF - {AttentionKind.DECODER},
            weight_at(OFFSETS["next"]),
        ),
        Measure(
            "start",
            "Weight on the sentence start",
            "share",
            "The weight on <s>, averaged over rows that may also look elsewhere.",
            SELF,
            weight_on(TOKENS["start"]),
        ),
        Measure(
            "end",
            "Weight on the sentence end",
            "share",
            "The weight on </s>, averaged over rows that may also look elsewhere.",
            EVERY - {AttentionKind.DECODER},
            weight_on(TOKENS["end"]),
        ),
        Measure(
            "punctuation",
            "Weight on punctuation",
            "share",
            f"The weight on punctuation {one}s, averaged over rows that may look at one and also "
            f"elsewhere; empty if fewer than half of the rows may{counted}.",
            EVERY,
            weight_on(TOKENS["punctuation"]),
        ),
        Measure(
            "pairing",
            "Pairing",
            "share",
            f"How much a row reveals about the {one} it looks at (their mutual information): 0% "
            f"is all rows alike, 100% is one {one} per row, with rows spread evenly over as many "
            f"{one}s as possible; rows that each look at one random {one} mostly score above "
            f"65%{counted}.",
            frozenset({AttentionKind.CROSS}),
            Rows.pairing,
        ),
        Measure(
            "diagonal",
            "Diagonal",
            "correlation",
            "The correlation of a row's position with the positions it looks at: 1 is a straight "
            f"line from the first {one}s to the last, 0 is no order; if rows may only look back, "
            f"even a head without preference is above 0{counted}.",
            EVERY,
            Rows.diagonal,
        ),
    )


MEASURES = measures()
"""Every measure of a trace as it was recorded."""

Facts = Mapping[Site, Mapping[str, NDArray[np.floating]]]
"""What `facts_of` gives: for each site and each measure's key, one value per head, (head,)."""

MIN_TOKENS = 5
"""Sentences with fewer tokens on either axis tell nothing."""

MAX_BY_CHANCE = 0.25
"""Where a head without preference has a larger share than that, the sentence cannot tell."""

ON_SOURCE = tuple(
    Measure(
        key,
        f"Weight on the source of {token}, beyond chance",
        "share",
        f"The weight on the source of {token}, minus the average over all other orders of the "
        "rows; the source is the token whose deletion makes it least likely.",
        frozenset({AttentionKind.CROSS}),
    )
    for key, token in (
        ("predicted_source", "the token predicted"),
        ("read_source", "the token just read"),
    )
)
"""What can be told of a sentence only by running the model again: labels count it, pages do not."""

MIN_SOURCES = 4
"""So many tokens of known source a sentence needs, or it cannot tell."""

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
    for heads, rows in _rows(attention):
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


MANY = 1_000_000
"""Of so many weights, sites are measured side by side."""


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


def on_sources(attention: AttentionMap, sources: Mapping[int, int]) -> dict[str, Values]:
    """The measures ON_SOURCE, (head,): the weight on tokens' sources, less that of shuffled rows.

    Sources are positions by the row that predicts the token. The mean over all orders of the rows
    is exact: each row then stands at each place equally often. Other attention than cross-attention
    has nan, and so has a map where fewer than MIN_SOURCES tokens have a known source.
    """
    measured = {}
    for later, measure in enumerate(ON_SOURCE):
        rows = [row for row in sources if row + later < len(attention.queries)]
        beyond = np.full(attention.n_heads, np.nan)
        if attention.site.kind is AttentionKind.CROSS and len(rows) >= MIN_SOURCES:
            # (head, row, the source of each row)
            cells = attention.weights[:, [row + later for row in rows]][
                :, :, [sources[r] for r in rows]
            ]
            own = np.diagonal(cells, axis1=1, axis2=2).mean(axis=-1, dtype=np.float64)
            beyond = own - cells.mean(axis=(1, 2), dtype=np.float64)
        measured[measure.key] = beyond
    return measured


def pairing(attention: AttentionMap, entropy: NDArray[np.floating] | None = None) -> Values:
    """The mutual information of row and key as a share of the most there could be, (head,).

    Args:
        entropy: of `head_facts`, if it is known: most of the work.
    """
    found = np.full(attention.n_heads, np.nan)
    for heads, rows in _rows(attention):
        found[heads] = rows.pairing(None if entropy is None else entropy[heads])
    return found


def _rows(attention: AttentionMap) -> Iterator[tuple[slice, Rows]]:
    """The rows of a map's heads, in batches of heads that fit into the processor's cache."""
    weights, allowed = attention.weights, allowed_per_head(attention.allowed)
    step = max(1, _CHUNK // max(1, weights[:1].size))
    for first in range(0, len(weights) if weights.size else 0, step):
        heads = slice(first, first + step)
        masks = allowed if len(allowed) == 1 else allowed[heads]
        yield heads, Rows(weights[heads], masks, attention.keys)


def resting(traces: Sequence[Trace]) -> dict[str, tuple[int, int]]:
    """How many heads put most of their weight on the sentence start, the end, or punctuation.

    By measure: the heads whose mean over the traces, of one model as recorded, is more than half of
    the weight, then the heads of which the measure can be told at all.
    """
    values_of: dict[tuple[Site, str], list[Values]] = {}
    for trace in traces:
        for site, attention in trace.maps.items():
            facts = head_facts(attention)
            for key in TOKENS:
                values_of.setdefault((site, key), []).append(facts[key])
    counts = dict.fromkeys(TOKENS, (0, 0))
    for (_, key), sentences in values_of.items():
        values = np.stack(sentences)
        known = np.count_nonzero(~np.isnan(values), axis=0)
        means = np.nansum(values, axis=0) / np.maximum(known, 1)
        most, n_known = counts[key]
        counts[key] = (
            most + int(np.count_nonzero(means > 0.5)),
            n_known + int(np.count_nonzero(known)),
        )
    return counts


def written(measure: Measure, value: float) -> str:
    """A value with its unit: "38%", "1.23 bits", "1.4 tokens", "0.81"; "–" for nan."""
    if math.isnan(value):
        return UNKNOWN
    match measure.unit:
        case "share":
            return percent(value)
        case "bits":
            return f"{fixed(value, 2)} bits"
        case "tokens" | "words":
            return f"{fixed(value, 1)} {measure.unit}"
    return fixed(value, 2)


def head_numbers(
    kind: AttentionKind, facts: Mapping[str, float], measured: Sequence[Measure] = MEASURES
) -> str:
    """A head in numbers: how wide its rows are, where most of its weight is, how far.

    Such as "1.20 bits (38% of the maximum), 61% of the weight on the previous token, mean distance
    1.4 tokens"; what does not apply is left out. The facts are by measure, of the trace as read.
    """
    known = {
        measure.key: measure
        for measure in measured
        if kind in measure.kinds and not math.isnan(facts.get(measure.key, math.nan))
    }

    def value(key: str) -> str:
        return written(known[key], facts[key])

    parts = []
    if "entropy" in known:
        share = f" ({value('entropy_share')} of the maximum)" if "entropy_share" in known else ""
        parts.append(value("entropy") + share)
    places = [key for key in known if isinstance(known[key].of, WeightOn)]
    if places:
        most = max(places, key=lambda key: facts[key])
        parts.append(f"{value(most)} of the {_lower(known[most].name)}")
    if "pairing" in known:
        parts.append(f"pairing {value('pairing')}")
    for key in ("distance", "diagonal"):
        if key in known:
            parts.append(f"{_lower(known[key].name)} {value(key)}")
            break
    return ", ".join(parts) or "no row to measure"


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def even_shares(attention: AttentionMap) -> dict[str, Values]:
    """The shares of weight of a head that spreads it evenly over all that it may look at.

    Returns:
        Those measures that are shares of weight on certain keys, as far as the axes have them, with
        (head,) values, or one for all heads where they share their mask.
    """
    allowed = allowed_per_head(attention.allowed)
    choices = np.count_nonzero(allowed, axis=-1)
    even = (allowed / np.maximum(choices, 1)[..., None]).astype(np.float32)
    rows = Rows(even, allowed, attention.keys)
    return {
        measure.key: row_mean(*there)
        for measure in MEASURES
        if isinstance(measure.of, WeightOn) and (there := measure.of.place(rows)) is not None
    }


def telling_keys(attention: AttentionMap) -> set[str]:
    """The measures of which a sentence can tell whether heads of this map are special.

    Empty where an axis has fewer than MIN_TOKENS tokens; without the shares of weight that chance
    alone makes large.
    """
    if min(len(attention.queries), len(attention.keys)) < MIN_TOKENS:
        return set()
    large = {
        key for key, even in even_shares(attention).items() if not (even <= MAX_BY_CHANCE).any()
    }
    return {measure.key for measure in (*MEASURES, *ON_SOURCE)} - large


def telling_facts(attention: AttentionMap) -> dict[str, Values] | None:
    """`head_facts` with nan for the shares of weight that chance alone makes large.

    The mutual information stands under "pairing" for every kind of attention.

    Returns:
        None where an axis has fewer than MIN_TOKENS tokens: such a sentence tells nothing.
    """
    if min(len(attention.queries), len(attention.keys)) < MIN_TOKENS:
        return None
    facts = head_facts(attention)
    for key, even in even_shares(attention).items():
        facts[key] = np.where(even <= MAX_BY_CHANCE, facts[key], np.nan)
    facts["pairing"] = pairing(attention)
    return facts
