"""A question to the hall from the stage: what is offered, and what phones are told of it."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.explain.reading import read
from model.translate.translator import Translator
from tests.kit.apptest import OpenApp, component, go_to, tell_state
from tests.kit.tiny_checkpoint import PAIRS
from viz.shell import hall, shown_views, speaker_view
from viz.shell.polls import POLLS

SENTENCE = PAIRS[0][0]
HALL = hall.HALL


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers for phones come with the run, and not beside it."""
    monkeypatch.setattr(speaker_view._ANSWERING, "submit", lambda act, *given: act(*given))


def on_stage(open_app: OpenApp, page: str = "heads", **query: str) -> AppTest:
    """A page on stage that phones follow."""
    app = open_app(sentence=SENTENCE, **query)
    app.session_state["share-secret.kept"] = "0" * 32
    app.query_params["present"] = "1"
    return go_to(app, page).run()


def code(app: AppTest) -> str:
    return speaker_view._code_of(app.session_state["share-secret.kept"])


def offered(app: AppTest) -> dict[str, Any]:
    """What the browser is told."""
    return dict(json.loads(component(app, HALL).json))


def told(app: AppTest) -> dict[str, Any]:
    """What phones are told."""
    speaker = shown_views.VIEWS.of(code(app))
    assert speaker is not None
    return dict(json.loads(speaker.view))


def press(app: AppTest, times: int) -> AppTest:
    """The key, the so-manieth time."""
    poll = offered(app)["poll"]
    return tell_state(app, HALL, {"pressed": [poll["name"] if poll else "", times]})


def test_the_row_of_the_selected_weight_is_asked_closed_and_put_away(
    open_app: OpenApp, model: Translator
) -> None:
    app = on_stage(open_app, attention="encoder", layer="1", head="1", cell="1.0")
    assert offered(app)["about"] == "key"
    assert offered(app)["poll"] is None
    assert told(app)["poll"] is None
    app = press(app, 1)
    poll = offered(app)["poll"]
    assert told(app)["poll"] == poll
    seen = read(model.trace(SENTENCE)).maps["encoder", 1]
    assert poll["choices"] == hall.axis_texts(seen.keys)
    assert (poll["at"], poll["head"], poll["closed"]) == (1, ["encoder", 1, 1], None)
    kept = POLLS.of(code(app))
    assert kept is not None
    assert offered(app)["address"] == f"site/speaker/{code(app)}/{kept.name}.json"
    kept.take("0" * 16, 2, "192.0.2.1")
    app = press(app, 2)
    closed = told(app)["poll"]["closed"]
    assert offered(app)["poll"]["closed"] == closed
    assert closed["best"] == seen.weights[1, 1].argmax()
    assert closed["truth"] == pytest.approx(seen.weights[1, 1].tolist(), abs=0.001)
    assert closed["guesses"] == [int(key == 2) for key in range(len(seen.keys))]
    app = press(app, 3)
    assert offered(app)["poll"] is None
    assert told(app)["poll"] is None


def test_another_head_ends_the_question(open_app: OpenApp) -> None:
    app = press(on_stage(open_app, layer="1", head="1", cell="1.0"), 1)
    assert told(app)["poll"]
    app.session_state["heads-head"] = 0
    app.run()
    assert told(app)["query"]["head"] == "0"
    assert told(app)["poll"] is None
    assert offered(app)["poll"] is None


@pytest.mark.parametrize(
    "query",
    [{}, {"cell": "1.0", "attention": "joint"}, {"cell": "1.0", "compare": "0.0-1.1"}],
)
def test_without_one_row_nothing_is_offered(open_app: OpenApp, query: dict[str, str]) -> None:
    app = on_stage(open_app, layer="1", head="1", **query)
    assert offered(app)["about"] is None
    assert offered(press(app, 1))["poll"] is None


def test_a_press_that_saw_another_question_does_nothing(open_app: OpenApp) -> None:
    app = press(on_stage(open_app, layer="1", head="1", cell="1.0"), 1)
    for pressed in (["", 2], ["0" * 16, 3], "close", [1, 2], None):
        tell_state(app, HALL, {"pressed": pressed})
        assert told(app)["poll"]["closed"] is None


def test_no_phone_no_question(open_app: OpenApp) -> None:
    app = open_app(sentence=SENTENCE, layer="1", head="1", cell="1.0", present="1")
    assert not [each for each in app.get("bidi_component") if each.key == HALL]


def test_what_comes_next_is_asked_in_an_order_that_does_not_tell(
    open_app: OpenApp, model: Translator
) -> None:
    app = press(on_stage(open_app, "decoding", at="2"), 1)
    poll = told(app)["poll"]
    assert (poll["about"], poll["named"], poll["head"]) == ("word", SENTENCE, None)
    assert poll["choices"] == sorted(poll["choices"], key=str.casefold)
    step = model.decode(SENTENCE).steps[1]
    likeliest = hall.axis_texts(step.likeliest)
    assert set(poll["choices"]) <= set(likeliest)
    assert len(poll["context"]) == poll["at"] == 1
    closed = told(press(app, 2))["poll"]["closed"]
    assert poll["choices"][closed["best"]] == likeliest[0]


def test_the_panel_says_how_many_answers_counted(open_app: OpenApp) -> None:
    app = press(on_stage(open_app, layer="1", head="1", cell="1.0"), 1)
    poll = POLLS.of(code(app))
    assert poll is not None
    for phone, choice in enumerate((0, 1, 999)):
        poll.take(f"{phone:016x}", choice, "192.0.2.1")
    poll.close()
    poll.take(f"{9:016x}", 0, "192.0.2.1")
    app.session_state["share-site"] = True
    app.session_state["share-button"] = True
    app.run()
    (said,) = [each.value for each in app.caption if "Last question" in each.value]
    assert said.startswith("Last question: 2 answered.")
    assert "1 malformed" in said
    assert "1 too late" in said
