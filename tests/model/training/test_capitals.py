"""Capitals where corpora seldom have them."""

from hypothesis import given
from hypothesis import strategies as st

from model.survey.parallel_text import Pair
from model.training.capitals import capitalized

PAIR = Pair("I don't see the cat's tail, it's 3rd.", "ich sehe den Schwanz nicht.")


def test_every_word_of_the_source_begins_with_a_capital_and_nothing_else_changes():
    assert capitalized([PAIR], 1.0, 1) == [
        Pair("I Don't See The Cat's Tail, It's 3rd.", PAIR.target)
    ]
    assert capitalized([PAIR], 0.0, 1) == [PAIR]


def test_the_share_is_the_share_of_words():
    pairs = capitalized([Pair("a b c d", "a")] * 1000, 0.1, 5)
    capitals = sum(letter.isupper() for pair in pairs for letter in pair.source)
    assert 300 < capitals < 500
    assert all(pair.target == "a" for pair in pairs)


@given(st.text(), st.integers(0, 2**31 - 1), st.floats(0, 1))
def test_the_same_seed_draws_the_same_words_and_case_alone_changes(source, seed, share):
    [changed] = capitalized([Pair(source, "x")], share, seed)
    assert capitalized([Pair(source, "x")], share, seed) == [changed]
    assert changed.source.upper() == source.upper()
