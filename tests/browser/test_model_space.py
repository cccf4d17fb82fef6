"""The model as a space in a real browser: hands, keys and links lead closer, and a walk does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from model.translate.translator import Translator
from tests.browser.conftest import VIEWPORT, Watch
from tests.browser.test_model_page import SENTENCE, ModelPage
from tests.kit.heads_page import LOOK, HeadsPage, resize, wait_until_calm

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}
HEAD, ROW, WEIGHT = "cross.0.5", "cross.0.5.6", "cross.0.5.6.2"
PLACES = {
    "": "model",
    "encoder": "stack",
    "cross.0": "block",
    HEAD: "head",
    ROW: "row",
    WEIGHT: "weight",
    "positions.encoder": "positions",
    "feed-forward.encoder.0": "added",
    "next.6": "next",
}
"""Each kind of place, as links spell it and as the picture says it."""

WALKED = ["stack", "positions", "block", "head", "weight", "row", "head", "head", "next", "stack"]
"""The kinds of the places of a walk's ten stops."""


def form(place: str) -> str:
    """A place in an address without its names and numbers."""
    return re.sub("[a-z-]+", "a", re.sub("[0-9]+", "0", place))


FORMS = {kind: form(place) for place, kind in PLACES.items()}

BUSY = "The model is busy."

COUNTS_FRAMES = """
window.frames = 0;
const request = window.requestAnimationFrame;
window.requestAnimationFrame = then => ((window.frames += 1), request(then));
"""


class SpacePage(ModelPage):
    """The picture of the model as its tests move in it."""

    def enter(self, place: str = "", **query: str) -> SpacePage:
        """Opens a link to one of `PLACES`."""
        self.open(**({"place": place} if place else {}) | query)
        self.expect_at(place)
        wait_until_calm(self.page)
        return self

    def expect_at(self, place: str) -> None:
        """Expects one of `PLACES`, in the address too, with all that the model is asked for it."""
        self.reader.wait_for_query(place=place or None)
        self.expect_kind(PLACES[place])

    def expect_kind(self, kind: str) -> str:
        """Expects a place of a kind, with all that the model is asked for it; gives its address."""
        expect(self.view).to_have_attribute("data-place", kind)
        self.page.wait_for_function(
            """form => {
                const place = new URLSearchParams(location.search).get("place") ?? "";
                return place.replaceAll(/[0-9]+/g, "0").replaceAll(/[a-z-]+/g, "a") === form;
            }""",
            arg=FORMS[kind],
            polling=LOOK,
        )
        expect(self.view).to_have_attribute("data-filled", re.compile("^(yes)?$"))
        return self.reader.query.get("place", "")

    def middle_of_head(self) -> tuple[float, float]:
        """Where HEAD is painted on the screen, at the whole model."""
        block = self.view.get_by_role("gridcell", name="Cross-attention, layer 0")
        box = block.bounding_box()
        assert box is not None
        return box["x"] + 5.5 * box["width"] / 8, box["y"] + box["height"] / 2

    def middle(self) -> tuple[float, float]:
        size = self.page.viewport_size
        assert size is not None
        return size["width"] / 2, 0.6 * size["height"]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def frames_in_two_seconds(self) -> int:
        wait_until_calm(self.page)
        frames: int = self.page.evaluate(
            """() => new Promise(told => {
                window.frames = 0;
                setTimeout(() => told(window.frames), 2000);
            })"""
        )
        return frames


@pytest.fixture
def still(heads: HeadsPage) -> SpacePage:
    return SpacePage(heads)


# ---- coming closer -----------------------------------------------------------------------------


def test_a_pointer_leads_to_a_head_a_weight_and_back(still: SpacePage) -> None:
    still.enter()
    still.page.mouse.click(*still.middle_of_head())
    still.expect_at(HEAD)
    still.page.mouse.click(*still.middle())
    assert still.expect_kind("weight").startswith(f"{HEAD}.")
    path = still.view.get_by_role("navigation", name="Place in the model")
    path.get_by_role("button", name="Head 5").click()
    still.expect_at(HEAD)
    still.page.mouse.click(*still.middle())
    still.expect_kind("weight")
    # The picture has the focus nowhere in it.
    still.press("Escape", "Escape")
    still.expect_at(HEAD)
    still.press("Home")
    still.expect_at("")
    # A double click leads no farther than its first click.
    still.page.mouse.dblclick(*still.middle_of_head())
    still.expect_at(HEAD)


