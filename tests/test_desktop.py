"""The desktop window: opened on a virtual screen, closed, and nothing left behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path

import pytest
from PIL import ImageGrab

from headscope.__main__ import main
from tests.kit.running_app import BROWSERS
from tests.kit.signals import heed_interrupts
from viz.desktop import desktop, window
from viz.service.session import PROCESS_VARIABLE

ROOT = Path(__file__).resolve().parents[1]
NEEDED = {
    "Xvfb": ("Xvfb",),
    "xdotool": ("xdotool",),
    "a Chromium": BROWSERS,
}
START_SECONDS, END_SECONDS = 180, 60

SHADES = 30
"""A painted page has more colours than an empty one."""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="a virtual screen is X11's")


@pytest.fixture(scope="module")
def screen() -> Iterator[str]:
    """The name of a virtual screen that nobody sees."""
    missing = [name for name, found in NEEDED.items() if not any(map(shutil.which, found))]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        if os.environ.get("HEADSCOPE_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    read, write = os.pipe()
    # Xvfb takes the first number that is free, and writes it there once it is ready.
    xvfb = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x1000x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as told:
        number = told.readline().strip()
    yield f":{number}"
    xvfb.terminate()
    xvfb.wait()


@dataclass(frozen=True)
class Started:
    """The app, started as a person starts it.

    Attributes:
        process: the one that was started.
        folder: where it puts what is temporary.
        output: what it wrote to the terminal.
        display: its screen; empty for none.
    """

    process: subprocess.Popen[bytes]
    folder: Path
    output: Path
    display: str

    def family(self) -> list[int]:
        """The processes that belong to it: each has the folder in its environment."""
        mark = f"HEADSCOPE_TEST={self.folder}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            # A process may end while it is looked at; one that has ended has no environment.
            with suppress(OSError):
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
        return sorted(found)

    def server(self) -> int:
        """The process that serves."""
        (server,) = [
            pid
            for pid in self.family()
            if b"--serve" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        ]
        return server

    def port(self) -> int:
        """The port that one of its processes listens on, once it answers."""
        found: list[int] = []

        def answers() -> bool:
            # Asked again: an answer may be late on a busy machine.
            found[:] = [port for port in self._open_ports() if is_served(port)]
            return bool(found)

        wait_until(answers, START_SECONDS, lambda: f"no port: {self.output.read_text()}")
        return found[0]

    def _open_ports(self) -> list[int]:
        inodes = set()
        for pid in self.family():
            with suppress(OSError):
                inodes |= {
                    os.readlink(each).removeprefix("socket:[").removesuffix("]")
                    for each in Path(f"/proc/{pid}/fd").iterdir()
                }
        ports = []
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            host, _, port = fields[1].partition(":")
            if fields[3] == "0A" and fields[9] in inodes and host == "0100007F":
                ports.append(int(port, 16))
        return ports

    def window(self) -> str:
        """Its window, once there is one."""
        found = ""

        def is_there() -> bool:
            nonlocal found
            found = xdotool(self.display, "search", "--name", f"^{window.TITLE}$").split("\n")[0]
            return bool(found)

        wait_until(is_there, START_SECONDS, lambda: f"no window: {self.output.read_text()}")
        return found

    def wait_for_end(self) -> None:
        """Waits until nothing of it is left: no process, no port, no folder."""
        self.process.wait(END_SECONDS)
        wait_until(lambda: not self.family(), END_SECONDS, lambda: f"left: {self.family()}")
        wait_until(
            lambda: not list(self.folder.iterdir()),
            END_SECONDS,
            lambda: f"left: {list(self.folder.iterdir())}",
        )


def wait_until(is_so: Callable[[], bool], seconds: float, said: Callable[[], str]) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, said()
        time.sleep(0.1)


def xdotool(display: str, *arguments: str) -> str:
    done = subprocess.run(
        ["xdotool", *arguments], env=os.environ | {"DISPLAY": display}, capture_output=True
    )
    return done.stdout.decode().strip()


def is_served(port: int) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as response:
            return response.status == 200
    except (OSError, HTTPException):
        return False


def is_open(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts the app in a folder of its own; ends whatever of it is left in the end."""
    started: list[Started] = []

    def start_app(*arguments: str, display: str = "", **environment: str) -> Started:
        # A short name: Chromium puts a socket there, whose path may have 107 characters.
        folder = Path(tempfile.mkdtemp(prefix="desktop-test-"))
        output = tmp_path / "output"
        inherited = {k: v for k, v in os.environ.items() if k not in ("WAYLAND_DISPLAY", "DISPLAY")}
        with output.open("wb") as written:
            process = subprocess.Popen(
                [sys.executable, "-m", "headscope", "desktop", *arguments],
                cwd=tmp_path,
                env=inherited
                | {"TMPDIR": str(folder), "HEADSCOPE_TEST": str(folder)}
                | {"PYTHONPATH": str(ROOT)}
                # One process fewer to wait for, where it is not what a test is about.
                | {PROCESS_VARIABLE: "0"}
                | ({"DISPLAY": display} if display else {})
                | environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                preexec_fn=heed_interrupts,
            )
        started.append(Started(process, folder, output, display))
        return started[-1]

    yield start_app
    for each in started:
        for pid in each.family():
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        each.process.wait()
        shutil.rmtree(each.folder, ignore_errors=True)


