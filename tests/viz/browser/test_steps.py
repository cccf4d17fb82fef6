"""What a browser says of the steps of a decoding."""

from __future__ import annotations

from typing import Any

import pytest

from viz.browser.steps import read_shown, read_taken


def test_a_step_and_a_token_of_this_decoding_are_taken_as_they_are_told() -> None:
    assert read_shown({"name": "a", "step": 2}, "a", 3) == 2
    assert read_taken({"name": "a", "step": 1, "place": 4}, "a", [10, 5]) == (1, 4)


@pytest.mark.parametrize(
    "data",
    [
        *(None, [], "a", {}, {"name": "a"}, {"name": "b", "step": 0, "place": 0}),
        *({"name": "a", "step": step, "place": 0} for step in (-1, 2, 1.0, True, "0", None)),
    ],
)
def test_anything_else_from_a_browser_is_left_out(data: Any) -> None:
    assert read_shown(data, "a", 2) is None
    assert read_taken(data, "a", [10, 10]) is None
    assert read_taken({"name": "a", "step": 1, "place": 5}, "a", [10, 5]) is None
