"""Hugging Face folders of our Transformer in the app: every page, as for our own checkpoints."""

from pathlib import Path

import pytest

from tests.kit.apptest import OpenApp, go_to
from tests.kit.marian_folders import LANGUAGES, save_marian
from tests.kit.shown import html, plain, said, warnings
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from viz.registry.pages import VIEWS

pytestmark = pytest.mark.slow

ENGLISH, GERMAN = PAIRS[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    write_tiny_checkpoint(made / "en-de")
    save_marian(made / "opus-mt-en-de", steps=150)
    save_marian(made / "opus-mt-en-zlw", steps=20, languages=LANGUAGES)
    save_marian(made / "opus-mt-tr-en", steps=20, separate=True)
    return made


@pytest.mark.parametrize("page", VIEWS)
@pytest.mark.parametrize("name", ["opus-mt-en-de", "opus-mt-en-zlw", "opus-mt-tr-en"])
def test_every_page_opens(open_app: OpenApp, folder: Path, name: str, page: str) -> None:
    app = open_app(folder=folder, checkpoint=name, sentence=ENGLISH)
    app = go_to(app, page).run()
    assert not app.error
    assert "transformers" not in said(app)
    if name == "opus-mt-en-de" and VIEWS[page].asks:
        assert GERMAN in html(app)


@pytest.mark.parametrize("other", ["en-de", "opus-mt-en-zlw"])
def test_it_is_compared_with_another(open_app: OpenApp, folder: Path, other: str) -> None:
    app = open_app(
        folder=folder,
        page="compare",
        checkpoint="opus-mt-en-de",
        sentence=ENGLISH,
        versus="model",
        other_model=other,
    )
    assert not app.error
    assert app.session_state["compare-other_model"] == other


def test_what_it_never_saw_is_unknown(open_app: OpenApp, folder: Path) -> None:
    app = open_app(folder=folder, checkpoint="opus-mt-en-de", sentence="The cat eats 猫.")
    assert any("reads them as unknown: “猫”" in each for each in warnings(app))


def test_one_of_another_language_opens_with_a_sentence_of_it(
    open_app: OpenApp, folder: Path
) -> None:
    app = open_app(folder=folder, checkpoint="opus-mt-en-de")
    app.selectbox(key="checkpoint").set_value("opus-mt-tr-en").run()
    assert app.text_input(key="sentence").value == "Yeni bir bilgisayar aldı."


def test_the_page_about_names_the_languages(open_app: OpenApp, folder: Path) -> None:
    app = open_app(folder=folder, checkpoint="opus-mt-en-zlw", sentence=ENGLISH)
    go_to(app, "about").run()
    told = plain(" ".join(each.value for each in app.markdown))
    assert "It writes 2 languages: a text begins with the one to write" in told