def wait_for_words(app: Started) -> str:
    """The sentence that it writes where it has no window, and its address."""
    wait_until(
        lambda: "http" in app.output.read_text() and app.output.read_text().endswith("\n"),
        START_SECONDS,
        lambda: f"said nothing but {app.output.read_text()!r}",
    )
    return app.output.read_text()


@contextmanager
def port_of(app: Started) -> Iterator[int]:
    """The port, which is closed in the end."""
    port = app.port()
    yield port
    assert not is_open(port)


@linux_only
def test_closing_the_window_ends_everything(screen: str, start: Callable[..., Started]) -> None:
    app = start(display=screen, **{PROCESS_VARIABLE: "1"})
    window = app.window()
    with port_of(app):

        def shows_much() -> bool:
            return ImageGrab.grab(xdisplay=screen).convert("RGB").getcolors(SHADES) is None

        wait_until(shows_much, START_SECONDS, lambda: f"at most {SHADES} colours are shown")
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in app.family()]
        assert sum(b"viz.service.worker" in command for command in commands) == 1
        xdotool(screen, "windowfocus", window, "key", "ctrl+w")
        app.wait_for_end()
    assert app.process.returncode == 0
    assert app.output.read_text() == ""


def test_the_server_keeps_talks_among_a_persons_files_or_where_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(desktop.platformdirs, "user_data_path", lambda name, **_: tmp_path / name)
    monkeypatch.delenv(desktop.TALKS, raising=False)
    assert desktop._environment()[desktop.TALKS] == str(tmp_path / window.TITLE / "talks")
    monkeypatch.setenv(desktop.TALKS, "told")
    assert desktop._environment()[desktop.TALKS] == "told"


@linux_only
def test_being_told_to_end_closes_the_window_too(
    screen: str, start: Callable[..., Started]
) -> None:
    app = start("--browser", display=screen)
    app.window()
    with port_of(app):
        app.process.terminate()
        app.wait_for_end()
    assert app.process.returncode == 0
    assert app.output.read_text() == ""


@linux_only
def test_being_killed_leaves_no_orphan(screen: str, start: Callable[..., Started]) -> None:
    app = start("--browser", display=screen)
    app.window()
    with port_of(app):
        app.process.kill()
        app.wait_for_end()


@linux_only
def test_a_server_that_dies_is_told_and_closes_the_window(
    screen: str, start: Callable[..., Started]
) -> None:
    app = start("--browser", display=screen)
    app.window()
    os.kill(app.server(), signal.SIGKILL)
    app.wait_for_end()
    assert app.process.returncode == 1
    assert app.output.read_text().startswith("The server ended: ")
    assert "Traceback" not in app.output.read_text()


