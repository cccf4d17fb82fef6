"""Hugging Face folders of our Transformer in the app: every page, as for our own checkpoints."""

from pathlib import Path

import numpy as np
import pytest

from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind
from model.translate.translator import load
from tests.app.test_masks_page import link, translations
from tests.kit.apptest import OpenApp, go_to
from tests.kit.marian_folders import LANGUAGES, save_marian
from tests.kit.multilingual_folders import save_family
from tests.kit.shown import html, plain, said, warnings
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from viz.links.mask_edits import Edit
from viz.registry.pages import VIEWS

pytestmark = pytest.mark.slow

ENGLISH, GERMAN = PAIRS[0]
KNOWING = ("opus-mt-en-de", "nllb-small", "mbart-en-de")
"""Models that translate PAIRS."""
NAMES = (*KNOWING, "opus-mt-en-zlw", "opus-mt-tr-en")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    write_tiny_checkpoint(made / "en-de")
    save_marian(made / "opus-mt-en-de", steps=150)
    save_marian(made / "opus-mt-en-zlw", steps=20, languages=LANGUAGES)
    save_marian(made / "opus-mt-tr-en", steps=20, separate=True)
    save_family(made / "nllb-small", "nllb", steps=100)
    save_family(made / "mbart-en-de", "mbart", steps=100)
    return made


@pytest.mark.parametrize("page", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens(open_app: OpenApp, folder: Path, name: str, page: str) -> None:
    app = open_app(folder=folder, checkpoint=name, sentence=ENGLISH)
    app = go_to(app, page).run()
    assert not app.error
    assert "transformers" not in said(app)
    if name in KNOWING and VIEWS[page].asks:
        assert GERMAN in html(app)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("opus-mt-en-de", "en-de"),
        ("opus-mt-en-de", "opus-mt-en-zlw"),
        ("en-de", "nllb-small"),
        ("mbart-en-de", "nllb-small"),
    ],
)
def test_it_is_compared_with_another(
    open_app: OpenApp, folder: Path, name: str, other: str
) -> None:
    app = open_app(
        folder=folder,
        page="compare",
        checkpoint=name,
        sentence=ENGLISH,
        versus="model",
        other_model=other,
    )
    assert not app.error
    assert app.session_state["compare-other_model"] == other


@pytest.mark.parametrize("name", KNOWING)
def test_a_painted_mask_is_run(open_app: OpenApp, folder: Path, name: str) -> None:
    model = load(folder / name, device="cpu")
    trace = model.trace(ENGLISH)
    allowed = np.zeros((len(trace.target), len(trace.source)), dtype=bool)
    allowed[:, 0] = True
    app = open_app(
        folder=folder,
        page="masks",
        checkpoint=name,
        sentence=ENGLISH,
        part="change",
        batch=" ",
        masked="cross",
        edit=link(Edit(AttentionKind.CROSS, None, allowed)),
    )
    assert not app.error
    under = Intervention(masks={"cross": allowed})
    before, after = translations(app)
    assert before == GERMAN
    own = model.translate(ENGLISH, under=under)
    assert after == own.text
    assert after != before


@pytest.mark.parametrize("code", ["fra_Latn", "xyz"])
def test_a_text_names_the_language_to_write(open_app: OpenApp, folder: Path, code: str) -> None:
    named = f">>{code}<< {ENGLISH}"
    app = open_app(folder=folder, checkpoint="nllb-small", sentence=named)
    if code == "xyz":
        assert "has no language xyz; name one that it was trained on." in said(app)
        return
    assert not app.error
    assert code in load(folder / "nllb-small").trace(named).target.tokens
    go_to(app, "about").run()
    told = plain(" ".join(each.value for each in app.markdown))
    assert "It writes 202 languages" in told
    assert "as in `>>eng_Latn<< >>" in told


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
