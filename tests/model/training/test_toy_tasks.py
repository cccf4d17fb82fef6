"""Toys: their tasks, the command that makes one, and what every shipped one promises."""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from model.checkpoints.checkpoint import TOKENIZER, is_single_stack
from model.checkpoints.toy_tasks import LONGEST, TASKS, task_of
from model.paper.tokenizer import Tokenizer
from model.training import toy_recipes, toys
from model.translate.text_models import StackReader
from model.translate.translator import Translator, load

SHIPPED = sorted((Path(__file__).parents[3] / "checkpoints").glob("toy-*"))

SOLVED = {
    ("reverse", "a b c d"): "d c b a",
    ("copy", "c c a"): "c c a",
    ("sort", "d a c a"): "a a c d",
    ("count", "b a b"): "a 1 b 2",
    ("numbers", "0"): "zero",
    ("numbers", "17"): "seventeen",
    ("numbers", "40"): "forty",
    ("numbers", "307"): "three hundred seven",
    ("numbers", "9999"): "nine thousand nine hundred ninety nine",
    ("numbers", "120015"): "one hundred twenty thousand fifteen",
    ("dates", "2026-11-23"): "23 November 2026",
    ("dates", "1900-01-02"): "2 January 1900",
}


@pytest.mark.parametrize(("task", "source"), SOLVED, ids=" ".join)
def test_a_task_is_solved_as_anyone_would(task: str, source: str) -> None:
    assert TASKS[task].solve(source) == SOLVED[task, source]


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_task_reads_what_it_draws_and_nothing_longer(name: str) -> None:
    task = TASKS[name]
    seen, unseen = toy_recipes.pairs_of(task, seed=1)
    assert len(unseen) == toy_recipes.N_UNSEEN
    assert {pair.source for pair in seen}.isdisjoint(pair.source for pair in unseen)
    assert (seen, unseen) == toy_recipes.pairs_of(task, seed=1)
    for source, target in [*seen, *unseen]:
        assert task.can_read(f" {source}\n")
        assert task.solve(source) == target
    for text in ("", "Attention is all you need.", "a" * 40, "１２"):
        assert not task.can_read(text)
    random = Random(3)
    assert not any(task.can_read(task.beyond(random)) for _ in range(50))
    longest = max(len(pair.source.split()) for pair in seen)
    assert longest == (LONGEST if task.spaced else 1)


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_vocabulary_is_the_one_its_recipe_makes_and_reads_any_spelling(folder: Path) -> None:
    shipped = Tokenizer.load(folder / TOKENIZER)
    task = TASKS[toy_recipes.TOYS[folder.name].task]
    assert shipped.serialized == toys.tokenizer_of(task).serialized
    assert shipped.encode("１２３ ａｂｃ ²½Ⅷ℃㎏") == shipped.encode("123 abc 21\u20442VIII°Ckg")


@pytest.mark.parametrize("name", ["sort", "count", "dates"])
def test_a_recipe_is_chosen_by_inputs_of_neither_training_nor_test(name: str) -> None:
    chosen_by = {pair.source for pair in toy_recipes.pairs_to_choose_by(TASKS[name], seed=1)}
    assert len(chosen_by) == toy_recipes.N_UNSEEN
    for pairs in toy_recipes.pairs_of(TASKS[name], seed=1):
        assert chosen_by.isdisjoint(pair.source for pair in pairs)


@pytest.mark.parametrize("name", TASKS)
def test_every_word_and_digit_of_a_task_is_one_token(name: str) -> None:
    task = TASKS[name]
    tokenizer = toys.tokenizer_of(task)
    for word in task.words:
        pieces = [piece for piece in tokenizer.pieces(tokenizer.encode(word)) if piece != "▁"]
        assert [piece.removeprefix("▁") for piece in pieces] == [word]


@pytest.mark.parametrize("metrics", [{}, {"task": None}, {"task": "translate"}, {"task": ["copy"]}])
def test_what_names_no_task_is_no_toy(metrics: dict[str, object]) -> None:
    assert task_of(metrics) is None