@linux_only
def test_without_a_browser_the_address_is_said_and_served(
    screen: str, start: Callable[..., Started]
) -> None:
    app = start("--browser", display=screen, PATH="")
    said = wait_for_words(app)
    assert re.search(r"http://127\.0\.0\.1:\d+ without a desktop window", said)
    assert said.count("\n") == 1
    with port_of(app) as port:
        assert f":{port} " in said
        # The terminal was closed.
        app.process.send_signal(signal.SIGHUP)
        app.wait_for_end()
    assert app.process.returncode == 0
    assert app.output.read_text() == said


@linux_only
def test_without_a_screen_the_address_is_said(
    start: Callable[..., Started], tmp_path: Path
) -> None:
    app = start(XDG_DATA_HOME=str(tmp_path))
    said = wait_for_words(app)
    assert "there is no screen" in said
    talks = f"{desktop.TALKS}={tmp_path / window.TITLE / 'talks'}".encode()
    assert talks in Path(f"/proc/{app.server()}/environ").read_bytes().split(b"\0")
    app.process.send_signal(signal.SIGINT)
    app.wait_for_end()
    assert app.process.returncode == 0


@linux_only
def test_a_browser_that_cannot_open_a_window_is_tried_again_and_passed_over(
    screen: str, start: Callable[..., Started], tmp_path: Path
) -> None:
    broken = tmp_path / "bin" / "chromium"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho tried >> $0.log\nexit 5\n")
    broken.chmod(0o755)
    app = start("--browser", display=screen, PATH=str(broken.parent))
    assert "no Chromium, Chrome, Edge or Brave opens here" in wait_for_words(app)
    assert Path(f"{broken}.log").read_text() == 2 * "tried\n"
    app.process.terminate()
    app.wait_for_end()


@linux_only
def test_a_server_that_cannot_start_says_why_in_a_sentence(
    start: Callable[..., Started],
) -> None:
    app = start(STREAMLIT_SERVER_MAX_UPLOAD_SIZE="x")
    app.wait_for_end()
    said = app.output.read_text()
    assert app.process.returncode == 1, said
    assert said.startswith("The server ended: ")
    assert "'x' is not a valid integer" in said
    assert len(said.strip().split("\n")) == 1


def test_python_app_py_alone_says_how_to_start_in_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "app.py")], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()
    assert "python -m headscope desktop" in line


def test_a_webview_and_a_browser_cannot_both_be_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["desktop", "--webview", "--browser"])
    assert "not allowed with" in capsys.readouterr().err


def installed(home: Path, *places: str) -> None:
    for place in places:
        path = home / place
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)


def test_browsers_are_found_on_the_path_of_linux_in_order(tmp_path: Path) -> None:
    installed(tmp_path, "a/google-chrome", "b/chromium")
    path = os.pathsep.join([str(tmp_path / "a"), str(tmp_path / "b")])
    found = list(window.browsers("linux", {"PATH": path}))
    assert [each.name for each in found] == ["chromium", "google-chrome"]
    assert list(window.browsers("linux", {"PATH": ""})) == []
    assert list(window.browsers("linux", {})) == []


def test_browsers_are_found_among_the_programs_of_windows(tmp_path: Path) -> None:
    installed(
        tmp_path,
        "x86/Microsoft/Edge/Application/msedge.exe",
        "local/Google/Chrome/Application/chrome.exe",
    )
    places = {
        "PROGRAMFILES": str(tmp_path / "none"),
        "PROGRAMFILES(X86)": str(tmp_path / "x86"),
        "LOCALAPPDATA": str(tmp_path / "local"),
    }
    found = list(window.browsers("win32", places))
    assert [each.name for each in found] == ["msedge.exe", "chrome.exe"]
    assert list(window.browsers("win32", {})) == []


def test_browsers_are_found_among_the_applications_of_a_mac(tmp_path: Path) -> None:
    place = "Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"
    installed(tmp_path, place)
    assert tmp_path / place in window.browsers("darwin", {"HOME": str(tmp_path)})


def test_a_browser_is_given_the_address_a_profile_of_its_own_and_nothing_of_the_persons() -> None:
    command = window.browser_command(
        Path("/opt/chrome"), "http://127.0.0.1:1/", Path("/tmp/profile")
    )
    assert command[0] == "/opt/chrome"
    assert "--app=http://127.0.0.1:1/" in command
    assert "--user-data-dir=/tmp/profile" in command
