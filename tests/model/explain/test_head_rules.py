"""Rules in words on disk, and where a head's label comes from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.checkpoints.shipped import CheckpointError
from model.checkpoints.weights_digest import weights_digest
from model.explain.head_rules import HeadRules, RuleFinding
from model.explain.labels_file import read_labels
from model.explain.rules_file import HEAD_RULES, read_head_rules, save_head_rules
from model.rules.phrases import Terms
from model.rules.weight_rules import Lexicon
from model.survey.term_fitting import MOST, SAID
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from tests.kit.labels import tiny_survey

FIRST = Head(Site(AttentionKind.ENCODER, 0), 0)
SECOND = Head(Site(AttentionKind.ENCODER, 0), 1)
CROSS = Head(Site(AttentionKind.CROSS, 1), 2)
GOOD = RuleFinding(
    said=Terms(("previous", "comma"), (4.0, -1.5)),
    right=0.83,
    low=0.8,
    high=0.86,
    position=0.41,
    said_overlap=0.7,
    rule=Terms(("previous", "comma", "first@stop"), (4.1, -1.2, 3.0)),
    overlap=0.75,
    shuffled=0.2,
    halves=0.9,
)
POOR = replace(GOOD, right=0.35, low=0.3, high=0.4, said_overlap=0.4)
RULES = HeadRules(
    "0" * 64,
    "made up",
    "CC0",
    200,
    100,
    300,
    ("en", "de"),
    {FIRST: GOOD, SECOND: POOR, CROSS: GOOD},
)


CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
SHIPPED = sorted(file.parent for file in CHECKPOINTS.glob(f"*/{HEAD_RULES}"))


def test_a_rule_says_what_a_head_does_and_how_often_it_is_right() -> None:
    assert GOOD.text == "looks at the previous token; avoids commas: right in 83 of 100 rows"
    assert GOOD.reason == (
        "It is right where it names the strongest key, in sentences that it never saw (95% "
        "interval 80 to 86; position alone: 41)."
    )
    assert POOR.text == "none of our rules predicts this head: right in 35 of 100 rows"
    assert replace(POOR, said_overlap=0.65).text == GOOD.text.replace("83", "35")
    assert replace(POOR, said_overlap=0.65, shuffled=0.6).text == POOR.text, "as any spread does"


def test_rules_survive_their_file(tmp_path: Path) -> None:
    assert read_head_rules(tmp_path) is None
    save_head_rules(tmp_path, RULES)
    assert read_head_rules(tmp_path) == RULES


def test_costs_decide_the_order_once_all_are_known(tmp_path: Path) -> None:
    overlapping = {FIRST: GOOD, SECOND: replace(GOOD, overlap=0.9), CROSS: POOR}
    rules = replace(RULES, heads=overlapping)
    assert rules.order == [SECOND, FIRST, CROSS]
    one = {**overlapping, CROSS: replace(POOR, cost=-0.01)}
    assert replace(rules, heads=one).order == rules.order
    costs = {FIRST: 0.0, SECOND: 0.0123, CROSS: -0.01}
    heads = {head: replace(rule, cost=costs[head]) for head, rule in overlapping.items()}
    costed = replace(rules, heads=heads)
    assert costed.order == [CROSS, FIRST, SECOND]
    save_head_rules(tmp_path, costed)
    assert read_head_rules(tmp_path) == costed


def test_an_edit_has_the_whole_rule_and_the_languages_of_its_axes() -> None:
    lexicon = Lexicon({})
    edits = RULES.edits([FIRST, CROSS], lexicon)
    assert edits[FIRST].terms == GOOD.rule.names
    assert edits[FIRST].languages == ("en", "en")
    assert edits[FIRST].lexicon is None
    assert edits[CROSS].languages == ("de", "en")
    assert edits[CROSS].lexicon is lexicon


def _changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    save_head_rules(folder, RULES)
    file = folder / HEAD_RULES
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def test_a_rule_of_terms_that_are_unknown_here_is_left_out(tmp_path: Path) -> None:
    _changed(tmp_path, lambda content: content["heads"][0]["rule"].update(elsewhere=1.0))
    rules = read_head_rules(tmp_path)
    assert rules is not None
    assert [*rules.heads] == [SECOND, CROSS]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.update(format=2), "another version"),
        (lambda content: content.pop("heads"), "damaged"),
        (lambda content: content["heads"][0].update(right=1.5), "damaged"),
        (lambda content: content["heads"][0].update(cost=[]), "damaged"),
        (lambda content: content["heads"][0].update(head=["nowhere", 0, 0]), "damaged"),
        (lambda content: content["heads"][0].update(said=["previous"]), "damaged"),
    ],
)
def test_a_damaged_or_newer_file_says_so(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    _changed(tmp_path, change)
    with pytest.raises(CheckpointError, match=message):
        read_head_rules(tmp_path)


def test_a_head_without_a_label_is_described_by_its_rule() -> None:
    labels = replace(tiny_survey(), rules=RULES).labels
    earned, ruled = labels[FIRST.site][0], labels[SECOND.site][1]
    assert earned is not None
    assert ruled is not None
    assert earned.earned
    assert earned.says
    assert earned.text == "looks at the previous token", "a label is the stronger claim"
    assert not ruled.earned
    assert ruled.says
    assert (ruled.text, ruled.reason) == (POOR.text, POOR.reason)
    other = labels[FIRST.site][2]
    assert other is not None
    assert not other.says


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_rules_are_of_the_weights_beside_them(folder: Path) -> None:
    rules, labels = read_head_rules(folder), read_labels(folder)
    assert rules is not None
    assert labels is not None
    assert rules.weights == weights_digest(folder)
    assert len(rules.heads) == labels.n_heads
    for rule in rules.heads.values():
        assert rule.said.is_short
        assert len(rule.said.names) <= SAID
        assert len(rule.rule.names) <= MOST
        assert rule.low <= rule.right <= rule.high
    assert all(label and label.says for heads in labels.labels.values() for label in heads)


@pytest.mark.parametrize(
    ("name", "kind", "text", "n_heads"),
    [
        ("toy-copy-pre-norm", AttentionKind.CROSS, "looks at the same position in the source", 4),
        ("toy-reverse", AttentionKind.CROSS, "looks at the position mirrored in the source", 4),
        (
            "toy-reverse-learned",
            AttentionKind.CROSS,
            "looks at the position mirrored in the source",
            4,
        ),
        (
            "toy-reverse-encoder",
            AttentionKind.ENCODER,
            "looks at the position mirrored in its text",
            2,
        ),
        (
            "toy-reverse-decoder",
            AttentionKind.DECODER,
            "looks at the position mirrored in its text",
            1,
        ),
    ],
)
def test_a_toy_that_was_built_for_one_thing_is_said_to_do_it(
    name: str, kind: AttentionKind, text: str, n_heads: int
) -> None:
    rules = read_head_rules(CHECKPOINTS / name)
    assert rules is not None
    told = [
        rule
        for head, rule in rules.heads.items()
        if head.site.kind is kind and rule.said.text.startswith(text)
    ]
    assert len(told) == n_heads
    assert min(rule.right for rule in told) > 0.7


def test_every_toy_and_every_model_with_a_survey_has_a_sentence_for_each_head() -> None:
    surveyed = {file.parent.name for file in CHECKPOINTS.glob("*/survey.zip")}
    toys = {folder.name for folder in CHECKPOINTS.glob("toy-*")}
    assert {"en-fr", "toy-reverse"} <= surveyed | toys <= {folder.name for folder in SHIPPED}
