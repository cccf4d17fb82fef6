"""Other nouns in the same place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.survey.parallel_text import Pair
from model.training.nouns import GENDERS, with_other_nouns

LOVE = Pair("Love is blind.", "Liebe ist blind.")
PATIENCE = Pair("I need more patience.", "Ich brauche mehr Geduld.")
WATER = Pair("Tom has no water.", "Tom hat kein Wasser.")


@given(st.sampled_from([LOVE, PATIENCE, WATER]), st.integers(0, 2**31 - 1))
def test_both_sides_get_the_same_other_noun_of_its_gender(pair, seed):
    own, *copies = with_other_nouns([pair], 3, seed)
    assert own == pair
    assert len(copies) == 3
    [(noun, nouns)] = [
        (english, nouns)
        for nouns in GENDERS
        for english, german in nouns.items()
        if german in pair.target
    ]
    for copy in copies:
        [other] = [each for each in nouns if each in copy.source.lower()]
        assert other != noun
        assert copy.target == pair.target.replace(nouns[noun], nouns[other])
        assert copy.source.lower() == pair.source.lower().replace(noun, other)
        assert copy.source[0].isupper()


@pytest.mark.parametrize(
    "pair",
    [
        Pair("I love you.", "Ich liebe dich."),
        Pair("What a love!", "Was für eine Liebe!"),
        Pair("Love needs love.", "Liebe braucht Liebe."),
        Pair("Love is love.", "Liebe ist so."),
        Pair("My love's eyes", "Die Augen meiner Liebe"),
        Pair("Love-letters", "Liebe-Briefe"),
        Pair("Time is up.", "Die Zeitung ist da."),
        Pair("The cat sleeps.", "Die Katze schläft."),
    ],
)
def test_other_pairs_have_no_copies(pair):
    assert with_other_nouns([pair], 5, 1) == [pair]


def test_every_noun_is_drawn():
    copies = with_other_nouns([LOVE], 2000, 7)[1:]
    assert {copy.source.split()[0].lower() for copy in copies} == GENDERS[0].keys() - {"love"}


def test_no_copies_leave_the_pairs():
    assert with_other_nouns([LOVE, WATER], 0, 1) == [LOVE, WATER]
