"""Toys in the app: in the menu behind the translators, and never called what they are not."""

import json
import re
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.toy_tasks import TASKS
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import captions, html, plain, query, warnings
from viz.links.parameters import View
from viz.masks.view import FURTHER
from viz.registry.pages import DEFAULT_SENTENCE, VIEWS
from viz.shell.bar import TOYS_WORDS

TOY = Path(__file__).parents[2] / "checkpoints" / "toy-reverse"


@pytest.fixture
def shelf(checkpoints: Path, tmp_path: Path) -> Path:
    """A translator and a toy."""
    shutil.copytree(checkpoints / "en-de", tmp_path / "zz-de")
    shutil.copytree(TOY, tmp_path / TOY.name)
    return tmp_path


def said(app: AppTest) -> str:
    """What the page says of this model; the glossary is of models in general."""
    without_styles = re.sub(r"<style>.*?</style>", "", html(app), flags=re.DOTALL)
    field = app.text_input(key="sentence")
    return " ".join([captions(app), *warnings(app), without_styles, field.label, field.placeholder])


def test_toys_stand_behind_the_translators_and_say_so(open_app: OpenApp, shelf: Path) -> None:
    app = open_app(folder=shelf)
    menu = app.selectbox(key="checkpoint")
    assert menu.options == ["zz-de", "Toy: letters in reverse, the paper's post-norm"]
    app = menu.set_value("toy-reverse").run()
    assert query(app, "checkpoint") == "toy-reverse"
    told = plain(app.selectbox(key="checkpoint").help)
    assert told == "toy-reverse: a tiny Transformer that writes its letters in reverse."
    assert app.text_input(key="sentence").value != ""


def test_a_toy_says_what_it_does_and_what_to_look_for(open_app: OpenApp, shelf: Path) -> None:
    app = open_app(folder=shelf, checkpoint="toy-reverse", sentence="a b c d e")
    task = TASKS["reverse"]
    assert f"This toy {task.does}. {task.look}" in captions(app)
    assert "e d c b a" in html(app)
    assert re.search(r"· \d+\.\d\d s", captions(app))
    assert not warnings(app)
    assert app.text_input(key="sentence").label == "Input"
    assert not re.search(r"English|German|translat", said(app), re.IGNORECASE)


@pytest.mark.parametrize("page", ["effects", "decoding", "masks", "positions"])
def test_pages_made_for_translations_say_what_they_call_a_toys_texts(
    open_app: OpenApp, shelf: Path, page: str
) -> None:
    app = open_app(folder=shelf, checkpoint="toy-reverse", sentence="a b c d e")
    assert TOYS_WORDS not in captions(app)
    app = go_to(app, page).run()
    assert TOYS_WORDS in captions(app)
    app = app.selectbox(key="checkpoint").set_value("zz-de").run()
    assert TOYS_WORDS not in captions(app)


@pytest.mark.parametrize(
    ("toy", "text"),
    [
        ("toy-reverse", "a b c d e"),
        ("toy-dates-rotary", "2026-11-23"),
        ("toy-numbers-fused", "307"),
    ],
)
def test_no_page_opens_with_a_language_that_a_toy_does_not_speak(
    open_app: OpenApp, tmp_path: Path, toy: str, text: str
) -> None:
    shutil.copytree(TOY.parent / toy, tmp_path / toy)
    app = open_app(folder=tmp_path, checkpoint=toy, sentence=text)
    for page in ("heads", "effects", "masks", "positions", "decoding"):
        app = go_to(app, page).run()
        assert not app.exception
        written = [each.value for each in (*app.markdown, *app.info, *app.subheader)]
        assert not re.search("English|German", " ".join([said(app), *written])), page


def test_a_toy_is_not_to_be_measured_on_sentences_it_cannot_read(
    open_app: OpenApp, shelf: Path, tmp_path: Path
) -> None:
    app = open_app(folder=shelf, checkpoint="toy-reverse", sentence="a b c d e", show="alignment")
    app = go_to(app, "effects").run()
    (told,) = [each.value for each in app.info]
    assert "does not translate between these languages. Choose “Log-probability”" in told
    assert "benchmarks.alignment" not in told
    # What another language is, is not measured either; what may be, is told how.
    for name, is_told in (("zz-de", False), ("en-de", True)):
        shutil.copytree(shelf / "zz-de", tmp_path / str(is_told) / name)
        app = open_app(folder=tmp_path / str(is_told), checkpoint=name, show="alignment")
        app = go_to(app, "effects").run()
        (told,) = [each.value for each in app.info]
        assert ("benchmarks.alignment" in told) == is_told


def test_a_batch_is_of_what_the_model_reads_until_somebody_types_one(
    open_app: OpenApp, shelf: Path
) -> None:
    app = open_app(folder=shelf, checkpoint="toy-reverse", sentence="a b c d e")
    app = go_to(app, "masks").run()
    found = app.text_area(key="masks-batch").value.splitlines()
    assert len(found) == 2
    assert all(map(TASKS["reverse"].can_read, found))
    assert len(found[0]) < len(found[1])
    app = app.selectbox(key="checkpoint").set_value("zz-de").run()
    assert app.text_area(key="masks-batch").value == FURTHER
    typed = "a b\nA dog."
    app = app.text_area(key="masks-batch").set_value(typed).run()
    app = app.selectbox(key="checkpoint").set_value("toy-reverse").run()
    assert app.text_area(key="masks-batch").value == typed