def test_keys_alone_lead_everywhere(still: SpacePage) -> None:
    still.enter()
    still.reader.field("sentence").focus()
    for _ in range(60):
        still.press("Tab")
        if still.page.evaluate("window.focused().role") == "gridcell":
            break
    for kind in ("block", "head", "row", "weight"):
        still.press("Enter")
        still.expect_kind(kind)
    kind, layer, head, query, key = still.expect_kind("weight").split(".")
    assert int(query) > 0, "the strongest weight lies below the first row"
    still.press("ArrowUp")
    still.reader.wait_for_query(place=f"{kind}.{layer}.{head}.{int(query) - 1}.{key}")
    for kind in ("row", "head", "block", "stack", "model"):
        still.press("Escape")
        still.expect_kind(kind)
    for _ in range(12):
        still.press("+")
    still.expect_kind("weight")
    for _ in range(20):
        still.press("-")
    still.expect_at("")
    still.press("+", "+", "+", "Home")
    still.expect_at("")


def test_a_wheel_comes_closer_to_what_is_under_it_and_else_scrolls_the_page(
    still: SpacePage,
) -> None:
    still.enter()
    # A low window, so that there is something to scroll.
    resize(still.page, {"width": 1280, "height": 500})
    main = still.page.get_by_test_id("stMain")
    still.page.mouse.move(*still.middle_of_head())
    still.page.mouse.wheel(0, 60)
    still.page.wait_for_function(
        "() => document.querySelector('[data-testid=stMain]').scrollTop > 0", polling=LOOK
    )
    still.expect_kind("model")
    main.evaluate("each => { each.scrollTop = 0; }")
    # What follows at once belongs to the same turn of the wheel.
    still.page.evaluate("() => new Promise(passed => setTimeout(passed, 400))")
    still.page.mouse.move(*still.middle_of_head())
    for _ in range(20):
        still.page.mouse.wheel(0, -120)
    assert still.expect_kind("weight").startswith(f"{HEAD}.")
    assert main.evaluate("each => each.scrollTop") == 0
    # On a slow machine, what comes after the whole model is seen is another turn, which scrolls.
    for _ in range(30):
        still.page.mouse.wheel(0, 120)
    still.expect_at("")


def test_a_drag_moves_the_picture_and_opens_nothing(still: SpacePage) -> None:
    still.enter(HEAD)
    x, y = still.middle()
    still.page.mouse.move(x, y)
    still.page.mouse.down()
    still.page.mouse.move(x - 40, y, steps=4)
    still.page.mouse.up()
    still.expect_kind("head")
    still.page.mouse.down()
    still.page.mouse.move(x - 1200, y, steps=8)
    still.page.mouse.up()
    still.reader.wait_for_query(place="cross.0.6")


