"""The stage: its flag in the address, what it leaves out, and what its keys and its foot say."""

import re
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from model.explain import position_measures
from model.trace.attention_map import Tokens
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import html, query, said, warnings
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_snapshots
from viz.draw import style, themes
from viz.positions.table import Positions
from viz.save.picture import Layout
from viz.shell import stage
from viz.shell.stage import Step
from viz.shell.stage_figure import for_stage

SENTENCE, TRANSLATION = PAIRS[0]
PARTS = ("see", "inside", "compare", "change")
TOPICS = ("table", "likeness", "words", "without", "shuffle", "learned", "formula")


def open_stage(open_app: OpenApp, page: str, **asked: str) -> AppTest:
    """A page on stage, at an address."""
    return go_to(open_app(present="1", **asked), page).run()


def cue(app: AppTest) -> Any:
    """What the last run said to the stage."""
    return app.session_state["stage-cue.kept"]


def fields(app: AppTest) -> list[str]:
    """What could be filled in or chosen, by its label."""
    kinds = ("text_input", "text_area", "selectbox", "select_slider", "slider", "toggle",
             "multiselect", "number_input", "button_group")  # fmt: skip
    return [each.label for kind in kinds for each in app.get(kind)]


def press(app: AppTest, key: str) -> AppTest:
    """A key that Python hears of, as the browser would tell it."""
    step, direction = cue(app).steps[key]
    app.session_state[step.key] = step.to(direction)
    return app.run()


# ---- the flag ---------------------------------------------------------------------------------


def test_present_brings_the_page_to_the_stage_and_back_brings_it_home(open_app: OpenApp) -> None:
    app = open_app(sentence=SENTENCE, layer="1", head="2")
    assert fields(app)
    assert "--stage-foot" not in html(app)
    app.button(key="stage-present").click().run()
    assert query(app, "present") == "1"
    assert not fields(app)
    assert "--stage-foot" in html(app)
    app.button(key="stage-leave").click().run()
    assert query(app, "present") == ""
    assert fields(app)
    assert (query(app, "layer"), query(app, "head")) == ("1", "2")
    assert app.text_input(key="sentence").value == SENTENCE


def test_a_link_opens_on_stage_with_all_that_it_says(open_app: OpenApp) -> None:
    app = open_app(present="1", sentence=PAIRS[1][0], layer="2", head="1", view="lines")
    assert not fields(app)
    assert cue(app).source, cue(app).translation == PAIRS[1]
    expected = {"present": "1", "layer": "2", "head": "1", "view": "lines"}
    assert {name: query(app, name) for name in expected} == expected


def test_a_flag_that_is_none_is_said_and_nothing_is_presented(open_app: OpenApp) -> None:
    app = open_app(present="yes")
    assert any("present “yes”, which is not 0 or 1" in warning for warning in warnings(app))
    assert fields(app)


def test_the_stage_lasts_from_page_to_page(open_app: OpenApp) -> None:
    app = open_stage(open_app, "masks")
    assert query(app, "present") == "1"
    assert not fields(app)


# ---- what each page shows ---------------------------------------------------------------------


def test_heads_on_stage_show_the_heads_view_and_nothing_below_it(open_app: OpenApp) -> None:
    app = open_app(present="1")
    assert not app.dataframe
    assert not app.caption
    assert cue(app).shown is None, "the heads view knows first which head it shows"


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_masks_has_a_stage(open_app: OpenApp, part: str) -> None:
    app = open_stage(open_app, "masks", part=part)
    assert not fields(app)
    assert not app.caption
    assert not app.subheader
    assert cue(app).shown
    assert {"ArrowLeft", "ArrowRight", "v"} <= set(cue(app).steps)


def test_a_typed_target_is_the_headline_over_pictures_of_it(open_app: OpenApp) -> None:
    typed = "Der Hund."
    app = open_stage(open_app, "masks", target=typed, part="change")
    headline = html(app).partition('<div class="change"')[2]
    head, both = headline.partition("</section></div>")[0].split("</section>")
    assert f"<div>{typed}</div>" in head
    assert re.search(r"probability \S+ before and \S+ after .*, both times", both)
    assert cue(app).translation == typed


def test_what_is_written_without_a_head_is_not_taken_for_a_typed_target(open_app: OpenApp) -> None:
    typed = "Der Hund."
    app = open_stage(open_app, "effects", target=typed, off="encoder.0.0")
    assert "<span>Without Encoder 0.0, written freely</span>" in html(app)
    assert cue(app).shown.startswith("Without Encoder 0.0, the typed target is ")
    assert cue(app).translation == typed


def test_the_foot_names_no_target_that_the_page_does_not_show(open_app: OpenApp) -> None:
    app = open_stage(open_app, "positions", target="Der Hund.", topic="without", scale="50")
    assert "Der Hund." not in html(app)
    assert cue(app).translation == TRANSLATION


@pytest.mark.parametrize("topic", TOPICS)
def test_every_part_of_the_positions_has_a_stage(open_app: OpenApp, topic: str) -> None:
    app = open_stage(open_app, "positions", topic=topic)
    assert not fields(app)
    assert not app.caption
    assert cue(app).shown
    if topic == "learned":
        assert "no checkpoint with learned positions" in said(app)
    expected = {"ArrowLeft", "ArrowRight"}
    assert expected <= set(cue(app).steps)


