"""A running app, a real Chromium, and a page that tells when something leaves the machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.tiny_checkpoint import write_tiny_checkpoint

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
START_SECONDS = 60
CHECKPOINTS_VARIABLE = "HEADSCOPE_CHECKPOINTS"


@dataclass(frozen=True)
class AppServer:
    """The running app: where it is and what it has logged so far."""

    url: str
    log: Callable[[], str]


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
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    reason = f"no Chromium found on the PATH (looked for {', '.join(BROWSERS)})"
    if os.environ.get("HEADSCOPE_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=chromium_path,
            args=[
                # Chromium refuses to start as root, which is who runs most containers, with one.
                "--no-sandbox",
                "--disable-gpu",
                # The browser's own traffic; what the page asks for is watched by `page`.
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ],
        )
        yield chromium
        chromium.close()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def is_healthy(url: str) -> bool:
    # Straight to the server: a proxy named in the environment knows nothing of it.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as response:
            return response.status == 200
    except (urllib.error.URLError, OSError):
        return False


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
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        *(sys.executable, "-m", "streamlit", "run", "app.py"),
        "--server.headless=true",
        "--server.address=127.0.0.1",
        f"--server.port={port}",
        "--server.fileWatcherType=none",
        "--browser.gatherUsageStats=false",
    ]
    with tempfile.TemporaryFile() as output:

        def log() -> str:
            # The server writes at the offset it shares with this file, so reading must not move it.
            size = os.fstat(output.fileno()).st_size
            return os.pread(output.fileno(), size, 0).decode(errors="replace")

        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {CHECKPOINTS_VARIABLE: str(checkpoints)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_healthy(url):
                if process.poll() is not None:
                    pytest.fail(f"the app ended with code {process.returncode}:\n{log()}")
                if time.monotonic() > deadline:
                    pytest.fail(f"the app did not answer within {START_SECONDS} s:\n{log()}")
                time.sleep(0.1)
            yield AppServer(url, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def app_url(app_server: AppServer) -> str:
    return app_server.url


@pytest.fixture
def console_errors() -> list[str]:
    """What the page's console called an error, and exceptions nothing caught; filled by `page`."""
    return []


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    inline = parts.scheme in {"about", "blob", "data"}
    return inline or parts.hostname in {"localhost", "127.0.0.1", "::1"}


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
