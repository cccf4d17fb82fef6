"""The first page in-process: what it sends to the browser, and where its blocks lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import snapshots
from model.explain.examples import read_examples
from model.translate.translator import load
from tests.kit.apptest import component, tell_state, trigger
from tests.kit.shown import warnings
from tests.kit.trace_payload import Decoded
from tests.kit.traces import DECODER_WORDS, entries, packed
from viz.browser.asking import asks
from viz.model_page.view import ACTS, VIEW
from viz.pages import model as page
from viz.pages.model import KEY
from viz.registry.pages import DEFAULT_SENTENCE, HOME
from viz.save.picture import Picture
from viz.service.questions import Question

OpenApp = Callable[..., AppTest]

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"


def sent(app: AppTest) -> dict[str, Any]:
    """What the browser is told of the figure."""
    header = Decoded(component(app, KEY).bytes).header
    return header


def words(app: AppTest, line: str) -> list[str]:
    return [word["text"] for word in sent(app)[line]]


@pytest.fixture
def first_page(open_app: OpenApp) -> AppTest:
    return open_app(page=HOME, sentence="The man eats.")


def test_it_is_the_first_page_and_shows_the_sentence_and_its_translation(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app(page=HOME)
    assert app.session_state["address-visit.kept"].page == ""
    translation = load(checkpoints / "en-de", device="cpu").translate(DEFAULT_SENTENCE)
    assert "".join(words(app, "written")) == translation.text.replace(" ", "")
    assert "".join(words(app, "read")) == DEFAULT_SENTENCE.replace(" ", "") + "</s>"


@pytest.mark.parametrize(
    "name", ["en-de", "toy-reverse", "toy-dates-rotary", "toy-sort-alibi", "toy-copy-pre-norm"]
)
def test_whole_models_have_both_stacks_and_what_comes_next(open_app: OpenApp, name: str) -> None:
    header = sent(open_app(page=HOME, folder=SHIPPED, checkpoint=name))
    assert [stack["name"] for stack in header["stacks"]] == ["Encoder", "Decoder"]
    model = load(SHIPPED / name, device="cpu")
    config = model.model.config
    encoder, decoder = header["stacks"]
    kinds = {kind["kind"]: kind for kind in header["kinds"]}
    assert len(kinds[encoder["blocks"][0]["kind"]]["layers"]) == config.n_encoder_layers
    assert len(kinds[decoder["blocks"][1]["kind"]]["layers"]) == config.n_decoder_layers
    assert header["norm"] == config.norm
    assert len(header["next"]) == len(header["axes"][kinds["decoder"]["queries"]])
    assert (not encoder["positions"]["acts"]) == model.positions.is_added
    measured = (SHIPPED / name / "alignment.json").exists()
    assert (header["head"] is not None) == measured
    assert ("made by hand" in header["said"]) == measured


@pytest.mark.parametrize(
    ("name", "stack"), [("toy-reverse-encoder", "encoder"), ("toy-reverse-decoder", "decoder")]
)
def test_half_a_transformer_has_one_stack_and_leads_to_the_pages_that_show_it(
    open_app: OpenApp, name: str, stack: str
) -> None:
    header = sent(open_app(page=HOME, folder=SHIPPED, checkpoint=name))
    assert [each["kind"] for each in header["stacks"]] == [stack]
    assert header["next"] is None
    assert set(header["pages"]) == {"model", "heads", "about"}


def test_a_saved_trace_is_shown_as_it_is(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.npz").write_bytes(packed(entries(DECODER_WORDS, "decoder")))
    monkeypatch.setenv("HEADSCOPE_TRACES", str(tmp_path))
    app = open_app(page=HOME, checkpoint="mine.npz")
    assert words(app, "written") == DECODER_WORDS
    assert sent(app)["asks"] is None


def test_the_browser_knows_where_to_ask_about_what_it_shows(
    first_page: AppTest, open_app: OpenApp
) -> None:
    assert sent(first_page)["asks"] == asks("en-de", "The man eats.")
    name = "en-de-childhood"
    shown = {"sentence": "He eats.", "target": "Er isst."}
    app = open_app(page=HOME, folder=SHIPPED, checkpoint=name, step="893", **shown)
    about = {"target": "Er isst.", "snapshot": snapshots(SHIPPED / name).index(893)}
    assert sent(app)["asks"] == asks(name, "He eats.", **about)


def test_a_head_leads_to_the_heads_page_with_the_sentence_and_that_head(
    first_page: AppTest,
) -> None:
    trigger(
        first_page,
        KEY,
        "open",
        {"page": "heads", "attention": "decoder", "layer": 1, "head": 2},
    )
    assert first_page.session_state["address-visit.kept"].page == "heads"
    assert first_page.query_params == {
        "sentence": "The man eats.",
        "attention": "decoder",
        "layer": "1",
        "head": "2",
    }


@pytest.mark.parametrize("page", ["masks", "positions"])
def test_a_block_leads_to_its_page_with_the_sentence(first_page: AppTest, page: str) -> None:
    trigger(first_page, KEY, "open", {"page": page})
    assert first_page.session_state["address-visit.kept"].page == page
    assert first_page.query_params["sentence"] == "The man eats."


def test_what_comes_next_leads_to_that_step_of_the_decoding(first_page: AppTest) -> None:
    trigger(first_page, KEY, "open", {"page": "decoding", "section": "steps", "at": 3})
    assert first_page.session_state["address-visit.kept"].page == "decoding"
    assert first_page.query_params["at"] == "3"


@pytest.mark.parametrize("asked", [None, 3, {"page": "<b>"}, {"page": ["heads"]}, {}])
def test_what_is_no_block_leads_nowhere(first_page: AppTest, asked: Any) -> None:
    trigger(first_page, KEY, "open", asked)
    assert first_page.session_state["address-visit.kept"].page == ""


def test_what_no_head_is_called_opens_the_usual_head(first_page: AppTest) -> None:
    trigger(
        first_page, KEY, "open", {"page": "heads", "attention": "<b>", "layer": "x", "head": -4}
    )
    assert first_page.session_state["address-visit.kept"].page == "heads"
    assert not warnings(first_page)


def test_a_head_of_the_heads_page_is_shown_where_it_lies(open_app: OpenApp) -> None:
    app = open_app(page="heads", sentence="The man eats.")
    trigger(app, "heads-space", "model", "../cross")
    assert app.session_state["address-visit.kept"].page == "heads"
    trigger(app, "heads-space", "model", "cross.0.1")
    assert app.session_state["address-visit.kept"].page == ""
    assert app.query_params == {"sentence": "The man eats.", "place": "cross.0.1"}
    assert sent(app)["place"] == "cross.0.1"


def test_the_address_keeps_where_it_rests(first_page: AppTest) -> None:
    before = sent(first_page)
    told = {name: before[name] for name in ("key", "epoch")}
    tell_state(first_page, KEY, {"rested": {**told, "moment": 2}})
    assert first_page.query_params["moment"] == "2"
    reached = {"moment": 3, "place": "cross.0.5", "walk": 4}
    tell_state(first_page, KEY, {"rested": {**told, **reached}})
    assert {name: first_page.query_params[name] for name in reached} == {
        name: str(value) for name, value in reached.items()
    }
    # The browser knows where it is.
    assert [sent(first_page)[name] for name in ("epoch", *reached)] == [
        before[name] for name in ("epoch", *reached)
    ]


def test_another_sentence_plays_from_its_beginning(open_app: OpenApp) -> None:
    app = open_app(page=HOME, sentence="The man eats.", moment="3")
    app.text_input(key="sentence").set_value("The dog sleeps.").run()
    assert sent(app)["moment"] == 0
    assert app.query_params == {"sentence": "The dog sleeps."}


def test_a_kiosk_goes_on_to_the_next_example_and_nothing_else_does(open_app: OpenApp) -> None:
    examples = [each.source for each in read_examples(SHIPPED / "toy-reverse")]
    asked = {"sentence": "a a b", "place": "cross.0", "walk": "3"}
    app = open_app(page=HOME, folder=SHIPPED, checkpoint="toy-reverse", **asked)
    trigger(app, KEY, "example", True)
    assert app.query_params["sentence"] == asked["sentence"]
    app = open_app(page=HOME, folder=SHIPPED, checkpoint="toy-reverse", **asked, kiosk="1")
    assert sent(app)["kiosk"]
    for sentence in (*examples, examples[0]):
        trigger(app, KEY, "example", True)
        assert app.text_input(key="sentence").value == sentence
        assert [sent(app)[name] for name in ("place", "walk", "kiosk")] == ["", 0, True]


@pytest.mark.parametrize(
    "reached",
    [
        *({"moment": moment} for moment in (-1, 999, "2", True, None)),
        *({"place": place} for place in ("<b>", "x" * 41, "Cross.0", 5, None)),
        *({"walk": walk} for walk in (-1, 13, "2", True, None)),
        {"moment": 2, "place": "../"},
    ],
)
def test_where_nobody_can_rest_changes_nothing(
    first_page: AppTest, reached: dict[str, Any]
) -> None:
    told = {name: sent(first_page)[name] for name in ("key", "epoch")}
    tell_state(first_page, KEY, {"rested": {**told, **reached}})
    assert not first_page.query_params.keys() & {"moment", "place", "walk"}


def test_what_was_told_of_another_sentence_changes_nothing(first_page: AppTest) -> None:
    for other in ({"key": "another"}, {"epoch": sent(first_page)["epoch"] - 1}):
        told = {name: sent(first_page)[name] for name in ("key", "epoch")} | other
        tell_state(first_page, KEY, {"rested": {**told, "moment": 2}})
        assert "moment" not in first_page.query_params


def test_an_address_opens_at_its_step(open_app: OpenApp) -> None:
    assert sent(open_app(page=HOME, moment="3"))["moment"] == 3


@pytest.mark.parametrize(
    ("place", "first"),
    [
        ("", "PlayedSentence"),
        ("decoder", "EveryHead"),
        ("cross.0", "EveryHead"),
        ("cross.0.1", "OneHead"),
        ("cross.0.1.2", "OneHead"),
        ("cross.0.1.2.0", "QueryKey"),
        ("positions.encoder", "Positions"),
        ("positions.decoder", "PlayedSentence"),
        ("next.1", "OneStep"),
    ],
)
def test_what_one_is_close_to_is_saved_first(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, place: str, first: str
) -> None:
    offered: list[Picture] = []

    def save_button(pictures: Sequence[Picture], key: str, *, question: Question) -> None:
        offered[:] = pictures

    monkeypatch.setattr(page, "save_button", save_button)
    open_app(page=HOME, sentence="The man eats.", place=place)
    assert type(offered[0]).__name__ == first
    assert {type(each).__name__ for each in offered} >= {"PlayedSentence"}


def test_the_stage_names_the_place_and_follows_it(open_app: OpenApp) -> None:
    app = open_app(page=HOME, sentence="The man eats.", place="cross.0.1", present="1")
    assert app.session_state["stage-cue.kept"].shown == "Cross-attention, layer 0, head 1"
    told = {name: sent(app)[name] for name in ("key", "epoch", "moment", "walk")}
    tell_state(app, KEY, {"rested": {**told, "place": "next.0"}})
    assert app.session_state["stage-cue.kept"].shown == "What comes next, step 1"


@pytest.mark.parametrize("act", ["minds", "swap"])
def test_an_act_is_shown_in_the_place_of_the_model(open_app: OpenApp, act: str) -> None:
    app = open_app(page=HOME, folder=SHIPPED, sentence="My sister lost his keys.", act=act)
    header = Decoded(component(app, VIEW.keys("act")).bytes).header
    assert header["read"] == "My sister lost his keys."
    assert header["title"] == ACTS[act]
    app.button(VIEW.keys("act-back")).click().run()
    assert "act" not in app.query_params
    assert words(app, "written")


def test_a_translation_grows_up_in_the_model_that_kept_its_training(open_app: OpenApp) -> None:
    app = open_app(page=HOME, folder=SHIPPED, sentence="I love you.", act="grow")
    header = Decoded(component(app, VIEW.keys("act")).bytes).header
    steps = snapshots(SHIPPED / "en-de-childhood")
    assert [frame["name"] for frame in header["frames"]] == [f"Step {step:,}" for step in steps]


def test_acts_are_offered_where_a_model_can_play_them(open_app: OpenApp) -> None:
    app = open_app(page=HOME, folder=SHIPPED, sentence="I love you.")
    assert [name for name, _ in sent(app)["acts"]] == ["grow", "minds", "swap"]
    copying = open_app(page=HOME, folder=SHIPPED, checkpoint="en-de-cheating")
    assert sent(copying)["acts"] == []
    french = open_app(page=HOME, folder=SHIPPED, checkpoint="en-fr", sentence="I love you.")
    assert [name for name, _ in sent(french)["acts"]] == ["minds", "swap"]


def test_an_act_that_a_model_cannot_play_says_so(open_app: OpenApp) -> None:
    app = open_app(page=HOME, folder=SHIPPED, checkpoint="en-fr", sentence="One.", act="grow")
    assert not app.exception
    assert any("Grow up in ten seconds" in each.value for each in app.info)


def test_a_long_sentence_has_no_act(open_app: OpenApp) -> None:
    long = "He has bought a new computer and " * 9 + "a car."
    app = open_app(page=HOME, folder=SHIPPED, sentence=long, act="minds")
    assert not app.exception
    assert any("shorten this one" in each.value for each in app.info)
