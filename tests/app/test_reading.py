"""A talk as a reading, and what Help offers: what the browser is told, the address."""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import OpenApp, component, go_to, trigger
from tests.kit.shown import plain, query
from viz.about import glossary
from viz.talk import scenes
from viz.talk.ready import ready_talk
from viz.talk.scenes import Scene, Talk

SHIPPED = Path(__file__).parents[2] / "checkpoints"
READY = ready_talk()
TEXT, TALK = "reader-text", "talks-keys"
"""Keys of components."""


def told(app: AppTest, key: str) -> dict[str, Any]:
    """What a component is told."""
    sent: dict[str, Any] = json.loads(component(app, key).json)
    return sent


def is_there(app: AppTest, key: str) -> bool:
    return any(each.key == key for each in app.get("bidi_component"))


def go(app: AppTest, number: int) -> AppTest:
    return trigger(app, TALK, "go", [told(app, TALK)["heard"] + 1, number])


# ---- a reading -----------------------------------------------------------------------------------


def test_what_is_told_by_a_page_that_was_left_ends_in_no_error(open_app: OpenApp) -> None:
    """Streamlit forgets the components of a page before it calls them back."""
    app = open_app(folder=SHIPPED, read="1", scene="1")
    go_to(app, "effects").run()
    # Another page, of which AppTest, like a browser that is slow, has not heard.
    go(app, 2)
    trigger(app, TEXT, "leave", True)
    assert not app.exception


def test_help_leads_to_the_first_scene_with_its_text(open_app: OpenApp) -> None:
    app = open_app(folder=SHIPPED)
    assert app.button(key="help-read").label == f"Read “{READY.title}”"
    app.button(key="help-read").click().run()
    assert (query(app, "read"), query(app, "scene"), query(app, "present")) == ("1", "1", "")
    assert not any(each.key == "help-read" for each in app.button)
    text = told(app, TEXT)
    assert (text["talk"], text["number"], text["count"]) == (READY.title, 1, 12)
    assert (text["title"], text["note"]) == (READY.scenes[0].title, READY.scenes[0].note)


@pytest.mark.parametrize("number", range(1, 13))
def test_every_scene_is_read_on_its_own_page_with_its_own_view(
    open_app: OpenApp, number: int
) -> None:
    scene = READY.scenes[number - 1]
    app = go(open_app(folder=SHIPPED, read="1", scene="1"), number)
    text = told(app, TEXT)
    assert (text["title"], text["note"]) == (scene.title, scene.note)
    assert query(app, "read") == "1"
    asked = {name: query(app, name) for name in app.query_params}
    of_talk = {name: asked.pop(name) for name in ("scene", "read")}
    assert of_talk == {"scene": str(number), "read": "1"}
    assert asked in text["views"]


def test_a_link_leads_into_the_middle_of_a_reading(open_app: OpenApp) -> None:
    app = open_app(folder=SHIPPED, read="1", scene="2", **READY.scenes[1].view)
    assert told(app, TEXT)["title"] == READY.scenes[1].title
    assert told(app, TALK)["read"] is True
    assert told(app, TALK)["on"] is False


def test_another_view_is_not_among_those_of_the_scene(open_app: OpenApp) -> None:
    app = open_app(folder=SHIPPED, read="1", scene="3", **READY.scenes[2].view | {"head": "4"})
    assert all(view.get("head") != "4" for view in told(app, TEXT)["views"])


def test_on_another_page_no_view_is_the_scenes(open_app: OpenApp) -> None:
    app = open_app(folder=SHIPPED, read="1", scene="2", **READY.scenes[1].view)
    go_to(app, "about").run()
    assert told(app, TEXT)["views"] == []


def test_a_reading_before_its_first_scene_names_the_talk(open_app: OpenApp) -> None:
    text = told(open_app(read="1"), TEXT)
    assert (text["talk"], text["number"], text["count"]) == (READY.title, 0, 12)
    assert (text["title"], text["note"]) == ("", "")


def test_leaving_keeps_the_view_as_an_ordinary_page(open_app: OpenApp) -> None:
    app = go(open_app(folder=SHIPPED, read="1", scene="1"), 3)
    trigger(app, TEXT, "leave", True)
    assert not is_there(app, TEXT)
    assert (query(app, "read"), query(app, "scene")) == ("", "")
    assert [query(app, name) for name in ("attention", "layer", "head")] == ["encoder", "1", "3"]
    assert told(app, TALK)["read"] is False


def test_on_stage_nothing_of_it_shows_and_afterwards_it_goes_on(open_app: OpenApp) -> None:
    app = go(open_app(folder=SHIPPED, read="1", scene="1"), 2)
    app.button(key="stage-present").click().run()
    assert not is_there(app, TEXT)
    assert told(app, TALK)["read"] is False
    go(app, 3)
    app.button(key="stage-leave").click().run()
    assert told(app, TEXT)["title"] == READY.scenes[2].title


def test_a_talk_of_ones_own_is_read_and_its_text_stays_text(open_app: OpenApp) -> None:
    hostile = "<script>alert(1)</script> **b** $x$"
    talk = Talk(hostile, (Scene(hostile, f"{hostile}\nSecond line.", "heads"),))
    app = open_app(read="1", scene="1", talk="0a1b2c3d")
    # Whether this browser has it is not known yet.
    assert not is_there(app, TEXT)
    trigger(app, TALK, "kept", [["0a1b2c3d", scenes.write(talk)]])
    text = told(app, TEXT)
    assert (text["talk"], text["title"]) == (hostile, hostile)
    assert text["note"] == f"{hostile}\nSecond line."


def test_a_talk_that_is_not_here_is_not_read_as_another(open_app: OpenApp) -> None:
    app = trigger(open_app(read="1", scene="1", talk="0a1b2c3d"), TALK, "kept", [])
    assert not is_there(app, TEXT)
    assert query(app, "read") == ""


# ---- the terms -----------------------------------------------------------------------------------


def test_the_glossary_has_its_eight_words_in_one_sentence_each() -> None:
    words = "Token Layer Head Query Key Encoder Decoder Cross-attention"
    assert list(glossary.TERMS) == words.split()
    for sentence in glossary.TERMS.values():
        assert sentence[0].isupper()
        assert sentence.count(".") == 1
        assert sentence.endswith(".")


def test_the_glossary_stays_on_every_page_and_on_about(open_app: OpenApp) -> None:
    app = open_app()
    in_tools = [plain(each.value) for each in app.markdown]
    go_to(app, "about").run()
    on_about = [plain(each.value) for each in app.markdown]
    for term, sentence in glossary.TERMS.items():
        entry = f"**{term}.** {sentence}"
        assert any(entry in text for text in in_tools)
        assert sum(entry in text for text in on_about) == 2
