import numpy as np
import pytest
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from tests.kit.pictures import drawing
from viz.draw import style, themes
from viz.positions.shuffle import ShuffledDistances, moved_words, reordered

TOKENS = Tokens(("▁The", "▁<b>", "▁The", "</s>"), (5, 6, 5, 3))


def distances(*values: float) -> dict[str, NDArray[np.float64]]:
    return {
        "with positions": np.array(values),
        "without positions": 1e-6 * np.ones(len(values)),
    }


distances_figure = drawing(ShuffledDistances)


FAR = distances(4.0, 2.0, 1.0, 0.5)


def test_tokens_take_their_ids_along_into_another_order() -> None:
    found = reordered(TOKENS, [2, 1, 0, 3])
    assert found == Tokens(("▁The", "▁<b>", "▁The", "</s>"), (5, 6, 5, 3))
    assert reordered(TOKENS, [1, 0, 2, 3]).ids == (6, 5, 5, 3)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ("Die Katze sieht den Hund.", "Die Katze sieht den Hund.", set()),
        ("Heute kommt ein alter Mann", "ein alter Mann kommt Heute", {"kommt", "Heute"}),
        ("Er kommt", "Er kommt heute", set()),
        ("Er kommt heute", "Er kommt", set()),
        ("Er sieht ihn", "Sie hört sie", set()),
        # What is no word is not said to have moved.
        ("Ja , er kommt", "Ja er kommt ,", set()),
        ("", "Ja", set()),
        ("", "", set()),
    ],
)
def test_words_moved_that_both_have_at_another_place(
    before: str, after: str, moved: set[str]
) -> None:
    found = moved_words(before, after)
    assert set(found) == moved
    assert len(found) == len(moved)


def test_a_word_moved_as_often_as_both_texts_have_it_elsewhere() -> None:
    # Either of the two may be the one that stayed.
    assert moved_words("ja ja nein", "nein ja") in (("ja",), ("nein",))
    assert moved_words("da da du bist ja", "du bist ja da") == ("da",)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_the_bars_are_the_distances_over_their_tokens(narrow: bool, dark: bool) -> None:
    figure = distances_figure(TOKENS, FAR, narrow=narrow, dark=dark)
    theme = themes.page(dark)
    assert [bar.name for bar in figure.data] == ["with positions", "without positions"]
    for bar, values in zip(figure.data, FAR.values(), strict=True):
        assert np.array_equal(bar.y, values)
        assert np.array_equal(bar.x, np.arange(4))
    # Whole numbers on the axis: equal tokens would else share a bar.
    assert list(figure.layout.xaxis.ticktext) == ["The", "&lt;b&gt;", "The", "&lt;/s&gt;"]
    assert figure.layout.font.color == theme.text
    titles = [figure.layout.xaxis.title.text, figure.layout.yaxis.title.text]
    assert any(titles) != narrow
    assert bool(figure.layout.title.subtitle.text) == narrow


def test_bars_stand_above_their_tokens_whatever_else_is_drawn() -> None:
    bars, points = distances_figure(TOKENS, FAR).data
    # A second bar would push the first off its token, even one of no height.
    assert (bars.type, points.type) == ("bar", "scatter")
    assert points.mode == "markers"
    assert bars.offset is None


def test_distances_that_do_not_fit_their_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="Each of the 4 tokens needs one distance"):
        distances_figure(TOKENS, distances(1.0, 2.0))


def test_many_tokens_are_labelled_now_and_then_on_a_phone() -> None:
    tokens = Tokens(tuple(f"▁w{place}" for place in range(60)), tuple(range(60)))
    figure = distances_figure(tokens, {"with positions": np.ones(60)}, narrow=True)
    assert len(figure.layout.xaxis.tickvals) <= style.NARROW_LABELLED_COLUMNS


def test_the_caption_says_what_was_measured_and_what_it_means() -> None:
    said = ShuffledDistances(TOKENS, FAR, 10.0).caption
    assert "With positions, rows move by up to 4.00, 40% of their mean length" in said
    assert "Without positions, every row stays the same, up to rounding." in said
    assert "e−" not in said


def test_without_positions_a_row_that_moves_is_not_called_the_same() -> None:
    said = ShuffledDistances(TOKENS, {"without positions": np.array([0.0, 0.1])}, 10.0).caption
    assert "the same" not in said
    assert "1% of their mean length" in said


def test_the_alt_text_holds_the_largest_distance_of_each() -> None:
    said = ShuffledDistances(TOKENS, FAR, 10.0).alt
    assert "4 rows" in said
    assert "with positions, at most 4.00; without positions, 0 up to rounding." in said
