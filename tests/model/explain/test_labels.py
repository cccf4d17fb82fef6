"""Labels hold on sentences that nobody chose: what earns them, and the file that keeps them."""

from __future__ import annotations

import copy
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CheckpointError
from model.explain.label_rules import MIN_PASSING, MIN_SENTENCES, RULE, wilson
from model.explain.labels import Finding, Survey
from model.explain.labels_file import read_labels, save_labels
from model.survey.parallel_text import Pair
from model.trace.attention_map import AttentionKind, Site
from model.training import labels as command
from tests.kit.labels import tiny_survey, values
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
SHIPPED = sorted(path.parent for path in CHECKPOINTS.glob("*/config.json"))
PREVIOUS = RULE["previous"]


def test_a_label_that_holds_on_twenty_examples_and_not_on_the_corpus_is_not_earned() -> None:
    examples = values(16, 20)
    assert PREVIOUS.holds(examples)
    corpus = np.r_[examples, values(300, MIN_SENTENCES - 20)]
    assert Finding.of({"previous": examples}).label is None
    assert Finding.of({"previous": corpus}).label is None
    assert Finding.of({"previous": values(450)}).label == "previous"


def test_a_share_just_above_the_threshold_earns_nothing_for_the_next_set_may_miss_it() -> None:
    assert PREVIOUS.holds(values(405))
    assert not PREVIOUS.is_earned(values(405))
    passing = next(k for k in range(400, MIN_SENTENCES) if PREVIOUS.is_earned(values(k)))
    assert wilson(passing, MIN_SENTENCES)[0] >= MIN_PASSING > wilson(passing - 1, MIN_SENTENCES)[0]


def test_a_mean_just_above_the_threshold_earns_nothing() -> None:
    # Nine in ten pass by a little, and the others lie so low that the mean is as good as 0.5.
    low = np.r_[np.full(450, 0.55), np.full(50, 0.06)]
    assert PREVIOUS.holds(low)
    assert not PREVIOUS.is_earned(low)
    assert PREVIOUS.is_earned(np.r_[np.full(450, 0.57), np.full(50, 0.06)])


@pytest.mark.parametrize(("passing", "count"), [(0, 7), (16, 20), (417, 500), (470, 500), (9, 9)])
def test_the_interval_is_where_the_score_test_would_just_not_reject(
    passing: int, count: int
) -> None:
    for end in wilson(passing, count):
        if 0 < end < 1:
            score = (passing / count - end) / math.sqrt(end * (1 - end) / count)
            assert abs(score) == pytest.approx(1.959964, abs=1e-5)
    # Newcombe 1998, table I, method 3: 81 of 263.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 0) == (0, 1)


def test_a_label_is_shown_with_its_share_and_its_interval() -> None:
    label = Finding.of({"previous": values(470)}).in_words
    assert label is not None
    assert label.share == "94% of 500 sentences (92–96%)"
    assert label.reason == (
        "On average, 86% of its weight goes there; in 94% of 500 sentences (92–96%), at least half "
        "does."
    )


def test_nearly_all_is_not_called_all() -> None:
    assert Finding({}, "previous", 500, 499).share.startswith("99.8% of 500")


def test_the_file_holds_what_was_found(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "tiny", steps=0)
    assert read_labels(folder) is None
    save_labels(folder, tiny_survey())
    found = read_labels(folder)
    assert found is not None
    assert found.labels == tiny_survey().labels
    assert (found.sample, found.n_heads, len(found.earned)) == (tiny_survey().sample, 32, 1)


BROKEN: list[tuple[list[Any], Any]] = [
    (["sample"], None),
    (["sample", "sentences"], 20),
    (["sample", "sentences"], True),
    (["sample", "licence"], ""),
    (["sample", "sentence"], "A sentence."),
    (["heads"], {}),
    (["heads"], []),
    (["heads", "nonsense"], []),
    (["heads", "encoder.0"], []),
    (["heads", "encoder.7"], [{"means": {}}] * 4),
    (["heads", "encoder.0", 0, "label"], "predicted_source"),
    (["heads", "encoder.0", 0, "label"], []),
    (["heads", "encoder.0", 0, "sentences"], 700),
    (["heads", "encoder.0", 0, "passing"], 410),
    (["heads", "encoder.0", 0, "passing"], -1),
    (["heads", "encoder.0", 0, "interval"], [0.1, 0.2]),
    (["heads", "encoder.0", 0, "interval"], "wide"),
    (["heads", "encoder.0", 0, "means"], {"previous": 0.3}),
    (["heads", "encoder.0", 0, "means"], {"previous": float("nan")}),
    (["heads", "encoder.0", 0, "means"], {"unknown": 0.3}),
    (["heads", "encoder.0", 0], 3),
]


