"""Searches as the page sets them, and what is said of several."""

from dataclasses import replace

import pytest

from model.paper.search import Sampling, Search
from model.translate.translator import Translator
from viz.compare.view import VIEW, CompareView
from viz.decoding.search_words import comparison_words, likelier, widths_words
from viz.links.parameters import parse
from viz.links.searches import Settings, written_settings

SENTENCE = "The woman sees the dog on the mat."
DRAWN = Settings("sampling", 4, 100, 150, 20, 90, 7, 3)


def test_settings_are_a_search() -> None:
    assert Settings().search() == Search()
    sampling = Sampling(temperature=1.5, top_k=20, top_p=0.9, seed=7, n_samples=3)
    assert DRAWN.search((5,)) == Search(length_penalty=1.0, sampling=sampling, prefix=(5,))
    # The ends of the ranges leave all tokens.
    free = Settings("sampling", top_k=0, top_p=100).search().sampling
    assert free == Sampling(seed=1, n_samples=4)


def test_settings_come_back_from_an_address() -> None:
    assert written_settings(DRAWN.written) == DRAWN
    values, notices = parse({"against": DRAWN.written}, VIEW.parameters)
    assert (CompareView(**values).second, notices) == (DRAWN, {})
    assert CompareView(how="sampling", penalty=90).second == Settings(beam=1, penalty=90)


@pytest.mark.parametrize(
    "written",
    ["greedy", "search-9-60-100-0-100-1-4", "search-4-60-100-0-100-1", "search-4-x-100-0-100-1-4"],
)
def test_what_is_no_search_is_refused(written: str) -> None:
    values, notices = parse({"against": written}, VIEW.parameters)
    assert values["against"] == ""
    assert notices["against"].endswith("which are no settings of a search; it is left out.")


def test_two_searches_are_compared_by_what_the_model_says(translator: Translator) -> None:
    one, own = (translator.decode(SENTENCE, search=each) for each in (Search(), Search(beam=1)))
    forced = Search(prefix=translator.prefix("Der Mann"), length_penalty=1)
    other = translator.decode(SENTENCE, search=forced)
    assert comparison_words(one, one, Search(), Search()).startswith("Both searches")
    words = comparison_words(one, other, Search(), forced)
    gap = sum(one.translation.log_probs) - sum(other.translation.log_probs)
    assert gap > 0
    assert f"A is ahead of B by {gap:.2f}" in words
    assert "not comparable" in words
    assert "B is ahead of A" in comparison_words(other, own, forced, forced)


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        (0.01, "nearly the same."),
        (0.7, ": the model gives it 2 times the probability."),
        (3.3, ": the model gives it 27 times the probability."),
        (6.9, ": the model gives it 990 times the probability."),
        (8, "ahead of B by 8.00."),
    ],
)
def test_a_factor_has_no_more_digits_than_are_known(gap: float, said: str) -> None:
    assert likelier("A", "B", gap).endswith(said)


def test_widths_are_told_by_their_scores(translator: Translator) -> None:
    node = translator.decode(SENTENCE).ranked[0]

    def words(*scores: float) -> str:
        return widths_words(
            [replace(node, score=each) for each in scores], [*map(str, scores)], 0.6
        )

    assert words(-2, -2, -2).startswith("Every width")
    assert "3 widths find 2 translations; 2 is the narrowest" in words(-2, -1, -1)
    assert "Wider" not in words(-2, -1, -1)
    assert "width 3 ends with a lower score" in words(-2, -1, -1.5)
