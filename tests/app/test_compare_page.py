"""The page that compares: two sentences with parts put across, and two models."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import headscope as hs
from model.patching.patch import patch
from model.survey.probes import probed
from model.survey.survey_file import save_survey
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import load
from tests.kit.apptest import OpenApp, component, tell_state
from tests.kit.foreign_folders import save_foreign
from tests.kit.shown import charts, plain, query
from tests.kit.surveys import tiny_corpus_survey
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from tests.kit.trace_payload import Decoded
from viz.links.searches import Settings, written_settings
from viz.pages.compare_heads import PATCHES, PUT_IN
from viz.pages.compare_models import alike_words, matched_pair
from viz.pages.compare_sentences import NO_SECOND

CAT, DOG = "The cat sat on the mat.", "The dog sat on the mat."


@pytest.fixture
def open_compare(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""
    return partial(open_app, page="compare", sentence=CAT)


def sent(app: AppTest) -> dict[str, Any]:
    """What the browser is sent of both runs."""
    return Decoded(component(app, PUT_IN).bytes).header


def written(app: AppTest) -> list[str]:
    """The lines above the heads, each with what the last of its texts has."""
    return [
        "".join(text for change, text in words if change != "removed").strip()
        for _, words in sent(app)["lines"]
    ]


def click(app: AppTest, chart: str, number: int, what: str) -> AppTest:
    return tell_state(app, f"{chart}-clicks", {"clicks": [[number, what]]})


def test_both_translations_and_every_head_stand_in_one_picture(
    open_compare: OpenApp, checkpoints: Path
) -> None:
    app = open_compare(other=DOG)
    model = load(checkpoints / "en-de", device="cpu")
    first, second = model.trace(CAT), model.trace(DOG)
    assert written(app) == [second.text]
    assert sent(app)["names"] == [CAT, DOG]
    heads = {head["part"]: head for kind in sent(app)["kinds"] for head in kind["heads"]}
    assert set(heads) == {str(head) for head in first.heads}
    for (site, number), each in zip(first.heads, heads.values(), strict=True):
        for trace, weights in zip((first, second), each["weights"], strict=True):
            np.testing.assert_array_equal(weights, trace.maps[site].weights[number].ravel())
    tell_state(app, PUT_IN, {"moves": [[1, "show", "cross.1.2"]]})
    assert query(app, "pair_head") == sent(app)["shown"] == "cross.1.2"


def test_tokens_after_a_layer_are_put_in_by_clicks(
    open_compare: OpenApp, checkpoints: Path
) -> None:
    app = open_compare(other=DOG)
    app.segmented_control(key="compare-shown").set_value("layers").run()
    assert sent(app)["kinds"] == []
    click(app, "compare-tracing", 1, "encoder.embedding.at1")
    assert query(app, "patched") == "encoder.embedding.at1"
    model = load(checkpoints / "en-de", device="cpu")
    found = patch(model, CAT, DOG, {("encoder", "embedding"): [1]})
    assert found.patched_text != found.text
    assert written(app)[1] == found.patched_text
    names = [name for name, _ in sent(app)["lines"]]
    assert names[1] == "First, with encoder embedding at “cat” from the second"
    assert {"compare-tracing", "compare-words"} == set(charts(app))
    click(app, "compare-tracing", 2, "encoder.embedding.at1")
    assert query(app, "patched") == ""
    click(app, "compare-tracing", 3, "<script>")
    assert query(app, "patched") == ""


@pytest.mark.parametrize("shown", ["heads", "layers"])
def test_the_foot_of_a_stage_names_the_second_sentence(open_compare: OpenApp, shown: str) -> None:
    app = open_compare(other=DOG, shown=shown, present="1")
    picture = {"heads": "heads", "layers": "tracing"}[shown]
    assert set(charts(app)) == {f"stage-compare-{picture}"}
    assert DOG in app.session_state["stage-cue.kept"].shown


def test_what_is_dragged_is_put_in_and_taken_out(open_compare: OpenApp) -> None:
    longer = "The dog sat down on the mat."
    app = open_compare(other=longer)
    offered = {head["part"] for kind in sent(app)["kinds"] for head in kind["heads"]}
    app = open_compare(other=longer, shown="layers")
    told = sent(app)["parts"]
    # "down" has no counterpart, so it cannot be put anywhere.
    places = [place for _, place in told["tokens"]]
    aligned = [place for place in places if place is not None]
    assert 0 < len(aligned) < len(places)
    assert aligned == list(range(len(aligned)))
    offered |= {part for _, parts in told["states"] for part, *_ in parts}
    offered |= {f"encoder.{stage}.at0" for stage, _ in told["stages"]}
    for part in offered:
        assert PATCHES.parse(part) == part
    assert {"encoder.output", "decoder.1", "cross.1.2", "encoder.embedding.at0"} <= offered
    parts = ["cross.1.2", "encoder.output", "cross.1.2", "../etc", None]
    moves: list[Any] = [[place, "put", part] for place, part in enumerate(parts, start=1)]
    tell_state(app, PUT_IN, {"moves": [*moves, [6, "show", "<b>"], [7, "other"], [8]]})
    assert query(app, "patched") == "encoder.output"
    told = sent(app)
    assert (told["put"], told["heard"]) == ([["encoder.output", "encoder output"]], 8)
    assert told["lines"][1][0] == "First, with encoder output from the second"


def test_the_page_asks_for_a_second_sentence_and_leaves_out_parts_that_are_not_there(
    open_compare: OpenApp,
) -> None:
    app = open_compare()
    assert [each.value for each in app.info] == [NO_SECOND]
    app = open_compare(
        other=DOG, patched="encoder.9-encoder.1.at40-cross.2.0", pair_head="cross.9.9"
    )
    assert app.session_state["compare-patched"] == "cross.2.0"
    assert app.session_state["compare-pair_head"] == ""
    assert any("could not be applied" in each.label for each in app.expander)
    app.button(key="compare-swap").click().run()
    assert (query(app, "sentence"), query(app, "other")) == (DOG, CAT)


def test_two_models_are_compared_head_by_head(open_compare: OpenApp, tmp_path: Path) -> None:
    write_tiny_checkpoint(tmp_path / "en-de")
    write_tiny_checkpoint(tmp_path / "en-de-other")
    app = open_compare(folder=tmp_path, versus="model")
    assert app.session_state["compare-other_model"] == "en-de-other"
    traces = [load(tmp_path / name, device="cpu").trace(CAT) for name in ("en-de", "en-de-other")]
    pair = matched_pair(*traces)
    assert max(pair.moved.values()) == 0
    assert alike_words(pair) in [each.value for each in app.markdown]
    assert not sent(app)["puts"]
    # One of Hugging Face's, with other tokens, fewer layers and fewer heads.
    save_foreign(tmp_path / "bart", "bart")
    app = open_compare(folder=tmp_path, versus="model", other_model="bart")
    assert "Second model" in [each.label for each in app.selectbox]
    assert app.session_state["compare-other_model"] == "bart"
    assert sent(app)["names"] == ["en-de", "bart"]
    assert "beside" in sent(app)["kinds"][0]["heads"][0]["said"]


def test_two_searches_that_differ_show_every_head_reading_each_text(
    open_compare: OpenApp, checkpoints: Path
) -> None:
    app = open_compare(versus="search")
    # Both searches write the same.
    assert [each for each in app.get("bidi_component") if each.key == PUT_IN] == []
    model = load(checkpoints / "en-de", device="cpu")
    found = model.decode(CAT, search=Settings().search()).translation.text
    runs: list[Trace] = []
    # What is sampled, and whether the model can read all of it again, differs between processors.
    for seed in range(1, 30):
        against = f"sampling-4-60-200-0-100-{seed}-1"
        search = written_settings(against).search()
        other = model.decode(CAT, search=search).translation.text
        if other != found:
            with suppress(TextError):
                runs = [model.trace(CAT, text) for text in (found, other)]
                break
    assert runs
    app = open_compare(versus="search", against=against)
    assert [len(kind["heads"]) > 0 for kind in sent(app)["kinds"]] == [True, True, True]
    for kind in sent(app)["kinds"]:
        for head in kind["heads"]:
            site, number = Head.of(head["part"])
            for run, weights in zip(runs, head["weights"], strict=True):
                np.testing.assert_array_equal(weights, run.maps[site].weights[number].ravel())
    assert not sent(app)["puts"]
    # With a head switched off the model is another one than a trace records.
    app = open_compare(versus="search", against=against, off="cross.0.0")
    assert [each for each in app.get("bidi_component") if each.key == PUT_IN] == []


def test_surveys_of_both_models_say_which_heads_are_partners(
    open_compare: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("probes", "survey_file"):
        monkeypatch.setattr(f"model.survey.{place}.PROBES", PAIRS)
    for name, step in (("en-de", 1), ("en-de-other", -1)):
        model = load(write_tiny_checkpoint(tmp_path / name), device="cpu")
        measured = {site: heads[::step] for site, heads in probed(model).items()}
        survey = replace(tiny_corpus_survey(model), probes=measured)
        save_survey(tmp_path / name, survey)
    app = open_compare(folder=tmp_path, versus="model", pair_head="cross.1.0")
    # Alike on this sentence is the head at its own place; the survey knows better.
    (shown,) = (
        head
        for kind in sent(app)["kinds"]
        for head in kind["heads"]
        if head["part"] == sent(app)["shown"] == "cross.1.0"
    )
    assert shown["full"].endswith("beside Cross 1.3")
    assert any("that all surveys share" in plain(each.value) for each in app.caption)
    names = [str(tmp_path / name) for name in ("en-de", "en-de-other")]
    partners = hs.figures.matched_by_surveys(*names)
    assert partners == {(site, head): (site, 3 - head) for site, head in partners}
    assert len(partners) == 4 * len(model.sites)
    assert not hs.figures.matched_by_surveys(names[0], f"{names[1]}@0")
