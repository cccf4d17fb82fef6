"""The menu that saves a picture: what it offers, what it makes, and what it says when it cannot."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import said
from viz.links.mask_edits import Edit, write
from viz.masks.batch_masks import batch_masks
from viz.registry.pages import DEFAULT_SENTENCE, HOME, VIEWS
from viz.save import browser, image
from viz.save.formats import FORMATS, IMAGES
from viz.service import model_menu
from viz.service.questions import ModelQuestion
from viz.shell import save_menu

SECOND = "Did you get her letter?"

PAGES = {
    "heads": {
        "": ["picture", "facts"],
        "layer=2&below=numbers": ["picture", "numbers-of-cross.2"],
        "below=query-key&cell=3.1": ["picture", "query-key"],
        "layer=2&below=matrices": ["picture", "matrices-cross.2"],
    },
    "masks": {
        "part=see": ["own"],
        "part=see&of=decoder": ["factors", "mask-rows"],
        "part=inside": ["with-mask", "without-mask", "lesson"],
        "part=compare": ["compared", "compared-weights", "log-probabilities"],
        "part=change": ["translations", "log-probabilities"],
    },
    "positions": {
        "topic=table": ["encoding", "chosen-waves", "circle", "pair-waves"],
        "topic=likeness": ["likeness", "by-offset"],
        "topic=words": ["word-sum", "parts-of-words", "terms"],
        "topic=without&scale=0": ["neighbours"],
        "topic=shuffle&shuffled=1.0.2.3.4.5.6": ["distances"],
        "topic=formula": ["formula", "formula-waves"],
    },
}
"""What can be saved, on every page and in every part of it."""


@pytest.fixture(scope="module")
def trace(checkpoints: Path) -> Trace:
    return load(checkpoints / "en-de", device="cpu").trace(DEFAULT_SENTENCE)


@pytest.fixture
def open_page(open_app: OpenApp) -> OpenApp:
    """Opens a page of the app, and in it the menus named."""

    def open_at(page: str = "heads", *menus: str, **query: str) -> AppTest:
        app = open_app(**query)
        if page != "heads":
            go_to(app, page)
            for name, value in query.items():
                app.query_params[name] = value
            app.run()
        return opened(app, *menus) if menus else app

    return open_at


def files(app: AppTest) -> list[Any]:
    """The buttons that download a picture's file; each menu offers the talk too."""
    return [each for each in app.download_button if each.label != "Talk to take home"]


def opened(app: AppTest, *menus: str) -> AppTest:
    for menu in menus:
        app.session_state[save_key(app, menu)] = True
    return app.run()


def save_key(app: AppTest, *parts: str) -> str:
    """The key of something in the menu of a picture of the page that is shown."""
    page = app.session_state["address-visit.kept"].page or HOME
    return save_menu.SAVE(VIEWS[page].keys(parts[0]), *parts[1:])


def parsed(query: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in query.split("&") if pair)


def file_of(app: AppTest) -> bytes:
    """What the download button of the open menu holds."""
    content: bytes = app.session_state["save-made.kept"].content
    return content


def choose(app: AppTest, menu: str, **settings: Any) -> AppTest:
    """Settles the widgets of an open menu, the format first, and runs the app after each."""
    for name, value in settings.items():
        if name == "format":
            app.segmented_control(key=save_key(app, menu, "format")).set_value(value)
        elif name == "dark":
            app.toggle(key=save_key(app, menu, "dark")).set_value(value)
        else:
            app.selectbox(key=save_key(app, menu, name)).set_value(value)
        opened(app, menu)
    return app


@pytest.mark.parametrize(
    ("page", "query", "names"),
    [(page, query, names) for page, parts in PAGES.items() for query, names in parts.items()],
)
def test_every_picture_of_every_page_can_be_saved(
    open_page: OpenApp, page: str, query: str, names: list[str]
) -> None:
    app = open_page(page, *names, **parsed(query))
    for name in names:
        group = app.segmented_control(key=save_key(app, name, "format"))
        assert group.value in FORMATS


def test_a_closed_menu_computes_and_holds_nothing(open_page: OpenApp) -> None:
    app = open_page()
    assert not [each.key for each in app.button if each.key.endswith("-make")]
    assert not app.download_button
    assert not app.code
    assert "save-made.kept" not in app.session_state
    # An open one offers the talk with its model too, which is made by a click.
    assert [each.key for each in opened(app, "picture").download_button] == [
        "talks-heads-picture-home"
    ]


