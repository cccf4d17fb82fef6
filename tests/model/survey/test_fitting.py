"""Rules fitted to heads, on traces whose heads follow rules or none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.record.head_edits import RuleWeights
from model.rules.weight_rules import BY_DISTANCE, Lexicon, SeenRows
from model.survey.fitting import fitted, overlaps_of
from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

LEXICON = Lexicon({"▁Hund": {"▁dog": 1.0}, "▁Der": {"▁The": 1.0}, "▁Katze": {"▁cat": 1.0}})
PLANTED = {
    (Site(AttentionKind.ENCODER, 0), 0): RuleWeights(("previous",)),
    (Site(AttentionKind.ENCODER, 0), 1): RuleWeights(("next", "punctuation"), (0.6, 0.4)),
    (Site(AttentionKind.DECODER, 1), 2): RuleWeights(("same", "first"), (0.3, 0.7)),
    (Site(AttentionKind.CROSS, 1), 3): RuleWeights(("aligned", "last"), (0.5, 0.5), (), LEXICON),
}


def _with_rules(trace: Trace) -> Trace:
    """The trace with the weights of the planted heads as their rules say."""
    maps = dict(trace.maps)
    for (site, head), rule in PLANTED.items():
        own = maps[site]
        weights = own.weights.copy()
        weights[head] = rule.weights(_rows(own, rule.lexicon))
        maps[site] = dataclasses.replace(own, weights=weights)
    return dataclasses.replace(trace, maps=maps)


def _rows(attention: AttentionMap, lexicon: Lexicon | None) -> SeenRows:
    return SeenRows(
        attention.site.kind,
        attention.queries.tokens,
        attention.keys.tokens,
        allowed=attention.allowed,
        lexicon=lexicon,
    )


@pytest.fixture(scope="module")
def traces(translator: Translator) -> list[Trace]:
    return [_with_rules(translator.trace(source)) for source, _ in PAIRS]


def test_planted_rules_are_found_and_overlap_whole(traces: list[Trace]) -> None:
    found = fitted(traces[:6], traces[6:], LEXICON)
    for place, rule in PLANTED.items():
        assert set(found[place].weights.rules) == set(rule.rules)
        assert dict(
            zip(found[place].weights.rules, found[place].weights.shares, strict=True)
        ) == pytest.approx(dict(zip(rule.rules, rule.shares, strict=True)))
        assert found[place].overlap == pytest.approx(1, abs=1e-5)
    assert len(found) == sum(attention.n_heads for attention in traces[0].maps.values())


def test_the_overlap_is_one_less_the_total_variation_distance(traces: list[Trace]) -> None:
    place, rule = Head(Site(AttentionKind.CROSS, 0), 1), RuleWeights(("first",))
    shares = []
    for trace in traces:
        attention = trace.maps[place[0]]
        ruled = rule.weights(_rows(attention, None))
        shares += (1 - np.abs(attention.weights[1] - ruled).sum(axis=-1) / 2).tolist()
    assert overlaps_of(traces, {place: rule})[place] == pytest.approx(np.mean(shares), abs=1e-6)


def test_a_head_without_a_rule_overlaps_with_none(traces: list[Trace]) -> None:
    site = Site(AttentionKind.ENCODER, 1)
    generator = np.random.default_rng(0)
    noisy = []
    for trace in traces:
        own = trace.maps[site]
        weights = own.weights.copy()
        weights[0] = np.eye(own.weights.shape[2])[
            generator.integers(own.weights.shape[2], size=own.weights.shape[1])
        ]
        noisy.append(
            dataclasses.replace(
                trace, maps={**trace.maps, site: dataclasses.replace(own, weights=weights)}
            )
        )
    assert fitted(noisy[:6], noisy[6:], LEXICON)[site, 0].overlap < 0.4


def test_a_second_rule_must_be_worth_it(traces: list[Trace]) -> None:
    found = fitted(traces[:6], traces[6:], LEXICON)
    assert found[Site(AttentionKind.ENCODER, 0), 0].weights.rules == ("previous",)
    assert BY_DISTANCE not in found[Site(AttentionKind.ENCODER, 0), 0].weights.rules
