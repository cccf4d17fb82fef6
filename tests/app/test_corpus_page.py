"""The corpus page in-process: from a question to a head, and a sentence under rules."""

import base64
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.record.intervention import Intervention
from model.survey.corpus_survey import CorpusSurvey
from model.survey.probes import probed
from model.survey.survey_file import read_sentences, save_survey
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from model.translate.translator import Translator, load
from tests.kit.apptest import OpenApp, component, tell_state, trigger
from tests.kit.shown import html, plain
from tests.kit.surveys import damage_survey, write_tiny_survey
from tests.kit.trace_payload import Decoded
from viz.corpus.found_maps import FoundMaps
from viz.corpus.pattern_search import drawn_sentence, matches
from viz.corpus.quantities import ranked
from viz.corpus.rule_map import RuleBesideHead
from viz.corpus.sentences import (
    all_sentence,
    found_sentence,
    label_sentence,
    no_survey,
    rule_sentence,
    rule_text,
    rules_sentence,
)
from viz.draw.word_diff import translations_html
from viz.effects.price import price_words
from viz.service import loaded
from viz.service.versions import ModelVersion

SENTENCE = "The cat sat on the mat."


@pytest.fixture(scope="module")
def shelf(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models, one of which was surveyed."""
    shelf = tmp_path_factory.mktemp("surveyed")
    shutil.copytree(checkpoints / "en-de", shelf / "en-de")
    shutil.copytree(checkpoints / "en-de", shelf / "other")
    return shelf


@pytest.fixture(scope="module")
def survey(shelf: Path) -> CorpusSurvey:
    return write_tiny_survey(shelf / "en-de", load(shelf / "en-de", device="cpu"))


def said(app: AppTest) -> str:
    return plain(" ".join(each.value for each in (*app.markdown, *app.info)))


def test_a_question_leads_to_the_heads_and_a_click_to_one_of_them(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="model", sentence=SENTENCE)
    offered = {key for key, *_ in json.loads(component(app, "inquiries").json)["questions"]}
    assert offered >= {"corpus-previous", "corpus-needed", "corpus-rules"}
    app = trigger(app, "inquiries", "asked", "corpus-previous")
    assert app.session_state["address-visit.kept"].page == "corpus"
    assert all_sentence(survey, "previous", "effect") in html(app)
    place = ranked(survey, "previous")[0][0]
    site, head = place
    app = trigger(app, "corpus-heads-clicks", "clicks", [[1, f"{site}.{head}"]])
    assert app.session_state["corpus-one"] == (place,)
    # Beside all the others.
    assert app.session_state["corpus-over"] == "all"
    assert label_sentence(survey, place, Head(*place).short_name) in said(app)
    assert "data:image/svg+xml" in html(app)
    app = app.button(key="corpus-all-about").click().run()
    assert app.session_state["corpus-over"] == "head"
    assert label_sentence(survey, place) in said(app)


def test_a_sentence_opens_on_the_heads_page(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="corpus", over="head", one="cross.1.2", sentence=SENTENCE)
    assert label_sentence(survey, (Site(AttentionKind.CROSS, 1), 2)) in said(app)
    (shown,) = [each for each in app.button if each.key == "corpus-sentence-9"]
    app = shown.click().run()
    assert app.session_state["address-visit.kept"].page == "heads"
    assert app.session_state["sentence"] in {source for source, _ in survey.shown}
    state = app.session_state
    assert (state["heads-attention"], state["heads-layer"], state["heads-head"]) == ("cross", 1, 2)
    assert Decoded(component(app, "heads-space").bytes).header["inCorpus"]
    app = trigger(app, "heads-space", "corpus", True)
    assert app.session_state["corpus-one"] == ((Site(AttentionKind.CROSS, 1), 2),)


def test_sentences_are_found_by_words_and_by_where_a_head_looks(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    place = Head(Site(AttentionKind.ENCODER, 0), 1)
    asked = {"over": "find", "one": "encoder.0.1", "words": "dog", "does": "previous"}
    app = open_app(folder=shelf, page="corpus", sentence=SENTENCE, **asked)
    index = read_sentences(shelf / "en-de")
    assert index is not None
    found = index.found("dog", place, "previous")
    assert found_sentence(index, found, "dog", place, "previous") in said(app)
    shown = [each for each in app.button if str(each.key).startswith("corpus-found-")]
    assert [plain(each.label) for each in shown] == [index.sources[number] for number, _ in found]
    assert "save-corpus-found" in app.session_state
    staged = open_app(folder=shelf, page="corpus", sentence=SENTENCE, present="1", **asked)
    said_there = found_sentence(index, found, "dog", place, "previous")
    assert staged.session_state["stage-cue.kept"].shown == said_there
    traces = [load(shelf / "en-de", device="cpu").trace(index.sources[n]) for n, _ in found[:3]]
    (chart,) = staged.get("plotly_chart")
    assert chart.proto.alt == FoundMaps(traces, *place, said_there).alt
    # Of cross-attention no rows look one word back: all sentences with the word are left.
    app.selectbox(key="corpus-place").select((Site(AttentionKind.CROSS, 0), 1)).run()
    assert app.session_state["corpus-does"] == ""
    shown = [each for each in app.button if str(each.key).startswith("corpus-found-")]
    assert len(shown) == sum("dog" in source for source in index.sources)
    app = shown[0].click().run()
    assert app.session_state["address-visit.kept"].page == "heads"
    assert app.session_state["sentence"] == plain(shown[0].label)


def test_the_model_writes_with_rules_in_place(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="corpus", over="rules", ruled="32", sentence=SENTENCE)
    assert rules_sentence(survey) in said(app)
    assert survey.rules is not None
    under = load(shelf / "en-de", device="cpu").trace(
        SENTENCE, under=Intervention(heads=survey.rules.edits(32))
    )
    assert under.text.split()[0] in plain(html(app))
    assert "The log-probability of the unchanged translation" in said(app)


def test_one_head_follows_its_rule(open_app: OpenApp, shelf: Path, survey: CorpusSurvey) -> None:
    model = load(shelf / "en-de", device="cpu")
    assert survey.rules is not None
    own = model.trace(SENTENCE)
    # The dearest one, so that it matters which head follows which rule.
    place = survey.rules.order[-1]
    site, head = place
    rule = survey.rules.heads[place]
    under = Intervention(heads={place: rule.weights})
    app = open_app(
        folder=shelf, page="corpus", over="head", one=f"{site}.{head}", sentence=SENTENCE
    )
    assert rule_sentence(rule) in said(app)
    says = f"looks {rule_text(rule)}"
    picture = RuleBesideHead(own.maps[site], head, rule.weights, says, SENTENCE)
    assert picture.alt in {each.proto.alt for each in app.get("plotly_chart")}
    written = model.trace(SENTENCE, under=under).text
    result = translations_html(own.text, written, ("With its heads", "With the rule"), dark=False)
    assert result not in html(app)
    app = app.toggle(key="corpus-follows").set_value(True).run()
    assert result in html(app)
    forced = model.trace(SENTENCE, own.text, under=under)
    assert own.log_probs is not None
    assert forced.log_probs is not None
    cost = price_words(own.predictions, own.log_probs, forced.log_probs)
    assert cost != price_words(own.predictions, own.log_probs, own.log_probs)
    assert plain(cost) in said(app)
    assert app.session_state["corpus-follows"]
    app = app.toggle(key="corpus-follows").set_value(False).run()
    assert result not in html(app)


def test_a_model_without_a_survey_says_how_to_make_one(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="corpus", checkpoint="other", sentence=SENTENCE)
    assert no_survey(str(shelf / "other")) in said(app)


def test_heads_are_compared_with_those_of_other_models_whose_weights_are_not_loaded(
    open_app: OpenApp,
    checkpoints: Path,
    survey: CorpusSurvey,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = load(checkpoints / "en-de", device="cpu")
    measured = replace(survey, probes=probed(model, german=False))
    for name in ("en-de", "odd", "twin"):
        shutil.copytree(checkpoints / "en-de", tmp_path / name)
        save_survey(tmp_path / name, measured)
    damage_survey(tmp_path / "odd", lambda content: content["heads"]["encoder.1"].pop())
    used = set()
    translator = loaded.translator

    def noted(version: ModelVersion, *device: loaded.Device) -> Translator:
        used.add(version.checkpoint.name)
        return translator(version, *device)

    monkeypatch.setattr(loaded, "translator", noted)
    app = open_app(
        folder=tmp_path, page="corpus", over="head", one="encoder.1.2", sentence=SENTENCE
    )
    near = {str(each.key) for each in app.button if str(each.key).startswith("corpus-near-")}
    # A copy has the same head, and this model not the head itself.
    assert "corpus-near-twin-encoder.1-2" in near
    assert not any(key.startswith("corpus-near-odd") for key in near)
    assert "corpus-near-en-de-encoder.1-2" not in near
    assert used == {"en-de"}
    app = open_app(folder=tmp_path, page="corpus", checkpoint="odd", sentence=SENTENCE)
    assert "is of a model with other heads" in plain(app.error[0].value)


def test_a_head_that_the_model_lacks_is_replaced_with_a_notice(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="corpus", over="head", one="cross.9.9", sentence=SENTENCE)
    assert "This model has no cross head 9.9" in plain(app.warning[0].value)


def test_a_stroke_ranks_the_heads_and_stays_in_the_address(
    open_app: OpenApp, shelf: Path, survey: CorpusSurvey
) -> None:
    app = open_app(folder=shelf, page="corpus", over="draw", sentence=SENTENCE)
    assert drawn_sentence([]) in said(app)
    trace = load(shelf / "en-de", device="cpu").trace(SENTENCE)
    shape = trace.maps[Site(AttentionKind.ENCODER, 0)].weights.shape[1:]
    drawn = np.eye(shape[0], shape[1], -1, dtype=np.bool_)
    bits = base64.b64encode(np.packbits(~drawn).tobytes()).decode()
    stroke = {"name": f"encoder/{SENTENCE}", "rows": shape[0], "columns": shape[1], "bits": bits}
    app = tell_state(app, "corpus-grid", {"edit": stroke})
    found = matches(trace.maps, drawn, AttentionKind.ENCODER)
    assert drawn_sentence(found) in said(app)
    query = dict(app.query_params)
    again = open_app(folder=shelf, page="corpus", **query)
    assert drawn_sentence(found) in said(again)
    assert "save-corpus-pattern" in again.session_state
    staged = open_app(folder=shelf, page="corpus", **query, present="1")
    assert staged.session_state["stage-cue.kept"].shown == drawn_sentence(found)
    (chart,) = staged.get("plotly_chart")
    assert found[0].site.head_name(found[0].head) in chart.proto.alt
    # A pattern of another sentence is none: every head is shown.
    query["sentence"] = "The dog sleeps."
    other = open_app(folder=shelf, page="corpus", **query, present="1")
    assert other.get("plotly_chart")[0].proto.alt.startswith("Every head")
