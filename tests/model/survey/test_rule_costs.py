"""What rules in place of heads cost, against runs of the model one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from model.checkpoints.shipped import CheckpointError
from model.explain.labels import Sample
from model.paper.search import Search
from model.record.intervention import Intervention
from model.survey.corpus_survey import CHEAP, KEYS, CorpusSurvey, Rules
from model.survey.probes import PROBES
from model.survey.rule_costs import rules_of_heads
from model.survey.survey_file import read_survey, save_survey
from model.survey.survey_json import LEAST_LIKELY
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.kit.surveys import damage_survey
from tests.kit.tiny_checkpoint import PAIRS

JUDGED = PAIRS[5:]


@pytest.fixture(scope="module")
def rules(translator: Translator) -> Rules:
    traces = [translator.trace(source) for source, _ in PAIRS]
    learned = [(trace.source.tokens, trace.predictions.tokens) for trace in traces]
    lengths = [len(trace.predictions) for trace in traces[-4:]]
    return rules_of_heads(translator, PAIRS, learned, lengths, translated=3, steps=2, orders=1)


def _log_prob(translator: Translator, source: str, edits: object) -> tuple[float, int]:
    own = translator.translate(source)
    trace = translator.trace_of(own, under=Intervention(heads=edits))  # type: ignore[arg-type]
    assert trace.log_probs is not None
    return float(trace.log_probs.sum()), len(trace.predictions)


def test_one_rule_costs_what_the_translations_lose(translator: Translator, rules: Rules) -> None:
    assert (rules.fitted, rules.judged, rules.translated) == (5, 4, 3)
    for place in rules.order[::11]:
        losses = [
            _log_prob(translator, source, {})[0]
            - _log_prob(translator, source, {place: rules.heads[place].weights})[0]
            for source, _ in JUDGED
        ]
        cost = rules.heads[place].cost
        assert cost.mean == pytest.approx(np.mean(losses), abs=1e-4)
        assert cost.error == pytest.approx(np.std(losses, ddof=1) / 2, abs=1e-4)


def test_many_rules_are_scored_with_the_cheapest_first(
    translator: Translator, rules: Rules
) -> None:
    assert rules.counts == (0, 16, 32)
    costs = [rules.heads[place].cost.mean for place in rules.order]
    assert costs == sorted(costs)
    for place, count in enumerate(rules.counts):
        gone = dict.fromkeys(rules.order[:count], 0)
        for edits, lines in ((rules.edits(count), "ruled"), (gone, "removed")):
            both = [_log_prob(translator, source, edits) for source, _ in JUDGED]
            expected = sum(total for total, _ in both) / sum(length for _, length in both)
            assert getattr(rules.log_prob, lines)[place] == pytest.approx(expected, abs=1e-4)
            texts = [
                translator.translate(
                    source,
                    search=Search(beam=1),
                    under=Intervention(heads=edits),
                ).text
                for source, _ in JUDGED[:3]
            ]
            bleu = sacrebleu.BLEU().corpus_score(texts, [[target for _, target in JUDGED[:3]]])
            assert getattr(rules.bleu, lines)[place] == pytest.approx(bleu.score, abs=1e-4)


def test_orders_at_random_agree_with_the_best_where_no_head_or_every_head_is_a_rule(
    rules: Rules,
) -> None:
    scores = rules.log_prob
    (at_random,) = scores.ruled_at_random
    assert at_random[0] == pytest.approx(scores.ruled[0], abs=1e-4)
    assert at_random[-1] == pytest.approx(scores.ruled[-1], abs=1e-3)
    assert len(rules.bleu.ruled_at_random) == 1
    for each in (rules.log_prob, rules.bleu):
        assert each.low[0] == each.high[0] == 0
        assert all(low <= high for low, high in zip(each.low, each.high, strict=True))


def test_the_most_heads_that_can_be_rules_lose_little_of_bleu(rules: Rules) -> None:
    lost = [rules.bleu.ruled[0] - each for each in rules.bleu.ruled]
    assert lost[rules.cheap] <= CHEAP
    assert rules.cheap == len(lost) - 1 or lost[rules.cheap + 1] > CHEAP


def test_rules_and_probes_survive_the_file(tmp_path: Path, rules: Rules) -> None:
    site = Site(AttentionKind.CROSS, 0)
    probes = np.random.default_rng(0).random((1, len(PROBES), len(KEYS))).astype(np.float32)
    probes[0, 3, 4] = np.nan
    survey = CorpusSurvey(Sample("made up", "none", 9), (), {}, {site: probes}, True, rules)
    save_survey(tmp_path, survey)
    found = read_survey(tmp_path)
    assert found is not None
    assert found.is_german
    np.testing.assert_allclose(found.probes[site], probes, rtol=1e-3)
    assert found.rules is not None
    assert (found.rules.counts, found.rules.judged) == (rules.counts, rules.judged)
    assert found.rules.heads.keys() == rules.heads.keys()
    for place, rule in rules.heads.items():
        own = found.rules.heads[place]
        assert (own.weights.rules, own.weights.shares) == (rule.weights.rules, rule.weights.shares)
        assert own.weights.table == rule.weights.table
        assert own.cost.mean == pytest.approx(rule.cost.mean, rel=1e-3, abs=1e-6)
    assert found.rules.bleu.ruled == pytest.approx(rules.bleu.ruled, abs=1e-3)
    for word, likely in rules.lexicon.likely.items():
        kept = {other: share for other, share in likely.items() if share >= LEAST_LIKELY}
        assert found.rules.lexicon.likely[word] == pytest.approx(kept, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("counts", [0, 40, 32]),
        ("counts", [0, 16]),
        ("lexicon", {"a": {"b": "much"}}),
        ("heads", [["cross.0", 0, ["no rule"], [1.0], [], 0.5, [0.1, 0.1, 4]]]),
        ("bleu", []),
    ],
)
def test_damaged_rules_are_refused(tmp_path: Path, rules: Rules, name: str, value: object) -> None:
    save_survey(tmp_path, CorpusSurvey(Sample("made up", "none", 9), (), {}, rules=rules))
    damage_survey(tmp_path, lambda content: content["rules"].__setitem__(name, value))
    with pytest.raises(CheckpointError, match="is damaged"):
        read_survey(tmp_path)
