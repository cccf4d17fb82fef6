"""A running app, a real Chromium, and a page that tells when something leaves the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.running_app import (
    ROOT,
    AppServer,
    StartError,
    find_chromium,
    is_local,
    launch,
    serve,
)
from tests.tiny_checkpoint import write_tiny_checkpoint

CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
    # Last of all: Playwright keeps an event loop in the main thread until the run ends, and other
    # tests must find none there. The server, too, then takes no processor time from them.
    items.sort(key=lambda item: item.path.is_relative_to(here))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    server = getattr(item, "funcargs", {}).get("app_server")
    if report.failed and server is not None:
        report.sections.append(("Streamlit's log", server.log()))
    return report


@pytest.fixture(scope="session")
def chromium_path() -> str:
    try:
        return find_chromium()
    except StartError as error:
        if os.environ.get("HEADSCOPE_REQUIRE_BROWSER") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = launch(playwright, chromium_path)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints the app shows: those named, those shipped, or else a tiny one."""
    if named := os.environ.get(CHECKPOINTS_VARIABLE):
        return Path(named)
    shipped = ROOT / "checkpoints"
    if (shipped / "en-de").is_dir():
        return shipped
    folder = tmp_path_factory.mktemp("checkpoints")
    write_tiny_checkpoint(folder / "en-de")
    return folder


@pytest.fixture(scope="session")
def app_server(checkpoints: Path) -> Iterator[AppServer]:
    with serve("app.py", {CHECKPOINTS_VARIABLE: str(checkpoints)}) as server:
        yield server


@pytest.fixture(scope="session")
def app_url(app_server: AppServer) -> str:
    return app_server.url


@pytest.fixture
def console_errors() -> list[str]:
    """What the page's console called an error, and exceptions nothing caught; filled by `page`."""
    return []


@pytest.fixture
def page(browser: Browser, app_server: AppServer, console_errors: list[str]) -> Iterator[Page]:
    """An empty page, 1280 × 800. What it asks of another machine is refused and fails the test."""
    left_the_machine: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800})

    def refuse(route) -> None:
        left_the_machine.append(route.request.url)
        route.abort()

    def refuse_socket(web_socket) -> None:
        left_the_machine.append(web_socket.url)
        web_socket.close()

    context.route(lambda url: not is_local(url), refuse)
    context.route_web_socket(lambda url: not is_local(url), refuse_socket)
    page = context.new_page()
    page.on(
        "console",
        lambda message: console_errors.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: console_errors.append(str(error)))
    yield page
    context.close()
    assert not left_the_machine, f"requests left the machine: {left_the_machine}"
