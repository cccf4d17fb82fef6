"""The app in a desktop window: `python -m headscope desktop`, or `make desktop`.

Three processes: this one, the server, and the window, which is a webview where the system has one,
and otherwise a Chromium without an address bar. When the window closes, the server ends. The server
holds the other end of a pipe: if this process is killed, it ends too and takes the window along.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import platformdirs

from viz import ROOT
from viz.desktop.window import TITLE, browser_command, browsers, view

APP = ROOT / "app.py"

ADDRESS = "127.0.0.1"

TALKS = "HEADSCOPE_TALKS"
"""The environment variable that names a folder in which the app keeps talks as files."""

START_SECONDS = 180
"""A server that takes longer to answer will not answer at all."""

OPEN_SECONDS = 15
"""A window that fails this soon never opened; the next kind is tried."""

STOP_SECONDS = 5
"""The time for a process to end by itself before it is killed."""


class ServerError(RuntimeError):
    """The server did not start, or ended too early; the message says why in a sentence."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the window's processes, as `python app.py` does.

    Args:
        arguments: of the command line; None means those of this process.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python app.py", add_help=False)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--view", metavar="URL")
    options = parser.parse_args(arguments)
    if options.serve:
        serve()
    if options.view:
        return view(options.view)
    print(
        "Start the app in the browser with `python -m headscope`, or in a desktop window with "
        "`python -m headscope desktop`.",
        file=sys.stderr,
    )
    return 2


def run(*, webview: bool, browser: bool) -> None:
    """Serve the app and open a window on it, until the window closes or a signal comes.

    Raises:
        ServerError: if the server does not start, or ends while the window is open.
    """
    with (
        signals_raise(),
        contextlib.suppress(KeyboardInterrupt),
        Server(_environment()) as server,
        _folder() as folder,
    ):
        reason = _no_screen()
        commands = [] if reason else list(_windows(server.url, folder, webview, browser))
        for command in commands:
            if _open(command, folder, server):
                return
        if not reason:
            wanted = {(True, False): "webview", (False, True): "Chromium, Chrome, Edge or Brave"}
            missing = wanted.get((webview, browser), "webview, Chromium, Chrome, Edge or Brave")
            reason = f"no {missing} opens here"
        print(
            f"{TITLE} runs at {server.url} without a desktop window, because {reason}; open the "
            "address in a browser, and press Ctrl+C here to end it.",
            flush=True,
        )
        server.wait()


# ---- the server ---------------------------------------------------------------------------------


class Server:
    """The app's server as a child process, on a free port that only this machine reaches.

    Raises:
        ServerError: on entering, if it does not start.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def __enter__(self) -> Server:
        # Streamlit's output matters only if it fails.
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, str(APP), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=self._environment,
        )
        try:
            self.url = f"http://{ADDRESS}:{self._port()}"
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        _end(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            # Writing to a process that is gone raises.
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()

    def _port(self) -> int:
        """Its port, once it answers there."""
        assert self._process.stdout is not None
        too_late = threading.Timer(START_SECONDS, self._process.kill)
        too_late.start()
        try:
            port = self._process.stdout.readline().strip()
            while port.isdigit() and self._process.poll() is None:
                if _is_healthy(f"http://{ADDRESS}:{int(port)}"):
                    return int(port)
                time.sleep(0.05)
        finally:
            is_late = not too_late.is_alive()
            too_late.cancel()
        if is_late:
            raise ServerError(f"The server did not answer within {START_SECONDS} seconds.")
        raise ServerError(self.last_words())

    def last_words(self) -> str:
        """Why it ended, as far as its output tells."""
        self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").split("\n")
        last_line = next((line.strip() for line in reversed(lines) if line.strip()), "")
        last_line = last_line.removeprefix("Error: ")
        return f"The server ended: {last_line or f'it gave code {self._process.returncode}'}"

    def is_running(self) -> bool:
        """Whether it is still running."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait for a signal to end it; raises ServerError if it ends by itself."""
        while self.is_running():
            time.sleep(0.2)
        raise ServerError(self.last_words())

    def guard(self, window: int, folder: str) -> None:
        """Have it end that process and remove that folder if this process is killed."""
        assert self._process.stdin is not None
        guarded = json.dumps({"window": window, "folder": folder})
        with contextlib.suppress(OSError):
            self._process.stdin.write(f"{guarded}\n".encode())
            self._process.stdin.flush()


