"""What the decoding page keeps in its address."""

import pytest

from model.paper.search import Search
from viz.decoding.view import VIEW, DecodingView
from viz.links.parameters import parse
from viz.links.searches import MOST_CHOICES

TAKEN = VIEW.parameter("taken")


def test_a_view_is_a_search() -> None:
    assert DecodingView().settings.search() == Search()
    view = DecodingView(beam=1, penalty=100, taken="0.7-8")
    assert view.settings.search(view.prefix) == Search(beam=1, length_penalty=1.0, prefix=(7, 8))
    assert view.settings.search() == Search(beam=1, length_penalty=1.0)


def test_choices_are_taken_one_after_another_and_undone_in_turn() -> None:
    view = DecodingView()
    # The model wrote 5 6 7 8; instead of 7, 9 is taken, and then the model writes 5 6 9 4 3.
    first = DecodingView(taken=view.and_taken(2, [9], (5, 6, 7, 8)))
    assert first.prefix == (5, 6, 9)
    second = DecodingView(taken=first.and_taken(4, [1, 2], (5, 6, 9, 4, 3)))
    assert second.prefix == (5, 6, 9, 4, 1, 2)
    # An earlier word replaces all that came after it.
    third = DecodingView(taken=second.and_taken(1, [11], second.prefix))
    assert third.prefix == (5, 11)
    assert [third.undone, second.undone, first.undone] == [second.taken, first.taken, ""]
    for each in (view, first, second, third):
        assert parse({"taken": each.taken}, [TAKEN]) == ({"taken": each.taken}, {})


@pytest.mark.parametrize(
    "written", ["7", "0.", "0.7-", "0.7_", "0.-7", "_".join(["0.7"] * (MOST_CHOICES + 1))]
)
def test_what_is_no_choice_is_refused(written: str) -> None:
    values, notices = parse({"taken": written}, [TAKEN])
    assert values == {"taken": ""}
    assert "taken" in notices
