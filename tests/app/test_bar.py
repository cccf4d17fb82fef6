import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.explain.label_rules import MIN_SENTENCES, RULES
from model.translate.translator import load
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import captions, html, plain, warnings
from tests.kit.tiny_checkpoint import PAIRS
from viz.draw.labels import visible
from viz.registry.pages import DEFAULT_SENTENCE
from viz.service import session
from viz.service.jobs.examples import count_resting, find_later_rows
from viz.service.jobs.running import translate
from viz.service.questions import ModelQuestion, Question
from viz.service.results import Timed
from viz.shell.bar import DIMMED

OWN = "Er hat einen neuen Computer gekauft."
HOSTILE = [
    "<s>",
    "<b>the cat</b>",
    "<img src=x onerror=alert(1)>",
    "*a* `b` $x$ :red[the] :cat: -> www.a.b",
    "\"the\" 'cat' & &lt;",
    "the 🐈 cat",
    "القط the قطة",
    "e\u0301 \u0301the",
    "the\x07 cat\u202e",
]


@pytest.fixture
def several(checkpoints: Path, tmp_path: Path) -> Path:
    """Two good checkpoints, the usual one with examples, and a damaged one."""
    for name in ("en-de", "multi", "xx-fr-small"):
        shutil.copytree(checkpoints / "en-de", tmp_path / name)
    (tmp_path / "multi" / "model.safetensors").unlink()
    examples = [
        {"source": source, "translation": text, "shows": "What *this* $shows$ :cat:."}
        for source, text in PAIRS
    ]
    (tmp_path / "en-de" / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    return tmp_path


def bodies(app: AppTest) -> list[str]:
    return [shown.proto.body for shown in app.get("html")]


def answer(app: AppTest) -> str:
    """The translation, as HTML; empty where there is none."""
    return next((body for body in bodies(app) if 'class="answer"' in body), "")


def large(app: AppTest) -> str | None:
    """What stands in the large line, as a reader sees it."""
    found = re.search(r'<(p|span) [^>]*dir="auto"[^>]*>(.*?)</\1>', answer(app), re.DOTALL)
    return unescape(found[2]) if found else None


def shared(app: AppTest) -> dict[str, Any]:
    """What the bar keeps in the address; pages keep more there, such as the head they show."""
    names = ("sentence", "target", "checkpoint", "step")
    return {name: value for name, value in app.query_params.items() if name in names}


def field(app: AppTest, key: str) -> Any:
    return app.text_input(key=key)


def asked(app: AppTest) -> Question | None:
    found: Question | None = app.session_state["bar-opened.kept"]
    return found


def retype(app: AppTest, text: str) -> AppTest:
    return field(app, "sentence").set_value(text).run()


def test_the_sample_sentence_is_asked_and_translated(open_app: OpenApp, checkpoints: Path) -> None:
    app = open_app()
    assert field(app, "sentence").value == DEFAULT_SENTENCE
    assert large(app) == OWN
    assert asked(app) == ModelQuestion(checkpoints / "en-de", DEFAULT_SENTENCE, "")
    assert not app.error
    assert shared(app) == {}


def test_the_models_menu_gives_its_size_its_device_and_the_time(open_app: OpenApp) -> None:
    said = captions(open_app())
    assert "0.1 million parameters, 2 encoder and 3 decoder layers of 4 heads" in said
    assert re.search(r"(CPU|CUDA) · \d+\.\d\d s", said)


def test_another_sentence_gives_another_translation_and_another_address(open_app: OpenApp) -> None:
    app = retype(open_app(), "The dog sleeps.")
    assert large(app) == "Der Hund schläft."
    assert shared(app) == {"sentence": "The dog sleeps."}


@pytest.mark.parametrize(
    ("name", "marks"),
    [("en-de", 'lang="de" dir="auto"'), ("xx-fr-small", 'lang="fr" dir="auto"')],
)
def test_the_translations_language_is_told_from_the_checkpoints_name(
    open_app: OpenApp, several: Path, name: str, marks: str
) -> None:
    assert f"<p {marks} style=" in answer(open_app(folder=several, checkpoint=name))


def test_a_name_without_languages_claims_none(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path
) -> None:
    shutil.copytree(checkpoints / "en-de", tmp_path / "another")
    app = open_app(folder=tmp_path)
    assert '<p dir="auto" style=' in answer(app)
    assert field(app, "sentence").label == "Sentence"
    assert large(app) == OWN


def test_every_checkpoint_is_offered_and_a_link_opens_one(open_app: OpenApp, several: Path) -> None:
    app = open_app(folder=several, checkpoint="xx-fr-small")
    assert app.selectbox(key="checkpoint").options == ["en-de", "multi", "xx-fr-small"]
    assert asked(app).checkpoint == several / "xx-fr-small"
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert asked(app).checkpoint == several / "en-de"
    assert shared(app) == {}


def test_a_card_names_its_model_in_the_menu_and_another_does_not(
    open_app: OpenApp, several: Path
) -> None:
    cards = {
        "en-de": "# en-de: *English* <b>to</b> :cat: German\n\nIt is *small*. More.\n",
        "multi": f"# multi: {'long ' * 100}\n",
        "xx-fr-small": "# another heading\n\n" + "x" * 10_000,
    }
    for name, card in cards.items():
        (several / name / "card.md").write_text(card, encoding="utf-8")
    menu = open_app(folder=several).selectbox(key="checkpoint")
    first, second, third = menu.options
    assert first == "*English* <b>to</b> :cat: German"
    assert second.endswith("…")
    assert len(second) <= 60
    assert third == "xx-fr-small"
    assert "\\*small\\*" in menu.help
    assert "More" not in menu.help


def test_models_of_one_title_are_told_apart_by_their_folders(
    open_app: OpenApp, several: Path
) -> None:
    for name in ("en-de", "multi"):
        (several / name / "card.md").write_text(f"# {name}: A model\n", encoding="utf-8")
    menu = open_app(folder=several).selectbox(key="checkpoint")
    assert menu.options == ["A model (en-de)", "A model (multi)", "xx-fr-small"]


@pytest.mark.parametrize("name", ["nowhere", "../en-de", "/etc", "", "*x*", "en-de/../en-de"])
def test_a_checkpoint_that_is_not_there_is_named_and_the_usual_one_shown(
    open_app: OpenApp, several: Path, name: str
) -> None:
    app = open_app(folder=several, checkpoint=name)
    assert f"The address asks for checkpoint “{name}”" in warnings(app)[0]
    assert asked(app).checkpoint == several / "en-de"
    assert large(app) == OWN
    assert not retype(app, "The cat eats.").warning


def test_a_damaged_checkpoint_is_one_sentence_and_another_can_be_chosen(
    open_app: OpenApp, several: Path
) -> None:
    app = open_app(folder=several, checkpoint="multi")
    assert len(app.error) == 1
    assert "\n" not in app.error[0].value
    assert asked(app) is None
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert large(app) == OWN


def test_a_checkpoint_whose_folder_went_away_gives_way_to_the_usual_one(
    open_app: OpenApp, several: Path
) -> None:
    app = open_app(folder=several, checkpoint="xx-fr-small")
    shutil.rmtree(several / "xx-fr-small")
    app.run()
    assert asked(app).checkpoint == several / "en-de"


def test_without_any_checkpoint_the_bar_says_where_to_put_one(
    open_app: OpenApp, tmp_path: Path
) -> None:
    app = open_app(folder=tmp_path)
    assert "no trained model" in plain(app.error[0].value)
    assert asked(app) is None


def test_examples_are_listed_with_what_they_show_letter_by_letter(
    open_app: OpenApp, several: Path
) -> None:
    menu = open_app(folder=several).menu_button(key="bar-examples")
    assert len(menu.options) == len(PAIRS)
    assert plain(menu.options[0]) == f"**{PAIRS[0][0]}** What *this* $shows$ :cat:."
    assert "\\*this\\*" in menu.options[0]


def test_choosing_an_example_asks_for_it_and_for_the_models_own_translation(
    open_app: OpenApp, several: Path
) -> None:
    app = open_app(folder=several, target="Der Hund.")
    app.menu_button(key="bar-examples").click_index(3).run()
    assert field(app, "sentence").value == "The dog sleeps."
    assert field(app, "target").value == ""
    assert large(app) == "Der Hund schläft."
    assert shared(app) == {"sentence": "The dog sleeps."}
    retype(app, "The cat eats.")
    assert large(app) == "Die Katze frisst."


def test_a_checkpoint_without_examples_shows_no_menu(open_app: OpenApp) -> None:
    assert len(open_app().menu_button) == 0


def test_a_typed_target_is_shown_with_its_probability_beside_the_models_own(
    open_app: OpenApp, checkpoints: Path
) -> None:
    app = open_app()
    field(app, "target").set_value("Die Katze frisst.").run()
    model = load(checkpoints / "en-de", device="cpu")
    typed = model.trace(DEFAULT_SENTENCE, "Die Katze frisst.").log_probs.mean()
    own = model.trace(DEFAULT_SENTENCE).log_probs.mean()
    assert large(app) == "Die Katze frisst."
    body = answer(app).replace("−", "-")
    assert f"mean log-probability is {typed:.2f} " in body
    assert f'own translation has {own:.2f}: <b lang="de" dir="auto">{OWN}</b>' in body
    assert asked(app).target == "Die Katze frisst."
    assert shared(app) == {"target": "Die Katze frisst."}


def test_a_target_of_spaces_is_the_models_own(open_app: OpenApp) -> None:
    app = open_app(target="   ")
    assert asked(app).target == ""
    assert large(app) == OWN


TOO_LONG = (
    r"The text is too long: its first \d{3} characters fill the 64 tokens that the model takes; "
    r"shorten it to that\."
)


def test_a_target_too_long_is_refused_and_can_be_mended(open_app: OpenApp) -> None:
    app = open_app()
    field(app, "target").set_value("Katze " * 100).run()
    (warning,) = warnings(app)
    assert re.fullmatch(TOO_LONG.replace("text", "target"), warning)
    field(app, "target").set_value("").run()
    assert large(app) == OWN


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "text is empty"),
        (" \t\u00a0\u3000", "text is empty"),
        (
            "cat" + " " * 5_000,
            "5,003 characters .* 5,000",
        ),
        *(("cat " * count, TOO_LONG) for count in (100, 1_249, 100_000)),
        (
            "漢字",
            "lacks all of these",
        ),
    ],
)
def test_a_sentence_that_cannot_be_translated_is_answered_and_nothing_is_lost(
    open_app: OpenApp, text: str, said: str
) -> None:
    app = open_app(layer="1", target="Der Hund.")
    retype(app, text)
    (warning,) = warnings(app)
    assert re.search(said, warning)
    # What stood there stays, and says that it is not of this sentence.
    assert asked(app).sentence == DEFAULT_SENTENCE
    assert large(app) == "Der Hund."
    assert f"{DIMMED}: “{DEFAULT_SENTENCE}”" in plain(app.info[0].value)
    assert "grayscale" in html(app)
    assert field(app, "sentence").value == text
    retype(app, "The cat eats.")
    assert not app.info
    assert "grayscale" not in html(app)
    assert asked(app).sentence == "The cat eats."
    assert large(app) == "Der Hund."
    assert shared(app) == {"sentence": "The cat eats.", "target": "Der Hund."}
    assert app.query_params["layer"] == "1"


