"""What the picture of the model asks the server: answered to this site alone, within bounds."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message

from model.checkpoints.shipped import CHECKPOINTS
from model.serving.queue import Request
from tests.kit.asking import ABOUT, ELSEWHERE, HEAD, OWN, answered, ask, client, require_refused
from viz.browser.asking import ADDRESS, asks
from viz.links.parameters import MOST_CHARACTERS
from viz.server import asking
from viz.server.asking import MOST_AT_ONCE, MOST_BYTES, Asking
from viz.server.server import MIDDLEWARE
from viz.service import session
from viz.service.answers import QuestionError
from viz.service.model_menu import CHECKPOINTS_VARIABLE

pytestmark = pytest.mark.usefixtures("no_process")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"Origin": "https://example.org"}, 403),
        ({"Origin": "http://testserver.example.org"}, 403),
        ({"Origin": "http://testserver:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://testserver"}, 403),
        ({"Sec-Fetch-Site": "cross-site", **OWN}, 403),
        ({"Sec-Fetch-Site": "same-site", **OWN}, 403),
        ({"Sec-Fetch-Site": "none", **OWN}, 403),
        ({"Origin": "https://testserver"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        # A proxy that gives the server another name for itself.
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://lecture.example.org"}, 200),
    ],
)
def test_only_pages_of_this_site_may_ask(headers: dict[str, str], status: int) -> None:
    answer = ask(HEAD, headers=headers)
    assert answer.status_code == status
    if status != 200:
        require_refused(answer, status)


def test_other_sites_are_not_even_told_that_they_may_not() -> None:
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    require_refused(client().options(f"/{ADDRESS}", headers=asked), 403)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_nothing_is_read_or_changed_there(method: str) -> None:
    answer = client().request(method, f"/{ADDRESS}", headers=OWN)
    assert answer.status_code == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_of_another_site_would_be_none(kind: str) -> None:
    body = json.dumps({**ABOUT, **HEAD})
    answer = client().post(f"/{ADDRESS}", content=body, headers={**OWN, "Content-Type": kind})
    require_refused(answer, 400)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"1", b'"text"', b"\xff\xfe", b"[" * 100_000),
        *(b'{"a":' * 20_000, b'{"layer": 1e', b"9" * 5_000),
    ],
    ids=lambda body: repr(body[:8]),
)
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    headers = {**OWN, "Content-Type": "application/json"}
    require_refused(client().post(f"/{ADDRESS}", content=body, headers=headers), 400)


def test_a_large_body_is_not_read() -> None:
    headers = {**OWN, "Content-Type": "application/json"}
    answer = client().post(f"/{ADDRESS}", content=b" " * (MOST_BYTES + 1), headers=headers)
    require_refused(answer, 413)

    def parts() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 1024

    # Without a length.
    require_refused(client().post(f"/{ADDRESS}", content=parts(), headers=headers), 413)
    claimed = {**headers, "Content-Length": "9" * 400}
    require_refused(client().post(f"/{ADDRESS}", content=b"{}", headers=claimed), 413)


def test_the_longest_texts_fit_in_a_body() -> None:
    text = "\N{GRINNING FACE}" * MOST_CHARACTERS
    written = json.dumps({**ABOUT, **HEAD, "sentence": text, "target": text})
    assert len(written) < MOST_BYTES
    # The model takes fewer, and says so.
    require_refused(ask(HEAD, about={**ABOUT, "sentence": "a " * (MOST_CHARACTERS // 2)}), 400)
    require_refused(ask(HEAD, about={**ABOUT, "sentence": "a" * (MOST_CHARACTERS + 1)}), 400)


@pytest.mark.parametrize("value", [None, 1, True, [], {}, ["a b c"], "\ud800"])
@pytest.mark.parametrize("name", ["sentence", "target"])
def test_texts_have_to_be_texts(name: str, value: Any) -> None:
    sent = json.dumps({**ABOUT, **HEAD, name: value})
    headers = {**OWN, "Content-Type": "application/json"}
    require_refused(client().post(f"/{ADDRESS}", content=sent, headers=headers), 400)


@pytest.mark.parametrize("sentence", ["", " ", "\0", "\N{GRINNING FACE}" * 3])
def test_a_sentence_that_no_page_translates_is_refused_here_too(sentence: str) -> None:
    require_refused(ask(HEAD, about={**ABOUT, "sentence": sentence}), 400)


@pytest.mark.parametrize(
    "name",
    [
        *(None, 1, True, [], {}, "", ".", "..", "/", "none"),
        *("../checkpoints/toy-reverse", "./toy-reverse", "toy-reverse/", "toy-reverse\0"),
        *(str(CHECKPOINTS / "toy-reverse"), "toy-reverse/model.safetensors"),
        # It reads one text, and the picture asks nothing of it.
        "toy-reverse-encoder",
    ],
)
def test_a_model_is_a_name_of_the_menu_and_never_a_path(name: Any) -> None:
    require_refused(ask(HEAD, about={**ABOUT, "model": name}), 404)


@pytest.mark.parametrize(
    ("number", "status"),
    [("0", 400), (True, 400), (1.0, 400), ([], 400), (-1, 404), (10**30, 404), (0, 404)],
)
def test_a_snapshot_is_one_of_the_model(number: Any, status: int) -> None:
    require_refused(ask(HEAD, about={**ABOUT, "snapshot": number}), status)


@pytest.mark.slow
def test_each_snapshot_answers_for_itself() -> None:
    about = asks("en-de-childhood", "He has it.", snapshot=0)
    first, second = (answered(HEAD, {**about, "snapshot": number}) for number in (0, 1))
    assert not np.allclose(first["scores"][:9], second["scores"][:9])


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, 400),
        ({"ask": None}, 400),
        ({"ask": ["head"]}, 400),
        ({"ask": "__class__"}, 400),
        ({**HEAD, "kind": "module"}, 400),
        ({**HEAD, "kind": ["cross"]}, 400),
        ({**HEAD, "kind": None}, 400),
        ({**HEAD, "layer": -1}, 400),
        ({**HEAD, "layer": 0.5}, 400),
        ({**HEAD, "layer": True}, 400),
        ({**HEAD, "layer": "0"}, 400),
        ({**HEAD, "layer": 10**30}, 400),
        ({**HEAD, "layer": 99}, 404),
        ({**HEAD, "head": 99}, 404),
        ({"ask": "added", "stack": "cross", "layer": 0}, 400),
        ({"ask": "added", "stack": {}, "layer": 0}, 400),
        ({"ask": "added", "stack": "encoder", "layer": 99}, 404),
        ({"ask": "added", "stack": "encoder"}, 400),
        ({"ask": "next", "step": 99}, 404),
        ({"ask": "next", "step": -1}, 400),
        ({"ask": "next", "step": float("nan")}, 400),
        ({"ask": "instead", "step": 0, "id": 999_999}, 400),
        ({"ask": "instead", "step": 0, "id": 0}, 400),
        ({"ask": "instead", "step": 99, "id": 5}, 404),
        ({"ask": "instead", "step": 0}, 400),
        ({"ask": "without"}, 400),
        ({"ask": "without", "heads": []}, 400),
        ({"ask": "without", "heads": {}}, 400),
        ({"ask": "without", "heads": [[]]}, 400),
        ({"ask": "without", "heads": ["cross.0.0"]}, 400),
        ({"ask": "without", "heads": [["cross", 0, 0, 0]]}, 400),
        ({"ask": "without", "heads": [["cross", 0, None]]}, 400),
        ({"ask": "without", "heads": [["cross", 0, 0]] * 257}, 400),
        ({"ask": "without", "heads": [["cross", 0, 0], ["cross", 0, 99]]}, 404),
    ],
    ids=str,
)
def test_a_question_that_is_none_or_about_nothing_is_refused(asked: Any, status: int) -> None:
    body = json.dumps({**ABOUT, **asked})
    headers = {**OWN, "Content-Type": "application/json"}
    require_refused(client().post(f"/{ADDRESS}", content=body, headers=headers), status)


def test_a_damaged_model_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "en-de").mkdir()
    (tmp_path / "en-de" / "config.json").write_text("{")
    monkeypatch.setenv(CHECKPOINTS_VARIABLE, str(tmp_path))
    answer = ask(HEAD, about={**ABOUT, "model": "en-de"})
    require_refused(answer, 503)
    # The page says it to whoever may know where the files are.
    assert tmp_path.name not in answer.text


def test_no_error_shows_what_the_server_is_made_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(asking, "answer", fails)
    answer = ask(HEAD)
    require_refused(answer, 503)
    assert "secret" not in answer.text
    assert "ZeroDivisionError" in caplog.text


def test_too_many_questions_at_once_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go, came = threading.Event(), threading.Semaphore(0)

    def waits(*_: object) -> None:
        came.release()
        assert let_go.wait(60)
        raise QuestionError("Done.")

    monkeypatch.setattr(asking, "answer", waits)

    async def crowd() -> list[int]:
        app = Asking(PlainTextResponse(ELSEWHERE))
        waiting = [asyncio.ensure_future(status_of(app)) for _ in range(MOST_AT_ONCE)]
        for _ in waiting:
            await asyncio.to_thread(came.acquire)
        turned_away = await status_of(app)
        let_go.set()
        statuses = await asyncio.gather(*waiting)
        # And then there is room again.
        return [turned_away, *statuses, await status_of(app)]

    assert asyncio.run(crowd()) == [503, *[400] * (MOST_AT_ONCE + 1)]


async def status_of(app: Asking, *, leaves: asyncio.Event | None = None) -> int:
    """The status of an answer; 0 where the visitor has left before it came."""
    body = json.dumps({**ABOUT, **HEAD}).encode()
    sent = [{"type": "http.request", "body": body, "more_body": False}]
    statuses: list[int] = []

    async def receive() -> Message:
        if sent:
            return sent.pop()
        await (leaves or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [
        *((b"host", b"testserver"), (b"origin", b"http://testserver")),
        (b"content-type", b"application/json"),
    ]
    scope = {"type": "http", "method": "POST", "path": f"/{ADDRESS}", "headers": headers}
    await app(scope, receive, send)
    return statuses[0] if statuses else 0


def test_who_leaves_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    came, gave_up = threading.Event(), threading.Event()

    def waits(*_: object) -> None:
        visitor = session.VISITOR.get()
        assert visitor is not None
        came.set()
        try:
            visitor.wait(Request("never answered"))
        except session.LeftError:
            gave_up.set()
            raise

    monkeypatch.setattr(asking, "answer", waits)

    async def leave() -> int:
        leaves = asyncio.Event()
        asked = asyncio.ensure_future(
            status_of(Asking(PlainTextResponse(ELSEWHERE)), leaves=leaves)
        )
        assert await asyncio.to_thread(came.wait, 60)
        leaves.set()
        return await asked

    assert asyncio.run(leave()) == 0
    assert gave_up.wait(60)


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "MOST_SECONDS", 0.0)
    visitor, never = session.Visitor(), Request("never answered")
    monkeypatch.setattr(asking, "answer", lambda *_: visitor.wait(never))
    require_refused(ask(HEAD), 503)


@pytest.mark.parametrize(
    "path", ["/", f"/{ADDRESS}s", f"/{ADDRESS}/", "/masks", f"/lecture/{ADDRESS}"]
)
def test_all_else_is_left_to_streamlit(path: str) -> None:
    assert client().get(path).text == ELSEWHERE


def test_it_is_found_below_a_path_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": "lecture"}.__getitem__)
    answers = client()
    body = {**ABOUT, **HEAD}
    assert answers.post(f"/lecture/{ADDRESS}", json=body, headers=OWN).status_code == 200
    assert answers.post(f"/{ADDRESS}", json=body, headers=OWN).text == ELSEWHERE


def test_the_server_refuses_strange_hosts_and_puts_its_headers_on_answers() -> None:
    app = PlainTextResponse(ELSEWHERE)
    for each in reversed(MIDDLEWARE):
        app = each.cls(app, *each.args, **each.kwargs)
    body = {**ABOUT, **HEAD}
    local = {"Host": "localhost", "Origin": "http://localhost"}
    answer = TestClient(app).post(f"/{ADDRESS}", json=body, headers=local)
    assert answer.status_code == 200
    assert answer.headers["x-content-type-options"] == "nosniff"
    strange = {"Host": "example.org", "Origin": "http://example.org"}
    assert TestClient(app).post(f"/{ADDRESS}", json=body, headers=strange).status_code == 403


def test_the_page_says_where_to_ask_and_about_what() -> None:
    said = asks("toy-reverse", "a b c", target="c b a")
    assert said["url"] == ADDRESS
    assert answered(HEAD, said)["d"] > 0
