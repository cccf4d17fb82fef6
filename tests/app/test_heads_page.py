import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.trace import AttentionKind
from model.translator import load
from viz import session
from viz.labels import escape_html, visible

OpenApp = Callable[..., AppTest]


def translation(app: AppTest) -> str | None:
    """What stands in the large German line, as HTML."""
    shown = app.get("html")
    return re.fullmatch(r"<p [^>]*>(.*)</p>", shown[0].proto.body, re.DOTALL)[1] if shown else None


def chart(app: AppTest) -> Any:
    """The heatmap's message to the browser, or None if there is no heatmap."""
    charts = app.get("plotly_chart")
    return charts[0].proto if charts else None


def title(app: AppTest) -> str:
    return json.loads(chart(app).spec)["layout"]["title"]["text"]


def plain(markdown: str) -> str:
    return re.sub("[\\\\\u2060\u2068\u2069]", "", markdown)


def warnings(app: AppTest) -> list[str]:
    return [plain(warning.value) for warning in app.warning]


def button(app: AppTest, key: str) -> Any:
    return next(group for group in app.get("button_group") if group.key == key)


def retype(app: AppTest, text: str) -> AppTest:
    return app.text_input(key="sentence").set_value(text).run()


def test_opening_the_app_translates_the_sample_sentence(open_app: OpenApp) -> None:
    app = open_app()
    assert app.text_input(key="sentence").value == session.DEFAULT_SENTENCE
    assert translation(app) == "Die Katze saß auf der Matte."
    assert title(app) == "Cross-attention, layer 2, head 0"
    assert not app.warning
    assert not app.error


def test_the_page_says_how_large_the_model_is_where_it_runs_and_how_long_it_took(
    open_app: OpenApp,
) -> None:
    texts = " ".join(caption.value for caption in open_app().caption)
    assert "0.1 million parameters in 2 encoder and 3 decoder layers of 4 heads" in texts
    assert re.search(r"CPU|CUDA", texts)
    assert re.search(r"translated in \d+\.\d\d s", texts)


def test_the_page_warns_that_a_weight_is_no_explanation(open_app: OpenApp) -> None:
    assert any("not why" in caption.value for caption in open_app().caption)


def test_a_new_sentence_gives_a_new_translation_and_new_weights(open_app: OpenApp) -> None:
    app = open_app()
    before = chart(app).spec
    retype(app, "The dog sleeps.")
    assert translation(app) == "Der Hund schläft."
    assert chart(app).spec != before


def test_the_picture_holds_the_weights_that_the_model_gives(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app(attention="Decoder", layer="1", head="3")
    sentence = session.DEFAULT_SENTENCE
    expected = load(checkpoints / "en-de", device="cpu").trace(sentence).attention("decoder", 1)
    recorded = session.trace(checkpoints / "en-de", sentence).attention("decoder", 1)
    assert title(app) == "Decoder self-attention, layer 1, head 3"
    assert np.allclose(recorded.weights, expected.weights, atol=1e-5)
    assert f"the largest weight is {expected.weights[3].max():.2f}" in chart(app).alt


@pytest.mark.parametrize(
    ("attention", "shown"),
    [
        ("Encoder", "Encoder self-attention, layer 1, head 0"),
        ("Decoder", "Decoder self-attention, layer 2, head 0"),
        ("Cross", "Cross-attention, layer 2, head 0"),
    ],
)
def test_each_kind_of_attention_can_be_chosen(
    open_app: OpenApp, attention: str, shown: str
) -> None:
    app = open_app()
    button(app, "attention").set_value(AttentionKind(attention.lower())).run()
    assert title(app) == shown
    assert chart(app).alt.startswith("Layer ")


def test_layer_and_head_can_be_chosen(open_app: OpenApp) -> None:
    app = open_app()
    button(app, "layer").set_value(0).run()
    button(app, "head").set_value(3).run()
    assert title(app) == "Cross-attention, layer 0, head 3"


def test_the_address_opens_a_sentence_and_a_head(open_app: OpenApp) -> None:
    app = open_app(sentence="The cat eats.", attention="Encoder", layer="0", head="2")
    assert translation(app) == "Die Katze frisst."
    assert title(app) == "Encoder self-attention, layer 0, head 2"
    assert not app.warning


@pytest.mark.parametrize("value", ["99", "-1", "1.5", "", "x", "<b>1</b>", "*1*", "1e9", "０"])
@pytest.mark.parametrize("key", ["layer", "head"])
def test_an_address_with_a_number_there_is_not_shows_the_usual_one_and_says_so(
    open_app: OpenApp, key: str, value: str
) -> None:
    app = open_app(**{key: value})
    assert title(app) == "Cross-attention, layer 2, head 0"
    assert len(app.warning) == 1
    assert f"no {key} “{value}”" in warnings(app)[0]


@pytest.mark.parametrize("value", ["Module", "cross", "<script>alert(1)</script>", "$x$" * 1000])
def test_an_address_with_an_attention_there_is_not_shows_the_usual_one_and_says_so(
    open_app: OpenApp, value: str
) -> None:
    app = open_app(attention=value)
    assert title(app) == "Cross-attention, layer 2, head 0"
    assert len(app.warning) == 1
    assert value[:40] in warnings(app)[0]
    assert len(warnings(app)[0]) < 200


def test_the_warning_about_the_address_goes_with_the_next_click(open_app: OpenApp) -> None:
    app = open_app(layer="99")
    button(app, "head").set_value(1).run()
    assert not app.warning


@pytest.mark.parametrize("text", ["", "   ", "\t\n", "\u00a0\u3000"])
def test_an_empty_sentence_is_answered_with_what_to_do(open_app: OpenApp, text: str) -> None:
    app = retype(open_app(), text)
    assert warnings(app) == ["The text is empty; type a sentence to translate."]
    assert chart(app) is None


def test_a_text_far_too_long_is_answered_with_its_length(open_app: OpenApp) -> None:
    app = retype(open_app(), "a" * 10_000)
    assert warnings(app) == ["The text has 10,000 characters and the app takes 5,000; shorten it."]


def test_a_text_of_too_many_tokens_is_answered_with_their_number(open_app: OpenApp) -> None:
    app = retype(open_app(), "cat " * 100)
    assert warnings(app) == ["The text has 101 tokens and the model takes 64; shorten it."]


def test_characters_the_model_never_saw_are_named_beside_the_translation(
    open_app: OpenApp,
) -> None:
    app = retype(open_app(), "漢 the cat *")
    assert "never saw these characters" in warnings(app)[0]
    assert "“漢”, “*”" in warnings(app)[0]
    assert chart(app) is not None


def test_a_text_of_nothing_but_such_characters_is_refused(open_app: OpenApp) -> None:
    app = retype(open_app(), "漢字")
    assert "never saw any of these characters" in warnings(app)[0]
    assert chart(app) is None


def test_control_characters_are_made_visible(open_app: OpenApp) -> None:
    app = retype(open_app(), "the\x07 cat\u202e")
    assert "“␇”, “⟨U+202E⟩”" in warnings(app)[0]
    assert chart(app) is not None


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "<s> </s> the cat", "<b>x</b>"])
def test_markup_in_a_sentence_reaches_the_browser_as_text(open_app: OpenApp, text: str) -> None:
    app = retype(open_app(attention="Encoder"), text)
    layout = json.loads(chart(app).spec)["layout"]
    labels = layout["xaxis"]["ticktext"] + layout["yaxis"]["ticktext"]
    assert "&lt;" in labels
    assert not any("<" in label for label in labels)
    assert "<" not in translation(app)


