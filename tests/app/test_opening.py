"""What each page opens with where nobody asked for anything else."""

import json
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.explain.experiments import Experiment, save_experiments
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import plain
from viz.pages.positions_changed import ORIGINAL
from viz.registry.pages import DEFAULT_SENTENCE

SHOWN = {
    "head": Experiment("The man eats.", "Without Cross 1.2.", 2.0, "cross.1.2"),
    "mask": Experiment("A dog.", "Without the mask.", 2.0),
    "remove": Experiment("The dog sleeps.", "Without positions.", 2.0),
    "shuffle": Experiment("The dog sleeps.", "In another order.", 2.0, "2.0.1.3"),
    "search": Experiment("A man.", "By greedy decoding.", 2.0),
    "words": Experiment("The cat eats.", "Why “Katze” and not “Hund”?", 2.0, "2.Hund"),
}


@pytest.fixture
def folder(checkpoints: Path, tmp_path: Path) -> Path:
    """The checkpoints with sentences for experiments."""
    copied = tmp_path / "checkpoints"
    shutil.copytree(checkpoints / "en-de", copied / "en-de")
    save_experiments(copied / "en-de", {kind: [each] for kind, each in SHOWN.items()})
    return copied


def click_page(app: AppTest, page: str) -> AppTest:
    """Does what a click on a page's name does."""
    app.query_params = {}
    return go_to(app, page).run()


def sentence(app: AppTest) -> str:
    asked: str = app.text_input(key="sentence").value
    return asked


def test_a_page_opens_with_a_sentence_that_shows_something_and_the_next_with_its_own(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, page="masks")
    assert sentence(app) == "A dog."
    assert sentence(click_page(app, "effects")) == "The man eats."
    assert sentence(click_page(app, "decoding")) == "The man eats."


def test_a_page_whose_experiments_show_something_with_any_sentence_keeps_the_usual_one(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, page="positions")
    assert sentence(app) == DEFAULT_SENTENCE
    assert sentence(click_page(app, "decoding")) == DEFAULT_SENTENCE


@pytest.mark.parametrize("page", ["heads", "effects", "masks", "positions"])
def test_a_sentence_of_ones_own_stays_on_every_page(
    open_app: OpenApp, folder: Path, page: str
) -> None:
    app = open_app(folder=folder, page="decoding")
    app.text_input(key="sentence").set_value("She reads a book.").run()
    assert sentence(click_page(app, page)) == "She reads a book."


@pytest.mark.parametrize("asked", [{"topic": "table"}, {"sentence": DEFAULT_SENTENCE}])
def test_a_link_opens_what_it_says(open_app: OpenApp, folder: Path, asked: dict[str, str]) -> None:
    app = open_app(folder=folder, page="positions", **asked)
    assert sentence(app) == DEFAULT_SENTENCE


@pytest.mark.parametrize("first", ["", "The cat sleeps."])
def test_nothing_is_switched_off_but_by_the_visitor(
    open_app: OpenApp, folder: Path, first: str
) -> None:
    app = open_app(folder=folder)
    if first:
        app.text_input(key="sentence").set_value(first).run()
    for page in ("effects", "heads", "effects", "decoding", "compare", "masks", "effects"):
        assert "off" not in click_page(app, page).query_params, page


def test_heads_switched_on_again_stay_on(open_app: OpenApp, folder: Path) -> None:
    app = click_page(open_app(folder=folder), "effects")
    app.multiselect(key="effects-heads-off").set_value(["cross.0.0"]).run()
    assert click_page(app, "heads").query_params["off"] == "cross.0.0"
    click_page(app, "effects")
    app.button(key="effects-off-none").click().run()
    for page in ("heads", "effects"):
        assert "off" not in click_page(app, page).query_params


def test_heads_that_a_person_switched_off_stay_off_on_the_next_page(
    open_app: OpenApp, folder: Path
) -> None:
    app = click_page(open_app(folder=folder), "effects")
    app.multiselect(key="effects-heads-off").set_value(["cross.0.0", "cross.1.1"]).run()
    assert click_page(app, "heads").query_params["off"] == "cross.0.0-cross.1.1"


def test_positions_open_removed_once_and_stay_as_they_are_set_then(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, page="positions")
    app.segmented_control(key="positions-topic").set_value("without").run()
    assert app.slider(key="positions-scale").value == 0
    app.slider(key="positions-scale").set_value(100).run()
    assert app.slider(key="positions-scale").value == 100
    app.segmented_control(key="positions-topic").set_value("table").run()
    app.segmented_control(key="positions-topic").set_value("without").run()
    assert app.slider(key="positions-scale").value == 100


def test_words_open_shuffled_as_the_stored_sentence_shows_most(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, page="positions")
    app.text_input(key="sentence").set_value(SHOWN["shuffle"].source).run()
    app.segmented_control(key="positions-topic").set_value("without").run()
    app.segmented_control(key="positions-topic-within").set_value("shuffle").run()
    assert app.query_params["shuffled"] == SHOWN["shuffle"].setting
    next(each for each in app.button if each.label == ORIGINAL).click().run()
    assert "shuffled" not in app.query_params


