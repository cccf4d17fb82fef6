"""Folders of Hugging Face's in the model menu: each kind of model on each page."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.kit.apptest import go_to
from tests.kit.foreign_folders import save_foreign
from tests.kit.shown import plain
from tests.kit.tiny_checkpoint import write_tiny_checkpoint

pytestmark = pytest.mark.slow

FAMILIES = ("bart", "gpt2", "bert", "bert-body")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    write_tiny_checkpoint(made / "en-de")
    for family in FAMILIES:
        save_foreign(made / family, family)
    return made


@pytest.fixture
def open_foreign(open_app: Callable[..., AppTest], folder: Path) -> Callable[..., AppTest]:
    return lambda family, **query: open_app(folder=folder, checkpoint=family, **query)


def text_of(app: AppTest) -> str:
    """All that a page says outside its widgets."""
    kinds = (app.main.markdown, app.caption, app.get("html"), app.info, app.warning, app.error)
    return plain(
        "\n".join(str(getattr(each, "value", "") or each.proto) for one in kinds for each in one)
    )


def test_the_menu_offers_them_beside_ours(open_foreign):
    app = open_foreign("bart")
    menu = app.selectbox(key="checkpoint")
    assert menu.options == ["en-de", *sorted(FAMILIES)]
    assert menu.value == "bart"
    assert app.query_params["checkpoint"] == "bart"


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        ("bart", {"encoder", "decoder", "cross"}),
        ("gpt2", {"decoder"}),
        ("bert", {"encoder"}),
        ("bert-body", {"encoder"}),
    ],
)
def test_the_heads_page_shows_the_kinds_that_there_are(open_foreign, family, kinds):
    app = open_foreign(family, sentence="the cat sat")
    assert not app.error
    (prepared,) = app.session_state["heads-prepared.kept"]
    assert {str(site.kind) for site in prepared.trace.maps} == kinds
    assert app.text_input(key="sentence").label == "Text"
    said = text_of(app)
    assert " of transformers: " in said
    assert "German" not in said
    assert "target" not in {each.key for each in app.text_input}


def test_another_text_is_read_anew_and_a_gap_is_filled(open_foreign):
    app = open_foreign("bert", sentence="the cat sat")
    assert "Type [MASK] " in text_of(app)
    app.text_input(key="sentence").set_value("the [MASK] sat").run()
    (prepared,) = app.session_state["heads-prepared.kept"]
    assert "▁[MASK]" in prepared.trace.source.tokens
    assert "The gap: " in text_of(app)


@pytest.mark.parametrize("page", ["masks", "positions", "effects", "decoding"])
def test_pages_that_change_the_model_lead_to_the_heads(open_foreign, page):
    app = open_foreign("gpt2", sentence="the cat sat")
    go_to(app, page).run()
    (told,) = [each.value for each in app.info]
    assert "gpt2 is a Hugging Face model, and this page needs one of Headscope's own" in told
    assert app.button(key="bar-show-heads")


def test_about_tells_what_the_folder_says(open_foreign):
    app = open_foreign("gpt2", sentence="the cat sat")
    go_to(app, "about").run()
    said = text_of(app)
    assert "GPT2LMHeadModel (gpt2)" in said
    assert "n_head: 2" in said


def test_what_is_wrong_is_said_in_a_sentence(open_foreign, open_app, folder, tmp_path):
    app = open_foreign("gpt2", sentence="the cat sat")
    app.text_input(key="sentence").set_value("cat " * 200).run()
    assert "shorten it" in app.warning[0].value
    # Dimmed, what was asked before.
    assert "the cat sat" in app.info[0].value
    shutil.copytree(folder / "gpt2", tmp_path / "gpt2")
    (tmp_path / "gpt2" / "model.safetensors").rename(tmp_path / "gpt2" / "pytorch_model.bin")
    app = open_app(folder=tmp_path)
    assert "are a pickle" in app.error[0].value
