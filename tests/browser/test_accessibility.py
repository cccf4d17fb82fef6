"""What is wrong with every page, which is nothing; and the header, which fits every width."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.conftest import VIEWPORT, Lending, Watch
from tests.kit.fragments import Fragments
from tests.kit.heads_page import LOADING, SHORTLY, HeadsPage, resize, wait_until_calm
from tests.kit.stage_page import FILLED, StagePage

PHONE: ViewportSize = {"width": 390, "height": 844}
TOPICS = ("table", "likeness", "words", "without", "shuffle", "learned", "formula")
PAIR = {"sentence": "The cat sat on the mat.", "other": "The dog sat on the mat."}
VIEWS: dict[str, tuple[str, dict[str, str]]] = {
    "model": ("", {"moment": "999"}),
    "model, an encoder alone": ("", {"moment": "999", "checkpoint": "toy-reverse-encoder"}),
    "heads": ("heads", {}),
    "heads, lines": ("heads", {"view": "lines", "below": "numbers"}),
    "heads, joint": ("heads", {"attention": "joint"}),
    "heads, compared": ("heads", {"compare": "0.5-1.2-3.2", "below": "query-key", "cell": "3.2"}),
    "heads, snapshots": ("heads", {"checkpoint": "en-de-childhood"}),
    "heads, notices": ("heads", {"layer": "x", "head": "y"}),
    "effects": ("effects", {"token": "2", "off": "cross.2.1-encoder.0.3"}),
    "effects, words": ("effects", {"show": "words"}),
    "effects, maps": ("effects", {"show": "maps", "token": "2"}),
    "effects, removal": ("effects", {"show": "removal"}),
    **{
        f"decoding, {section}": ("decoding", {"section": section, "at": "2"})
        for section in ("steps", "certainty", "layers")
    },
    **{
        f"masks, {part}": ("masks", {"part": part})
        for part in ("see", "inside", "compare", "change")
    },
    **{f"positions, {topic}": ("positions", {"topic": topic, "waves": "0.32"}) for topic in TOPICS},
    "compare, sentences": ("compare", {**PAIR, "patched": "cross.0.1"}),
    "compare, layers": ("compare", {**PAIR, "shown": "layers"}),
    "compare, models": ("compare", {"versus": "model", "other_model": "en-de-childhood"}),
    "compare, searches": ("compare", {"versus": "search"}),
    **{
        f"corpus, {over}": ("corpus", {"over": over, "one": "cross.0.5"})
        for over in ("all", "head", "find", "draw", "rules")
    },
    "about": ("about", {}),
}
"""Every page, part and topic: its path and its query."""

CONTRAST = {"runOnly": ["color-contrast"]}
EVERYTHING = {"rules": {"target-size": {"enabled": True}}}
"""Names and roles do not depend on the theme, and contrast depends on it alone."""

HALL: ViewportSize = {"width": 1920, "height": 1080}
WITH_LINES_ABOVE = {"masks, change", "positions, without", "positions, shuffle"}
"""Translations of some lines stand above their pictures, which take HALF of the height."""

HALF = 0.5

OF_OTHER_SHAPES = {"model", "model, an encoder alone", "about", "compare, searches"}
"""Figure 1 has its own measures, in test_model_page; the others are scrolled."""

PANEL = '[data-testid="stPopoverBody"]'

OUT_OF_REACH = {
    # Streamlit's upload field is a section without a role of its own that can take the focus.
    "presentation-role-conflict": ['data-testid="stFileUploaderDropzone"'],
}
"""By rule, elements of Streamlit's own that no setting changes."""

DRESSED = """[...document.querySelectorAll("style")].some(
  each => each.textContent.includes("light on a dark page")) ? "dark" : "light"
"""
"""The theme whose styles a page has."""

WIDTHS = (320, 360, 390, 480, 767, 769, 800, 853, 900, 992, 1056, 1057, 1280)
"""Pixels of CSS; 853 is a laptop's 1280 at 150%."""


def open_view(reader: HeadsPage, path: str = "heads", **query: str) -> None:
    reader.page.goto(f"{reader.url}/{path}?{urlencode(query)}", timeout=LOADING)
    app = reader.page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-script-state", "notRunning", timeout=LOADING)
    wait_until_calm(reader.page)


