"""Streamlit's own code from memory: the same as from the disk, in fewer bytes."""

from pathlib import Path

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from viz.server.static_files import FOLDER, StaticFiles

ELSEWHERE = "from Streamlit"


def client() -> TestClient:
    return TestClient(StaticFiles(PlainTextResponse(ELSEWHERE)))


def largest(suffix: str) -> Path:
    return max(FOLDER.rglob(f"*.{suffix}"), key=lambda path: path.stat().st_size)


def address(path: Path) -> str:
    return f"/static/{path.relative_to(FOLDER).as_posix()}"


@pytest.mark.parametrize(("suffix", "kind"), [("js", "javascript"), ("css", "css")])
def test_code_comes_whole_and_in_a_third_of_its_bytes(suffix: str, kind: str) -> None:
    path = largest(suffix)
    answers = client()
    for _ in range(2):
        answer = answers.get(address(path))
        assert answer.content == path.read_bytes()
        assert kind in answer.headers["content-type"]
        assert answer.headers["content-encoding"] == "gzip"
        assert int(answer.headers["content-length"]) < 0.4 * path.stat().st_size
        assert "immutable" in answer.headers["cache-control"]


def test_what_is_compressed_already_is_sent_as_it_is() -> None:
    path = largest("woff2")
    answer = client().get(address(path))
    assert answer.content == path.read_bytes()
    assert int(answer.headers["content-length"]) <= path.stat().st_size


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/static/", {}),
        ("/static/../index.html", {}),
        ("/static/js/no-such-file.js", {}),
        (address(largest("js")), {"Accept-Encoding": "identity"}),
        (address(largest("js")), {"Range": "bytes=0-9"}),
    ],
)
def test_all_else_is_left_to_streamlit(path: str, headers: dict[str, str]) -> None:
    assert client().get(path, headers=headers).text == ELSEWHERE


def test_it_is_found_below_a_path_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    path = largest("css")
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": "lecture"}.__getitem__)
    answers = client()
    assert answers.get(f"/lecture{address(path)}").content == path.read_bytes()
    assert answers.get(address(path)).text == ELSEWHERE
