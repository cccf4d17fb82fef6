"""The server answers to names it knows, and to no others."""

import asyncio
import socket
from typing import Any

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse

from viz.server import hosts, server
from viz.server.hosts import KnownHosts, known_names


def answer(app: KnownHosts, kind: str, *headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
    """What the server sends on a request with these headers."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": kind, "path": "/", "headers": list(headers), "method": "GET"}
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> KnownHosts:
    """In front of something that greets everyone."""
    monkeypatch.setenv(hosts.VARIABLE, "lecture.example.org, *.lab.example.org,")
    return KnownHosts(PlainTextResponse("Welcome"))


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8501", "LOCALHOST.", "127.0.0.1:8501", "192.168.1.20", "[::1]:8501",
        "headscope.localhost", "lecture.example.org", "Lecture.Example.org:443",
        "a.lab.example.org", "a-talk.streamlit.app", "me-headscope.hf.space",
        socket.gethostname(), f"{socket.gethostname()}.local:8501",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_name_of_this_machine_an_address_and_a_name_that_was_given_are_answered(
    app: KnownHosts, kind: str, host: str
) -> None:
    sent = answer(app, kind, (b"host", host.encode()))
    assert b"".join(each.get("body", b"") for each in sent) == b"Welcome"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "lecture.example.org.evil.example", "lab.example.org", "127.0.0.1.evil.io",
        "localhost.evil.example:8501", "xlecture.example.org", "[::1", "@evil.example", ":8501",
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_any_other_name_is_refused_in_a_sentence_that_says_what_admits_it(
    app: KnownHosts, kind: str, host: str
) -> None:
    start, body = answer(app, kind, (b"host", host.encode()))
    assert start["status"] == 403
    assert (b"content-type", b"text/plain; charset=utf-8") in start["headers"]
    assert f"the name {host}. " in body["body"].decode()
    assert "environment variable HEADSCOPE_HOSTS" in body["body"].decode()


def test_a_health_check_without_a_name_is_answered(app: KnownHosts) -> None:
    assert answer(app, "http")[0]["status"] == 200


def test_a_star_admits_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hosts.VARIABLE, "*")
    assert KnownHosts(PlainTextResponse("Welcome")).knows("evil.example")


def test_the_name_in_streamlits_own_settings_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"server.address": None, "browser.serverAddress": "Talk.example.org"}
    monkeypatch.setattr(st, "get_option", options.__getitem__)
    assert "talk.example.org" in known_names()


def test_the_server_asks_for_the_name_before_it_gives_anything_away() -> None:
    order = [each.cls for each in server.MIDDLEWARE]
    assert order[:2] == [server.SecurityHeaders, KnownHosts]
