"""A Streamlit script served on this machine, and the Chromium that looks at it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Playwright

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
WITHOUT_WINDOW = "chromium-headless-shell"
"""The same engine without what draws windows: a page takes a quarter less processor time."""

START_SECONDS = 180

NAMED = "headscope.test"
"""A name of this machine for `launch` and `serve`; an address that has it seems to be of others."""


NOTES_RECONNECTING = """
const Plain = WebSocket;
window.opened = 0;
window.WebSocket = class extends Plain {
  constructor(...all) {
    super(...all);
    this.addEventListener("open", () => (window.opened += 1));
  }
};
new MutationObserver(() => {
  const runs = document.querySelector("[data-test-script-state=running]");
  window.ranAgain ||= window.opened > 1 && runs !== null;
}).observe(document, {
  attributeFilter: ["data-test-script-state"], childList: true, subtree: true,
});
"""
"""Notes whether a page has been connected anew and has been run since."""


class StartError(RuntimeError):
    """What was to be started did not start; the message says why."""


@dataclass(frozen=True)
class AppServer:
    """The running app: where it is, its process, and what it has logged so far."""

    url: str
    pid: int
    log: Callable[[], str]


def find_chromium() -> str:
    """The path of a Chromium.

    Raises:
        StartError: if there is none.
    """
    for name in (WITHOUT_WINDOW, *BROWSERS):
        if path := shutil.which(name):
            return path
    raise StartError(f"no Chromium found on the PATH (looked for {', '.join(BROWSERS)})")


def launch(playwright: Playwright, chromium_path: str) -> Browser:
    """A Chromium without a window."""
    return playwright.chromium.launch(
        executable_path=chromium_path,
        args=[
            # Chromium refuses to start as root, which is who runs most containers, with one.
            "--no-sandbox",
            "--disable-gpu",
            # The browser's own traffic; what a page asks for is watched by whoever opens it.
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            # No other machine can be reached. Refusing requests one by one, by a route, would turn
            # the browser's cache off and make a page take more than twice its processor time.
            f"--host-resolver-rules=MAP {NAMED} 127.0.0.1, MAP * ~NOTFOUND, "
            "EXCLUDE localhost, EXCLUDE 127.0.0.1",
        ],
    )


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


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    inline = parts.scheme in {"about", "blob", "data"}
    return inline or parts.hostname in {"localhost", "127.0.0.1", "::1", NAMED}


@contextmanager
def serve(
    script: str,
    environment: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
    *,
    path: str = "",
    port: int | None = None,
) -> Iterator[AppServer]:
    """A Streamlit script of this repository, served until the context ends.

    Args:
        script: its path, seen from the root of the repository.
        environment: variables on top of those of this process.
        options: more of Streamlit's own, such as "--server.maxMessageSize=400".
        path: below which it is served, such as "/lecture".
        port: where it listens; None for one that is free.

    Raises:
        StartError: if it ends or does not answer in time; the message holds its log.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}{path}"
    command = [
        *(sys.executable, "-m", "streamlit", "run", script),
        "--server.headless=true",
        "--server.address=127.0.0.1",
        f"--server.port={port}",
        f"--server.baseUrlPath={path}",
        "--server.fileWatcherType=none",
        "--browser.gatherUsageStats=false",
        *options,
    ]
    with tempfile.TemporaryFile() as output:

        def log() -> str:
            # The server writes at the offset it shares with this file, so reading must not move it.
            size = os.fstat(output.fileno()).st_size
            return os.pread(output.fileno(), size, 0).decode(errors="replace")

        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "HEADSCOPE_HOSTS": NAMED, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not is_healthy(url):
                if process.poll() is not None:
                    raise StartError(f"the app ended with code {process.returncode}:\n{log()}")
                if time.monotonic() > deadline:
                    raise StartError(f"the app did not answer within {START_SECONDS} s:\n{log()}")
                time.sleep(0.1)
            yield AppServer(url, process.pid, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