def test_fingers_lead_as_well(visitor: Callable[..., HeadsPage]) -> None:
    space = SpacePage(visitor(**PHONE)).enter()
    space.view.get_by_role("gridcell", name="Cross-attention, layer 0").scroll_into_view_if_needed()
    touch = space.page.context.new_cdp_session(space.page)

    def send(kind: str, at: float, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        event = {"type": kind, "touchPoints": fingers, "timestamp": began + at}
        touch.send("Input.dispatchTouchEvent", event)

    def pinch(x: float, y: float, before: float, after: float) -> None:
        send("touchStart", 0, (x - before, y), (x + before, y))
        for step in range(1, 9):
            apart = before + (after - before) * step / 8
            send("touchMove", 0.02 * step, (x - apart, y), (x + apart, y))
        send("touchEnd", 0.2)

    def swipe(across: float) -> None:
        x, y = space.middle()
        send("touchStart", 0, (x - across / 2, y))
        for at, part in ((0.05, 0.3), (0.1, 0.6), (0.15, 1)):
            send("touchMove", at, (x + (part - 0.5) * across, y))
        send("touchEnd", 0.2)

    began = time.time()
    pinch(*space.middle_of_head(), 15, 60)
    space.expect_at(HEAD)
    pinch(*space.middle(), 15, 120)
    pinch(*space.middle(), 15, 120)
    space.expect_kind("weight")
    for _ in range(5):
        pinch(*space.middle(), 90, 15)
    space.expect_at("")
    space.view.get_by_role("gridcell", name="Cross-attention, layer 0").scroll_into_view_if_needed()
    space.page.touchscreen.tap(*space.middle_of_head())
    space.expect_at(HEAD)
    for across, head in ((-150, 6), (150, 5)):
        swipe(across)
        space.reader.wait_for_query(place=f"cross.0.{head}")


# ---- links -------------------------------------------------------------------------------------


def test_what_can_be_pressed_is_reached_without_a_pointer(still: SpacePage) -> None:
    still.enter("next.6")
    still.view.get_by_role("button", name=re.compile("^Take “.+” instead$")).first.focus()
    still.press("Enter")
    expect(still.view.locator(".trail .result")).to_contain_text("Now it writes")
    still.enter("cross.0")
    still.view.get_by_role("button", name=re.compile("^Head 5")).focus()
    still.press("Enter")
    still.expect_at(HEAD)
    expect(still.view.locator(".trail [aria-current]")).to_be_focused()


def test_heads_are_compared_drawn_as_lines_and_joined_at_the_place_of_one(
    still: SpacePage,
) -> None:
    still.enter(HEAD)
    path = still.view.get_by_role("navigation", name="Place in the model")
    here = still.view.get_by_role("group", name="In this place")
    described = "aria-description"
    path.get_by_role("button", name="Head 5").focus()
    still.press("c", "ArrowRight", "c")
    expect(here).to_have_attribute(described, re.compile("^Layer 0, head 5.* Layer 0, head 6"))
    here.get_by_role("button", name=re.compile("^Remove Layer 0, head 5 from")).focus()
    still.press("v")
    end = here.get_by_role("button", name=re.compile("^<s>: "))
    end.focus()
    still.press("Enter", "Escape")
    expect(here.get_by_role("button", name=re.compile("^Remove Layer 0"))).to_have_count(2)
    still.press("Escape")
    expect(here).to_have_attribute(described, re.compile("^Layer 0, head 6(?!.*Layer 0, head 5)"))
    still.press("v")
    expect(end).to_have_count(0)
    still.open(place="joint.0.5")
    expect(still.view).to_have_attribute("data-place", "head")
    expect(here).to_have_attribute(described, re.compile("^Layer 0, head 5, encoder, cross- and"))
    expect(path.get_by_role("button", name="All three, layer 0, head 5")).to_be_visible()
    here.get_by_role("button", name=re.compile("^The row of “<s>”")).last.focus()
    still.press("Enter")
    still.expect_kind("row")


@pytest.mark.parametrize("place", ["cross.0", HEAD, ROW, WEIGHT, "positions.encoder", "next.6"])
def test_what_opens_on_a_phone_takes_the_place_of_the_page(
    visitor: Callable[..., HeadsPage], place: str
) -> None:
    opened = SpacePage(visitor(**PHONE)).enter(place)
    expect(opened.view.locator(".world")).to_be_hidden()


def test_a_link_leads_to_each_kind_of_place(still: SpacePage) -> None:
    for place in PLACES:
        still.reader.walk("", sentence=SENTENCE, **({"place": place} if place else {}))
        still.expect_at(place)
    # Places that this sentence does not have lead to the nearest that it has.
    for place, kind in (("cross.0.5.60.2", "head"), ("cross.9.5", "stack"), ("next.60", "next")):
        still.reader.walk("", sentence="Yes.", place=place)
        expect(still.view).to_have_attribute("data-place", kind)


def test_a_place_is_kept_through_all_that_changes_around_it(
    still: SpacePage, model: Translator
) -> None:
    still.enter(ROW)
    still.page.reload()
    still.expect_at(ROW)
    still.press("Escape")
    still.expect_at(HEAD)
    for go, place in ((still.page.go_back, ROW), (still.page.go_forward, HEAD)):
        go()
        still.expect_at(place)
    # Another sentence, in the same head.
    other = "The old man did not see the dog."
    still.reader.type("sentence", other)
    written = model.translate(other).text.split()[0]
    expect(still.view.locator(".written")).to_contain_text(written)
    still.expect_at(HEAD)
    still.page.emulate_media(color_scheme="dark")
    resize(still.page, {"width": 900, "height": 700})
    still.expect_at(HEAD)
    resize(still.page, VIEWPORT)
    wait_until_calm(still.page)
    still.page.evaluate("document.activeElement.blur()")
    still.press("p")
    still.reader.wait_for_query(present="1")
    still.expect_at(HEAD)
    still.press("ArrowRight")
    still.reader.wait_for_query(present="1", place="cross.0.6")
    still.page.get_by_role("button", name="Back").click()
    still.reader.wait_for_query(present=None, place="cross.0.6")
    still.expect_kind("head")


# ---- asking the model --------------------------------------------------------------------------


def test_a_model_that_does_not_answer_is_said_once_and_the_rest_works(
    still: SpacePage, watch: Watch
) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=503, json={"error": BUSY})

    still.enter()
    still.page.route("**/ask", refuse)
    still.page.mouse.click(*still.middle_of_head())
    said = still.view.get_by_text(BUSY)
    expect(still.view).to_have_attribute("data-filled", "no")
    expect(still.view.locator(".trail .result")).to_have_text(BUSY)
    # Refused as well: a place that needs the same would wait for an answer that is on its way.
    with still.page.expect_response("**/ask"):
        still.page.mouse.click(*still.middle())
    expect(still.view).to_have_attribute("data-place", "weight")
    expect(still.view).to_have_attribute("data-filled", "no")
    expect(said.first).to_be_visible()
    still.page.unroute("**/ask")
    # Asked again, it answers.
    still.press("Escape")
    still.expect_kind("row")
    expect(still.view.locator(".trail .result")).to_be_hidden()
    watch.console_errors.clear()


