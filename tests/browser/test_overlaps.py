"""Nothing stands over anything else, and no text is cut beside empty space, on any screen."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from headscope.__main__ import main
from tests.kit.heads_page import HeadsPage, resize, wait_until_calm
from tests.kit.running_app import ROOT
from tests.kit.static_host import hosted
from viz.registry.pages import VIEWS
from viz.site.page import words

OVERLAPS = (ROOT / "tests" / "kit" / "overlaps.js").read_text(encoding="utf-8")

SIZES = [
    *((320, 360), (320, 640), (390, 844), (480, 360), (640, 400), (740, 360), (844, 390)),
    *((820, 1180), (1024, 600), (1100, 480), (1280, 800), (1920, 1080), (2560, 1440)),
]
"""Phones, also held sideways, laptops, also zoomed to 200 percent, and large screens."""

PAINTED = "() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))"

CUT = """() => [...document.querySelectorAll("#links a")]
  .filter((link) => {
    const [own, room] = [link, link.closest("nav")].map((each) => each.getBoundingClientRect());
    return own.right > room.right + 1;
  })
  .map((link) => link.textContent)"""
"""Entries of the site's menu that are cut off."""

PHONE = 720
"""The width up to which the menu scrolls sideways."""

SENTENCE = "d c b a a b"

PRINTED_CUT = """
window.cut = new Set();
const print = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  if (/[^…]…$/.test(text)) window.cut.add(text);
  return print.call(this, text, ...place);
};
"""
"""Notes the texts that are cut where they are drawn."""

WIDE = 820
"""The width of a tablet, from which no label of a short sentence is cut."""

VIEWS_OF = {
    "heads": ["", "?attention=joint", "?view=lines"],
    "effects": ["", "?show=maps", "?show=probability&token=4&instead=alten"],
    "masks": ["", "?part=inside", "?part=compare", "?part=change"],
    "positions": ["", "?topic=words", "?topic=formula"],
}
"""The views of pages that have others than the one they open with."""

WIDTHS = {320, 390, 820, 1024, 1280, 1920}
"""The widths at which the other views are checked."""


def sizes() -> Iterator[ViewportSize]:
    for width, height in SIZES:
        yield {"width": width, "height": height}


@pytest.mark.parametrize("page", VIEWS)
def test_no_text_of_the_app_stands_over_another(
    visitor: Callable[..., HeadsPage], page: str
) -> None:
    heads = visitor()
    heads.page.add_init_script(PRINTED_CUT)
    wrong = {}
    for view in VIEWS_OF.get(page, [""]):
        heads.page.goto(f"{heads.url}/{'' if page == 'model' else page}{view}")
        wait_until_calm(heads.page)
        for size in sizes():
            if view and size["width"] not in WIDTHS:
                continue
            heads.page.evaluate("window.cut.clear()")
            resize(heads.page, size)
            found = heads.page.evaluate(OVERLAPS)
            if size["width"] >= WIDE:
                found += heads.page.evaluate("[...window.cut]")
            if found:
                wrong[view, size["width"], size["height"]] = found
    assert not wrong


@pytest.mark.parametrize("options", ["", "&embed_options=show_toolbar&embed_options=show_padding"])
def test_an_embedded_page_is_the_picture_its_controls_and_a_link_and_nothing_over_anything(
    visitor: Callable[..., HeadsPage], options: str
) -> None:
    heads = visitor()
    wrong = {}
    for page in ("", "heads", "effects", "masks"):
        heads.page.goto(f"{heads.url}/{page}?embed=true{options}")
        wait_until_calm(heads.page)
        for width, height in ((600, 480), (820, 600), (1280, 800), (1600, 900)):
            resize(heads.page, {"width": width, "height": height})
            if found := heads.page.evaluate(OVERLAPS):
                wrong[page, width] = found
        expect(heads.page.get_by_test_id("stTopNav")).to_have_count(0)
        expect(heads.page.get_by_role("button", name="Present")).to_have_count(0)
    assert not wrong
    link = heads.page.get_by_role("link", name="Open in Headscope")
    link.hover()
    whole = link.get_attribute("href")
    assert whole is not None
    assert "/masks" in whole
    assert "embed" not in whole


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("site")
    assert main(["site", "--model", "toy-reverse", "--out", str(root)]) == 0
    with hosted(root) as address:
        yield address


@pytest.mark.parametrize("language", words())
def test_no_text_of_the_site_stands_over_another(
    browser: Browser, site: str, language: str
) -> None:
    page = browser.new_page(reduced_motion="reduce")
    wrong = {}
    for path in ("", "heads/", "decoding/", "masks/", "positions/"):
        page.goto(f"{site}/{path}?lang={language}&sentence={SENTENCE.replace(' ', '+')}&moment=3")
        page.locator(f"html[data-engine=ready] body[data-shown='{SENTENCE}']").wait_for()
        for size in sizes():
            page.set_viewport_size(size)
            page.evaluate(PAINTED)
            cut = page.evaluate(CUT) if size["width"] > PHONE else []
            if found := [*page.evaluate(OVERLAPS), *cut]:
                wrong[path, size["width"], size["height"]] = found
    page.close()
    assert not wrong
