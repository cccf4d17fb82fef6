"""The server around the app: loaded before it opens, and careful in what it lets a page do."""

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.request import HTTPErrorProcessor, ProxyHandler, build_opener

import pytest
from streamlit import config

from tests.kit.person import person
from tests.kit.running_app import AppServer, serve
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from viz.server import server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    write_tiny_checkpoint(folder / "en-de")
    return folder


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[AppServer]:
    with serve("app.py", {"HEADSCOPE_CHECKPOINTS": str(folder)}) as server:
        yield server


def test_the_model_is_loaded_before_anybody_comes(running: AppServer, folder: Path) -> None:
    weights = folder / "en-de" / "model.safetensors"
    before = weights.stat()
    # Whoever loads them from now on finds them damaged, though nothing tells that they changed.
    with weights.open("r+b") as file:
        file.write(bytes(8))
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))

    async def come() -> None:
        async with person(running.url) as visitor:
            await visitor.open()

    asyncio.run(come())
    assert "Traceback" not in running.log()


def test_what_the_server_says_is_compressed(running: AppServer) -> None:
    async def come() -> list[str]:
        async with person(running.url) as visitor:
            return [extension.name for extension in visitor.socket.protocol.extensions]

    assert asyncio.run(come()) == ["permessage-deflate"]


def test_it_says_where_it_is_once_it_is_ready(running: AppServer) -> None:
    port = running.url.rpartition(":")[2]
    assert re.findall(r"Headscope is ready: (\S+)", running.log()) == [f"http://127.0.0.1:{port}"]


@pytest.mark.parametrize("path", ["", "masks", "_stcore/health", "static/none.js", "code/none.js"])
def test_every_answer_says_what_a_browser_has_to_refuse(running: AppServer, path: str) -> None:
    direct = build_opener(ProxyHandler({}), _TakeErrors)
    with direct.open(f"{running.url}/{path}", timeout=30) as answer:
        headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'self'"
    assert policy["object-src"] == "'none'"
    # Neither written into the page nor made of text.
    assert not {"'unsafe-inline'", "'unsafe-eval'"} & set(policy["script-src"].split())
    assert not any("*" in policy[each].split() for each in policy)
    assert policy["frame-ancestors"].startswith("'self' ")


class _TakeErrors(HTTPErrorProcessor):
    """Gives answers that say that there is nothing, as any other."""

    def http_response(self, request: object, response: object) -> object:
        return response


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("localhost", ["http://localhost:8600"]),
        ("0.0.0.0", ["http://localhost:8600", "http://10.1.2.3:8600"]),
    ],
)
def test_addresses_that_are_announced(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str,
    said: list[str],
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server.net_util, "get_internal_ip", lambda: "10.1.2.3")
    options = {"server.address": address, "server.port": 8600, "server.headless": False}
    before = {name: config.get_option(name) for name in options}
    for name, value in options.items():
        config.set_option(name, value)
    try:
        server.announce()
        assert re.findall(r"http\S+", capsys.readouterr().out) == said
        assert opened == said[:1]
        config.set_option("server.headless", True)
        server.announce()
        assert opened == said[:1], "no display, no browser"
    finally:
        for name, value in before.items():
            config.set_option(name, value)


def test_garbage_is_not_collected_after_every_run() -> None:
    assert config.get_option("runner.postScriptGC") is False
