"""Rules in words for heads that follow one, and for heads that follow none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from model.explain.head_rules import RuleFinding
from model.record.head_edits import TermWeights
from model.rules.phrases import Terms
from model.rules.weight_rules import SeenRows
from model.survey.head_sentences import head_sentences
from model.survey.term_cells import TermCells, weights_by_rules
from model.survey.term_fitting import LENGTHS, MOST, fitted_terms
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.head import Head

SITE = Site(AttentionKind.ENCODER, 0)
ENGLISH = ("en", "en")
WORDS = (
    *("▁the", "▁dog", "▁saw", "▁a", "▁cat", "▁and", "▁they", "▁ran", "▁to", "▁my", "▁house", "▁in"),
    *("▁town", ",", "▁but", "▁not", "▁far"),
)
PLANTED = (
    TermWeights(("previous",), (5.0,), ENGLISH),
    TermWeights(("comma", "next@article", "first"), (5.0, 6.0, 2.0), ENGLISH),
)


@dataclass(frozen=True)
class Sentence:
    """The maps of a trace, which is all that fitting reads."""

    maps: dict[Site, AttentionMap]


def _sentence(generator: np.random.Generator) -> Sentence:
    """Two heads that follow rules, and one that looks at random tokens."""
    tokens = (*generator.choice(WORDS, generator.integers(6, 11)), ".", "</s>")
    rows = SeenRows(
        AttentionKind.ENCODER, tokens, tokens, allowed=np.ones((len(tokens),) * 2, bool)
    )
    at_random = np.eye(len(tokens))[generator.integers(len(tokens), size=len(tokens))]
    weights = np.stack([*(rule.weights(rows) for rule in PLANTED), at_random])
    axis = Tokens(tokens, tuple(range(len(tokens))), "sentencepiece")
    attention = AttentionMap(
        SITE, weights=weights.astype(np.float32), allowed=rows.allowed, queries=axis, keys=axis
    )
    return Sentence({SITE: attention})


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    generator = np.random.default_rng(0)
    return [_sentence(generator) for _ in range(60)]


@pytest.fixture(scope="module")
def found(sentences: list[Sentence]) -> dict[Head, RuleFinding]:
    return head_sentences(sentences, SITE.kind, ENGLISH, None, fitted=30, chosen=10)


def test_a_planted_head_gets_its_sentence(found: dict[Head, RuleFinding]) -> None:
    rule = found[Head(SITE, 0)]
    assert rule.said.text == "looks at the previous token"
    assert rule.said.names == rule.rule.names, "further terms would add nothing"
    assert rule.right > 0.85 < rule.halves
    assert rule.said_overlap == pytest.approx(rule.overlap) == pytest.approx(1, abs=0.1)
    assert rule.position == pytest.approx(rule.right, abs=0.05), "a single position says as much"
    assert rule.predicts
    assert rule.low < rule.right < rule.high


def test_a_planted_head_with_a_condition_is_found_where_no_position_is(
    found: dict[Head, RuleFinding],
) -> None:
    rule = found[Head(SITE, 1)]
    assert set(rule.said.names) == {"comma", "next@article", "first"}
    assert "from articles, looks at the next token" in rule.said.text
    assert rule.overlap > 0.9 > rule.shuffled + 0.2
    assert rule.right > rule.position + 0.2


def test_a_head_without_a_rule_says_so(found: dict[Head, RuleFinding]) -> None:
    rule = found[Head(SITE, 2)]
    assert not rule.predicts
    assert rule.right < 0.35
    assert rule.text.startswith("none of our rules predicts this head: ")


def test_each_length_has_so_many_terms(sentences: list[Sentence]) -> None:
    cells = TermCells.of(sentences[:20], SITE.kind, ENGLISH, None)
    rules = fitted_terms(cells, shortest=4)
    assert [*rules] == [length for length in LENGTHS if length >= 4]
    assert all(len(each.names) == length for length in rules for each in rules[length])
    overlaps = [
        cells.overlaps(weights_by_rules(cells, rules[length])).mean() for length in (MOST, 4)
    ]
    assert overlaps[0] >= overlaps[1] - 0.01


def test_shuffling_keeps_the_weights_of_each_row(sentences: list[Sentence]) -> None:
    cells = TermCells.of(sentences[:5], SITE.kind, ENGLISH, None, ["previous"])
    shuffled = cells.shuffled(3)
    assert not torch.equal(cells.weights, shuffled.weights)
    for row in range(cells.n_rows):
        of_row = cells.rows == row
        for head in range(cells.n_heads):
            before, after = (each.weights[of_row, head] for each in (cells, shuffled))
            assert torch.equal(before.sort().values, after.sort().values)


def test_rows_alike_are_right_by_their_share(sentences: list[Sentence]) -> None:
    cells = TermCells.of(sentences[:5], SITE.kind, ENGLISH, None, ["previous"])
    even = cells.hits(weights_by_rules(cells, [Terms((), ())] * cells.n_heads))
    n_keys = torch.bincount(cells.rows).float()
    assert even[:, 2] == pytest.approx(1 / n_keys)


def test_some_sentences_have_their_own_rows(sentences: list[Sentence]) -> None:
    cells = TermCells.of(sentences[:6], SITE.kind, ENGLISH, None, ["previous"])
    alone = TermCells.of(sentences[:6:2], SITE.kind, ENGLISH, None, ["previous"])
    kept = cells.only(np.arange(6) % 2 == 0)
    for name in ("terms", "weights", "rows"):
        assert torch.equal(getattr(kept, name), getattr(alone, name))
    assert kept.sentences.tolist() == (2 * alone.sentences).tolist()
