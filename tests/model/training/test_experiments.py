"""Stored sentences show what is claimed of them, with the shipped weights."""

import json
import math
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import EXPERIMENTS, is_single_stack, trained_without_causal_mask
from model.explain.experiments import KINDS, Experiment, read_experiments, save_experiments
from model.training import word_pairs
from model.training.experiments import LEAST, chosen, measure, times
from model.training.toy_recipes import TOYS, toy_pairs
from model.training.word_pairs import pairs_in
from model.translate.translator import load
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

pytestmark = pytest.mark.slow

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
STORED = sorted(path.parent.name for path in CHECKPOINTS.glob(f"*/{EXPERIMENTS}"))

ROUNDING = 0.02
"""The share of an effect by which another processor's may differ."""


def test_every_shipped_translator_has_sentences_for_its_experiments() -> None:
    whole = [path for path in CHECKPOINTS.iterdir() if not is_single_stack(path)]
    wanted = [
        path.name
        for path in whole
        if not trained_without_causal_mask(json.loads((path / "metrics.json").read_text("utf-8")))
    ]
    assert sorted(wanted) == STORED


@pytest.mark.parametrize("name", STORED)
def test_the_first_sentence_of_each_kind_shows_the_effect_that_is_stored(name: str) -> None:
    model = load(CHECKPOINTS / name, device="cpu")
    noun = "output" if name in TOYS else "translation"
    stored = read_experiments(CHECKPOINTS / name)
    assert stored
    for kind, listed in stored.items():
        first = listed[0]
        trace = model.trace(first.source)
        if kind == "words":
            pairs = (word_pairs.experiment(model, each) for each in pairs_in(model, trace))
            found = next(each for each in pairs if each.setting == first.setting)
            assert found.shows == first.shows
        else:
            found = measure(model, kind, trace, noun)
            assert times(first.effect) in first.shows
            assert all(each.effect >= LEAST[kind] for each in listed)
        assert found is not None, (kind, first.source)
        assert found.effect == pytest.approx(first.effect, rel=ROUNDING, abs=ROUNDING)
        assert found.setting == first.setting


@pytest.mark.parametrize("name", [name for name in STORED if name in TOYS])
def test_a_toys_sentences_are_none_that_it_was_trained_on(name: str) -> None:
    fresh = {pair.source for pair in toy_pairs(CHECKPOINTS / name, TOYS[name])}
    for listed in read_experiments(CHECKPOINTS / name).values():
        assert {each.source for each in listed} <= fresh


def test_the_largest_effects_come_first_after_the_sentences_that_are_to_lead(
    tmp_path: Path,
) -> None:
    write_tiny_checkpoint(tmp_path / "en-de")
    model = load(tmp_path / "en-de", device="cpu")
    sentences = ("The man eats.", "A dog.", "The cat sleeps.")
    traces = [model.trace(each) for each in sentences]
    for kind, listed in chosen(model, traces, "translation").items():
        effects = [each.effect for each in listed]
        assert effects == sorted(effects, reverse=True)
        if len(listed) > 1:
            last = next(trace for trace in traces if trace.source_text == listed[-1].source)
            others = [trace for trace in traces if trace is not last]
            led = chosen(model, others, "translation", first=[last])[kind]
            assert led[0].source == last.source_text


def test_what_is_written_is_read_back_and_a_damaged_file_is_none(tmp_path: Path) -> None:
    found = {kind: (Experiment(f"A {kind}.", "It shows.", 1.5, "2.0.1"),) for kind in KINDS}
    save_experiments(tmp_path, found)
    assert read_experiments(tmp_path) == found
    for content in ("[", "[]", '{"head": 1}', '{"head": [{"source": "x"}]}'):
        (tmp_path / EXPERIMENTS).write_text(content, encoding="utf-8")
        assert read_experiments(tmp_path) == {}
    (tmp_path / EXPERIMENTS).unlink()
    assert read_experiments(tmp_path) == {}


@pytest.mark.parametrize(
    ("factor", "said"), [(2.04, "about 2"), (37.4, "about 37"), (1234, "about 1,200")]
)
def test_times_have_two_digits(factor: float, said: str) -> None:
    assert times(math.log(factor)) == said
    assert times(math.log(3e6)) == "over a million"
