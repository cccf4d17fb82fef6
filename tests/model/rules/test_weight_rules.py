"""Rules in place of a head's weights: what they say, and a model that runs under them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from model.paper.search import Search
from model.record.head_edits import HeadError, RuleWeights, TermWeights
from model.record.intervention import Intervention
from model.rules.terms import terms_of
from model.rules.weight_rules import BY_DISTANCE, REACH, RULES, Lexicon, SeenRows
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

ENCODER, DECODER, CROSS = AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS
TOKENS = ("▁The", "▁do", "g", "▁saw", "▁The", "▁cat", ".", "</s>")


def _keys(name: str, kind: AttentionKind = ENCODER, **more: Any) -> list[list[int]]:
    """The keys that each row of a rule looks at."""
    rows = SeenRows(kind, more.pop("queries", TOKENS), TOKENS, **more)
    return [np.flatnonzero(row).tolist() for row in rows.cells(name)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("previous", [[], [0], [1], [2], [3], [4], [5], [6]]),
        ("same", [[0], [1], [2], [3], [4], [5], [6], [7]]),
        ("next", [[1], [2], [3], [4], [5], [6], [7], []]),
        ("two_before", [[], [], [0], [1], [2], [3], [4], [5]]),
        ("two_after", [[2], [3], [4], [5], [6], [7], [], []]),
        ("first", [[0]] * 8),
        ("last", [[7]] * 8),
        ("punctuation", [[6]] * 8),
        ("again", [[4], [], [], [], [0], [], [], []]),
        ("own_word", [[], [2], [1], [], [], [], [], []]),
        ("evenly", [[*range(8)]] * 8),
    ],
)
def test_a_rule_looks_where_it_says(name: str, expected: list[list[int]]) -> None:
    assert _keys(name) == expected


def test_every_rule_of_cross_attention_follows_the_lexicon() -> None:
    lexicon = Lexicon({"▁Hund": {"▁do": 0.6, "g": 0.4}, "▁sah": {"▁saw": 1.0}})
    of = {"kind": CROSS, "queries": ("<s>", "▁Hund", "▁sah"), "lexicon": lexicon}
    assert _keys("aligned", **of) == [[], [1, 2], [3]]
    assert _keys("after_aligned", **of) == [[], [2, 3], [4]]


def test_padding_is_not_the_end_of_a_sentence() -> None:
    rows = SeenRows(ENCODER, (*TOKENS, "<pad>", "<pad>"), (*TOKENS, "<pad>", "<pad>"))
    assert rows.last == 7


def test_a_table_gives_each_distance_its_share() -> None:
    table = [0.0] * (2 * REACH + 1)
    table[REACH - 1], table[REACH + 1] = 3.0, 1.0
    cells = SeenRows(ENCODER, TOKENS, TOKENS).cells(BY_DISTANCE, tuple(table))
    np.testing.assert_allclose(cells[3], [0, 0, 0.75, 0, 0.25, 0, 0, 0])
    # At the edge there is one neighbour.
    np.testing.assert_allclose(cells[0], [0, 1, 0, 0, 0, 0, 0, 0])


def test_in_a_mixture_a_rule_without_a_key_leaves_its_share_to_the_other() -> None:
    weights = RuleWeights(("previous", "again"), (0.75, 0.25)).weights(
        SeenRows(ENCODER, TOKENS, TOKENS)
    )
    np.testing.assert_allclose(weights[4, [0, 3]], [0.25, 0.75])
    np.testing.assert_allclose(weights[3, 2], 1)
    np.testing.assert_allclose(weights[0, 4], 1)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)


def test_a_row_without_any_key_spreads_over_what_it_may_see() -> None:
    allowed = np.tri(8, dtype=bool)
    weights = RuleWeights(("punctuation",)).weights(
        SeenRows(DECODER, TOKENS, TOKENS, allowed=allowed)
    )
    np.testing.assert_allclose(weights[2], [1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0])
    assert weights[6, 6] == 1


def test_the_lexicon_learns_which_token_is_whose_source() -> None:
    pairs = [
        (("a", "b"), ("A", "B")),
        (("a", "c"), ("A", "C")),
        (("b", "c"), ("C", "B")),
    ]
    lexicon = Lexicon.learned(pairs, rounds=20)
    for target, source in ("Aa", "Bb", "Cc"):
        assert lexicon.likely[target][source] > 0.9
    for shares in lexicon.likely.values():
        assert sum(shares.values()) == pytest.approx(1)


def test_a_token_of_every_sentence_is_not_the_source_of_all_others() -> None:
    pairs = [
        ((one, other, "."), (other.upper(), one.upper(), "!"))
        for one, other in combinations("abcdef", 2)
    ]
    lexicon = Lexicon.learned(pairs, rounds=20)
    for letter in "abcdef":
        assert lexicon.likely[letter.upper()][letter] > 0.9
    assert lexicon.likely["!"]["."] > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": ("no rule",)}, "There is no rule 'no rule'"),
        ({"rules": ()}, "Each rule needs its share"),
        ({"rules": ("same", "next")}, "there are 2 rules and the shares"),
        ({"rules": ("same",), "shares": (0.0,)}, "Each rule needs its share above 0"),
        ({"rules": (BY_DISTANCE,)}, "needs a table of 33 shares"),
        ({"rules": ("same",), "table": (1.0,) * 33}, "no other rule takes one"),
    ],
)
def test_an_impossible_rule_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadError, match=message):
        RuleWeights(**arguments)


def _everywhere(translator: Translator) -> dict[Head, RuleWeights | TermWeights]:
    """A rule for every head, each rule somewhere, and terms for every other one."""
    lexicon = Lexicon({"▁Hund": {"▁dog": 1.0}})
    found: dict[Head, RuleWeights | TermWeights] = {}
    for site in translator.sites:
        terms = terms_of(site.kind)
        names = [rule.name for rule in RULES.values() if site.kind in rule.kinds]
        for head in range(translator.model.config.n_heads):
            number = site.layer * 4 + head
            known = lexicon if site.kind is CROSS else None
            found[Head(site, head)] = (
                TermWeights(
                    tuple(terms[number::40]), (1.5,) * len(terms[number::40]), ("de", "en"), known
                )
                if head % 2
                else RuleWeights((names[number % len(names)],), lexicon=known)
            )
    return found


def test_weights_in_a_trace_are_those_of_the_rules(translator: Translator) -> None:
    rules = _everywhere(translator)
    trace = translator.trace(PAIRS[0][0], under=Intervention(heads=rules))
    for (site, head), rule in rules.items():
        attention = trace.maps[site]
        rows = SeenRows(
            site.kind,
            attention.queries.tokens,
            attention.keys.tokens,
            allowed=attention.allowed,
            lexicon=rule.lexicon,
        )
        np.testing.assert_allclose(attention.weights[head], rule.weights(rows), atol=1e-6)


@pytest.mark.parametrize("beam", [1, 3])
def test_decoding_under_rules_gives_the_rows_of_the_whole_pass(
    translator: Translator, beam: int
) -> None:
    under = Intervention(heads=_everywhere(translator))
    for source, _ in PAIRS[:3]:
        written = translator.translate(source, search=Search(beam=beam), under=under)
        trace = translator.trace_of(written, under=under)
        np.testing.assert_allclose(trace.log_probs, written.log_probs, atol=1e-4)


def test_sentences_of_a_batch_follow_the_rules_each_by_its_own_tokens(
    translator: Translator,
) -> None:
    under = Intervention(heads=_everywhere(translator))
    texts = [source for source, _ in PAIRS[:4]]
    targets = [target for _, target in PAIRS[:4]]
    for text, target, trace in zip(
        texts, targets, translator.trace_batch(texts, targets, under=under).traces, strict=True
    ):
        alone = translator.trace(text, target, under=under)
        np.testing.assert_allclose(trace.log_probs, alone.log_probs, atol=1e-4)