@pytest.mark.parametrize("text", ["Attention is all you need.", "a b c d e f g h i", "*a* $b$"])
def test_what_a_toy_cannot_read_gets_a_sentence_that_says_what_it_reads(
    open_app: OpenApp, shelf: Path, text: str
) -> None:
    app = open_app(folder=shelf, checkpoint="toy-reverse", sentence=text)
    (warning,) = warnings(app)
    assert f"This toy reads only {TASKS['reverse'].reads}." in plain(warning)
    assert not app.exception


def test_a_toy_opens_with_an_example_where_it_cannot_read_what_was_asked_before(
    open_app: OpenApp, shelf: Path
) -> None:
    first = json.loads((TOY / "examples.json").read_text(encoding="utf-8"))[0]["source"]
    app = open_app(folder=shelf, checkpoint="toy-reverse")
    assert app.text_input(key="sentence").value == first
    assert not warnings(app)
    app = open_app(folder=shelf, sentence="A dog.", target="Ein Hund.")
    app = app.selectbox(key="checkpoint").set_value("toy-reverse").run()
    assert (query(app, "sentence"), query(app, "target")) == (first, "")
    assert not warnings(app)
    app = app.text_input(key="sentence").set_value("a b").run()
    app = app.selectbox(key="checkpoint").set_value("zz-de").run()
    assert app.text_input(key="sentence").value == DEFAULT_SENTENCE
    app = app.text_input(key="sentence").set_value("A dog.").run()
    assert app.text_input(key="sentence").value == "A dog."


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("toy-reverse-encoder", "encoder", "An encoder alone: "),
        ("toy-reverse-decoder", "decoder", "A decoder alone: "),
    ],
)
def test_half_a_transformer_shows_its_heads_and_what_it_is(
    open_app: OpenApp, shelf: Path, name: str, kind: str, says: str
) -> None:
    shutil.copytree(TOY.with_name(name), shelf / name)
    app = open_app(folder=shelf, checkpoint=name, sentence="a b c d e")
    title = f"Toy: letters in reverse, {says.removesuffix(': ').lower()}"
    assert app.selectbox(key="checkpoint").options[-1] == title
    assert "e d c b a" in html(app)
    assert says in captions(app)
    assert f"This toy {TASKS['reverse'].does}. {TASKS['reverse'].look_alone}" in captions(app)
    (prepared,) = app.session_state["heads-prepared.kept"]
    assert {str(site.kind) for site in prepared.trace.maps} == {kind}
    assert not warnings(app)
    assert not re.search(r"English|German|translat|transformers", said(app), re.IGNORECASE)
    app = app.text_input(key="sentence").set_value("A dog.").run()
    (warning,) = warnings(app)
    assert f"This toy reads only {TASKS['reverse'].reads}." in plain(warning)


def test_half_a_transformer_opens_with_an_example(open_app: OpenApp, shelf: Path) -> None:
    half = TOY.with_name("toy-reverse-decoder")
    shutil.copytree(half, shelf / half.name)
    first = json.loads((half / "examples.json").read_text(encoding="utf-8"))[0]["source"]
    app = open_app(folder=shelf, sentence="A dog.", target="Ein Hund.")
    app = app.selectbox(key="checkpoint").set_value(half.name).run()
    assert (query(app, "sentence"), query(app, "target")) == (first, "")
    assert not warnings(app)


def test_the_page_about_tells_of_the_model_in_the_address(open_app: OpenApp, shelf: Path) -> None:
    shutil.copytree(TOY.with_name("toy-reverse-encoder"), shelf / "toy-reverse-encoder")
    for name, said, never in (
        ("toy-reverse", "A toy: it writes its letters in reverse", "is an encoder alone"),
        ("toy-reverse-encoder", "toy-reverse-encoder is an encoder alone. Its", "more than half"),
    ):
        app = open_app(folder=shelf, checkpoint=name)
        # As if the link had led here, and no page before.
        app.session_state["bar-opened.kept"] = None
        app = go_to(app, "about").run()
        text = plain(" ".join(each.value for each in app.markdown))
        assert said in text
        assert never not in text


@pytest.mark.parametrize(
    "page", [each for each in VIEWS.values() if each.without_model], ids=lambda page: page.name
)
def test_a_page_that_wants_both_halves_says_so(open_app: OpenApp, shelf: Path, page: View) -> None:
    name = "toy-reverse-encoder"
    shutil.copytree(TOY.with_name(name), shelf / name)
    app = open_app(folder=shelf, checkpoint=name, sentence="a b c")
    app = go_to(app, page.name).run()
    told = plain(app.info[0].value)
    assert told.startswith(f"{page.without_model} cannot be shown here")
    assert "is an encoder alone, and this page needs an encoder and a decoder." in app.info[0].value
