"""The large scripts of our components, at addresses that name their content."""

import json
import re

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from viz.browser.files import LARGE, code, fetched, joined
from viz.browser.notes_page import NOTES_ADDRESS, PAGE
from viz.save.document import policy_hash
from viz.server.component_code import ComponentCode
from viz.server.server import MIDDLEWARE, headers

ELSEWHERE = "from Streamlit"


def client() -> TestClient:
    return TestClient(ComponentCode(PlainTextResponse(ELSEWHERE)))


def address(script: str) -> str:
    """Where a component's own few lines look for its script."""
    line = fetched(script).partition("\n")[0]
    return json.loads(line.removeprefix("const CODE = ").removesuffix(";"))


@pytest.mark.parametrize("script", LARGE)
def test_a_script_comes_with_its_style_sheet_and_may_be_kept_for_ever(script: str) -> None:
    answer = client().get(f"/{address(script)}")
    assert answer.status_code == 200
    assert answer.text.startswith(joined(script))
    style = answer.text.removeprefix(joined(script)).strip()
    style = style.removeprefix("export const STYLE = ").removesuffix(";")
    assert json.loads(style) == joined(LARGE[script])
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < 0.4 * len(answer.content)
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["vary"] == "Accept-Encoding"


def test_the_notes_are_a_page_whose_script_the_policy_allows() -> None:
    answer = client().get(f"/{NOTES_ADDRESS}")
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.text == PAGE
    scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", PAGE, re.DOTALL)
    assert len(scripts) == 1
    assert policy_hash(scripts[0]) in headers()["Content-Security-Policy"]
    assert not re.search(r"\son\w+=", PAGE), "no policy lets a handler in an attribute run"


@pytest.mark.parametrize("asked", [{"Accept-Encoding": "identity"}, {"Range": "bytes=0-9"}])
def test_who_takes_no_gzip_gets_it_plain(asked: dict[str, str]) -> None:
    name, text = code("steps/steps.js")
    answer = client().get(f"/code/{name}", headers=asked)
    assert "content-encoding" not in answer.headers
    assert answer.text == text
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["", "none.js", "stage.0123456789abcdef.js", "../app.py"])
def test_a_name_that_is_not_known_is_not_there_and_nobody_keeps_that(name: str) -> None:
    answer = client().get(f"/code/{name}".replace("..", "%2e%2e"))
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"


def test_nothing_can_be_sent_to_it() -> None:
    assert client().post(f"/{address('stage/stage.js')}").status_code == 404


@pytest.mark.parametrize("path", ["/", "/codes", "/masks", "/static/js/none.js"])
def test_all_else_is_left_to_streamlit(path: str) -> None:
    assert client().get(path).text == ELSEWHERE


def test_it_is_found_below_a_path_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "get_option", {"server.baseUrlPath": "lecture"}.__getitem__)
    answers = client()
    path = address("matrices/matrices.js")
    assert answers.get(f"/lecture/{path}").text == code("matrices/matrices.js")[1]
    assert answers.get(f"/{path}").text == ELSEWHERE


def test_the_name_changes_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code("steps/steps.js")[0]
    monkeypatch.setitem(LARGE, "steps/steps.js", "stage/stage.css")
    assert code.__wrapped__("steps/steps.js")[0] != before


def test_what_a_message_carries_is_little() -> None:
    assert all(len(fetched(script)) < 2500 for script in LARGE)


def test_the_server_puts_its_headers_on_scripts_too() -> None:
    app = PlainTextResponse(ELSEWHERE)
    for each in reversed(MIDDLEWARE):
        app = each.cls(app, *each.args, **each.kwargs)
    answer = TestClient(app).get(f"/{address('model_view/component.js')}")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "script-src 'self'" in answer.headers["content-security-policy"]
