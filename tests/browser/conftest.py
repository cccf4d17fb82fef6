"""A running app, a real Chromium, and a page that tells when something leaves the machine."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from model.translate.translator import Translator, load
from tests.kit.heads_page import LOADING, HeadsPage
from tests.kit.running_app import (
    ROOT,
    AppServer,
    StartError,
    find_chromium,
    is_local,
    launch,
    serve,
)
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"
VIEWPORT: ViewportSize = {"width": 1280, "height": 800}

PROBES = ("/_stcore/health", "/_stcore/host-config")
"""What Streamlit asks for below a page's own path, and is not there, before it asks at the root."""

# Everything is slow on a machine with other work.
MILLISECONDS = 60_000


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
    # Torn down with the last test, the server has no log any more.
    if report.failed and report.when != "teardown" and server is not None:
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
def refused_of_session() -> list[str]:
    return []


@pytest.fixture(scope="session")
def browser(chromium_path: str, refused_of_session: list[str]) -> Iterator[Browser]:
    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            refused_of_session.append(message.text)

    with sync_playwright() as playwright:
        chromium = launch(playwright, chromium_path)
        expect.set_options(timeout=MILLISECONDS)
        open_context, open_page = chromium.new_context, chromium.new_page

        def new_context(**options: Any) -> BrowserContext:
            context = open_context(**options)
            context.on("console", note)
            return context

        def new_page(**options: Any) -> Page:
            page = open_page(**options)
            page.on("console", note)
            return page

        chromium.new_context, chromium.new_page = new_context, new_page
        yield chromium
        chromium.close()


@pytest.fixture(autouse=True)
def refused(refused_of_session: list[str]) -> Iterator[list[str]]:
    """What a security policy has refused a page, which no test may leave here.

    Every page stands under the policy that a visitor's browser is told, so a condition to wait for
    has to be a function: text made into code is refused.
    """
    refused_of_session.clear()
    yield refused_of_session
    assert not refused_of_session


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
        # Not the probes: the console may tell of one only now.
        for seen in (self.left_the_machine, self.console_errors, self.dialogs):
            seen.clear()

    def settle(self) -> None:
        """Raises AssertionError if anything went wrong."""
        # The console names no address, so as many errors are forgiven as probes went unanswered.
        told = [text for text in self.console_errors if "404" in text][: len(self.probes)]
        for text in told:
            self.console_errors.remove(text)
        del self.probes[: len(told)]
        assert not self.left_the_machine, f"requests left the machine: {self.left_the_machine}"
        assert not self.dialogs, f"a page opened dialogs: {self.dialogs}"
        assert not self.console_errors, f"in the console: {self.console_errors}"

    def watch(self, context: BrowserContext) -> None:
        """Notes what a context asks of another machine, and listens to its pages."""

        def ask(url: str) -> None:
            if not is_local(url):
                self.left_the_machine.append(url)

        def dismiss(dialog: Any) -> None:
            self.dialogs.append(dialog.message)
            dialog.dismiss()

        def listen(page: Page) -> None:
            page.on("dialog", dismiss)
            page.on("pageerror", lambda error: self.console_errors.append(str(error)))
            page.on("websocket", lambda web_socket: ask(web_socket.url))

        def note(response: Response) -> None:
            path = urlsplit(response.url).path
            if response.status == 404 and path.endswith(PROBES):
                self.probes.append(response.url)
            elif response.status == 404 and path.startswith("/media/"):
                # A download of a run that another has overtaken: Streamlit looks whether it is
                # there, and says in the console twice that it is not.
                self.probes += 2 * [response.url]

        context.on("request", lambda request: ask(request.url))
        context.on("response", note)
        context.on(
            "console",
            lambda message: (
                self.console_errors.append(message.text) if message.type == "error" else None
            ),
        )
        context.on("page", listen)


@contextmanager
def _context(browser: Browser, watch: Watch, **options: Any) -> Iterator[BrowserContext]:
    usual = {"viewport": VIEWPORT, "reduced_motion": "reduce"}
    context = browser.new_context(**{**usual, **options})
    context.set_default_timeout(MILLISECONDS)
    watch.watch(context)
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


class Lending:
    """Readers whom no test has met, lent to one test after another.

    A page that has shown the app shows it again for a third of the processor time that a new one
    takes. So it is emptied and lent again; nothing that a test gave it stays.
    """

    def __init__(self, browser: Browser, url: str, watch: Watch) -> None:
        self._browser, self._url, self._watch = browser, url, watch
        self._idle: dict[str, list[HeadsPage]] = {}
        self._contexts = ExitStack()

    @contextmanager
    def reader(
        self,
        *,
        viewport: ViewportSize = VIEWPORT,
        color_scheme: Literal["light", "dark"] = "light",
        permissions: Sequence[str] = (),
        **options: Any,
    ) -> Iterator[HeadsPage]:
        """A reader with these options of `_context`; those named here an old page can be given."""
        idle = self._idle.setdefault(repr(sorted(options.items())), [])
        reader = idle.pop() if idle else self._new(options)
        page = reader.page
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
        page.context.grant_permissions(permissions)
        add, listen = page.add_init_script, page.on
        with ExitStack() as added:
            page.add_init_script = lambda *code, **named: added.enter_context(add(*code, **named))

            def listen_for_now(event: str, listener: Any) -> None:
                listen(event, listener)
                added.callback(page.remove_listener, event, listener)

            page.on = listen_for_now
            yield reader
        page.add_init_script, page.on = add, listen
        self._empty(reader)
        reader.url = self._url
        # Only now: a page that could not be emptied is lent to nobody.
        idle.append(reader)

    def _new(self, options: dict[str, Any]) -> HeadsPage:
        context = self._contexts.enter_context(_context(self._browser, self._watch, **options))
        return HeadsPage(context.new_page(), self._url)

    def _empty(self, reader: HeadsPage) -> None:
        page = reader.page
        context = page.context
        for other in context.pages:
            if other is not page:
                other.close()
        page.unroute_all()
        context.unroute_all()
        # A page of each origin, where the app's stores can be reached and the app is not.
        for url in {reader.url, self._url}:
            page.goto(f"{url}/_stcore/health", timeout=LOADING)
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
        context.clear_cookies()
        context.clear_permissions()
        page.mouse.move(0, 0)

    def end(self) -> None:
        self._contexts.close()


@pytest.fixture(scope="session")
def lending(browser: Browser, app_url: str, watch_of_session: Watch) -> Iterator[Lending]:
    lending = Lending(browser, app_url, watch_of_session)
    yield lending
    lending.end()


@pytest.fixture
def visitor(lending: Lending, watch: Watch) -> Iterator[Callable[..., HeadsPage]]:
    """Gives a reader of their own, with options of Playwright's `new_context`."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(lending.reader(**options))
        watch.settle()
    # What emptying a page cuts off is no fault of the page's.
    watch.console_errors.clear()


@pytest.fixture(scope="session")
def _shared_page(browser: Browser, app_url: str, watch_of_session: Watch) -> Iterator[HeadsPage]:
    with _context(browser, watch_of_session) as context:
        yield HeadsPage(context.new_page(), app_url)


@pytest.fixture
def heads(_shared_page: HeadsPage, watch: Watch) -> HeadsPage:
    """A reader at 1280 × 800 whom all tests share, since each new one loads everything anew."""
    page = _shared_page.page
    # However the test before left it, and where the pointer was left, a switch may stand.
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(color_scheme="light")
    page.mouse.move(0, 0)
    return _shared_page
