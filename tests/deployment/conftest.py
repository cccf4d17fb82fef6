"""Two replicas of the app below a path, and a Chromium. `make deployment` runs what is here."""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.kit.running_app import AppServer, StartError, find_chromium, launch, serve

VARIABLE = "HEADSCOPE_DEPLOYMENT"
PATH = "/lecture"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(900))
            if os.environ.get(VARIABLE) != "1":
                item.add_marker(pytest.mark.skip(reason="two servers at once: make deployment"))


@pytest.fixture
def replicas(checkpoints: Path) -> Iterator[list[AppServer]]:
    """Two servers; a test may kill them."""
    environment = {
        "HEADSCOPE_CHECKPOINTS": str(checkpoints),
        "STREAMLIT_SERVER_COOKIE_SECRET": secrets.token_hex(),
    }
    with ExitStack() as stack:
        yield [stack.enter_context(serve("app.py", environment, path=PATH)) for _ in range(2)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium = find_chromium()
    except StartError as error:
        pytest.skip(str(error))
    with sync_playwright() as playwright:
        opened = launch(playwright, chromium)
        expect.set_options(timeout=120_000)
        yield opened
        opened.close()