def switch_theme(reader: Page, scheme: str) -> None:
    """Waits until the server, too, has heard of it."""
    reader.emulate_media(color_scheme=scheme)
    wait_until_calm(reader, f"() => ({DRESSED}) === '{scheme}'")


def wrong(page: Page, options: dict[str, Any], *, of: str = "html") -> list[str]:
    """What axe finds wrong on a page as it is now, one line an element.

    Args:
        page: where nothing runs.
        options: axe's own.
        of: a selector of the element that is looked at.
    """
    page.wait_for_function(
        "() => document.getAnimations().every(each => each.playState !== 'running')"
    )
    if page.evaluate("window.axe === undefined"):
        page.evaluate(Axe().axe_script)
    # Nothing to preload: no rule that is asked for reads style sheets.
    found = page.evaluate(
        "async ([of, options]) => (await axe.run(of, options)).violations",
        [of, {"resultTypes": ["violations"], "preload": False, **options}],
    )
    return [
        f"{each['id']}: {node['html'][:150]} {node['any'][0]['message'] if node['any'] else ''}"
        for each in found
        for node in each["nodes"]
        if not any(mark in node["html"] for mark in OUT_OF_REACH.get(each["id"], ()))
    ]


# The buttons of the header that lie below one of the tools, told at one moment.
OVERLAPPING = """() => {
  const boxes = selector => [...document.querySelectorAll(selector)]
    .filter(node => node.checkVisibility({ visibilityProperty: true }))
    .map(node => node.getBoundingClientRect()).filter(({ width }) => width);
  const tools = boxes(".st-key-tools button");
  return boxes("header a, header button").filter(one => tools.some(other =>
    one.left < other.right && other.left < one.right
    && one.top < other.bottom && other.top < one.bottom)).map(each => JSON.stringify(each));
}"""


def smaller_side(target: Locator) -> float:
    expect(target).to_be_visible()
    box = target.bounding_box()
    assert box is not None, "it is not shown"
    return min(box["width"], box["height"])


@pytest.fixture(scope="module")
def walker(lending: Lending) -> Iterator[tuple[StagePage, Fragments]]:
    with lending.reader() as reader:
        yield StagePage(reader), Fragments(reader.page)


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wrong_on_a_page_on_a_phone_and_on_stage_which_its_picture_fills_alone(
    walker: tuple[StagePage, Fragments], watch: Watch, view: str
) -> None:
    stage, fragments = walker
    reader, page = stage.reader, stage.page
    path, query = VIEWS[view]
    if page.get_by_test_id("stApp").count():
        # What leaving the stage of the view before still sends is not of this one.
        wait_until_calm(page, still=SHORTLY)
    fragments.owners.clear()
    reader.walk(path, **query)
    assert len(set(fragments.owners.values())) > 1
    assert fragments.nested() == []
    # Each view has the theme of the view before first.
    first = page.evaluate(DRESSED)
    second = "light" if first == "dark" else "dark"
    found = {first: wrong(page, EVERYTHING)}
    resize(page, PHONE)
    found["phone"] = wrong(page, EVERYTHING)
    resize(page, VIEWPORT)
    page.get_by_role("button", name="Present").click()
    expect(stage.foot).to_be_visible()
    stage.settle()
    found["stage"] = wrong(page, EVERYTHING)
    if view == "positions, shuffle":
        stage.press("ArrowDown")
        expect(page.get_by_test_id("stPlotlyChart")).to_be_visible()
    for size in () if view in OF_OTHER_SHAPES else (VIEWPORT, HALL):
        page.set_viewport_size(size)
        stage.wait_until_filled(FILLED, HALF if view in WITH_LINES_ABOVE else FILLED)
        found[f"beside the picture at {size['width']}"] = stage.chrome()
    page.set_viewport_size(VIEWPORT)
    found[f"weak on stage, {first}"] = stage.weak()
    stage.look_in(second)
    found[f"weak on stage, {second}"] = stage.weak()
    page.keyboard.press("Escape")
    expect(stage.foot).to_have_count(0)
    wait_until_calm(page, f"() => ({DRESSED}) === '{second}'")
    found[second] = wrong(page, CONTRAST)
    assert not any(found.values()), found


