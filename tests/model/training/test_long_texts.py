"""Texts of several sentences: joined from pairs, scored, and written to metrics and card."""

import json
import shutil
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import load_checkpoint, well_read_tokens
from model.survey.parallel_text import Pair
from model.training.evaluate import translate_all, translation_scores
from model.training.long_texts import joined, longest_well_read, scores_by_length
from model.training.long_texts import main as long_texts

PAIRS = [Pair("A dog sleeps.", "Ein Hund schläft."), Pair("No.", "Nein."), Pair("Oh!", "Oh!")]
CARD = "# a model\n\n## Training\n\nLong.\n\n## Good at\n\nMuch.\n"


def test_a_text_is_of_consecutive_pairs_and_what_remains_is_left_out() -> None:
    assert joined(PAIRS, 2) == [Pair("A dog sleeps. No.", "Ein Hund schläft. Nein.")]
    assert joined(PAIRS, 4) == []


def test_scores_are_those_of_the_texts_and_tokens_their_mean(checkpoint_folder: Path) -> None:
    checkpoint = load_checkpoint(checkpoint_folder)
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    rows = scores_by_length(model, tokenizer, PAIRS)
    assert [row["sentences"] for row in rows] == [1, 2, 3]
    (text,) = joined(PAIRS, 3)
    said = translate_all(model, tokenizer, [text.source], beam=4)
    assert rows[2]["bleu"] == translation_scores(said, [text.target])["bleu"]
    assert rows[2]["tokens"] == len(tokenizer.encode_all([text.source])[0])


@pytest.mark.parametrize(
    ("scores", "tokens"), [((40, 39, 36, 35.9), 30), ((40, 35, 39), 10), ((40, 40, 41), None)]
)
def test_texts_are_well_read_up_to_the_first_that_loses_a_tenth(
    scores: tuple[float, ...], tokens: int | None
) -> None:
    rows = [{"tokens": 10 * place, "bleu": bleu} for place, bleu in enumerate(scores, start=1)]
    assert longest_well_read(rows) == tokens


def test_the_command_writes_metrics_and_card_once(
    checkpoint_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_folder, folder)
    (folder / "card.md").write_text(CARD, encoding="utf-8")
    (folder / "metrics.json").write_text('{"steps": 3}', encoding="utf-8")
    test = tmp_path / "test.tsv"
    test.write_text("".join(f"{one}\t{other}\n" for one, other in PAIRS), encoding="utf-8")
    for _ in range(2):
        assert long_texts(["--checkpoint", str(folder), "--test", str(test)]) == 0
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["steps"] == 3
    assert [row["sentences"] for row in metrics["texts"]["scores"]] == [1, 2, 3]
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card.count("## Texts of several sentences") == 1
    assert card.endswith("## Good at\n\nMuch.\n")
    assert "| sentences | source tokens | BLEU |" in capsys.readouterr().out


@pytest.mark.parametrize(
    "texts", [None, "x", {}, {"well_read": None}, {"well_read": -1}, {"well_read": True}]
)
def test_metrics_by_anybody_may_say_nothing_of_texts(texts: object) -> None:
    assert well_read_tokens({"texts": texts}) is None
    assert well_read_tokens({}) is None
    assert well_read_tokens({"texts": {"well_read": 49}}) == 49