@pytest.mark.parametrize("format", ["csv", "json", "npz"])
def test_the_numbers_of_the_selected_head_are_the_trace_s(
    open_page: OpenApp, trace: Trace, format: str
) -> None:
    app = open_page("heads", "picture", attention="decoder", layer="1", head="3")
    choose(app, "picture", format=format)
    seen, content = trace.attention("decoder", 1), file_of(app)
    if format == "csv":
        table = pd.read_csv(io.BytesIO(content), dtype={"weight": np.float32})
        weights = table["weight"].to_numpy().reshape(seen.weights[3].shape)
        assert table["sentence"][0] == DEFAULT_SENTENCE
    elif format == "json":
        told = json.loads(content)
        weights = np.array(told["arrays"]["weight"]["values"], dtype=np.float32)
        assert told["checkpoint"] == "en-de"
    else:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            weights = arrays["weight"]
    np.testing.assert_array_equal(weights, seen.weights[3])
    assert files(app)[0].label == f"Download {format.upper()}"
    assert f"headscope-decoder-layer1-head3.{format}" in " ".join(
        each.value for each in app.caption
    )


def test_how_the_trace_is_read_goes_into_what_is_saved(open_page: OpenApp) -> None:
    app = open_page("heads", "picture", words="1", specials="0")
    told = json.loads(file_of(choose(app, "picture", format="json")))
    assert "<s>" not in told["axes"]["query"]["tokens"]
    assert "Whole words" in told["reading"]
    choose(app, "picture", format="py")
    assert "Reading(words=True, specials=False)" in app.code[0].value


def test_a_target_of_ones_own_goes_into_what_is_saved(open_page: OpenApp) -> None:
    app = open_page("heads", "picture", target="Der Hund schläft.")
    assert json.loads(file_of(choose(app, "picture", format="json")))["target"] == (
        "Der Hund schläft."
    )
    assert "'Der Hund schläft.'" in choose(app, "picture", format="py").code[0].value


def test_every_head_and_the_whole_view_are_in_the_menu_of_the_picture(
    open_page: OpenApp, trace: Trace
) -> None:
    app = open_page("heads", "picture")
    what = app.selectbox(key="save-heads-picture-what")
    assert what.options[1:] == [
        "Cross-attention, every head",
        "The whole view, to open offline",
    ]
    choose(app, "picture", format="npz", what=1)
    with np.load(io.BytesIO(file_of(app)), allow_pickle=False) as arrays:
        np.testing.assert_array_equal(
            arrays["weight"], np.stack([each.weights for each in trace.maps.values()][-3:])
        )
    choose(app, "picture", what=2)
    assert app.segmented_control(key="save-heads-picture-format").options == ["HTML"]
    app.button(key="save-heads-picture-make").click()
    opened(app, "picture")
    assert file_of(app).startswith(b"<!doctype html>")


def test_a_painted_mask_goes_into_what_is_saved(open_page: OpenApp, trace: Trace) -> None:
    padded = load(model_menu.checkpoints()["en-de"], device="cpu").trace_batch(
        [DEFAULT_SENTENCE], [trace.text]
    )
    own = batch_masks(padded.padded, 0)["decoder"]
    allowed = own.allowed.copy()
    allowed[2, 0] = False
    edit = write([Edit(own.kind, None, allowed)])
    app = open_page("masks", "translations", part="change", batch=" ", edit=edit)
    told = json.loads(file_of(choose(app, "translations", format="json")))
    assert told["edit"] == edit
    assert told["edited"] == "decoder attention, all layers"
    assert told["arrays"]["allowed_after"]["values"] == allowed.tolist()
    assert edit in choose(app, "translations", format="py").code[0].value


@pytest.mark.parametrize(
    ("page", "menu", "query", "sentence", "caption"),
    [
        (
            "masks",
            "factors",
            {"of": "decoder", "batch": SECOND, "number": "2"},
            SECOND,
            "both factors allow",
        ),
        ("masks", "translations", {"part": "change", "batch": " "}, DEFAULT_SENTENCE, "No mask"),
        ("heads", "picture", {"compare": "0.1-0.2", "layer": "0", "head": "1"}, None, "A row"),
        ("heads", "picture", {"attention": "joint"}, None, "Upper left"),
        ("heads", "matrices-cross.2", {"layer": "2", "below": "matrices"}, "", "W_O"),
    ],
)
def test_an_image_names_what_it_shows_and_the_sentence_it_is_of(
    open_page: OpenApp,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    menu: str,
    query: dict[str, str],
    sentence: str | None,
    caption: str,
) -> None:
    drawn: list[dict[str, str]] = []

    def draw(*_: Any, **words: str) -> bytes:
        drawn.append(words)
        return b"an image"

    monkeypatch.setattr(browser, "has_browser", lambda: True)
    monkeypatch.setattr(image, "image", draw)
    app = open_page(page, menu, **query)
    choose(app, menu, format="png")
    app.button(key=save_key(app, menu, "make")).click()
    opened(app, menu)
    assert caption in drawn[0]["caption"]
    assert drawn[0]["sentence"] == (DEFAULT_SENTENCE if sentence is None else sentence)
    assert drawn[0]["model"] == "en-de"


