"""No text stands over another one, nor half below something, on any screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize

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


def sizes() -> Iterator[ViewportSize]:
    for width, height in SIZES:
        yield {"width": width, "height": height}


@pytest.mark.parametrize("page", VIEWS)
def test_no_text_of_the_app_stands_over_another(
    visitor: Callable[..., HeadsPage], page: str
) -> None:
    heads = visitor(newcomer=True)
    heads.page.goto(f"{heads.url}/{'' if page == 'door' else page}")
    wait_until_calm(heads.page)
    wrong = {}
    for size in sizes():
        resize(heads.page, size)
        if found := heads.page.evaluate(OVERLAPS):
            wrong[size["width"], size["height"]] = found
    assert not wrong


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
