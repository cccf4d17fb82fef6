"""A slow line: the page runs again before the browser has the code of every widget."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Route

from tests.browser.test_positions_page import PositionsPage
from tests.kit.heads_page import LOADING, HeadsPage

SENTENCE = "I like dogs."
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("late", ["TextInput", "Selectbox", "ButtonGroup", "Slider", "Checkbox"])
def test_a_widget_whose_code_comes_late_begins_with_what_the_address_says(
    visitor: Callable[..., HeadsPage], late: str
) -> None:
    reader = visitor(viewport=PHONE)
    held: list[Route] = []
    reader.page.context.route(re.compile(rf"/static/js/{late}\."), lambda route: held.append(route))
    # So narrow a page runs twice, since figures are then laid out anew.
    wanted = {"sentence": SENTENCE, "scale": "50", "reverse": "1", "side": "encoder"}
    address = urlencode({"topic": "without"} | wanted)
    reader.page.goto(f"{reader.url}/positions?{address}", wait_until="commit", timeout=LOADING)
    reader.page.wait_for_function(
        """() => {
            // Narrow figures alone have a subtitle, where others name their axis.
            const plot = document.querySelector(".st-key-neighbours .js-plotly-plot");
            return plot?._fullLayout?.title.subtitle.text;
        }""",
        timeout=LOADING,
    )
    assert held, f"{late} was never asked for"
    for route in held:
        route.continue_()
    positions = PositionsPage(reader)
    positions.settle()
    assert reader.field("sentence").input_value() == SENTENCE
    assert positions.slider("Strength of the encoding").input_value() == "50"
    # A click sends what all widgets hold.
    reader.page.get_by_role("radio", name="Table", exact=True).click()
    reader.wait_for_query(topic=None)
    assert reader.query == wanted