def test_what_the_pictures_can_tell_is_read_on_stage_too(open_app: OpenApp) -> None:
    app = open_stage(open_app, "about")
    assert cue(app).scrolls
    assert any("What a weight is" in text.value for text in app.markdown)


def test_a_sentence_that_cannot_be_translated_is_said_on_stage(open_app: OpenApp) -> None:
    app = open_app(present="1", sentence="")
    assert said(app)
    assert not fields(app)


def test_the_foot_names_the_sentence_of_the_batch_that_is_shown(open_app: OpenApp) -> None:
    app = open_stage(open_app, "masks", sentence=SENTENCE, batch=PAIRS[2][0])
    assert (cue(app).source, cue(app).translation) == (SENTENCE, TRANSLATION)
    press(app, "ArrowRight")
    assert (cue(app).source, cue(app).translation) == PAIRS[2]
    assert query(app, "number") == "2"


def test_the_foot_names_a_typed_target(open_app: OpenApp) -> None:
    app = open_app(present="1", sentence=SENTENCE, target=PAIRS[1][1])
    assert cue(app).translation == PAIRS[1][1]


def test_keys_step_through_layers_heads_parts_and_attentions_of_the_masks(
    open_app: OpenApp,
) -> None:
    app = open_stage(open_app, "masks", part="inside")
    head = app.session_state["masks-head"]
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "a", "v"):
        app = press(app, key)
    # The tiny model has three decoder layers, so the third step down stays in the last.
    assert (query(app, "layer"), query(app, "head")) == ("2", str(min(head + 1, 3)))
    # After the last part comes the first.
    assert app.session_state["masks-part"] == "see"
    assert app.session_state["masks-masked"] != "decoder"


def test_keys_step_through_the_positions(open_app: OpenApp) -> None:
    app = open_stage(open_app, "positions")
    app = press(press(app, "ArrowRight"), "ArrowDown")
    assert (query(app, "topic"), query(app, "cosine")) == ("likeness", "0")
    app = press(press(press(app, "ArrowRight"), "ArrowRight"), "ArrowDown")
    assert (query(app, "topic"), query(app, "scale")) == ("without", "90")
    app = press(press(app, "ArrowRight"), "ArrowDown")
    assert sorted(query(app, "shuffled").split("."))
    assert query(app, "shuffled")
    assert query(press(app, "ArrowUp"), "shuffled") == ""


def test_keys_step_through_the_training(open_app: OpenApp, tmp_path: Path) -> None:
    write_tiny_snapshots(tmp_path / "en-de")
    app = open_app(folder=tmp_path, present="1", sentence=SENTENCE)
    assert cue(app).aside == "after 1,120 of 1,120 steps"
    app = press(app, "[")
    assert query(app, "step") == "20"
    assert cue(app).aside == "after 20 of 1,120 steps"
    assert not fields(app)
    assert query(press(app, "]"), "step") == ""


# ---- the parts --------------------------------------------------------------------------------


TENS = range(100, -1, -10)


@pytest.mark.parametrize(
    ("step", "direction", "then"),
    [
        *((Step("layer", range(4), 3), 1, 3), (Step("layer", range(4), 3), -1, 2)),
        *((Step("layer", range(4), 0), -1, 0), (Step("part", ["a", "b"], "b", True), 1, "a")),
        # A number between the options goes to its neighbour, also where they fall.
        *((Step("base", [10, 100, 1000], 500), to, then) for to, then in ((1, 1000), (-1, 100))),
        *((Step("base", [10, 100, 1000], now), to, now) for to, now in ((-1, 5), (1, 9999))),
        *((Step("scale", TENS, 65), 1, 60), (Step("scale", TENS, 65), -1, 70)),
        (Step("a", ["x", "y"], "gone"), 1, "x"),
    ],
)
def test_a_step_leads_to_the_next_option_there_is(step: Step, direction: int, then: Any) -> None:
    assert step.to(direction) == then


def test_a_figure_on_stage_is_larger_and_stronger_and_as_high_as_its_place() -> None:
    tokens = Tokens.unnamed(["The", "cat"])
    for dark in (False, True):
        usual, strong = themes.page(dark), themes.stage(dark)
        table = position_measures.formula_table(8, 2, 10_000.0)
        figure = Positions(table, 10_000.0, tokens=tokens).figure(Layout(dark=dark))
        before = go.Figure(figure)
        made = for_stage(figure, dark=dark)
        assert figure == before, "the figure of the page stays as it is"
        assert made.layout.font.size == style.STAGE_ENLARGED * figure.layout.font.size
        assert made.layout.margin.b == round(style.STAGE_ENLARGED * figure.layout.margin.b)
        assert made.layout.height is None
        written = made.to_json()
        assert strong.text in written
        assert usual.text not in written
        assert usual.muted not in written
        assert (made.data[0].z == figure.data[0].z).all()


def contrast(one: str, other: str) -> float:
    dark, light = sorted((themes.luminance(one), themes.luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("dark", "ground"), [(False, "#ffffff"), (True, "#12161c")])
def test_every_colour_of_text_on_stage_has_seven_to_one(dark: bool, ground: str) -> None:
    look = themes.stage(dark)
    for color in (look.text, look.muted, look.accent):
        assert contrast(color, ground) >= 7
    assert stage.PRESENT.default is False
