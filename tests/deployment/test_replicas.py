"""Two replicas behind the proxies whose files are in deploy/, below a path; one is killed."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.deployment.conftest import PATH
from tests.kit.heads_page import HeadsPage
from tests.kit.running_app import (
    NOTES_RECONNECTING,
    ROOT,
    AppServer,
    free_port,
    is_healthy,
)

VIEW = {"sentence": "The dog sleeps.", "attention": "encoder", "layer": "1", "head": "3"}
ESTABLISHED = "01"


def port_of(server: AppServer) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


def connections(server: AppServer) -> int:
    """How many are open to a server's port; each page holds one for its WebSocket."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    places = [line.split()[1:4] for line in lines]
    port = f":{port_of(server):04X}"
    return sum(local.endswith(port) and state == ESTABLISHED for local, _, state in places)


@contextmanager
def proxy(name: str, replicas: list[AppServer], folder: Path) -> Iterator[str]:
    """The address behind which the replicas are."""
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} on this machine")
    port = free_port()
    one, two = (f"127.0.0.1:{port_of(server)}" for server in replicas)
    environment = {"LISTEN": f"127.0.0.1:{port}", "REPLICA_1": one, "REPLICA_2": two}
    if name == "nginx":
        text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
        for written, used in (
            ("127.0.0.1:8501", one),
            ("127.0.0.1:8502", two),
            ("listen 8080", f"listen 127.0.0.1:{port}"),
        ):
            assert text.count(written) == 1
            text = text.replace(written, used)
        (folder / "nginx.conf").write_text(text, encoding="utf-8")
        command = ["nginx", "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"]
    else:
        command = ["haproxy", "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")]
    environment = os.environ | environment | {"BASE_PATH": PATH}
    started = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}{PATH}"
        deadline = time.monotonic() + 60
        while not is_healthy(address):
            assert started.poll() is None, f"{name} ended with {started.returncode}"
            assert time.monotonic() < deadline, f"nothing answers behind {name}"
            time.sleep(0.1)
        yield address
    finally:
        started.terminate()
        started.wait(timeout=20)


def open_page(browser: Browser, address: str) -> HeadsPage:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(120_000)
    context.add_init_script(NOTES_RECONNECTING)
    # All of them are sent to one replica, whichever it is.
    context.add_cookies([{"name": "replica", "value": "one", "url": address}])
    return HeadsPage(context.new_page(), address).open(**VIEW)


@pytest.mark.parametrize("name", ["haproxy", "nginx"])
def test_who_sat_at_a_killed_replica_comes_back_to_the_same_view(
    browser: Browser, replicas: list[AppServer], tmp_path: Path, name: str
) -> None:
    with proxy(name, replicas, tmp_path) as address:
        readers = [open_page(browser, address) for _ in range(3)]
        killed = max(replicas, key=connections)
        os.kill(killed.pid, signal.SIGKILL)
        for reader in readers:
            reader.page.wait_for_function("() => window.ranAgain")
            reader.settle()
            reader.wait_for_painted(attention="encoder", layer=1, head=3)
            assert reader.query == VIEW
            # Somebody answers, and from this view.
            reader.ask("The man eats.")
            assert "Der Mann isst." in reader.page.get_by_test_id("stMain").inner_text()
            assert reader.selected == ("encoder", 1, 3)
            reader.page.context.close()