def test_a_link_to_the_words_order_or_to_positions_changes_neither(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, page="positions", topic="shuffle")
    assert "shuffled" not in app.query_params
    app.segmented_control(key="positions-topic-within").set_value("without").run()
    assert app.slider(key="positions-scale").value == 0


def test_the_mask_editor_opens_with_the_models_own_mask(open_app: OpenApp, folder: Path) -> None:
    app = open_app(folder=folder, page="masks", part="compare")
    app.segmented_control(key="masks-part").set_value("change").run()
    assert "edit" not in app.query_params
    assert app.selectbox(key="masks-preset").value == "own"


@pytest.mark.parametrize(
    ("page", "kind", "shown"),
    [
        ("heads", "head", {"off": "cross.1.2", "layer": "1", "head": "2"}),
        ("effects", "head", {"off": "cross.1.2"}),
        ("effects", "words", {"token": "2", "instead": "Hund"}),
        ("masks", "mask", {"part": "compare"}),
        ("positions", "remove", {"topic": "without", "scale": "0"}),
        ("positions", "shuffle", {"topic": "shuffle", "shuffled": "2.0.1.3"}),
        ("decoding", "search", {"section": "widths"}),
        ("compare", "search", {"versus": "search"}),
    ],
)
def test_a_sentence_from_the_menu_comes_with_the_state_that_shows_it(
    open_app: OpenApp, folder: Path, page: str, kind: str, shown: dict[str, str]
) -> None:
    app = open_app(folder=folder, page=page, sentence="She reads a book.")
    menu = app.menu_button(key="bar-examples")
    (place,) = [at for at, text in enumerate(menu.options) if SHOWN[kind].shows in plain(text)]
    menu.click_index(place).run()
    assert app.query_params["sentence"] == SHOWN[kind].source
    assert shown.items() <= app.query_params.items()


GIVEN = ("The dog sleeps.", "Der Hund schläft.")


@pytest.fixture
def with_twin(folder: Path) -> Path:
    """The same, with a model beside it that was trained without the causal mask."""
    twin = shutil.copytree(folder / "en-de", folder / "en-de-twin")
    metrics = json.loads((twin / "metrics.json").read_text(encoding="utf-8"))
    metrics["training"] = {**metrics.get("training", {}), "causal": False}
    (twin / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    example = {"source": GIVEN[0], "translation": GIVEN[1], "shows": "A dog."}
    (twin / "examples.json").write_text(json.dumps([example]), encoding="utf-8")
    return folder


def given_to(app: AppTest) -> tuple[str, str]:
    return sentence(app), app.text_input(key="target").value


def test_a_model_that_cannot_write_opens_with_a_translation_as_long_as_it_belongs_there(
    open_app: OpenApp, with_twin: Path
) -> None:
    app = open_app(folder=with_twin, checkpoint="en-de-twin")
    assert given_to(app) == GIVEN
    assert any("A given translation" in each.value for each in app.caption)
    assert given_to(click_page(app, "decoding")) == GIVEN
    # What its own words are can be asked.
    app.text_input(key="target").set_value("").run()
    assert given_to(app) == (GIVEN[0], "")
    app = open_app(folder=with_twin, checkpoint="en-de-twin")
    app.text_input(key="sentence").set_value("A man.").run()
    assert given_to(app) == ("A man.", "")
    app = open_app(folder=with_twin, checkpoint="en-de-twin")
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert given_to(app) == (GIVEN[0], "")


def test_a_link_to_a_model_that_cannot_write_opens_what_it_says(
    open_app: OpenApp, with_twin: Path
) -> None:
    app = open_app(folder=with_twin, page="heads", checkpoint="en-de-twin", attention="decoder")
    assert given_to(app) == (DEFAULT_SENTENCE, "")


def test_a_second_sentence_differs_in_a_word_and_follows_the_first_until_a_person_brings_theirs(
    open_app: OpenApp,
) -> None:
    app = open_app(page="decoding")
    app.text_input(key="sentence").set_value("She reads the book.").run()
    assert other_of(click_page(app, "compare")) == "She reads the letter."
    app.text_input(key="sentence").set_value("The dog sleeps.").run()
    assert other_of(app) == "The cat sleeps."
    # Of this one, no word has another in its place.
    app.text_input(key="sentence").set_value("Tom sleeps.").run()
    assert other_of(app) == "The cat sleeps."
    click_page(app, "decoding").text_input(key="sentence").set_value("A man.").run()
    assert other_of(click_page(app, "compare")) == "A woman."
    app.text_input(key="compare-other").set_value("A boy.").run()
    app.text_input(key="sentence").set_value("The dog sleeps.").run()
    assert other_of(app) == "A boy."
    app.text_input(key="compare-other").set_value("").run()
    app.text_input(key="sentence").set_value("A man.").run()
    assert other_of(app) == ""


def other_of(app: AppTest) -> str:
    second: str = app.text_input(key="compare-other").value
    return second