def _environment() -> dict[str, str]:
    """The variables plus a folder for talks, because the window's browser storage is temporary."""
    talks = platformdirs.user_data_path(TITLE, appauthor=False) / "talks"
    return {TALKS: str(talks), **os.environ}


def serve() -> NoReturn:
    """Run the server: print its port, and end when the other end of stdin is closed."""
    from streamlit.web import cli

    port_line, sys.stdout = sys.stdout, sys.stderr
    threading.Thread(target=_tell_port, args=(port_line,), daemon=True).start()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    command = [
        *("run", str(APP)),
        "--server.headless=true",
        f"--server.address={ADDRESS}",
        # Any free port; nobody can take it between choosing and binding.
        "--server.port=0",
        "--browser.gatherUsageStats=false",
    ]
    sys.exit(cli.main(command))


def _tell_port(port_line: TextIO) -> None:
    from streamlit import config, runtime

    # Only then do the settings include those of the command line.
    while not (runtime.exists() and config.get_option("server.port")):
        time.sleep(0.02)
    print(config.get_option("server.port"), file=port_line, flush=True)


def _end_with_parent() -> None:
    """Wait until the other end of stdin is closed, then end the window and this process."""
    guarded = b""
    # Not sys.stdin, whose lock would still be held while the interpreter shuts down.
    while chunk := os.read(0, 4096):
        guarded += chunk
    if windows := guarded.decode().splitlines():
        last = json.loads(windows[-1])
        with contextlib.suppress(OSError):
            os.kill(last["window"], signal.SIGTERM)
        _remove(last["folder"])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_SECONDS)
    os._exit(1)


def _is_healthy(url: str) -> bool:
    # A proxy from the environment could not reach it.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, HTTPException):
        return False


# ---- the window ---------------------------------------------------------------------------------


def _windows(url: str, folder: str, webview: bool, browser: bool) -> Iterator[list[str]]:
    """The commands that may open a window, in the order in which they are tried."""
    if webview:
        yield [sys.executable, str(APP), "--view", url]
    if browser:
        # On a busy machine, a browser gives up if its processes start too slowly; on a second try
        # they are in memory.
        for path in 2 * list(browsers(sys.platform, os.environ)):
            yield browser_command(path, url, Path(folder, "profile"))


def _open(command: Sequence[str], folder: str, server: Server) -> bool:
    """Open a window and wait until it is closed; False if it did not open."""
    opened = time.monotonic()
    nothing = subprocess.DEVNULL
    try:
        window = subprocess.Popen(
            command,
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            # Removing the folder also removes the browser's leftovers.
            env={**os.environ, "TMPDIR": folder},
        )
    except OSError:
        return False
    try:
        server.guard(window.pid, folder)
        while window.poll() is None:
            if not server.is_running():
                raise ServerError(server.last_words())
            # Not window.wait(), which ignores Ctrl+C on Windows.
            time.sleep(0.1)
    finally:
        _end(window)
    has_failed = window.returncode != 0 and time.monotonic() - opened < OPEN_SECONDS
    return not has_failed or -window.returncode in (signal.SIGTERM, signal.SIGINT)


def _no_screen() -> str:
    """Why no window can open; empty if one can."""
    if sys.platform == "linux" and not {"DISPLAY", "WAYLAND_DISPLAY"} & {
        name for name, value in os.environ.items() if value
    }:
        return "there is no screen (neither DISPLAY nor WAYLAND_DISPLAY is set)"
    return ""


# ---- ending -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder for a window's data, removed when the window closes."""
    folder = tempfile.mkdtemp(prefix="headscope-")
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(folder: str) -> None:
    """Remove a folder to which ending processes may still write."""
    deadline = time.monotonic() + STOP_SECONDS
    absent = 0
    while absent < 3 and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        absent = 0 if Path(folder).exists() else absent + 1
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process; kill it if it takes too long."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def signals_raise() -> Iterator[None]:
    """Treat a termination signal or a lost terminal as Ctrl+C, so that child processes end too."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), interrupt) for name in names}
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)
