"""Pairs from templates: enough, distinct, right by grammar, and none that is held out."""

from __future__ import annotations

import re

import pytest

from model.training.corpus import Pair, key, read_pairs
from model.training.templates.__main__ import main
from model.training.templates.compounds import nouns_of
from model.training.templates.draw import TEMPLATES, Draw
from model.training.templates.german import ACCUSATIVE, phrase
from model.training.templates.lexicon import EVERYTHING, HOURS, NUMBERS
from model.training.templates.writing import MODULES, from_templates

GENDER = {noun.german: noun.gender for noun in EVERYTHING if noun.german not in ("Bank", "See")}
NOMINATIVES = {"Der": "m", "Die": "f", "Das": "n"}


@pytest.fixture(scope="module")
def written() -> list[tuple[str, Pair]]:
    return list(from_templates(4000, seed=3, held_out=frozenset()))


def test_templates_write_distinct_sentences(written) -> None:
    assert MODULES
    assert len({key(pair.source) for _, pair in written}) == len(written) == 4000
    for _, pair in written:
        for side in pair:
            assert side[0].isupper() or side[0].isdigit(), side
            assert side[-1] in ".?!", side
            assert not re.search(r"  |[{|]", side), side


def test_every_template_is_drawn(written) -> None:
    assert {kind for kind, _ in written} == {each.kind for each in TEMPLATES}


def test_articles_have_the_gender_of_their_noun(written) -> None:
    checked = 0
    for _, pair in written:
        begin = re.match(r"(Der|Die|Das) (\w+) ", pair.target)
        if begin and begin[2] in GENDER:
            assert NOMINATIVES[begin[1]] == GENDER[begin[2]], pair
            checked += 1
    assert checked > 500


def test_a_denied_sentence_is_denied_in_german(written) -> None:
    for _, pair in written:
        if re.search(r"(n't|\bnot|\bnobody|\bnever)\b", pair.source, re.IGNORECASE):
            assert re.search(r"\b(nicht|kein\w*|niemand\w*|nie|erst)\b", pair.target, re.I), pair


def test_the_pronoun_follows_the_noun_that_is_meant() -> None:
    template = next(each for each in TEMPLATES if each.write.__name__ == "not_because")
    draw, checked = Draw(5), 0
    for _ in range(2000):
        pair = template.write(draw)
        if "too wide" in pair.source or "too narrow" in pair.source:
            noun = re.search(r"(?:den|die|das) (\w+) (?:nicht|hat)", pair.target)
            assert noun, pair
            expected = {"m": "er", "f": "sie", "n": "es"}[GENDER[noun[1]]]
            assert re.search(rf"(weil|da) {expected} zu", pair.target), pair
            checked += 1
    assert checked > 20


def test_held_out_sentences_are_not_written(written) -> None:
    english = {key(pair.source) for _, pair in written[:50]}
    german = {key(pair.target) for _, pair in written[50:100]}
    again = list(from_templates(4000, seed=3, held_out=english | german))
    assert not english & {key(pair.source) for _, pair in again}
    assert not german & {key(pair.target) for _, pair in again}


def test_half_past_is_the_half_of_the_next_hour() -> None:
    clock = next(each for each in TEMPLATES if each.write.__name__ == "clock")
    draw, words = Draw(1), [hour for hour, _ in HOURS]
    for _ in range(500):
        pair = clock.write(draw)
        found = re.search(r"half past (\w+)", pair.source)
        if found:
            following = HOURS[(words.index(found[1]) + 1) % 12][1]
            assert f"halb {following}" in pair.target


def test_numbers_in_words() -> None:
    numbers = dict(NUMBERS)
    assert numbers["twenty-one"] == "einundzwanzig"
    assert numbers["ninety-seven"] == "siebenundneunzig"


def test_compounds_have_the_gender_of_their_last_part() -> None:
    nouns = {
        noun.german: noun
        for noun in nouns_of(
            [
                Pair("garden table", "Gartentisch"),
                Pair("decision", "Entscheidung"),
                Pair("decisions", "Entscheidungen"),
                Pair("to decide", "entscheiden"),
                Pair("grin", "Grinsen"),
            ]
        )
    }
    assert set(nouns) == {"Gartentisch", "Entscheidung"}
    assert phrase("der", nouns["Gartentisch"], ACCUSATIVE) == "den Gartentisch"
    assert phrase("der", nouns["Entscheidung"], ACCUSATIVE) == "die Entscheidung"


def test_the_command_writes_a_training_file(tmp_path, capsys) -> None:
    held, words, output = tmp_path / "held.tsv", tmp_path / "words.tsv", tmp_path / "out.tsv.xz"
    first = next(from_templates(1, seed=1, held_out=frozenset()))[1]
    held.write_text(f"{first.source}\t{first.target}\n", encoding="utf-8")
    words.write_text("ding\tword\tdecision\tEntscheidung\n", encoding="utf-8")
    command = ["--output", str(output), "--count", "100", "--held-out", str(held)]
    assert main([*command, "--dictionary", str(words)]) == 0
    pairs = read_pairs([output])
    assert len(pairs) == 102
    assert first not in pairs
    assert "Entscheidung" in pairs[-1].target
    assert main([*command, "--dictionary", str(tmp_path / "none.tsv")]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
