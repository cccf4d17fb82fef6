"""Every page opens on its picture: high up, whole, with few words and few controls around it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kit.heads_page import HeadsPage, path_of, wait_until_calm
from tests.kit.running_app import ROOT
from viz.about.view import VIEW as ABOUT
from viz.registry.pages import VIEWS

MEASURE = (ROOT / "tests" / "kit" / "first_screen.js").read_text(encoding="utf-8")

LOWEST, LEAST_SHARE, MOST_WORDS, MOST_CONTROLS = 190, 0.98, 110, 28
"""Where a picture begins at the lowest, in pixels, how much of it shows, and what is around it."""

SCREEN = {"width": 1280, "height": 800}


@pytest.fixture
def shipped(visitor: Callable[..., HeadsPage]) -> HeadsPage:
    if not (ROOT / "checkpoints" / "en-de").is_dir():
        pytest.skip("the shipped checkpoint en-de is not here")
    return visitor(viewport=SCREEN)


@pytest.mark.parametrize("page", [name for name in VIEWS if name != ABOUT.name])
def test_a_page_opens_on_its_picture(shipped: HeadsPage, page: str) -> None:
    shipped.page.goto(f"{shipped.url}/{path_of(page)}")
    wait_until_calm(shipped.page)
    seen = shipped.page.evaluate(MEASURE)
    assert seen["top"] <= LOWEST
    assert seen["share"] >= LEAST_SHARE
    assert len(seen["words"]) <= MOST_WORDS, seen["words"]
    assert len(seen["controls"]) <= MOST_CONTROLS, seen["controls"]
