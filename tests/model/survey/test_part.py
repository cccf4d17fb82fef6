"""What a survey counts, against plain formulas and however it is divided."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of
from model.survey.corpus_survey import KEYS, REACH
from model.survey.part import MOSTLY, SurveyError, SurveyPart, counted, joined
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

TEXTS = [source for source, _ in PAIRS]


def _every_third(place: int) -> bool:
    return place % 3 == 0


@pytest.fixture(scope="module")
def whole(translator: Translator) -> SurveyPart:
    return counted(translator, TEXTS, _every_third)


def _same(one: SurveyPart, other: SurveyPart) -> bool:
    return all(
        np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
        if isinstance(mine := getattr(one, field.name), np.ndarray)
        else mine == getattr(other, field.name)
        for field in dataclasses.fields(SurveyPart)
        for theirs in [getattr(other, field.name)]
    )


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_parts_of_any_size_join_to_the_same_bits(
    translator: Translator, whole: SurveyPart, size: int
) -> None:
    parts = [
        counted(
            translator,
            TEXTS[first : first + size],
            lambda place, first=first: _every_third(first + place),
        )
        for first in range(0, len(TEXTS), size)
    ]
    assert _same(joined(parts), whole)


def test_values_are_those_of_the_trace(translator: Translator, whole: SurveyPart) -> None:
    for place, text in enumerate(TEXTS):
        facts = facts_of(translator.trace(text).maps)
        for index, site in enumerate(whole.sites):
            for key in facts[site]:
                np.testing.assert_allclose(
                    whole.values[place, index, :, KEYS.index(key)], facts[site][key], rtol=1e-6
                )


def test_distances_add_up_the_weights_by_how_far_the_key_is(
    translator: Translator, whole: SurveyPart
) -> None:
    expected = np.zeros(whole.distances.shape)
    for text in TEXTS:
        for index, attention in enumerate(translator.trace(text).maps.values()):
            for (head, query, key), weight in np.ndenumerate(attention.weights):
                expected[index, head, max(-REACH, min(REACH, key - query)) + REACH] += weight
    np.testing.assert_allclose(whole.distances / (1 << 24), expected, atol=1e-4)


def test_looks_are_the_cells_with_more_than_half_of_a_row_that_has_a_choice(
    translator: Translator, whole: SurveyPart
) -> None:
    expected = set()
    for sentence, text in enumerate(TEXTS):
        for index, attention in enumerate(translator.trace(text).maps.values()):
            for (head, query, key), weight in np.ndenumerate(attention.weights):
                if weight > MOSTLY and attention.allowed[query].sum() > 1:
                    expected.add((sentence, index, head, query, key))
    assert expected
    assert set(map(tuple, whole.looks.tolist())) == expected


def test_effects_are_measured_for_the_sample_alone(
    translator: Translator, whole: SurveyPart
) -> None:
    for place, text in enumerate(TEXTS):
        if not _every_third(place):
            assert np.isnan(whole.effects[place]).all()
            continue
        losses = effects_of(translator, translator.trace(text)).losses
        for index, site in enumerate(whole.sites):
            np.testing.assert_allclose(
                whole.effects[place, index], losses[site].sum(axis=-1), atol=1e-5
            )


def test_a_sentence_that_the_model_cannot_read_is_left_out(
    translator: Translator, whole: SurveyPart
) -> None:
    with_others = counted(translator, ["", *TEXTS], lambda place: _every_third(place - 1))
    assert _same(with_others, whole)


def test_a_part_survives_its_file(whole: SurveyPart) -> None:
    assert _same(SurveyPart.from_bytes(whole.to_bytes()), whole)


@pytest.mark.parametrize("cut", [0, 10, 2000])
def test_a_damaged_file_is_refused(whole: SurveyPart, cut: int) -> None:
    with pytest.raises(SurveyError, match="damaged"):
        SurveyPart.from_bytes(whole.to_bytes()[:cut])


def test_nothing_and_different_models_do_not_join(whole: SurveyPart) -> None:
    other = dataclasses.replace(whole, sites=whole.sites[:-1])
    for parts in ([], [whole, other]):
        with pytest.raises(SurveyError, match="all of one model"):
            joined(parts)