def test_a_translation_with_markup_in_it_is_shown_as_text(
    open_app: OpenApp, checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app()
    # What a model writes is as free as what a person types; this one will not write it by itself.
    timed = session.translate(checkpoints / "en-de", session.DEFAULT_SENTENCE)
    text = "<script>alert(1)</script> \u202e"
    monkeypatch.setattr(
        session,
        "translate",
        lambda *_: session.Timed(dataclasses.replace(timed.translation, text=text), 0.1),
    )
    app.run()
    assert translation(app) == escape_html(visible(text))


def test_a_wrong_sentence_does_not_take_the_choice_of_head_with_it(open_app: OpenApp) -> None:
    app = open_app(attention="Encoder", layer="0", head="2")
    retype(app, "")
    assert chart(app) is None
    retype(app, "The cat eats.")
    assert title(app) == "Encoder self-attention, layer 0, head 2"


def test_without_a_trained_model_the_page_says_where_to_put_one(
    open_app: OpenApp, tmp_path: Path
) -> None:
    app = open_app(folder=tmp_path)
    assert len(app.error) == 1
    assert "There is no trained model" in plain(app.error[0].value)
    assert session.CHECKPOINTS_VARIABLE in plain(app.error[0].value)
    assert chart(app) is None


def test_a_folder_of_checkpoints_that_is_not_there_is_no_traceback(
    open_app: OpenApp, tmp_path: Path
) -> None:
    assert len(open_app(folder=tmp_path / "nowhere").error) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b"\xff\xfe"),
        ("config.json", b'{"vocab_size": 10, "n_heads": 7}'),
        ("model.safetensors", b"not safetensors"),
        ("tokenizer.model", b"not a tokenizer"),
        ("metrics.json", b"[]"),
        ("config.json", None),
        ("model.safetensors", None),
        ("tokenizer.model", None),
    ],
)
def test_a_damaged_checkpoint_is_named_in_one_sentence(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    (folder / "en-de" / name).unlink()
    if content is not None:
        (folder / "en-de" / name).write_bytes(content)
    app = open_app(folder=folder)
    assert len(app.error) == 1
    assert "\n" not in app.error[0].value
    assert chart(app) is None


def test_the_only_checkpoint_of_a_folder_is_shown_whatever_its_name(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path
) -> None:
    shutil.copytree(checkpoints / "en-de", tmp_path / "another")
    assert translation(open_app(folder=tmp_path)) == "Die Katze saß auf der Matte."


def test_a_sentence_is_translated_once_for_everyone(open_app: OpenApp, checkpoints: Path) -> None:
    open_app()
    first = session.translate(checkpoints / "en-de", session.DEFAULT_SENTENCE)
    open_app(head="1")
    assert session.translate(checkpoints / "en-de", session.DEFAULT_SENTENCE) is first


def test_a_translation_that_somebody_typed_can_be_traced(
    open_app: OpenApp, checkpoints: Path
) -> None:
    open_app()
    traced = session.trace(checkpoints / "en-de", "The cat eats.", "Die Katze frisst.")
    assert traced.text == "Die Katze frisst."
    assert traced.target.tokens[0] == "<s>"