def test_at_rest_no_frame_is_asked_for(visitor: Callable[..., HeadsPage]) -> None:
    reader = visitor(reduced_motion="no-preference")
    reader.page.add_init_script(COUNTS_FRAMES)
    space = SpacePage(reader)
    space.open(sentence="Yes.")
    expect(space.view).to_have_attribute("data-state", "playing")
    expect(space.view).to_have_attribute("data-state", "resting")
    assert space.frames_in_two_seconds() == 0
    space.page.mouse.click(*space.middle_of_head())
    space.expect_at(HEAD)
    assert space.frames_in_two_seconds() == 0
    space.press("Enter", "Enter")
    space.expect_kind("weight")
    assert space.frames_in_two_seconds() == 0


# ---- the walk ----------------------------------------------------------------------------------


def test_the_walk_leads_from_stop_to_stop_and_back_to_where_one_left(still: SpacePage) -> None:
    still.enter()
    invitation = still.view.locator(".walk-invitation")
    invitation.click()
    places, answers = [], []
    for stop in range(1, 11):
        still.reader.wait_for_query(walk=str(stop))
        places.append(still.reader.query["place"])
        act = still.view.locator(".walk-act")
        if act.is_visible():
            # Who only goes on sees what comes of it, too.
            still.press("ArrowRight")
            answer = still.view.locator(".walk-answer")
            expect(answer).not_to_be_empty()
            answers.append(answer.inner_text())
        if stop < 10:
            still.press("ArrowRight")
    assert [form(place) for place in places] == [FORMS[kind] for kind in WALKED]
    instead, without = answers
    assert instead.startswith("Now it writes: “")
    assert without.startswith("Without it, the model writes: “")
    still.press("Escape")
    still.reader.wait_for_query(walk=None, place=places[-1])
    expect(invitation).to_have_text("Go on with the walk")
    # Close up, the picture's own controls are out of reach.
    still.view.get_by_role("navigation").get_by_role("button", name="Go on with").click()
    still.reader.wait_for_query(walk="10")
    still.view.get_by_role("button", name="Your turn").click()
    expect(still.reader.field("sentence")).to_be_focused()
    still.reader.wait_for_query(walk=None)
    still.expect_at("")
    expect(invitation).to_have_text("Walk through it · 1 minute")
    still.open(walk="4")
    still.reader.wait_for_query(walk="4", place=places[3])
    assert (
        still.view.locator(".walk-dot").evaluate_all(
            "dots => dots.findIndex(dot => dot.ariaCurrent === 'step')"
        )
        == 3
    )


@pytest.mark.parametrize(
    ("checkpoint", "sentence", "n_stops"),
    [
        ("toy-reverse", "c i c e", 10),
        ("toy-reverse-encoder", "c i c e", 6),
    ],
)
def test_a_walk_is_offered_where_enough_can_be_said(
    still: SpacePage, checkpoint: str, sentence: str, n_stops: int
) -> None:
    still.enter(checkpoint=checkpoint, sentence=sentence)
    invitation = still.view.locator(".walk-invitation")
    invitation.click()
    expect(still.view.locator(".walk-dot")).to_have_count(n_stops)
