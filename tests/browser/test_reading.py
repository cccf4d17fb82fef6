"""A newcomer in a real browser: a talk read at one's own pace."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.kit.heads_page import LOADING, HeadsPage, path_of, wait_until_calm
from viz.talk.ready import ready_talk

READY = ready_talk()
SHIPPED = Path(__file__).parents[2] / "checkpoints" / "en-de"

pytestmark = pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="the shipped checkpoint en-de is not here"
)


class Newcomer:
    """A page of somebody who was never here."""

    def __init__(self, reader: HeadsPage) -> None:
        self.reader = reader
        self.page: Page = reader.page
        self.help = self.page.get_by_role("button", name="Help", exact=True)
        self.offer = self.page.get_by_role("button", name=f"Read “{READY.title}”")
        self.text = self.page.locator(".reader")
        self.title = self.text.locator("h2")
        self.left = self.text.locator(".left")

    def button(self, name: str) -> None:
        self.text.get_by_role("button", name=re.compile(f"^{name}")).click()

    def wait_for(self, number: int) -> None:
        scene = READY.scenes[number - 1]
        expect(self.title).to_have_text(scene.title)
        expect(self.text.locator(".note")).to_have_text(scene.note)
        self.reader.wait_for_query(scene=str(number), read="1", present=None)
        wait_until_calm(self.page)
        expect(self.left).to_be_hidden()


@pytest.fixture
def newcomer(visitor: Callable[..., HeadsPage]) -> Newcomer:
    return Newcomer(visitor())


def test_a_talk_is_read_by_keyboard_left_by_a_click_and_gone_back_in(newcomer: Newcomer) -> None:
    newcomer.reader.open()
    page = newcomer.page
    newcomer.help.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stPopoverBody")).to_contain_text("a head spreads weights")
    newcomer.offer.focus()
    page.keyboard.press("Enter")
    newcomer.wait_for(1)
    expect(newcomer.title).to_be_focused()
    page.keyboard.press("n")
    newcomer.wait_for(2)
    page.keyboard.press("n")
    newcomer.wait_for(3)
    page.keyboard.press("b")
    newcomer.wait_for(2)
    # Other keys belong to the page.
    page.keyboard.press("3")
    page.keyboard.press("PageDown")
    newcomer.reader.click_tile(0, 2)
    expect(newcomer.left).to_be_visible()
    newcomer.button("Show the scene")
    newcomer.wait_for(2)
    newcomer.button("Next")
    newcomer.wait_for(3)
    page.go_back()
    newcomer.wait_for(2)
    newcomer.button("Leave")
    expect(newcomer.text).to_have_count(0)
    newcomer.reader.wait_for_query(read=None, scene=None, cell="6.2")


def test_what_is_told_of_the_scene_before_does_not_leave_the_next(newcomer: Newcomer) -> None:
    newcomer.reader.open(read="1", scene="2", **READY.scenes[1].view)
    newcomer.wait_for(2)
    page = newcomer.page
    page.evaluate(
        """() => {
            window.held = [];
            window.pressed(window.headsView().querySelector("canvas.overview"), "ArrowRight");
        }"""
    )
    page.wait_for_function("() => window.held.length >= 1")
    newcomer.button("Next")
    page.wait_for_function("() => window.held.length >= 2")
    # As when a head is chosen and told a moment later, while the reader goes on.
    page.evaluate("window.held.reverse(), window.release()")
    newcomer.wait_for(3)


@pytest.mark.parametrize("number", [2, 7])
def test_on_a_phone_picture_and_text_stand_together(
    visitor: Callable[..., HeadsPage], number: int
) -> None:
    size = {"width": 390, "height": 844}
    newcomer = Newcomer(visitor(viewport=size, is_mobile=True, has_touch=True))
    scene = READY.scenes[number - 2]
    query = urlencode({**scene.view, "read": "1", "scene": number - 1})
    newcomer.page.goto(f"{newcomer.reader.url}/{path_of(scene.page)}?{query}", timeout=LOADING)
    newcomer.wait_for(number - 1)
    newcomer.text.get_by_role("button", name="Next").tap()
    newcomer.wait_for(number)
    page = newcomer.page
    page.wait_for_function(
        """() => {
            const [picture] = document.querySelectorAll(".st-key-picture");
            return picture && picture.getBoundingClientRect().top < 200;
        }"""
    )
    box = newcomer.text.bounding_box()
    assert box is not None
    assert box["height"] <= 0.45 * size["height"] + 1
    assert round(box["y"] + box["height"]) == size["height"]
    for name in ("Back", "Next", "Leave"):
        button = newcomer.text.get_by_role("button", name=name).bounding_box()
        assert button is not None
        assert button["height"] >= 44
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


BETWEEN = """() => {
    const roots = [...document.querySelectorAll("*")].map(each => each.shadowRoot).filter(Boolean);
    const seen = selector => roots.map(root => root.querySelector(selector)).find(Boolean)
        ?.getBoundingClientRect();
    const [cell, text] = [seen(".cell.picked:not([hidden])"), seen(".reader")];
    return cell && text && cell.height > 0 && cell.top >= 60 && cell.bottom <= text.top;
}"""
"""Whether the marked cell stands below the page's head and above the text."""


@pytest.mark.parametrize("read_on", [False, True])
def test_on_a_phone_the_marked_cell_stands_above_its_text(
    visitor: Callable[..., HeadsPage], read_on: bool
) -> None:
    size = {"width": 390, "height": 844}
    newcomer = Newcomer(visitor(viewport=size, is_mobile=True, has_touch=True))
    first = 1 if read_on else 2
    scene = READY.scenes[first - 1]
    query = urlencode({**scene.view, "read": "1", "scene": first})
    newcomer.page.goto(f"{newcomer.reader.url}/{path_of(scene.page)}?{query}", timeout=LOADING)
    newcomer.wait_for(first)
    if read_on:
        newcomer.text.get_by_role("button", name="Next").tap()
        newcomer.wait_for(2)
    newcomer.page.wait_for_function(BETWEEN)


def test_on_a_laptop_sentence_and_translation_stay_in_sight_in_the_first_scene(
    visitor: Callable[..., HeadsPage],
) -> None:
    newcomer = Newcomer(visitor(viewport={"width": 1280, "height": 800}))
    scene = READY.scenes[0]
    query = urlencode({**scene.view, "read": "1", "scene": 1})
    newcomer.page.goto(f"{newcomer.reader.url}/{path_of(scene.page)}?{query}", timeout=LOADING)
    newcomer.wait_for(1)
    wait_until_calm(newcomer.page, still=300)
    text = newcomer.text.bounding_box()
    assert text is not None
    first_page = newcomer.page.locator(".model-view[data-state]")
    for seen in (first_page.locator(".read"), first_page.locator(".written")):
        expect(seen).to_be_visible()
        box = seen.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= text["y"]
