"""What a newly chosen model is asked: something in the language that it reads."""

import json
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import EXAMPLES
from tests.kit.apptest import OpenApp
from tests.kit.shown import query, warnings
from viz.registry.pages import DEFAULT_SENTENCE

EXAMPLE = {"source": "Der Hund schläft.", "translation": "The dog sleeps.", "shows": "Sleep."}


@pytest.fixture
def both_ways(checkpoints: Path, tmp_path: Path) -> Path:
    """Models for three directions; they need not be good at theirs."""
    for name in ("en-de", "en-fr", "de-en"):
        shutil.copytree(checkpoints / "en-de", tmp_path / name)
    (tmp_path / "de-en" / EXAMPLES).write_text(json.dumps([EXAMPLE]), encoding="utf-8")
    return tmp_path


def choose(app: AppTest, name: str) -> AppTest:
    return app.selectbox(key="checkpoint").set_value(name).run()


def asked(app: AppTest) -> tuple[str, str]:
    return app.text_input(key="sentence").value or "", query(app, "target") or ""


def test_the_way_back_begins_with_the_translation(open_app: OpenApp, both_ways: Path) -> None:
    app = open_app(folder=both_ways, sentence="The woman sees the cat.")
    app = choose(app, "de-en")
    assert asked(app) == ("Die Frau sieht die Katze.", "")
    assert app.text_input(key="sentence").label == "German sentence"
    assert not any("does not look like" in each for each in warnings(app))


def test_a_typed_target_is_what_goes_back(open_app: OpenApp, both_ways: Path) -> None:
    target = "Der Hund sieht die Frau nicht."
    app = open_app(folder=both_ways, sentence="A man sees the dog.", target=target)
    assert asked(choose(app, "de-en")) == (target, "")


def test_a_model_of_the_same_language_is_asked_the_same_whatever_that_is(
    open_app: OpenApp, both_ways: Path
) -> None:
    text = "Die Frau sieht die Katze nicht."
    app = choose(open_app(folder=both_ways, sentence=text), "en-fr")
    assert asked(app) == (text, "")


def test_without_anything_asked_before_the_first_example_comes(
    open_app: OpenApp, both_ways: Path
) -> None:
    assert asked(open_app(folder=both_ways, checkpoint="de-en")) == (EXAMPLE["source"], "")
    link = open_app(folder=both_ways, checkpoint="de-en", sentence="The cat eats.")
    assert asked(link) == ("The cat eats.", "")
    assert any("does not look like German" in each for each in warnings(link))


def test_from_a_language_that_does_not_go_back_the_first_example_comes(
    open_app: OpenApp, both_ways: Path
) -> None:
    app = open_app(folder=both_ways, checkpoint="en-fr", sentence="The woman sees the cat.")
    app = choose(app, "de-en")
    assert asked(app) == (EXAMPLE["source"], "")
    assert asked(choose(app, "en-fr")) == (DEFAULT_SENTENCE, "")