def test_axe_finds_nothing_wrong_in_open_panels(heads: HeadsPage) -> None:
    open_view(heads)
    page, panel = heads.page, heads.page.locator(PANEL)
    found = {}
    for name in ("Scenes", "Share", "Save"):
        button = page.get_by_role("button", name=name, exact=True).first
        button.click()
        panel.wait_for()
        wait_until_calm(page)
        found[name] = wrong(page, EVERYTHING, of=PANEL)
        switch_theme(page, "dark")
        if not panel.count():
            button.click()
            panel.wait_for()
            wait_until_calm(page)
        found[f"{name}, dark"] = wrong(page, CONTRAST, of=PANEL)
        resize(page, PHONE)
        found[f"{name}, phone"] = wrong(page, EVERYTHING, of=PANEL)
        resize(page, VIEWPORT)
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        switch_theme(page, "light")
    assert not any(found.values()), found


def test_the_tools_lie_over_nothing_in_the_header_at_any_width(heads: HeadsPage) -> None:
    open_view(heads, "about")
    for width in WIDTHS:
        heads.page.set_viewport_size({"width": width, "height": 700})
        narrow = width <= 768
        expect(heads.page.get_by_test_id("stTopNavLink").first).to_be_visible(visible=not narrow)
        expect(heads.page.get_by_test_id("stExpandSidebarButton")).to_have_count(int(narrow))
        wait_until_calm(heads.page, still=SHORTLY)
        assert heads.page.evaluate(OVERLAPPING) == [], width


def test_the_drawer_of_pages_lies_above_the_tools_and_closes_with_a_choice(
    heads: HeadsPage,
) -> None:
    heads.page.set_viewport_size(PHONE)
    open_view(heads, "about")
    heads.page.get_by_test_id("stExpandSidebarButton").click()
    close = heads.page.get_by_test_id("stSidebarCollapseButton").locator("button")
    # A click that another element would take is refused.
    close.click()
    expect(heads.page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    heads.page.get_by_test_id("stExpandSidebarButton").click()
    heads.page.get_by_test_id("stSidebarNavLink").filter(has_text="Positions").click()
    expect(heads.page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    heads.page.wait_for_url("**/positions")


@pytest.mark.parametrize(("view", "menu"), [("effects", "Examples"), ("compare", "Pairs")])
def test_sentences_in_a_menu_wrap_on_a_phone(heads: HeadsPage, view: str, menu: str) -> None:
    heads.page.set_viewport_size(PHONE)
    open_view(heads, view)
    heads.page.get_by_role("button", name=menu, exact=True).click()
    lines = heads.page.get_by_role("menuitem").locator("p")
    expect(lines.first).to_be_visible()
    boxes = lines.evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().toJSON())")
    assert all(box["right"] < PHONE["width"] for box in boxes)
    assert all(one["bottom"] <= other["top"] for one, other in pairwise(boxes))


def test_focus_in_the_navigation_does_not_look_like_the_current_page(heads: HeadsPage) -> None:
    open_view(heads, "decoding")
    links = heads.page.get_by_test_id("stTopNavLink")
    current, other = links.filter(has_text="Decoding"), links.filter(has_text="Positions")
    ground = "node => getComputedStyle(node).backgroundColor"
    line = "node => getComputedStyle(node).outlineStyle"
    links.filter(has_text="Masks").focus()
    heads.page.keyboard.press("Tab")
    expect(other).to_be_focused()
    assert other.evaluate(ground) != current.evaluate(ground)
    assert (other.evaluate(line), current.evaluate(line)) == ("solid", "none")


def test_small_targets_have_24_pixels_each_way(heads: HeadsPage) -> None:
    open_view(heads, "positions", topic="table", waves="0.32")
    heads.page.get_by_role("button", name="Options").click()
    assert smaller_side(heads.page.get_by_role("button", name="Remove 32")) >= 24
    heads.page.keyboard.press("Escape")
    heads.page.get_by_test_id("stPlotlyChart").first.hover()
    assert smaller_side(heads.page.locator(".modebar-btn").first) >= 24
    with heads.asked():
        help_button = heads.page.get_by_role("button", name="Help for Target sentence")
        assert smaller_side(help_button) >= 24
    open_view(heads, "positions", topic="likeness")
    heads.page.get_by_role("button", name="Options").click()
    assert smaller_side(heads.page.locator(".st-key-positions-cosine label").first) >= 24
