"""The site's Corpus page beside Python: the same ranks by every measure, the same sentences."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS, CheckpointError
from model.survey.corpus_survey import QUANTILES
from model.survey.sentence_index import FOUND_BY
from model.survey.survey_file import read_sentences, read_survey, save_survey
from model.trace.head import Head
from model.translate.translator import load
from tests.kit.engine import in_node
from tests.kit.surveys import damage_survey, tiny_corpus_survey, write_tiny_survey
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.corpus.examples import examples_of, main_measure
from viz.corpus.quantities import QUANTITIES, known, ranked, written
from viz.site.corpus import SENTENCES, SURVEY, survey_files
from viz.site.page import wording, words

pytestmark = pytest.mark.slow

QUERIES = 200

OTHERS = {"rule_in", "in_encoder", "in_decoder"}
"""Keys of the catalogues that name no rule and no unit."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("survey")


def read_in_page(name: str, folder: Path, queries: list[tuple[str, str, str]]) -> Any:
    for file, content in survey_files(CHECKPOINTS / name).items():
        (folder / file).write_bytes(content)
    return in_node("survey", folder=str(folder), words=words(), queries=queries)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en-de", "de-en"])
def test_heads_rank_and_sentences_are_found_as_in_python(name: str, folder: Path) -> None:
    survey, index = read_survey(CHECKPOINTS / name), read_sentences(CHECKPOINTS / name)
    assert survey is not None
    assert index is not None
    chance = random.Random(0)
    listed = [word for text in index.sources for word in re.findall(r"\w+", text)]
    places = sorted(survey.places)
    queries = []
    for number in range(QUERIES):
        asked = chance.sample(listed, number % 3)
        if number % 4 == 1:
            asked = [f"{word[:3]}*" for word in asked]
        if number % 5 == 2:
            asked = [word.upper() for word in asked]
        place = chance.choice(places)
        rule = "" if number % 6 == 1 else chance.choice(index.found_by(place.site.kind))
        queries.append((" ".join(asked), str(place), rule))
    queries += [("(", "", ""), ("*", "", ""), ("don't a.b", "", ""), ("heißt straße", "", "")]
    page = read_in_page(name, folder, queries)

    assert list(page["ranked"]) == list(known(survey))
    for key, heads in page["ranked"].items():
        expected = [
            (str(place), value, written(key, value)) for place, value in ranked(survey, key)
        ]
        assert [tuple(each) for each in heads] == expected, key

    asked_of = [(Head.of(one), rule) if rule else (None, None) for _, one, rule in queries]
    found = [
        [list(each) for each in index.found(query[0], *asked)]
        for query, asked in zip(queries, asked_of, strict=True)
    ]
    assert page["found"] == found
    assert sum(map(bool, found)) > QUERIES / 2
    assert page["rules"] == {str(kind): list(index.found_by(kind)) for kind in index.rules}


@pytest.mark.slow
def test_a_head_has_its_label_effect_spread_and_examples(folder: Path) -> None:
    survey = read_survey(CHECKPOINTS / "en-de")
    assert survey is not None
    page = read_in_page("en-de", folder, [])
    places = sorted(survey.places)
    for place, head, effect, spreads in zip(
        places, page["heads"], page["effects"], page["spreads"], strict=True
    ):
        profile, label = survey.of(place), survey.label(place)
        assert label is not None
        assert (head["label"], head["reason"], head["earned"]) == (
            label.text,
            label.reason,
            label.earned,
        )
        low, high = profile.effect.interval
        loss = 0 if low <= 0 <= high else profile.effect.mean
        assert effect == {"loss": loss, "sentences": profile.effect.count}
        for key, spread in spreads.items():
            if key not in profile.measures:
                assert spread is None
                continue
            quantiles = profile.measures[key].quantiles
            at = [quantiles[share * (QUANTILES - 1) // 10] for share in (1, 5, 9)]
            assert spread == np.float32(at).tolist()
        measure = main_measure(survey, place)
        assert head["measure"] == measure is not None
        examples = examples_of(survey, place, measure)
        assert head["examples"] == [[tenth, survey.shown[n][0]] for tenth, n in examples.items()]
        assert head["pairs"] == [[p.query, p.key, p.looked, p.met] for p in profile.pairs]


def test_every_rule_and_unit_has_words_in_the_catalogues() -> None:
    own = {key for key in words()["en"] if key.startswith(("rule_", "in_"))} - OTHERS
    rules = {f"rule_{name}" for names in FOUND_BY.values() for name in names}
    units = {f"in_{each.unit}" for each in QUANTITIES.values()} - {"in_share", "in_correlation"}
    assert own == rules | units
    headers = wording()["de"]["headers"]
    assert {each.name for each in QUANTITIES.values()} <= headers.keys()


def test_a_model_without_a_survey_has_no_files(tmp_path: Path) -> None:
    write_tiny_checkpoint(tmp_path / "tiny", steps=0)
    assert survey_files(tmp_path / "tiny") == {}


def test_a_survey_without_its_sentences_is_packed_alone(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    write_tiny_checkpoint(folder, steps=0)
    model = load(folder, device="cpu")
    save_survey(folder, tiny_corpus_survey(model))
    assert survey_files(folder).keys() == {SURVEY}
    write_tiny_survey(folder, model)
    assert survey_files(folder).keys() == {SURVEY, SENTENCES}
    damage_survey(folder, lambda content: content.pop("sample"))
    with pytest.raises(CheckpointError, match="sample"):
        survey_files(folder)
