"""Questions in-process: what is offered, where an answer leads, and how long it stands."""

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import OpenApp, component, go_to, trigger
from tests.kit.shown import html
from tests.kit.traces import DECODER_WORDS, entries, packed
from viz.inquiries.registry import INQUIRIES
from viz.registry.pages import HOME

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
KEY = "inquiries"
TOY = {"folder": SHIPPED, "checkpoint": "toy-reverse", "sentence": "c i c e f h f a"}


def keys(app: AppTest) -> set[str]:
    """What the field offers."""
    return {key for key, *_ in json.loads(component(app, KEY).json)["questions"]}


def ask(app: AppTest, key: object) -> AppTest:
    return trigger(app, KEY, "asked", key)


def line(app: AppTest) -> str:
    """The answer above the page; empty for none."""
    found = [each.proto.body for each in app.get("html") if 'role="status"' in each.proto.body]
    return found[0] if found else ""


@pytest.mark.parametrize("page", [HOME, "heads", "effects", "decoding", "masks", "positions"])
def test_every_page_offers_the_questions_of_the_sentence(open_app: OpenApp, page: str) -> None:
    app = open_app(page=page, **TOY)
    assert len(keys(app)) >= 30
    assert json.loads(component(app, KEY).json)["about"] == "About “c i c e f h f a”"


def test_a_page_without_a_sentence_of_its_own_offers_those_of_the_last_one(
    open_app: OpenApp,
) -> None:
    app = open_app(page="about")
    assert not keys(app)
    app = go_to(open_app(page="heads", **TOY), "about").run()
    assert len(keys(app)) >= 30


def test_a_question_leads_to_the_page_that_shows_its_answer(open_app: OpenApp) -> None:
    app = ask(open_app(page=HOME, **TOY), "no-positions")
    assert app.session_state["address-visit.kept"].page == "positions"
    assert app.query_params == {
        "checkpoint": "toy-reverse",
        "sentence": "c i c e f h f a",
        "topic": "without",
        "scale": "0",
        "asked": "no-positions",
    }
    assert INQUIRIES["no-positions"].text in line(app)
    assert "Without positions, it writes nothing." in line(app)


def test_a_link_opens_with_the_answer(open_app: OpenApp) -> None:
    app = open_app(page="heads", asked="head-same", **TOY)
    assert "of its weight goes to the token itself" in line(app)


def test_a_question_whose_answer_is_on_this_page_changes_what_it_shows(open_app: OpenApp) -> None:
    app = ask(open_app(page="heads", **TOY), "head-previous")
    assert app.session_state["address-visit.kept"].page == "heads"
    assert "token before" in line(app)
    app = ask(app, "head-end")
    assert "&lt;/s&gt;" in line(app)
    assert app.query_params["asked"] == "head-end"


def test_one_word_against_another_is_asked_of_the_sentence_that_stands(open_app: OpenApp) -> None:
    sentence = {"sentence": "My sister lost his keys."}
    app = open_app(page="heads", folder=SHIPPED, **sentence)
    field = json.loads(component(app, KEY).json)
    assert ["seine", 4] in field["words"]["written"]
    assert ["sister", 2] in field["words"]["read"]
    app = ask(app, "why-not.4.seinen")
    assert app.session_state["address-visit.kept"].page == "effects"
    asked = sentence | {"token": "4", "instead": "seinen", "asked": "why-not.4.seinen"}
    assert app.query_params == asked
    assert "<b>Why “seine” and not “seinen”?</b>" in line(app)
    assert re.search(r"“seine” (has|had|is|was) .*layer \d, head \d", line(app)), line(app)
    # The link says the same.
    assert line(open_app(page="effects", folder=SHIPPED, **asked)) == line(app)
    assert not line(app.text_input(key="sentence").set_value("A man.").run())


@pytest.mark.parametrize(
    "key",
    ["why-not.99.x", "why-not.1.", "matters-most.2", "what-else.2.x", "why-not.0.x", "pair-1"],
)
def test_words_that_a_question_cannot_take_lead_nowhere(open_app: OpenApp, key: str) -> None:
    app = ask(open_app(page="heads", **TOY), key)
    assert app.session_state["address-visit.kept"].page == "heads"
    assert not line(app)


def test_a_question_is_about_the_word_that_was_named(open_app: OpenApp) -> None:
    app = ask(open_app(page=HOME, **TOY), "sure-of.2")
    assert app.query_params["at"] == "2"
    assert "How sure was it of “f”?" in line(app)


def test_an_answer_is_dismissed(open_app: OpenApp) -> None:
    app = ask(open_app(page="heads", **TOY), "head-previous")
    app.button(key="answer-dismiss").click().run()
    assert not line(app)
    assert "asked" not in app.query_params


def test_an_answer_goes_with_its_sentence_and_its_page(open_app: OpenApp) -> None:
    app = ask(open_app(page="heads", **TOY), "head-previous")
    app.text_input(key="sentence").set_value("a b c d").run()
    assert not line(app)
    assert "asked" not in app.query_params
    app = ask(app, "head-previous").run()
    assert line(app)
    app = go_to(app, "masks").run()
    assert not line(app)
    assert app.session_state["asked"] == ""


def test_a_word_of_a_stranger_acts_as_no_markup(open_app: OpenApp) -> None:
    sentence = "<b>boo</b> & <b>boo</b>"
    app = ask(open_app(page="heads", sentence=sentence), "most-looked-at")
    assert line(app)
    assert "<b>boo" not in html(app).replace(f"<b>{INQUIRIES['most-looked-at'].text}</b>", "")


@pytest.mark.parametrize("key", [None, 3, "<b>", ["source"], {"a": 1}, "none-such"])
def test_what_is_no_question_changes_nothing(open_app: OpenApp, key: object) -> None:
    app = ask(open_app(page="heads", **TOY), key)
    assert app.session_state["address-visit.kept"].page == "heads"
    assert not line(app)


def test_a_question_that_is_not_offered_leads_nowhere(open_app: OpenApp) -> None:
    app = open_app(
        page="heads", folder=SHIPPED, checkpoint="toy-reverse-encoder", sentence="a b c d"
    )
    assert "beam" not in keys(app)
    app = ask(app, "beam")
    assert app.session_state["address-visit.kept"].page == "heads"
    assert not line(app)


def test_an_unknown_question_in_an_address_is_left_out(open_app: OpenApp) -> None:
    app = open_app(page="heads", asked="none-such", **TOY)
    assert not line(app)


def test_a_saved_trace_is_asked_of_its_weights(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.npz").write_bytes(packed(entries(DECODER_WORDS, "decoder")))
    monkeypatch.setenv("HEADSCOPE_TRACES", str(tmp_path))
    app = open_app(page=HOME, checkpoint="mine.npz")
    assert "twins" in keys(app)
    assert "beam" not in keys(app)
    app = ask(app, "twins")
    assert app.session_state["address-visit.kept"].page == "heads"
    assert "Decoder self-attention" in line(app)


def test_on_stage_there_is_no_line(open_app: OpenApp) -> None:
    app = open_app(page="heads", asked="head-same", present="1", **TOY)
    assert not line(app)
