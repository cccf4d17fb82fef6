"""The numbers of one head in words, and which of them tell most."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from model.explain.facts import head_facts
from model.explain.head_rows import TOKENS, Rows, Values, WeightOn, allowed_per_head, row_mean
from model.explain.measures import MAX_BY_CHANCE, MEASURES, MIN_TOKENS, UNKNOWN, Measure
from model.explain.source_measures import ON_SOURCE, pairing
from model.numbers import fixed, percent
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.trace import Trace


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