@pytest.mark.parametrize(("place", "value"), BROKEN, ids=str)
def test_a_broken_file_is_refused_in_a_sentence(
    tmp_path: Path, place: list[Any], value: Any
) -> None:
    folder = write_tiny_checkpoint(tmp_path / "tiny", steps=0)
    content = copy.deepcopy(tiny_survey().to_json())
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (folder / "labels.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"labels\.json is damaged: .*\. Delete it, or"):
        read_labels(folder)


def test_measures_and_rules_of_another_version_are_read(tmp_path: Path) -> None:
    folder = write_tiny_checkpoint(tmp_path / "tiny", steps=0)
    content = tiny_survey().to_json()
    head = content["heads"]["encoder.0"][0]
    head["label"], head["means"] = "looks at nothing", {**head["means"], "later": 0.3}
    (folder / "labels.json").write_text(json.dumps(content), encoding="utf-8")
    found = read_labels(folder)
    assert found is not None
    finding = found.heads[Site(AttentionKind.ENCODER, 0)][0]
    assert (finding.label, finding.means["later"]) == (None, 0.3)


def test_examples_and_what_else_is_known_are_left_out_and_no_sentence_comes_twice() -> None:
    pairs = [Pair(f"Sentence {n}.", "") for n in range(30)]
    found = command.fresh([*pairs, *pairs], ["sentence 3", "Sentence 7!"])
    assert len(found) == 28
    assert {pair.source for pair in found}.isdisjoint({"Sentence 3.", "Sentence 7."})
    assert found == command.fresh(pairs, ["sentence 3", "Sentence 7!"])
    assert found != [pair for pair in pairs if pair in found]


def test_too_few_sentences_are_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_tiny_checkpoint(tmp_path / "tiny", steps=0)
    data = tmp_path / "data.tsv"
    data.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
    assert command.main(["--checkpoint", str(folder), "--data", str(data)]) == 1
    assert "labels need 500" in capsys.readouterr().err
    assert not (folder / "labels.json").exists()
    with pytest.raises(SystemExit):
        command.main(["--checkpoint", str(folder)])


@pytest.mark.slow
def test_the_command_writes_labels_and_the_card_and_reads_no_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(CHECKPOINTS / "toy-copy-pre-norm", tmp_path / "toy-copy-pre-norm")
    before = read_labels(folder)
    (folder / "labels.json").unlink()
    examples = {each["source"] for each in json.loads((folder / "examples.json").read_text())}
    read: list[str] = []
    label_heads = command.label_heads

    def noted(model: Any, pairs: list[Pair], **more: Any) -> Survey:
        read.extend(pair.source for pair in pairs)
        return label_heads(model, pairs[:520], **more)

    monkeypatch.setattr(command, "label_heads", noted)
    assert command.main(["--checkpoint", str(folder)]) == 0
    found = read_labels(folder)
    assert found is not None
    assert before is not None
    assert found.sample.sentences == 520
    assert examples.isdisjoint(read)
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card.count(command.HEADING) == 1
    assert command.card_with_labels(card, found) == card


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_shipped_labels_rest_on_500_sentences_and_the_card_says_the_same(folder: Path) -> None:
    found = read_labels(folder)
    assert found is not None
    assert found.sample.sentences >= MIN_SENTENCES
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert command.card_with_labels(card, found) == card
    for site, head, finding in found.earned:
        label = finding.in_words
        assert label is not None
        assert finding.sentences >= MIN_SENTENCES
        assert finding.interval[0] >= MIN_PASSING
        assert site.head_name(head) in card
        assert label.share in card
