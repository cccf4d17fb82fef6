"""A running app, a real Chromium, and a page that tells when something leaves the machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Response,
    Route,
    expect,
    sync_playwright,
)

from model.translator import Translator, load
from tests.browser.heads_page import HeadsPage
from tests.browser.running_app import (
    CAME_BEFORE,
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
VIEWPORT = {"width": 1280, "height": 800}

PROBES = ("/_stcore/health", "/_stcore/host-config")
"""What Streamlit asks for below a page's own path, and is not there, before it asks at the root."""

# Everything is slow on a machine with other work.
MILLISECONDS = 20_000


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.browser)
    # Last of all: Playwright keeps an event loop in the main thread until the run ends, and other
    # tests must find none there. The server, too, then takes no processor time from them.
    items.sort(key=lambda item: item.path.is_relative_to(here))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
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
        expect.set_options(timeout=MILLISECONDS)
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
def model(checkpoints: Path) -> Translator:
    """The app's model once more, in the tests' own process: what the page shows is held to it."""
    return load(checkpoints / "en-de", device="cpu")


@pytest.fixture(scope="session")
def app_server(checkpoints: Path) -> Iterator[AppServer]:
    with serve("app.py", {CHECKPOINTS_VARIABLE: str(checkpoints)}) as server:
        yield server


@pytest.fixture(scope="session")
def app_url(app_server: AppServer) -> str:
    return app_server.url


class Watch:
    """What went wrong in browsers without a test having looked for it."""

    def __init__(self) -> None:
        self.left_the_machine: list[str] = []
        self.console_errors: list[str] = []
        self.dialogs: list[str] = []
        self.probes: list[str] = []

    def forget(self) -> None:
        for seen in (self.left_the_machine, self.console_errors, self.dialogs, self.probes):
            seen.clear()

    def settle(self) -> None:
        """Raises AssertionError if anything went wrong."""
        # The console names no address, so as many errors are forgiven as probes went unanswered.
        for _ in self.probes:
            self.console_errors.remove(next(text for text in self.console_errors if "404" in text))
        self.probes.clear()
        assert not self.left_the_machine, f"requests left the machine: {self.left_the_machine}"
        assert not self.dialogs, f"a page opened dialogs: {self.dialogs}"
        assert not self.console_errors, f"in the console: {self.console_errors}"

    def watch(self, context: BrowserContext) -> None:
        """Refuses what a context asks of another machine, and listens to its pages."""

        def refuse(route: Route) -> None:
            self.left_the_machine.append(route.request.url)
            route.abort()

        def refuse_socket(web_socket: Any) -> None:
            self.left_the_machine.append(web_socket.url)
            web_socket.close()

        def dismiss(dialog: Any) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        def listen(page: Page) -> None:
            page.on("dialog", dismiss)
            page.on("pageerror", lambda error: self.console_errors.append(str(error)))

        def note(response: Response) -> None:
            if response.status == 404 and urlsplit(response.url).path.endswith(PROBES):
                self.probes.append(response.url)

        context.on("response", note)
        context.route(lambda url: not is_local(url), refuse)
        context.route_web_socket(lambda url: not is_local(url), refuse_socket)
        context.on(
            "console",
            lambda message: (
                self.console_errors.append(message.text) if message.type == "error" else None
            ),
        )
        context.on("page", listen)


@contextmanager
def _context(
    browser: Browser, watch: Watch, *, newcomer: bool = False, **options: Any
) -> Iterator[BrowserContext]:
    context = browser.new_context(**{"viewport": VIEWPORT, **options})
    context.set_default_timeout(MILLISECONDS)
    watch.watch(context)
    if not newcomer:
        context.add_init_script(CAME_BEFORE)
    yield context
    context.close()


@pytest.fixture(scope="session")
def watch_of_session() -> Watch:
    return Watch()


@pytest.fixture
def watch(watch_of_session: Watch, app_server: AppServer) -> Iterator[Watch]:
    """What went wrong unseen: a request to elsewhere, a dialog, the console, the server's log."""
    watch_of_session.forget()
    before = len(app_server.log())
    yield watch_of_session
    watch_of_session.settle()
    log = app_server.log()[before:]
    assert "Traceback" not in log, log
    assert "deprecat" not in log.lower(), log


@pytest.fixture
def page(browser: Browser, watch: Watch) -> Iterator[Page]:
    """An empty page, 1280 × 800, of a reader who dismissed what newcomers are offered."""
    with _context(browser, watch) as context:
        yield context.new_page()


@pytest.fixture
def visitor(browser: Browser, app_url: str, watch: Watch) -> Iterator[Callable[..., HeadsPage]]:
    """Gives a reader of their own, with options of Playwright's `new_context`, or a `newcomer`."""
    with ExitStack() as stack:
        yield lambda **options: HeadsPage(
            stack.enter_context(_context(browser, watch, **options)).new_page(), app_url
        )


@pytest.fixture(scope="session")
def _shared_page(browser: Browser, app_url: str, watch_of_session: Watch) -> Iterator[HeadsPage]:
    with _context(browser, watch_of_session) as context:
        yield HeadsPage(context.new_page(), app_url)


@pytest.fixture
def heads(_shared_page: HeadsPage, watch: Watch) -> HeadsPage:
    """A reader at 1280 × 800 whom all tests share, since each new one loads everything anew."""
    return _shared_page
