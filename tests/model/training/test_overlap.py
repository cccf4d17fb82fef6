"""Test sentences near the training data, found by hashing, against distances computed plainly."""

import json
import shutil

from hypothesis import given
from hypothesis import strategies as st

from model.survey.parallel_text import Pair
from model.training.evaluate import translation_scores
from model.training.overlap import main as overlap
from model.training.overlap import near, overlap_scores, words

CARD = """# a model

## Scores

BLEU.

## Training

Long.
"""


def distance(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Levenshtein 1966, row by row."""
    above = list(range(len(other) + 1))
    for row, word in enumerate(one, start=1):
        current = [row]
        for column, each in enumerate(other, start=1):
            current.append(
                min(above[column] + 1, current[-1] + 1, above[column - 1] + (word != each))
            )
        above = current
    return above[-1]


SENTENCES = st.lists(st.lists(st.sampled_from("abc"), max_size=5).map(" ".join), max_size=8)


@given(SENTENCES, SENTENCES)
def test_near_is_a_word_level_edit_distance_of_at_most_one(sentences, training):
    expected = [
        any(distance(words(sentence), words(seen)) <= 1 for seen in training)
        for sentence in sentences
    ]
    assert near(sentences, training) == expected


def test_case_and_punctuation_make_no_difference_and_a_word_does():
    training = ["Tom is tall."]
    assert near(["tom is TALL!", "Is Tom tall?", "Mary is tall."], training) == [True, False, True]


def test_both_parts_are_scored_each_by_itself():
    test = [Pair("Tom is tall.", "Tom ist groß."), Pair("A dog barks.", "Ein Hund bellt hier.")]
    said = ["Tom ist groß.", "Ein Hund bellt da."]
    scores = overlap_scores(test, said, [Pair("Mary is tall.", "")])
    for name, place in (("near", 0), ("far", 1)):
        expected = translation_scores([said[place]], [test[place].target])
        assert scores[name] == {
            "sentences": 1, "bleu": expected["bleu"], "chrf": expected["chrf"]
        }  # fmt: skip
    assert overlap_scores(test, said, [Pair("No.", "")])["near"] == {"sentences": 0}


def test_the_command_writes_both_scores_to_metrics_and_card_once(checkpoint_folder, tmp_path):
    folder = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_folder, folder)
    (folder / "card.md").write_text(CARD, encoding="utf-8")
    (folder / "metrics.json").write_text('{"steps": 3, "test": {"bleu": 1.0}}', encoding="utf-8")
    data, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    data.write_text("A dog sleeps.\tEin Hund schläft.\n", encoding="utf-8")
    test.write_text("The dog sleeps.\tDer Hund schläft.\nNo.\tNein.\n", encoding="utf-8")
    command = ["--checkpoint", str(folder), "--test", str(test), "--data", str(data)]
    assert overlap(command) == 0
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["steps"] == 3
    assert metrics["test"]["near"]["sentences"] == metrics["test"]["far"]["sentences"] == 1
    card = (folder / "card.md").read_text()
    assert f"| at most one word away | 1 | {metrics['test']['near']['bleu']:.1f} |" in card
    assert card.startswith(CARD.partition("## Training")[0])
    assert card.endswith("\n\n## Training\n\nLong.\n")
    assert overlap(command) == 0
    assert (folder / "card.md").read_text() == card


def test_a_card_without_scores_is_left_alone(checkpoint_folder, tmp_path, capsys):
    folder = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_folder, folder)
    (folder / "card.md").write_text("# a model\n", encoding="utf-8")
    before = (folder / "metrics.json").read_bytes()
    data = tmp_path / "data.tsv"
    data.write_text("A dog.\tEin Hund.\n", encoding="utf-8")
    assert overlap(["--checkpoint", str(folder), "--test", str(data), "--data", str(data)]) == 1
    assert "no section “Scores”" in capsys.readouterr().err
    assert (folder / "metrics.json").read_bytes() == before
