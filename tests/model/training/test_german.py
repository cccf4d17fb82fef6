"""Declension against a table written by hand."""

import pytest

from model.training.templates.german import CASES, Noun, phrase, possessor, pronoun, relative
from model.training.templates.lexicon import EVERYTHING, NOUNS

DOG = Noun("dog", "Hund", "m", "Hunde", "dogs", "es")
BOY = Noun("boy", "Junge", "m", "Jungen", "boys", "n", weak=True)
CAT = Noun("cat", "Katze", "f", "Katzen", "cats")
CHILD = Noun("child", "Kind", "n", "Kinder", "children", "es")

TABLE = [
    ("der", DOG, False, "der alte Hund", "den alten Hund", "dem alten Hund", "des alten Hundes"),
    (
        "der",
        BOY,
        False,
        "der alte Junge",
        "den alten Jungen",
        "dem alten Jungen",
        "des alten Jungen",
    ),
    ("der", CAT, False, "die alte Katze", "die alte Katze", "der alten Katze", "der alten Katze"),
    ("der", CHILD, False, "das alte Kind", "das alte Kind", "dem alten Kind", "des alten Kindes"),
    (
        "der",
        CHILD,
        True,
        "die alten Kinder",
        "die alten Kinder",
        "den alten Kindern",
        "der alten Kinder",
    ),
    (
        "ein",
        DOG,
        False,
        "ein alter Hund",
        "einen alten Hund",
        "einem alten Hund",
        "eines alten Hundes",
    ),
    (
        "mein",
        CAT,
        False,
        "meine alte Katze",
        "meine alte Katze",
        "meiner alten Katze",
        "meiner alten Katze",
    ),
    (
        "unser",
        CHILD,
        False,
        "unser altes Kind",
        "unser altes Kind",
        "unserem alten Kind",
        "unseres alten Kindes",
    ),
    (
        "dies",
        DOG,
        False,
        "dieser alte Hund",
        "diesen alten Hund",
        "diesem alten Hund",
        "dieses alten Hundes",
    ),
    (
        "dies",
        CHILD,
        False,
        "dieses alte Kind",
        "dieses alte Kind",
        "diesem alten Kind",
        "dieses alten Kindes",
    ),
    (
        "kein",
        DOG,
        True,
        "keine alten Hunde",
        "keine alten Hunde",
        "keinen alten Hunden",
        "keiner alten Hunde",
    ),
    ("", DOG, True, "alte Hunde", "alte Hunde", "alten Hunden", "alter Hunde"),
    ("", CHILD, False, "altes Kind", "altes Kind", "altem Kind", "alten Kindes"),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[3])
def test_articles_adjectives_and_nouns_agree(row) -> None:
    word, noun, plural, *expected = row
    forms = [phrase(word, noun, case, adjective="alt", plural=plural) for case in CASES]
    assert forms == expected


def test_pronouns_follow_the_gender() -> None:
    assert [pronoun(of, "nom") for of in "mfnp"] == ["er", "sie", "es", "sie"]
    assert [pronoun(of, "acc") for of in "mfnp"] == ["ihn", "sie", "es", "sie"]
    assert [pronoun(of, "dat") for of in "mfnp"] == ["ihm", "ihr", "ihm", "ihnen"]
    assert [relative(of, "gen") for of in "mfnp"] == ["dessen", "deren", "dessen", "deren"]
    assert [possessor(of) for of in "mfnp"] == ["sein", "ihr", "sein", "ihr"]


def test_the_lexicon_is_well_formed() -> None:
    for noun in EVERYTHING:
        assert noun.gender in "mfn", noun
        assert noun.german[0].isupper(), noun
        # "Des Algorithmus": masculine nouns in -us have no ending in the genitive either.
        bare = noun.gender == "f" or noun.german.endswith("mus")
        assert (noun.genitive == "") == bare, noun
        assert not noun.weak or noun.gender == "m", noun


def test_a_noun_has_one_gender_wherever_it_stands() -> None:
    genders: dict[tuple[str, str], set[str]] = {}
    for nouns in NOUNS.values():
        for noun in nouns:
            genders.setdefault((noun.german, noun.plural), set()).add(noun.gender)
    assert all(len(each) == 1 for each in genders.values())
