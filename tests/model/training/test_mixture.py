"""Weights of sources: how often a pair comes in an epoch."""

from collections import Counter

import pytest

from model.survey.parallel_text import CorpusError
from model.training.mixture import drawn, read_weights, weight_of
from model.training.settings import SettingsError, training_settings


def test_a_tier_counts_before_its_source() -> None:
    weights = {"ding": 1.0, "ding/word": 0.1}
    assert weight_of(("ding", "word"), weights) == 0.1
    assert weight_of(("ding", "sentence"), weights) == 1.0
    assert weight_of(("other", "word"), weights) == 1.0
    assert weight_of((), weights) == 1.0


def test_pairs_come_as_often_as_their_weight_says() -> None:
    pairs = [*["never"] * 100, *["twice"] * 100, *["half"] * 1000]
    weights = [*[0.0] * 100, *[2.0] * 100, *[0.5] * 1000]
    counts = Counter(drawn(pairs, weights, seed=1))
    assert counts["never"] == 0
    assert counts["twice"] == 200
    assert 400 < counts["half"] < 600
    assert drawn(pairs, weights, seed=1) == drawn(pairs, weights, seed=1)
    assert drawn(pairs, weights, seed=1) != drawn(pairs, weights, seed=2)


def test_a_weight_without_pairs_is_an_error(tmp_path) -> None:
    file = tmp_path / "data.tsv"
    file.write_text("games\tB\tHello.\tHallo.\nA cat.\tEine Katze.\n", encoding="utf-8")
    assert read_weights([file], {"games": 0.2}) == [0.2, 1.0]
    assert read_weights([file], {"games/B": 0.3}) == [0.3, 1.0]
    with pytest.raises(CorpusError, match="gamse"):
        read_weights([file], {"gamse": 0.2})


@pytest.mark.parametrize("weights", [0.5, {"games": -1}, {"games": "much"}, {"games": True}])
def test_weights_are_numbers_by_source(weights) -> None:
    with pytest.raises(SettingsError, match="weights"):
        training_settings({"weights": weights})
