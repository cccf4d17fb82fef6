"""Questions of the model's picture, asked without a browser."""

from typing import Any

from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from tests.kit.trace_payload import Decoded
from viz.browser.asking import ADDRESS
from viz.server.asking import Asking

ELSEWHERE = "from Streamlit"
OWN = {"Origin": "http://testserver"}
HEAD = {"ask": "head", "kind": "cross", "layer": 0, "head": 0}
ABOUT = {"model": "toy-reverse", "sentence": "a b c"}
QUESTIONS: tuple[dict[str, Any], ...] = (
    HEAD,
    {"ask": "added", "stack": "decoder", "layer": 0},
    {"ask": "next", "step": 0},
    {"ask": "instead", "step": 1, "id": 5},
    {"ask": "without", "heads": [["cross", 0, 0]]},
)


def client() -> TestClient:
    return TestClient(Asking(PlainTextResponse(ELSEWHERE)))


def ask(asked: Any, *, headers: dict[str, str] = OWN, about: Any = ABOUT) -> Any:
    return client().post(f"/{ADDRESS}", json={**about, **asked}, headers=headers)


def answered(asked: Any, about: Any = ABOUT) -> dict[str, Any]:
    answer = ask(asked, about=about)
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return Decoded(answer.content).header


def require_refused(answer: Any, status: int) -> None:
    """That it says in one sentence why there is no answer."""
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["error"]
    sentence = answer.json()["error"]
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    assert answer.headers["cache-control"] == "no-store"
    assert not any(name.startswith("access-control") for name in answer.headers)