def test_an_answer_from_before_warns_of_nothing_and_offers_nothing(open_app: OpenApp):
    def offers() -> list[str]:
        return [
            each.label for each in app.button if (each.key or "").startswith("translation-offer-")
        ]

    app = open_app(sentence="<b>the cat eats</b>")
    assert offers() == ["Translate “the cat eats”"]
    retype(app, "the " * 3000)
    assert not app.exception
    (refused,) = warnings(app)
    assert "too long" in refused
    assert offers() == []


def test_characters_the_vocabulary_lacks_are_named_once(open_app: OpenApp) -> None:
    app = open_app(sentence="漢 the cat * 漢", target="Katze 字 *")
    assert "reads them byte by byte: “漢”, “*”, “字”." in warnings(app)[0]
    (capitals,) = warnings(retype(app, "THE CAT SEES ÞÞ."))
    assert "reads them byte by byte: “þ”" in capitals
    assert asked(app) is not None


def test_a_text_that_is_longer_than_a_model_reads_well_is_said_to_be_and_its_beginning_offered(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoints" / "en-de"
    shutil.copytree(checkpoints / "en-de", folder)
    (folder / "metrics.json").write_text('{"texts": {"well_read": 10}}', encoding="utf-8")
    app = open_app(folder=folder.parent, sentence="The cat eats. The dog sleeps. The cat sleeps.")
    model = load(folder, device="cpu")
    tokens = len(model.trace(field(app, "sentence").value).source)
    (warned,) = [each for each in warnings(app) if "one by one" in each]
    assert warned.startswith(f"This text has {tokens} tokens. Beyond about 10,")
    (offered,) = [each for each in app.button if each.label.startswith("Translate the first ")]
    offered.click().run()
    assert asked(app).sentence in ("The cat eats.", "The cat eats. The dog sleeps.")
    assert len(model.trace(asked(app).sentence).source) <= 10
    assert not any("one by one" in each for each in warnings(app))
    # One sentence is not several, however long.
    long = warnings(retype(app, "The cat eats and the dog sleeps and the cat eats and sleeps."))
    assert not any("one by one" in each for each in long)


def test_a_sentence_in_another_language_is_translated_with_a_warning(open_app: OpenApp) -> None:
    app = open_app(sentence="Die Katze saß auf der Matte.")
    assert any("This does not look like English" in warning for warning in warnings(app))
    assert large(app) is not None
    assert not any("English" in warning for warning in warnings(retype(app, "The cat eats.")))


@pytest.mark.parametrize(
    ("text", "said", "offered"),
    [
        ("<b>The cat</b> eats.", "contains markup", "The cat eats."),
        ("The cat 😀 eats.", "contains emoji", "The cat eats."),
        ("The cat eats. www.cats.org", "web", "The cat eats."),
    ],
)
def test_a_text_that_no_model_reads_is_offered_as_one_that_it_does_in_one_click(
    open_app: OpenApp, text: str, said: str, offered: str
) -> None:
    app = open_app(sentence=text, target="Der Hund.")
    (warning,) = [each for each in warnings(app) if said in each]
    assert not any("byte by byte" in each for each in warnings(app))
    (button,) = [each for each in app.button if each.key.startswith("translation-offer-")]
    assert plain(button.label) == f"Translate “{offered}”"
    button.click().run()
    assert (field(app, "sentence").value, field(app, "target").value) == (offered, "")
    assert warning not in warnings(app)
    assert not [each for each in app.button if each.key.startswith("translation-offer-")]


@pytest.mark.parametrize(
    "text", ["www.cats.org/cats", "supercalifragilisticexpialidocious", "漢字"]
)
def test_a_text_of_which_nothing_can_be_read_leads_to_an_example(
    open_app: OpenApp, several: Path, text: str
) -> None:
    app = open_app(folder=several, sentence=text)
    (button,) = [each for each in app.button if each.key.startswith("translation-offer-")]
    button.click().run()
    assert plain(button.label) == f"Try “{field(app, 'sentence').value}”"
    assert not warnings(app)


def test_a_text_in_a_language_that_another_model_reads_leads_to_that_model(
    open_app: OpenApp, checkpoints: Path, tmp_path: Path
) -> None:
    for name in ("en-de", "de-en"):
        shutil.copytree(checkpoints / "en-de", tmp_path / name)
    app = open_app(folder=tmp_path, sentence="Die Katze saß auf der Matte.")
    (button,) = [each for each in app.button if each.key.startswith("translation-offer-")]
    assert plain(button.label) == "Translate it with de-en"
    button.click().run()
    assert app.selectbox(key="checkpoint").value == "de-en"
    assert field(app, "sentence").value == "Die Katze saß auf der Matte."


def test_the_first_sentence_of_a_session_that_is_refused_shows_nothing(open_app: OpenApp) -> None:
    app = open_app(sentence=" ")
    assert ["text is empty" in each for each in warnings(app)] == [True]
    assert asked(app) is None


def test_many_such_characters_are_counted(open_app: OpenApp) -> None:
    app = open_app(sentence="the cat " + "".join(map(chr, range(0x4E00, 0x4E0F))))
    assert warnings(app)[0].endswith(
        "“一”, “丁”, “丂”, “七”, “丄”, “丅”, “丆”, “万”, “丈”, “三”, “上”, “下” and 3 more."
    )


@pytest.fixture
def translated_as(
    open_app: OpenApp, checkpoints: Path, answer_with: Callable[..., None]
) -> Callable[..., AppTest]:
    """The app where the model's output is another: this model will not write it by itself."""

    def open_with(**changes: Any) -> AppTest:
        app = open_app()
        timed = session.ask(ModelQuestion(checkpoints / "en-de", DEFAULT_SENTENCE).translate)
        changed = dataclasses.replace(timed.translation, **changes)
        answer_with(translate, Timed(changed, 0.1, "cpu"))
        return app.run()

    return open_with


def test_a_translation_with_markup_in_it_is_shown_as_text(
    translated_as: Callable[..., AppTest],
) -> None:
    text = "<script>alert(1)</script> \u202e"
    app = translated_as(text=text)
    assert large(app) == visible(text)
    assert "<script" not in answer(app)


def test_an_empty_translation_is_said_to_be_one(translated_as: Callable[..., AppTest]) -> None:
    app = translated_as(text="")
    assert large(app) == "∅"
    assert "wrote nothing" in " ".join(warnings(app))


def test_a_translation_that_was_cut_says_so(translated_as: Callable[..., AppTest]) -> None:
    assert any(
        "The translation was cut off" in text for text in warnings(translated_as(finished=False))
    )


def test_a_text_too_long_in_the_address_gives_way_to_the_sample_sentence(
    open_app: OpenApp,
) -> None:
    app = open_app(sentence="x" * 6000)
    assert large(app) == OWN
    assert "which has 6,000 characters, and at most 5,000 fit" in warnings(app)[0]
    assert len(warnings(app)[0]) < 250


def go_to_about(app: AppTest) -> AppTest:
    app.query_params = {}
    return go_to(app, "about").run()


def page_text(app: AppTest) -> str:
    return "\n".join(markdown.value for markdown in app.markdown)


def test_the_about_page_has_no_bar_and_the_question_outlives_it(open_app: OpenApp) -> None:
    app = open_app(sentence="The cat eats.", layer="1")
    go_to_about(app)
    assert len(app.text_input) == 0
    assert shared(app) == {}
    go_to(app, "heads").run()
    assert large(app) == "Die Katze frisst."
    assert shared(app) == {"sentence": "The cat eats."}
    assert app.query_params["layer"] == "1"


def test_the_about_page_gives_every_rule_as_it_is_applied_and_its_sources_by_plain_links(
    open_app: OpenApp,
) -> None:
    text = page_text(go_to_about(open_app()))
    assert "can and cannot tell" in text
    for rule in RULES:
        assert f"*{rule.text}*: {rule.needs}" in text
    assert f"{MIN_SENTENCES} sentences" in text
    papers = re.findall(r"\[arXiv:([\d.]+)\]\(https://arxiv\.org/abs/\1\)", text)
    assert set(papers) >= {
        *("1706.03762", "1902.10186", "1908.04626", "2004.10102", "2004.14837"),
        *("1906.04341", "1905.09418", "1905.10650"),
    }
    assert "![" not in text
    # Of a model without examples, it says nothing of them.
    assert "this model's examples" not in text
    assert "{" not in text


def test_the_about_page_gives_the_scores_of_the_model_last_asked(
    open_app: OpenApp, several: Path
) -> None:
    parts = {"near": {"sentences": 667, "bleu": 51.69}, "far": {"sentences": 2333, "bleu": 33.21}}
    whole = {"bleu": 35.93, "chrf": 56.92, "sentences": 3000, "data": "*test*.tsv"}
    scores = {"test": {**whole, **parts}}
    recorded = {"steps": 6500, "target_tokens": 22_422_290, **scores}
    (several / "xx-fr-small" / "metrics.json").write_text(json.dumps(recorded))
    text = plain(page_text(go_to_about(open_app(folder=several, checkpoint="xx-fr-small"))))
    assert "xx-fr-small: 0.1 million parameters" in text
    assert "Trained for 6,500 steps on 22.4 million target tokens." in text
    assert "BLEU 35.9 and chrF 56.9 on 3,000 test sentences (*test*.tsv)" in text
    assert "667 of them differ from a training sentence by at most one word" in text
    assert "BLEU is 51.7 on these and 33.2 on the other 2,333" in text


def test_the_about_page_counts_the_training_that_went_before(
    open_app: OpenApp, several: Path
) -> None:
    before = [{"steps": 6500, "target_tokens": 22_422_290}]
    recorded = {"steps": 8900, "target_tokens": 55_623_351, "started_from": before}
    (several / "xx-fr-small" / "metrics.json").write_text(json.dumps(recorded))
    text = plain(page_text(go_to_about(open_app(folder=several, checkpoint="xx-fr-small"))))
    assert (
        "Trained for 15,400 steps on 78.0 million target tokens, including 6,500 steps of earlier "
        "training." in text
    )


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"test": []},
        {"steps": 10, "target_tokens": 9_000_000, "started_from": None},
        {"steps": 10, "target_tokens": 9_000_000, "started_from": [{"steps": 5}]},
        {"steps": 10, "target_tokens": 10**400},
        {"test": {"bleu": "high"}, "steps": True, "target_tokens": "x"},
        {"test": {"near": 1, "far": {"bleu": 1}}},
        {"test": {"near": {"bleu": 1, "sentences": "many"}, "far": {}}},
    ],
)
def test_scores_that_are_no_numbers_are_left_out(
    open_app: OpenApp, several: Path, metrics: dict[str, Any]
) -> None:
    (several / "en-de" / "metrics.json").write_text(json.dumps(metrics))
    text = page_text(go_to_about(open_app(folder=several)))
    assert "million parameters" in text
    assert "BLEU" not in text
    assert "Trained for" not in text


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, ""),
        ({"start": (0, 0), "end": (0, 0), "punctuation": (0, 0)}, ""),
        (
            {"start": (3, 32), "end": (0, 64), "punctuation": (1, 96)},
            "`</s>` in none of 64 heads, `<s>` in 3 of 32 heads and punctuation in 1 of 96 heads.",
        ),
    ],
)
def test_the_about_page_counts_the_heads_that_rest_on_a_token(
    open_app: OpenApp, answer_with: Callable[..., None], counts: dict[str, Any], said: str
) -> None:
    answer_with(count_resting, counts)
    answer_with(find_later_rows, {0: True})
    text = page_text(go_to_about(open_app()))
    assert said in text
    assert ("half of the weight" in text) == bool(said)
    assert "Layer 0 looks at a token's source more in the row that has read it" in text
    # Whose finding it is, and of what.
    assert "BERT's weight" in text
    assert "In recurrent networks" in text


def test_the_about_page_stands_without_any_model(open_app: OpenApp, tmp_path: Path) -> None:
    app = go_to_about(open_app(folder=tmp_path))
    assert "no trained model" in plain(app.error[0].value)
    assert "## References" in page_text(app)