def test_what_was_chosen_in_one_menu_is_chosen_in_the_next(open_page: OpenApp) -> None:
    app = open_page("positions", "encoding", topic="table")
    choose(app, "encoding", format="py", width="column", dark=True)
    app.session_state["save-positions-encoding"] = False
    opened(app, "chosen-waves")
    assert app.segmented_control(key="save-positions-chosen-waves-format").value == "py"
    assert app.selectbox(key="save-positions-chosen-waves-width").value == "column"
    assert app.toggle(key="save-positions-chosen-waves-dark").value
    assert "narrow=True, dark=True" in app.code[0].value


def test_a_file_is_offered_for_as_long_as_its_settings_stay(open_page: OpenApp) -> None:
    app = open_page("heads", "picture")
    choose(app, "picture", format="html")
    assert not files(app)
    app.button(key="save-heads-picture-make").click()
    opened(app, "picture")
    assert files(app)[0].label == "Download HTML"
    choose(app, "picture", dark=True)
    assert not files(app)


def test_too_many_numbers_for_a_table_are_refused_in_a_sentence(
    open_page: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz.shell.save_menu.MOST_WRITTEN", 10)
    app = open_page("heads", "picture")
    choose(app, "picture", format="csv")
    assert "too many for CSV; choose NPZ" in said(app)
    assert not files(app)
    choose(app, "picture", format="npz")
    assert files(app)


def test_many_numbers_are_written_when_they_are_asked_for(
    open_page: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viz.shell.save_menu.AT_ONCE", 10)
    app = open_page("heads", "picture")
    choose(app, "picture", format="csv")
    assert not files(app)
    app.button(key="save-heads-picture-make").click()
    opened(app, "picture")
    assert files(app)


def test_without_a_browser_the_menu_says_so_at_once_and_offers_the_rest(
    open_page: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-browser"))
    app = open_page("heads", "picture")
    assert browser.NEEDS_BROWSER in said(app)
    assert app.segmented_control(key="save-heads-picture-format").value == "csv"
    assert files(app)
    for format in IMAGES:
        choose(app, "picture", format=format)
        assert browser.NEEDS_BROWSER in said(app)
        assert not files(app)
        assert not [each for each in app.button if each.key == "save-heads-picture-make"]
    assert choose(app, "picture", format="json").download_button
    assert choose(app, "picture", format="py").code


def test_a_browser_that_fails_is_told_in_a_sentence(
    open_page: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("BROWSER_PATH", str(broken))
    browser.BROWSER.close()
    app = open_page("heads", "picture")
    choose(app, "picture", format="svg")
    app.button(key="save-heads-picture-make").click()
    opened(app, "picture")
    assert "did not start" in said(app)
    assert not files(app)


def test_nothing_is_saved_from_a_stage(open_page: OpenApp) -> None:
    app = open_page("heads", present="1")
    opened(app, "picture")
    assert "save-heads-picture-format" not in [each.key for each in app.segmented_control]


def test_numbers_say_of_which_model_sentence_and_target_they_are(tmp_path: Path) -> None:
    asked = ModelQuestion(tmp_path / "en-de", "A dog.", "Ein Hund.")
    assert asked.texts == {
        "sentence": "A dog.",
        "checkpoint": "en-de",
        "target": "Ein Hund.",
    }
    step = ModelQuestion(tmp_path / "en-de" / "snapshots" / "step-10.safetensors", "A dog.", "", 3)
    assert step.model_name == str(tmp_path / "en-de")
    assert step.texts["snapshot"] == "step-10"


def test_a_shipped_model_is_named_as_a_notebook_finds_it_from_any_folder() -> None:
    root = Path(save_menu.__file__).parents[2]
    assert ModelQuestion(root / "checkpoints" / "en-de", DEFAULT_SENTENCE).model_name == "en-de"
