"""A slow line: the page runs again before the browser has the code of all that stands on it."""

import re
from collections.abc import Callable
from urllib.parse import urlencode

from playwright.sync_api import Response, Route, WebSocket, expect

from tests.browser.conftest import Watch
from tests.browser.test_positions_page import PositionsPage
from tests.kit.heads_page import LOADING, HeadsPage
from viz.browser.files import joined

SENTENCE = "I like dogs."
CODE = re.compile(r"/code/model_view\.\w+\.js")
PHONE = {"width": 390, "height": 844}


def test_widgets_whose_code_comes_late_begin_with_what_the_address_says(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor(viewport=PHONE)
    held: list[Route] = []
    late = re.compile(r"/static/js/(TextInput|Selectbox|ButtonGroup|Slider|Checkbox)\.")
    reader.page.context.route(late, lambda route: held.append(route))
    # So narrow a page runs twice, since figures are then laid out anew.
    wanted = {"sentence": SENTENCE, "scale": "50", "reverse": "1", "side": "encoder"}
    address = urlencode({"topic": "without"} | wanted)
    reader.page.goto(f"{reader.url}/positions?{address}", wait_until="commit", timeout=LOADING)
    reader.page.wait_for_function(
        """() => {
            // Narrow figures alone have a subtitle, where others name their axis.
            const plot = document.querySelector(".st-key-positions-neighbours .js-plotly-plot");
            return plot?._fullLayout?.title.subtitle.text;
        }""",
        timeout=LOADING,
    )
    asked = {found[1] for route in held if (found := late.search(route.request.url))}
    assert asked >= {"ButtonGroup", "Slider", "TextInput"}
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


def test_the_code_of_the_heads_is_fetched_once_and_comes_with_no_sentence(
    visitor: Callable[..., HeadsPage],
) -> None:
    reader = visitor()
    fetched: list[Response] = []
    received: list[int] = []

    def listen(web_socket: WebSocket) -> None:
        web_socket.on("framereceived", lambda frame: received.append(len(frame)))

    reader.page.on("websocket", listen)
    reader.page.on("response", lambda answer: CODE.search(answer.url) and fetched.append(answer))
    reader.open(sentence=SENTENCE)
    for text in ("We sing.", "They sleep.", "I like cats."):
        received.clear()
        reader.ask(text)
        # No message is large enough to hold it.
        assert 0 < max(received) < len(joined("model_view/component.js"))
    assert len(fetched) == 1
    assert "immutable" in fetched[0].headers["cache-control"]


def test_heads_whose_code_stays_away_say_so_and_then_show_the_last_sentence(
    visitor: Callable[..., HeadsPage], watch: Watch
) -> None:
    reader = visitor()
    held: list[Route] = []

    def hold(route: Route) -> None:
        if "again" in route.request.url:
            held.append(route)
        else:
            # As another version of the app would answer it.
            route.fulfill(status=404)

    reader.page.route(CODE, hold)
    reader.goto(sentence=SENTENCE)
    expect(reader.page.get_by_text("has not loaded yet")).to_be_visible(timeout=LOADING)
    reader.type("sentence", "We sing.")
    expect(reader.translation).not_to_be_empty()
    reader.wait_for_query(sentence="We sing.")
    expect(reader.page.get_by_text("has not loaded yet")).to_be_visible(timeout=LOADING)
    (route,) = held
    route.continue_()
    reader.wait_for_payload_other_than(None)
    # What stands below the picture belongs to the last sentence, and the picture to that.
    reader.settle()
    expect(reader.page.get_by_text("has not loaded yet")).to_have_count(0)
    assert watch.console_errors
    assert all("404" in said for said in watch.console_errors)
    watch.console_errors.clear()
