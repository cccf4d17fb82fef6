"""For each head the best rule of one line, fitted on some sentences and judged on others.

A rule fits a head as far as their weights overlap: the sum over a row of the smaller of the two,
from 0 to 1, which is 1 less their total variation distance. Rows without a choice say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from model.explain.head_rows import allowed_per_head
from model.record.head_edits import RuleWeights
from model.rules.weight_rules import BY_DISTANCE, REACH, RULES, Cells, Lexicon, SeenRows
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, Site
from model.trace.head import Head
from model.trace.trace import Trace

SHARES = tuple(tenth / 10 for tenth in range(1, 10))
"""Of the first rule of a mixture."""

GAIN = 0.02
"""So much more than its better rule alone a mixture must overlap to be worth a second rule."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FittedRule:
    """A head's best rule.

    Attributes:
        weights: the rule, to be put in place of the head's own weights.
        overlap: with these, over sentences that the rule was not fitted to; from 0 to 1.
    """

    weights: RuleWeights
    overlap: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One rule, or two with the share of the first."""

    names: tuple[str, ...]
    share: float = 1.0

    @property
    def shares(self) -> tuple[float, ...]:
        return (1.0,) if len(self.names) == 1 else (self.share, round(1 - self.share, 1))


def fitted(
    traces: Sequence[Trace], unseen: Sequence[Trace], lexicon: Lexicon
) -> dict[Head, FittedRule]:
    """The best rule of each head.

    Args:
        traces: of one model, as recorded, to choose rules on.
        unseen: others of the same model, to judge them on.
        lexicon: learned from neither.
    """
    tables = _tables(traces)
    scores = _overlaps(traces, tables, lexicon)
    chosen: dict[Head, RuleWeights] = {}
    for kind, (candidates, places, overlaps) in scores.items():
        for head, place in enumerate(places):
            best = _best(candidates, overlaps[:, head])
            chosen[place] = RuleWeights(
                best.names,
                best.shares,
                tables[place] if BY_DISTANCE in best.names else (),
                lexicon if kind is AttentionKind.CROSS else None,
            )
    judged = overlaps_of(unseen, chosen)
    return {place: FittedRule(chosen[place], judged[place]) for place in sorted(chosen)}


def overlaps_of(traces: Sequence[Trace], rules: Mapping[Head, RuleWeights]) -> dict[Head, float]:
    """How far the weights of heads overlap with those of rules, on average over the rows."""
    sums: dict[Head, float] = dict.fromkeys(rules, 0.0)
    rows = dict.fromkeys(rules, 0)
    for trace in traces:
        for site, attention in trace.maps.items():
            lexicon = next((each.lexicon for (s, _), each in rules.items() if s == site), None)
            seen, choice = seen_rows(attention, lexicon)
            for head in rules:
                if head.site != site:
                    continue
                ruled = rules[head].weights(seen)
                common = np.minimum(attention.weights[head.number], ruled).sum(axis=-1)
                sums[head] += float(common[choice].sum())
                rows[head] += int(choice.sum())
    return {place: sums[place] / max(rows[place], 1) for place in rules}


def _tables(traces: Sequence[Trace]) -> dict[Head, tuple[float, ...]]:
    """The share of weight at each distance of key from query, of every head."""
    sums: dict[Site, Values] = {}
    for trace in traces:
        for site, attention in trace.maps.items():
            n_queries, n_keys = attention.weights.shape[1:]
            away = np.clip(np.arange(n_keys) - np.arange(n_queries)[:, None], -REACH, REACH)
            spread = np.zeros((attention.n_heads, 2 * REACH + 1))
            met = np.bincount((away + REACH).ravel(), minlength=2 * REACH + 1)
            for head, weights in enumerate(attention.weights):
                spread[head] = np.bincount(
                    (away + REACH).ravel(), weights.ravel(), minlength=2 * REACH + 1
                )
            # Near distances are met more often than far ones.
            spread = np.concatenate([spread, np.broadcast_to(met, spread.shape)], axis=1)
            sums[site] = sums.get(site, 0) + spread
    tables: dict[Head, tuple[float, ...]] = {}
    for site, totals in sums.items():
        for head, (weight, met) in enumerate(zip(*np.split(totals, 2, axis=1), strict=True)):
            table = np.divide(weight, met, out=np.zeros_like(weight), where=met > 0)
            tables[Head(site, head)] = tuple((table / max(table.sum(), 1e-12)).round(4).tolist())
    return tables


_Scores = dict[AttentionKind, tuple[list[_Candidate], list[Head], Values]]


def _overlaps(
    traces: Sequence[Trace], tables: Mapping[Head, tuple[float, ...]], lexicon: Lexicon
) -> _Scores:
    """By kind the candidates, the heads, and the overlap of each with each, (candidate, head)."""
    scores: _Scores = {}
    rows: dict[AttentionKind, int] = {}
    for trace in traces:
        for kind, places, attention in by_kind(trace):
            seen, choice = seen_rows(attention, lexicon)
            names = [rule.name for rule in RULES.values() if kind in rule.kinds]
            shared = {name: seen.cells(name)[None] for name in names}
            shared[BY_DISTANCE] = np.stack(
                [seen.cells(BY_DISTANCE, tables[place]) for place in places]
            )
            if kind not in scores:
                candidates = [_Candidate((name,)) for name in shared]
                candidates += [
                    _Candidate(pair, share) for pair in combinations(shared, 2) for share in SHARES
                ]
                scores[kind] = candidates, places, np.zeros((len(candidates), len(places)))
            weights = attention.weights[:, choice].astype(np.float64)
            even = seen.cells("evenly")[None, choice]
            picked = {name: cells[:, choice] for name, cells in shared.items()}
            for number, candidate in enumerate(scores[kind][0]):
                mixed = sum(
                    (
                        share * picked[name]
                        for name, share in zip(candidate.names, candidate.shares, strict=True)
                    ),
                    start=np.zeros(()),
                )
                scores[kind][2][number] += _common(weights, mixed, even)
            rows[kind] = rows.get(kind, 0) + int(choice.sum())
    return {
        kind: (candidates, places, overlaps / max(rows[kind], 1))
        for kind, (candidates, places, overlaps) in scores.items()
    }


def _common(weights: Cells, mixed: Cells, even: Cells) -> Values:
    """The overlap of heads with a rule, summed over the rows, (head,)."""
    totals = mixed.sum(axis=-1, keepdims=True)
    ruled = np.where(totals > 0, mixed / np.where(totals > 0, totals, 1), even)
    common: Values = np.minimum(weights, ruled).sum(axis=(1, 2))
    return common


def _best(candidates: Sequence[_Candidate], overlaps: Values) -> _Candidate:
    """The candidate that overlaps most, one rule if a second adds little."""
    alone = max(
        (n for n, each in enumerate(candidates) if len(each.names) == 1), key=lambda n: overlaps[n]
    )
    most = int(overlaps.argmax())
    return candidates[most if overlaps[most] > overlaps[alone] + GAIN else alone]


def seen_rows(attention: AttentionMap, lexicon: Lexicon | None) -> tuple[SeenRows, BoolArray]:
    """What rules may know of the rows of a map, and which of them have a choice."""
    allowed = allowed_per_head(attention.allowed)[0]
    seen = SeenRows(
        attention.site.kind,
        attention.queries.tokens,
        attention.keys.tokens,
        allowed=allowed,
        lexicon=lexicon,
    )
    return seen, np.count_nonzero(allowed, axis=-1) >= 2


def by_kind(trace: Trace) -> Iterator[tuple[AttentionKind, list[Head], AttentionMap]]:
    """The heads of each kind, as one map."""
    for kind in dict.fromkeys(site.kind for site in trace.maps):
        maps = [each for each in trace.maps.values() if each.site.kind is kind]
        places = [Head(each.site, head) for each in maps for head in range(each.n_heads)]
        yield (
            kind,
            places,
            AttentionMap(
                maps[0].site,
                weights=np.concatenate([each.weights for each in maps]),
                allowed=maps[0].allowed,
                queries=maps[0].queries,
                keys=maps[0].keys,
            ),
        )
