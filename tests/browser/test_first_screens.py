"""Every page opens on its picture: high up, whole, with few words and few controls around it."""

from collections.abc import Callable

import pytest

from tests.kit.first_screen import SCREEN, assert_opens_on_picture
from tests.kit.heads_page import HeadsPage, path_of, wait_until_calm
from tests.kit.running_app import ROOT
from viz.about.view import VIEW as ABOUT
from viz.registry.pages import VIEWS


@pytest.fixture
def shipped(visitor: Callable[..., HeadsPage]) -> HeadsPage:
    if not (ROOT / "checkpoints" / "en-de").is_dir():
        pytest.skip("the shipped checkpoint en-de is not here")
    return visitor(viewport=SCREEN)


@pytest.mark.parametrize("page", [name for name in VIEWS if name != ABOUT.name])
def test_a_page_opens_on_its_picture(shipped: HeadsPage, page: str) -> None:
    shipped.page.goto(f"{shipped.url}/{path_of(page)}")
    wait_until_calm(shipped.page)
    assert_opens_on_picture(shipped.page)
