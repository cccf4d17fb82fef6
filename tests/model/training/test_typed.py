"""Pairs as people type them."""

from collections import Counter

import pytest

from model.survey.parallel_text import Pair
from model.training import typed as module
from model.training.typed import typed

PAIRS = [
    Pair("Where do you live, Anna?", "Wo wohnst du, Anna?"),
    Pair("The children are playing outside.", "Die Kinder spielen draußen."),
    Pair("I bought these shoes in Berlin.", "Ich habe diese Schuhe in Berlin gekauft."),
] * 400


@pytest.fixture
def only(monkeypatch):
    def choose(way: str) -> list[tuple[Pair, Pair]]:
        monkeypatch.setattr(module, "_WAYS", {getattr(module, way): 1.0})
        return list(zip(PAIRS, typed(PAIRS, 1.0, 5), strict=True))

    return choose


def test_a_share_of_the_pairs_is_changed_and_the_same_one_by_a_seed():
    changed = sum(one != other for one, other in zip(PAIRS, typed(PAIRS, 0.25, 1), strict=True))
    assert 0.2 * len(PAIRS) < changed < 0.3 * len(PAIRS)
    assert typed(PAIRS, 0.25, 1) == typed(PAIRS, 0.25, 1) != typed(PAIRS, 0.25, 2)
    assert typed(PAIRS, 0.0, 1) == PAIRS


@pytest.mark.parametrize("way", ["_upper", "_lower", "_slipped"])
def test_a_source_is_typed_otherwise_and_its_translation_stays(only, way):
    for before, after in only(way):
        assert after.target == before.target
        assert after.source != before.source or way == "_slipped"


def test_a_slip_is_one_letter_of_one_word(only):
    for before, after in only("_slipped"):
        assert abs(len(before.source) - len(after.source)) <= 1
        gone, came = Counter(before.source), Counter(after.source)
        assert sum((gone - came).values()) <= 1
        assert after.source.split()[0] == before.source.split()[0] or len(before.source) < 5


def test_a_question_without_its_mark_stays_a_question_in_german(only):
    for before, after in only("_unstopped"):
        assert not after.source.endswith((".", "?"))
        assert after.target.endswith("?") == before.target.endswith("?")
        assert not after.target.endswith(".")


def test_several_sentences_keep_their_order_on_both_sides(only):
    german = {pair.source: pair.target for pair in PAIRS}
    for before, after in only("_several"):
        assert after.source.startswith(before.source)
        assert after.source != before.source
        rest, expected = after.source, []
        while rest:
            sentence = next(each for each in german if rest.startswith(each))
            expected.append(german[sentence])
            rest = rest[len(sentence) :].strip()
        assert after.target == " ".join(expected)


def test_a_sign_is_added_to_both_sides(only):
    for before, after in only("_signed"):
        added = [Counter(one) - Counter(other) for one, other in zip(after, before, strict=True)]
        assert added[0] == added[1]
        assert set("".join(added[0])) - {" "}


def test_what_is_copied_stands_on_both_sides(only):
    for before, after in only("_copied"):
        added = {word.rstrip(".?") for word in after.source.split()} - {*before.source.split()}
        assert any(word in after.target for word in added), after


@pytest.mark.parametrize("languages", [("en", "de"), ("de", "en"), ("en", "fr")])
def test_what_stands_around_is_in_the_languages_of_the_pairs(monkeypatch, languages):
    monkeypatch.setattr(module, "_WAYS", {module._copied: 1.0})
    around = {"en": "Do you know", "de": "Kennen Sie", "fr": "Connaissez-vous"}
    found = typed(PAIRS, 1.0, 5, languages=languages)
    for end, side in zip(languages, zip(*found, strict=True), strict=True):
        said = {each for each in around if any(around[each] in text for text in side)}
        assert said == {end}