@pytest.mark.slow
def test_the_command_makes_a_whole_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "toy-copy-pre-norm"
    assert toys.main(["toy-copy-pre-norm", "--output", str(folder), "--steps", "1"]) == 0
    assert "of unseen inputs" in capsys.readouterr().out
    translator = load(folder, device="cpu")
    assert task_of(translator.metrics) is TASKS["copy"]
    assert translator.metrics["test"]["sentences"] == toy_recipes.N_UNSEEN
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# toy-copy-pre-norm: letters copied, pre-norm\n")


def test_where_no_inputs_are_left_to_choose_by_the_command_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        toys.main(["toy-numbers-fused", "--output", str(tmp_path / "toy"), "--choose"])
    assert "no inputs beyond" in capsys.readouterr().err
    assert not (tmp_path / "toy").exists()


SHOWN = {
    ("reverse", "b a c"): "“b” is read first and written last.",
    ("copy", "b a c"): "“b” is read first and written first, “c” last.",
    ("sort", "c a a"): "“a” is written first; it is first read at place 2 of 3.",
    ("count", "b a b"): "2 of the 3 letters are “b”.",
    ("numbers", "307"): "Digits become words: 3 are read, 3 are written.",
    ("dates", "2026-11-23"): "“11” is read for “November”; the year, read first, is written last.",
}


@pytest.mark.parametrize(("task", "source"), SHOWN, ids=" ".join)
def test_each_example_says_what_there_is_to_see_in_it(task: str, source: str) -> None:
    assert TASKS[task].shows(source) == SHOWN[task, source]


@pytest.mark.slow
def test_choosing_a_recipe_scores_nothing_that_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "toy-sort-alibi"
    exact = toys.make("toy-sort-alibi", folder, steps=1, choosing=True)
    assert 0 <= exact < 1
    assert "test" not in json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert not (folder / "card.md").exists()


# What is shipped.


@pytest.fixture(scope="module", params=SHIPPED, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def toy(folder: Path) -> Translator | StackReader:
    return (StackReader.load if is_single_stack(folder) else load)(folder, device="cpu")


def examples(folder: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    return found


def test_a_toy_is_small_and_the_variant_that_it_is_named_for(
    folder: Path, toy: Translator | StackReader
) -> None:
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 1_000_000
    made = toy_recipes.TOYS[folder.name]
    assert toy.metrics["task"] == made.task
    for field, value in made.variant.items():
        assert getattr(toy.model.config, field) == value


def test_a_toys_examples_each_have_a_sentence_of_their_own(
    folder: Path, toy: Translator | StackReader
) -> None:
    task = TASKS[toy.metrics["task"]]
    for each in examples(folder):
        assert each["shows"] == task.shows(each["source"])
        assert each["translation"] == task.solve(each["source"])


@pytest.mark.learning
def test_a_toy_is_right_on_what_it_never_saw(folder: Path, toy: Translator | StackReader) -> None:
    task = TASKS[toy.metrics["task"]]
    made = toy_recipes.TOYS[folder.name]
    seen, unseen = toy_recipes.pairs_of(task, toy.metrics["training"]["seed"], made.n_seen)
    assert len(seen) == toy.metrics["training"]["pairs"]
    sources = [pair.source for pair in unseen]
    written = toys.written_by(folder, sources)
    exact = np.mean([text == pair.target for text, pair in zip(written, unseen, strict=True)])
    assert exact >= 0.995
    assert exact == pytest.approx(toy.metrics["test"]["exact"], abs=0.001)


def test_a_toy_comes_with_ten_good_examples_and_ten_bad_ones(
    folder: Path, toy: Translator | StackReader
) -> None:
    task = TASKS[toy.metrics["task"]]
    found = examples(folder)
    assert len(found) == 10
    for each in found:
        written = (
            toy.write(each["source"])
            if isinstance(toy, StackReader)
            else toy.translate(each["source"]).text
        )
        assert written == each["translation"]
        assert task.solve(each["source"]) == each["translation"]
    card = (folder / "card.md").read_text(encoding="utf-8")
    made = toy_recipes.TOYS[folder.name]
    title = f"{TASKS[made.task].title}, {made.shows.partition(', ')[0]}"
    assert card.startswith(f"# {folder.name}: {title}\n")
    assert f"{toy.metrics['test']['exact']:.2%}" in card
    _, _, bad = card.partition("## Bad at")
    assert len([line for line in bad.splitlines() if line.startswith("|")]) == 12
