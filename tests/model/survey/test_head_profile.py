"""What is said of a head, on counts made by hand; and its file."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.checkpoint import snapshot_file
from model.checkpoints.shipped import CheckpointError
from model.explain.label_rules import wilson
from model.explain.labels import Sample
from model.survey.corpus_survey import DECILES, KEYS, REACH, CorpusSurvey, WordPair
from model.survey.head_profile import PER_DECILE, summed_up
from model.survey.part import SurveyPart
from model.survey.survey_file import SURVEY, read_survey, save_survey
from model.trace.attention_map import AttentionKind, Site
from tests.kit.surveys import damage_survey

ENCODER, CROSS = Site(AttentionKind.ENCODER, 0), Site(AttentionKind.CROSS, 0)
PREVIOUS, READ, PREDICTED = map(KEYS.index, ("previous", "read_source", "predicted_source"))
SAMPLE = Sample("made up", "none", 1200)


def _part(n_sentences: int = 1200) -> SurveyPart:
    """Of two sites with a head each: "The dog ran." becomes "Der Hund lief."."""
    shape = (n_sentences, 2, 1)
    values = np.full((*shape, len(KEYS)), np.nan, np.float32)
    tells = np.zeros((n_sentences, 2, len(KEYS)), bool)
    distances = np.zeros((2, 1, 2 * REACH + 1), np.int64)
    distances[0, 0, REACH - 1], distances[0, 0, REACH] = 300, 100
    return SurveyPart(
        (ENCODER, CROSS),
        ((("▁The", "▁do", "g", "▁ran", ".", "</s>"),) * n_sentences),
        ((("▁Der", "▁Hund", "▁lief", ".", "</s>"),) * n_sentences),
        tuple((f"The dog ran {n}.", f"Der Hund lief {n}.") for n in range(n_sentences)),
        values,
        tells,
        distances,
        np.empty((0, 5), np.int32),
        np.full(shape, np.nan, np.float32),
    )


def test_a_label_is_earned_on_one_half_and_held_to_its_rule_on_the_other() -> None:
    part = _part()
    part.tells[:, 0, PREVIOUS] = True
    part.values[::2, 0, 0, PREVIOUS] = 0.9
    part.values[1::2, 0, 0, PREVIOUS] = np.where(np.arange(600) % 3, 0.6, 0.1)
    head = summed_up(part, SAMPLE).heads[ENCODER][0]
    assert head.label == "previous"
    assert (head.held["previous"].passing, head.held["previous"].count) == (400, 600)
    assert head.held["previous"].interval == wilson(400, 600)


def test_sentences_that_cannot_tell_neither_earn_nor_judge_a_label() -> None:
    part = _part()
    part.values[:, 0, 0, PREVIOUS] = 0.9
    part.tells[1:400:2, 0, PREVIOUS] = True
    head = summed_up(part, SAMPLE).heads[ENCODER][0]
    assert head.label is None
    assert head.held["previous"].count == 200


def test_a_distribution_has_its_quantiles_and_examples_of_each_tenth() -> None:
    part = _part(1001)
    part.values[:, 0, 0, PREVIOUS] = np.random.default_rng(0).permutation(1001) / 1000
    survey = summed_up(part, SAMPLE)
    spread = survey.heads[ENCODER][0].measures["previous"]
    assert spread.count == 1001
    assert spread.mean == pytest.approx(0.5)
    np.testing.assert_allclose(spread.quantiles, np.arange(21) / 20, atol=1e-6)
    values = {text: part.values[n, 0, 0, PREVIOUS] for n, text in enumerate(part.texts)}
    assert len(spread.examples) == DECILES
    for tenth, examples in enumerate(spread.examples):
        assert len(examples) == PER_DECILE
        for number in examples:
            assert tenth / 10 - 1e-6 <= values[survey.shown[number]] <= (tenth + 1) / 10 + 1e-6
    # Of the last tenth, the strongest.
    assert values[survey.shown[spread.examples[-1][0]]] == pytest.approx(1)


def test_distances_are_shares_of_all_weight() -> None:
    distances = summed_up(_part(), SAMPLE).heads[ENCODER][0].distances
    assert distances[REACH - 1 : REACH + 1] == (0.75, 0.25)
    assert sum(distances) == 1


def test_a_pair_counts_the_sentences_in_which_a_word_looked_at_another_when_they_met() -> None:
    part = _part(20)
    # "ran" at both tokens of "dog" counts once; of 20 meetings, in 15.
    looks = [(n, 0, 0, 3, key) for n in range(15) for key in (1, 2)]
    part = dataclasses.replace(part, looks=np.array(looks, np.int32))
    assert summed_up(part, SAMPLE).heads[ENCODER][0].pairs == (WordPair("ran", "dog", 15, 20),)


@pytest.mark.parametrize(("read", "predicted", "word"), [(0.6, 0.2, "der"), (0.2, 0.6, "hund")])
def test_rows_of_cross_attention_stand_for_the_word_whose_source_they_look_at(
    read: float, predicted: float, word: str
) -> None:
    part = _part(20)
    part.values[:, 1, 0, READ], part.values[:, 1, 0, PREDICTED] = read, predicted
    # The row that reads "Der" predicts "Hund".
    part = dataclasses.replace(part, looks=np.array([(n, 1, 0, 1, 1) for n in range(20)], np.int32))
    assert summed_up(part, SAMPLE).heads[CROSS][0].pairs == (WordPair(word, "dog", 20, 20),)


def test_the_effect_is_the_mean_loss_with_its_error() -> None:
    part = _part()
    losses = np.random.default_rng(1).normal(2, 1, 30)
    part.effects[::40, 1, 0] = losses
    effect = summed_up(part, SAMPLE).heads[CROSS][0].effect
    assert effect.count == 30
    assert effect.mean == pytest.approx(losses.mean(), abs=1e-5)
    assert effect.error == pytest.approx(losses.std(ddof=1) / 30**0.5, abs=1e-5)
    assert effect.interval[0] < effect.mean < effect.interval[1]


def test_heads_are_ranked_by_a_measure() -> None:
    part = _part()
    part.values[:, 0, 0, PREVIOUS], part.values[:, 1, 0, PREVIOUS] = 0.2, 0.7
    survey = summed_up(part, SAMPLE)
    assert survey.ranked("previous") == [(CROSS, 0), (ENCODER, 0)]
    assert survey.ranked("previous", kind=AttentionKind.ENCODER) == [(ENCODER, 0)]
    assert survey.ranked("distance") == []


@pytest.fixture
def surveyed() -> CorpusSurvey:
    part = _part()
    part.tells[:, 0, PREVIOUS] = True
    part.values[:, 0, 0, PREVIOUS] = np.linspace(0.6, 0.9, 1200)
    part.effects[::40, 0, 0] = 0.5
    return summed_up(
        dataclasses.replace(part, looks=np.array([(n, 0, 0, 3, 1) for n in range(9)], np.int32)),
        SAMPLE,
    )


def test_a_survey_survives_its_file(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    save_survey(tmp_path, surveyed)
    found = read_survey(tmp_path)
    assert found is not None
    assert (found.sample, found.shown) == (surveyed.sample, surveyed.shown)
    (head,), (original,) = found.heads[ENCODER], surveyed.heads[ENCODER]
    assert (head.label, head.held, head.pairs) == (original.label, original.held, original.pairs)
    np.testing.assert_allclose(head.distances, original.distances, rtol=1e-3)
    assert head.measures["previous"].mean == pytest.approx(0.75, rel=1e-3)
    assert head.measures["previous"].examples == original.measures["previous"].examples
    written = (tmp_path / SURVEY).read_bytes()
    save_survey(tmp_path, found)
    assert (tmp_path / SURVEY).read_bytes() == written


def test_a_checkpoint_may_have_no_survey(tmp_path: Path) -> None:
    assert read_survey(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("label", "no rule"),
        ("label", 3),
        ("held", {"previous": [5, 4]}),
        ("distances", [1.0]),
        ("effect", [0.5, "much", 3]),
        ("effect", [0.5, True, 3]),
        ("pairs", [["a", "b", 3, 2]]),
        ("measures", {"no measure": 3}),
        ("measures", []),
    ],
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, surveyed: CorpusSurvey, name: str, value: Any
) -> None:
    save_survey(tmp_path, surveyed)
    damage_survey(
        tmp_path, lambda content: content["heads"]["encoder.0"][0].__setitem__(name, value)
    )
    with pytest.raises(CheckpointError, match="is damaged"):
        read_survey(tmp_path)


def test_columns_go_by_their_names(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    values = np.arange(24 * len(KEYS), dtype=np.float32).reshape(1, 24, len(KEYS))
    surveyed = dataclasses.replace(surveyed, probes={ENCODER: values})
    save_survey(tmp_path, surveyed)

    def as_another_version(content: dict[str, Any]) -> None:
        """It measures one thing more and one less, in another order."""
        columns = content["columns"]
        columns["probes"] = ["more", *reversed(KEYS[1:])]
        columns["effect"] = ["of", "count", "error", "mean"]
        for head in itertools.chain.from_iterable(content["heads"].values()):
            head["effect"] = ["a sentence", *reversed(head["effect"])]
            head["held"]["more"] = [3, 4]
        measures = content["heads"]["encoder.0"][0]["measures"]
        measures["more"] = measures["previous"]
        (rows,) = content["probes"]["encoder.0"]
        for row in rows:
            row[:] = [row[0] + 0.5, *reversed(row[1:])]
        content["probes"]["encoder.0"] = [list(reversed(rows))]
        content["probed"].reverse()
        content["later"] = {"a": 1}

    damage_survey(tmp_path, as_another_version)
    found = read_survey(tmp_path)
    assert found is not None
    (head,), (original,) = found.heads[ENCODER], surveyed.heads[ENCODER]
    assert head.effect.mean == pytest.approx(original.effect.mean, rel=1e-3)
    assert head.effect.count == original.effect.count
    assert head.measures["more"].mean == head.measures["previous"].mean
    assert head.held["more"].share == 0.75
    assert found.missing == KEYS[:1]
    probes = found.probes[ENCODER]
    assert np.isnan(probes[..., 0]).all()
    np.testing.assert_allclose(probes[..., 1:], values[..., 1:])
    np.testing.assert_allclose(found.further["more"][ENCODER], values[..., 0] + 0.5)
    # What this version does not know is kept.
    save_survey(tmp_path, found)
    again = read_survey(tmp_path)
    assert again is not None
    assert (again.missing, again.unknown) == (found.missing, {"later": {"a": 1}})
    np.testing.assert_array_equal(again.further["more"][ENCODER], found.further["more"][ENCODER])


def test_a_part_that_is_not_there_is_named(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    save_survey(tmp_path, surveyed)
    damage_survey(tmp_path, lambda content: content["heads"]["encoder.0"][0].pop("distances"))
    with pytest.raises(CheckpointError, match=r"lacks 'distances'\. Delete it, or write it anew"):
        read_survey(tmp_path)


def test_a_file_without_names_of_columns_is_read_in_its_order(
    tmp_path: Path, surveyed: CorpusSurvey
) -> None:
    save_survey(tmp_path, surveyed)
    written = read_survey(tmp_path)

    def as_before(content: dict[str, Any]) -> None:
        del content["columns"], content["probed"]

    damage_survey(tmp_path, as_before)
    found = read_survey(tmp_path)
    assert found is not None
    assert written is not None
    assert (found.heads, found.missing) == (written.heads, ())


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"{}"])
def test_a_file_that_is_no_survey_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SURVEY).write_bytes(content)
    with pytest.raises(CheckpointError, match="is damaged"):
        read_survey(tmp_path)


def test_only_sentences_that_the_model_was_not_trained_on_decide_on_labels() -> None:
    part = _part()
    part.tells[:, 0, PREVIOUS] = True
    # 90% of the first 1,000, but 75% of all.
    places = np.arange(1200)
    part.values[:, 0, 0, PREVIOUS] = (places < 1000) & (places % 20 > 1)
    assert summed_up(part, SAMPLE).heads[ENCODER][0].label is None
    survey = summed_up(part, SAMPLE, held_out=1000)
    (head,) = survey.heads[ENCODER]
    assert (head.label, head.held["previous"].count, survey.held_out) == ("previous", 500, 1000)
    assert head.measures["previous"].count == 1200


def test_a_survey_of_other_weights_is_refused(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"before")
    save_survey(tmp_path, surveyed)
    assert read_survey(tmp_path) is not None
    (tmp_path / "model.safetensors").write_bytes(b"after")
    with pytest.raises(CheckpointError, match="is of other weights than the model has now"):
        read_survey(tmp_path)


def test_a_survey_is_of_the_last_snapshot(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    for step in (9, 100):
        snapshot_file(tmp_path, step).parent.mkdir(exist_ok=True)
        snapshot_file(tmp_path, step).write_bytes(str(step).encode())
    save_survey(tmp_path, surveyed)
    snapshot_file(tmp_path, 9).unlink()
    assert read_survey(tmp_path) is not None
    snapshot_file(tmp_path, 100).write_bytes(b"other weights")
    with pytest.raises(CheckpointError, match="is of other weights than the model has now"):
        read_survey(tmp_path)


def test_an_example_is_one_of_the_sentences_shown(tmp_path: Path, surveyed: CorpusSurvey) -> None:
    save_survey(tmp_path, surveyed)
    damage_survey(tmp_path, lambda content: content.update(shown=content["shown"][:3]))
    with pytest.raises(CheckpointError, match="is damaged"):
        read_survey(tmp_path)
