"""Addresses from when the heads were the first page."""

from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from viz.heads.view import VIEW as HEADS
from viz.registry.pages import HOME, VIEWS
from viz.server.old_addresses import OldAddresses
from viz.server.server import MIDDLEWARE


def client() -> TestClient:
    return TestClient(OldAddresses(PlainTextResponse("from Streamlit")), follow_redirects=False)


@pytest.mark.parametrize("name", [each.name for each in HEADS.parameters])
def test_an_address_that_asks_the_first_page_for_a_head_leads_to_it_whole(name: str) -> None:
    query = {"sentence": "Wer räumt ä & ö?", name: "3.5", "checkpoint": "en-de"}
    answer = client().get("/", params=query)
    assert answer.status_code == 307
    led = urlsplit(answer.headers["location"])
    assert led.path == "/heads"
    assert parse_qs(led.query) == {name: [value] for name, value in query.items()}


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/?sentence=Hello.", "/?moment=3&play=1", "/effects?layer=1"),
        *("/?sentence=layer%3D1", "/decoding?section=beams", "/compare?section=compare"),
        "/nothing?section=compare",
    ],
)
def test_any_other_address_stays(address: str) -> None:
    assert client().get(address).text == "from Streamlit"


def test_two_searches_of_the_decoding_page_are_compared_on_their_own_page() -> None:
    asked = {"sentence": "A & b?", "against": "search-2-60-100-0-100-1-4", "present": "1"}
    dropped = {"section": "compare", "at": "3"}
    answer = client().get("/decoding", params=asked | dropped)
    led = urlsplit(answer.headers["location"])
    assert led.path == "/compare"
    kept = {name: [value] for name, value in asked.items()}
    assert parse_qs(led.query) == kept | {"versus": ["search"]}


@pytest.mark.parametrize("name", ["model", "door"])
@pytest.mark.parametrize("query", ["", "?sentence=Hello.&moment=3"])
def test_the_first_page_answers_to_its_names(name: str, query: str) -> None:
    assert client().get(f"/{name}{query}").headers["location"] == f"/{query}"


@pytest.mark.parametrize("title", [each.title for each in VIEWS.values()])
def test_every_page_answers_to_its_name_in_the_menu(title: str) -> None:
    for asked in (title, title.lower()):
        answer = client().get(f"/{asked}?sentence=Hello.")
        led = urlsplit(answer.headers.get("location", f"/{asked}"))
        (page,) = [view for view in VIEWS.values() if view.title == title]
        assert led.path == ("/" if page.name == HOME else f"/{page.name}")


def test_below_a_path_the_heads_are_below_it_too() -> None:
    usual = st.get_option("server.baseUrlPath")
    st.config.set_option("server.baseUrlPath", "lecture")
    try:
        answer = client().get("/lecture/?layer=1")
    finally:
        st.config.set_option("server.baseUrlPath", usual)
    assert answer.headers["location"] == "/lecture/heads?layer=1"


def test_the_server_has_it() -> None:
    assert "OldAddresses" in [each.cls.__name__ for each in MIDDLEWARE]
