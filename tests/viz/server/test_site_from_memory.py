"""The site in the app's own server: files for phones, which then work alone."""

import gzip
import itertools
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from model.checkpoints.shipped import CHECKPOINTS, CheckpointError
from viz.server import site_from_memory
from viz.server.server import MIDDLEWARE, SecurityHeaders
from viz.server.site_from_memory import MISSING, Hall
from viz.server.static_files import FRESH
from viz.shell import shown_views, speaker_view
from viz.shell.shown_views import Speaker

ELSEWHERE = "from Streamlit"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    patched = pytest.MonkeyPatch()
    toy = {"toy-reverse": CHECKPOINTS / "toy-reverse"}
    patched.setattr(site_from_memory, "checkpoints", lambda: toy)
    yield TestClient(SecurityHeaders(Hall(PlainTextResponse(ELSEWHERE))))
    patched.undo()


def test_a_page_leads_to_files_that_may_be_kept_for_ever(client: TestClient) -> None:
    page = client.get("/site/heads/?sentence=a+b")
    assert page.status_code == 200
    assert page.headers["cache-control"] == FRESH
    known = json.loads(re.findall(r'id="site">(.*?)</script>', page.text)[0])
    (model,) = known["models"]
    card = client.get(f"/site/{model['card']}")
    files = card.json()["files"]
    for path in (*known["code"].values(), *itertools.chain(*files.values())):
        answer = client.get(f"/site/{path}")
        assert answer.status_code == 200, path
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-encoding"] == "gzip", path
    weights = b"".join(client.get(f"/site/{path}").content for path in files["weights"])
    assert weights == (CHECKPOINTS / "toy-reverse" / "model.safetensors").read_bytes()


def test_the_site_and_the_app_may_run_webassembly_and_no_script_from_a_string(
    client: TestClient,
) -> None:
    site, app = client.get("/site/"), client.get("/heads")
    assert app.text == ELSEWHERE
    policies = [each.headers["content-security-policy"] for each in (site, app)]
    assert all("'wasm-unsafe-eval'" in policy for policy in policies)
    assert all("'unsafe-eval'" not in policy for policy in policies)
    assert all("unsafe-inline" not in policy for policy in policies[:1])
    assert all("frame-ancestors" in policy for policy in policies)


@pytest.mark.parametrize("path", ["/site", "/site/heads"])
def test_an_address_without_its_slash_keeps_its_query(client: TestClient, path: str) -> None:
    answer = client.get(f"{path}?sentence=a+b", follow_redirects=False)
    assert answer.headers["location"] == f"{path}/?sentence=a+b"


@pytest.mark.parametrize("path", ["/site/none/", "/site/code/site.0.js", "/site/../app.py"])
def test_what_is_not_there_is_said_to_be_absent(client: TestClient, path: str) -> None:
    assert client.get(path.replace("..", "%2e%2e")).status_code == 404


def show(code: str, view: bytes, mark: str, name: str = "", whole: bytes = b"") -> None:
    shown = Speaker(view, mark, "", name, whole)
    shown_views.VIEWS.put(code, shown, next(shown_views.VIEWS.numbers))


def test_a_speaker_is_followed_by_a_code_and_the_oldest_make_room(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_views, "MOST_SPEAKERS", 2)
    codes = [f"{number:016x}" for number in range(3)]
    for code in codes:
        show(code, b'{"page": "heads"}', "a")
    gone, *kept = (client.get(f"/site/speaker/{code}.json") for code in codes)
    assert gone.status_code == 404
    assert [each.json() for each in kept] == [{"page": "heads"}] * 2
    assert {each.headers["cache-control"] for each in kept} == {"no-store"}


def test_a_phone_hears_of_a_view_once_it_is_another(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/site/speaker/{1:016x}.json"
    show(f"{1:016x}", b"{}", "a")
    monkeypatch.setattr(speaker_view, "WAIT_SECONDS", 0)
    assert client.get(path).status_code == 200
    assert client.get(f"{path}?seen=b").status_code == 200
    assert client.get(f"{path}?seen=a").status_code == 204
    monkeypatch.setattr(speaker_view, "WAIT_SECONDS", 600)
    with ThreadPoolExecutor() as phones:
        waiting = [phones.submit(client.get, f"{path}?seen=a") for _ in range(3)]
        while len(shown_views.VIEWS._waiting) < 3:
            time.sleep(0.01)
        # The same view once more, as after each run of the speaker's page, wakes none.
        show(f"{1:016x}", b"{}", "a")
        assert len(shown_views.VIEWS._waiting) == 3
        show(f"{1:016x}", b'{"page": "about"}', "b")
        assert [each.result().json() for each in waiting] == [{"page": "about"}] * 3
    with ThreadPoolExecutor() as phones:
        phone = phones.submit(client.get, f"{path}?seen=b")
        while len(shown_views.VIEWS._waiting) < 1:
            time.sleep(0.01)
        shown_views.VIEWS.drop(f"{1:016x}")
        assert phone.result().status_code == 404


def test_a_view_that_took_longer_does_not_replace_a_later_one(client: TestClient) -> None:
    code = f"{2:016x}"
    first, second = next(shown_views.VIEWS.numbers), next(shown_views.VIEWS.numbers)
    shown_views.VIEWS.put(code, Speaker(b'{"page": "about"}', "b", ""), second)
    shown_views.VIEWS.put(code, Speaker(b'{"page": "heads"}', "a", ""), first)
    assert client.get(f"/site/speaker/{code}.json").json() == {"page": "about"}


def test_answers_that_come_late_do_not_bring_back_who_is_no_longer_followed(
    client: TestClient,
) -> None:
    code, number = f"{5:016x}", next(shown_views.VIEWS.numbers)
    show(code, b"{}", "a")
    late = next(shown_views.VIEWS.numbers)
    shown_views.VIEWS.drop(code)
    for each in (number, late):
        shown_views.VIEWS.put(code, Speaker(b"{}", "b", ""), each)
    assert client.get(f"/site/speaker/{code}.json").status_code == 404


def test_answers_are_those_of_the_view(client: TestClient) -> None:
    code, name = f"{3:016x}", f"{4:016x}"
    path = f"/site/speaker/{code}.json?found="
    show(code, b"{}", "a", name, gzip.compress(b'{"answers": "eJw="}'))
    assert client.get(path).json() == {"answers": "eJw="}
    assert client.get(f"{path}{5:016x}").json() == {"answers": "eJw="}
    assert client.get(f"{path}{name}").json() == {}
    show(code, b"{}", "b")
    assert client.get(path).json() == {}


def test_nothing_can_be_sent_to_it(client: TestClient) -> None:
    assert client.post("/site/").status_code == 404


def test_without_a_model_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> dict[str, Path]:
        raise CheckpointError("none")

    monkeypatch.setattr(site_from_memory, "checkpoints", none)
    answer = TestClient(Hall(PlainTextResponse(ELSEWHERE))).get("/site/")
    assert (answer.status_code, answer.text) == (404, MISSING)


def test_the_server_has_it() -> None:
    assert Hall in [each.cls for each in MIDDLEWARE]
