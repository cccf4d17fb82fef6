"""The ways through the app: a question that leads to its answer, and the menu."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.kit.heads_page import LOADING, HeadsPage, wait_until_calm
from viz.inquiries.registry import FIRST, INQUIRIES
from viz.registry.pages import VIEWS

TOY = "checkpoint=toy-reverse&sentence=c+i+c+e+f+h+f+a"


@pytest.fixture
def page(heads: HeadsPage) -> Page:
    return heads.page


@pytest.fixture
def open_page(heads: HeadsPage) -> Callable[[str], None]:
    def open_at(path: str) -> None:
        heads.page.goto(f"{heads.url}/{path}", timeout=LOADING)
        expect(field(heads.page)).to_be_visible(timeout=LOADING)
        wait_until_calm(heads.page)

    return open_at


def field(page: Page) -> Locator:
    return page.get_by_role("button", name="Ask a question")


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Ask a question")


def options(page: Page) -> Locator:
    return palette(page).get_by_role("option")


def line(page: Page) -> Locator:
    return page.locator(".st-key-answer-line")


@pytest.mark.parametrize("path", ["", "decoding"])
def test_a_key_opens_the_questions_on_a_page(
    page: Page, open_page: Callable[[str], None], path: str
) -> None:
    open_page(f"{path}?{TOY}")
    page.keyboard.press("Control+k")
    expect(palette(page)).to_be_visible()
    expect(options(page).first).to_have_text(INQUIRIES[FIRST[0]].text)
    page.keyboard.press("Escape")
    expect(palette(page)).to_be_hidden()
    page.keyboard.press("Meta+k")
    expect(palette(page)).to_be_visible()


def test_a_question_is_found_chosen_and_answered_by_keys(
    page: Page, open_page: Callable[[str], None]
) -> None:
    open_page(f"?{TOY}")
    page.keyboard.press("Control+k")
    page.keyboard.type("which head looks back")
    expect(options(page).first).to_have_text(INQUIRIES["head-previous"].text)
    expect(options(page).first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options(page).first).not_to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/heads?**asked=head-previous**", timeout=LOADING)
    expect(line(page)).to_contain_text(INQUIRIES["head-previous"].text, timeout=LOADING)
    expect(line(page)).to_contain_text("% of its weight")
    wait_until_calm(page)
    # What was asked before is gone from the field, and the answer goes for good.
    field(page).click()
    expect(palette(page).get_by_role("combobox")).to_have_value("")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Dismiss the answer").click()
    expect(line(page)).to_be_hidden()
    page.wait_for_function("() => !location.search.includes('asked')")


def test_a_touch_asks_as_well(visitor: Callable[..., HeadsPage]) -> None:
    reader = visitor(viewport={"width": 390, "height": 844}, has_touch=True)
    reader.page.goto(f"{reader.url}/?{TOY}", timeout=LOADING)
    field(reader.page).tap(timeout=LOADING)
    palette(reader.page).get_by_role("combobox").fill("hardest")
    box = palette(reader.page).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    options(reader.page).first.tap()
    expect(line(reader.page)).to_contain_text(INQUIRIES["hardest"].text, timeout=LOADING)


def test_keys_of_the_page_rest_while_a_question_is_typed(
    page: Page, open_page: Callable[[str], None]
) -> None:
    open_page(f"?{TOY}&moment=3")
    first_page = page.locator(".model-view[data-state]")
    expect(first_page).to_have_attribute("data-moment", "3")
    page.keyboard.press("Control+k")
    page.keyboard.type("k k")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    expect(palette(page)).to_be_hidden()
    expect(first_page).to_have_attribute("data-state", "resting")
    expect(first_page).to_have_attribute("data-moment", "3")


@pytest.mark.parametrize("width", [1024, 1280, 1600])
def test_every_page_stands_in_the_menu(
    page: Page, open_page: Callable[[str], None], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_page(f"?{TOY}")
    *pictures, text = VIEWS.values()
    for view in pictures:
        expect(page.get_by_role("link", name=view.title, exact=False).first).to_be_in_viewport()
    page.get_by_role("button", name="Help", exact=True).click()
    page.get_by_role("link", name=text.title).click()
    page.wait_for_url(f"**/{text.name}**")
