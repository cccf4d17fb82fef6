"""The effects page with one word against another, as a person goes through it."""

import json
import re
from functools import partial

import pytest

from tests.kit.apptest import OpenApp, component, tell_state
from tests.kit.shown import captions, charts, html, more, query, said
from tests.kit.tiny_checkpoint import PAIRS

SENTENCE = PAIRS[0][0]


@pytest.fixture
def open_effects(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""
    return partial(open_app, page="effects", sentence=SENTENCE)


def test_on_stage_both_words_are_those_without_the_head_that_is_off(
    open_effects: OpenApp,
) -> None:
    app = open_effects()
    app.button(key="effects-why-not").click().run()
    pair = {name: query(app, name) for name in ("token", "instead")}
    found = re.search(r"Without cross-attention, layer (\d), head (\d), (“.*?)\.(?!\d)", more(app))
    assert found
    layer, head, changed = found.groups()
    on_stage = open_effects(present="1", off=f"cross.{layer}.{head}", **pair)
    shown = on_stage.session_state["stage-cue.kept"].shown
    assert shown == f"Without Cross {layer}.{head}, {changed}."
    # Of several heads together the word that is written is known.
    word = changed.partition("”")[0]
    both = open_effects(present="1", off=f"cross.{layer}.{head}-decoder.0.1", **pair)
    expected = rf"Without Cross {layer}\.{head} and Decoder 0\.1, {word}” (falls|rises) from .*\."
    assert re.fullmatch(expected, both.session_state["stage-cue.kept"].shown)


def test_a_chosen_word_makes_the_page_speak_of_the_difference(open_effects: OpenApp) -> None:
    app = open_effects()
    app.button(key="effects-why-not").click().run()
    assert [*charts(app)] == ["effects-contrast"]
    assert query(app, "token")
    assert query(app, "instead")
    app = open_effects(token="1")
    assert [*charts(app)] == ["effects-map"]
    field = app.selectbox(key="effects-other-word")
    other = field.options[1].split()[0].strip("…")
    field.set_value(other).run()
    assert query(app, "instead") == other
    assert [*charts(app)] == ["effects-contrast"]
    assert "“Er” " in more(app)
    assert f"“{other}”" in captions(app)
    # Without it, the page speaks of the word alone again.
    app.selectbox(key="effects-other-word").set_value("").run()
    assert [*charts(app)] == ["effects-map"]
    assert query(app, "instead") == ""


@pytest.mark.parametrize(
    ("show", "chart"),
    [
        ("probability", "effects-contrast"),
        ("tokens", "effects-tokens"),
        ("words", "effects-words"),
        ("sum", "effects-sum"),
        ("paths", "effects-paths"),
    ],
)
def test_every_view_opens_by_its_link(open_effects: OpenApp, show: str, chart: str) -> None:
    app = open_effects(show=show, token="1", instead="Ein")
    assert [*charts(app)] == [chart]
    assert not app.exception
    assert not said(app)


@pytest.mark.parametrize("decide", ["remove", "keep"])
def test_the_fewest_heads_are_found_and_can_be_switched_off(
    open_effects: OpenApp, decide: str
) -> None:
    app = open_effects(show="set", token="1", decide=decide)
    assert not app.exception
    assert [*charts(app)] == ["effects-set"]
    if decide == "remove":
        assert 'class="change line"' in html(app)
        app.button(key="effects-set-off").click().run()
        assert [*charts(app)] == ["effects-contrast"]
        assert query(app, "off")


def test_a_link_without_words_shows_the_least_certain_and_its_rival(open_effects: OpenApp) -> None:
    app = open_effects(show="sum")
    assert [*charts(app)] == ["effects-sum"]
    assert app.session_state["effects-token"] > 0
    assert app.session_state["effects-instead"]


def test_another_token_gets_its_own_rival(open_effects: OpenApp) -> None:
    app = open_effects(show="sum", token="1")
    before = app.session_state["effects-instead"]
    app.selectbox(key="effects-token").set_value(5).run()
    assert query(app, "token") == "5"
    assert query(app, "instead") not in ("", before)
    assert [*charts(app)] == ["effects-sum"]


def test_a_word_that_cannot_be_is_refused_in_a_sentence(open_effects: OpenApp) -> None:
    app = open_effects(token="1", instead="Er")
    assert "is what the translation has there" in said(app)
    assert "effects-other-word" in [each.key for each in app.selectbox]
    assert not app.exception


def test_a_clicked_bar_opens_its_head_and_nothing_else_does(open_effects: OpenApp) -> None:
    for message, opened in (
        (["cross", 1, 2], "heads"),
        (["cross", -1, 2], "effects"),
        ("cross", "effects"),
        (["<b>", 0, 0], "effects"),
    ):
        app = open_effects(show="sum", token="1", instead="Ein")
        heard = json.loads(component(app, "effects-sum-clicks").json)["heard"]
        tell_state(app, "effects-sum-clicks", {"clicks": [[heard + 1, message]]})
        assert not app.exception
        assert ("layer" in app.query_params) == (opened == "heads"), message
