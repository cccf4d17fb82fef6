"""The page that compares: two sentences with parts put across, and two models."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import headscope as hs
from model.patching.patch import patch
from model.survey.probes import probed
from model.survey.survey_file import save_survey
from model.translate.translator import load
from tests.kit.apptest import component, go_to, tell_state
from tests.kit.foreign_folders import save_foreign
from tests.kit.shown import html, plain, query
from tests.kit.surveys import tiny_corpus_survey
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint
from viz.pages.compare import NO_SECOND, PUT_IN
from viz.pages.compare_heads import PATCHES
from viz.pages.compare_models import alike_words, matched_pair

OpenApp = Callable[..., AppTest]

CAT, DOG = "The cat sat on the mat.", "The dog sat on the mat."


@pytest.fixture
def open_compare(open_app: OpenApp) -> OpenApp:
    """Opens the page at an address."""

    def open_at(*, folder: Path | None = None, **asked: str) -> AppTest:
        app = open_app(folder=folder) if folder else open_app()
        go_to(app, "compare")
        for name, value in ({"sentence": CAT} | asked).items():
            app.query_params[name] = value
        return app.run()

    return open_at


def charts(app: AppTest) -> dict[str, Any]:
    """The figures by their keys."""
    return {
        re.sub(r"^\$\$ID-[0-9a-f]+-", "", each.proto.id): json.loads(each.proto.spec)
        for each in app.get("plotly_chart")
    }


def click(app: AppTest, chart: str, number: int, what: str) -> AppTest:
    return tell_state(app, f"{chart}-clicks", {"clicks": [[number, what]]})


def test_heads_and_tokens_are_put_in_by_clicks(open_compare: OpenApp, checkpoints: Path) -> None:
    app = open_compare(other=DOG)
    assert "Der Hund" in html(app)
    assert set(charts(app)) == {"compare-heads", "compare-head"}
    click(app, "compare-heads", 1, "cross.1.2")
    assert query(app, "pair_head") == "cross.1.2"
    assert "layer 1, head 2" in charts(app)["compare-head"]["layout"]["title"]["text"]
    app.button(key="compare-put-head").click().run()
    assert query(app, "patched") == "cross.1.2"
    app.button(key="compare-put-head").click().run()
    assert query(app, "patched") == ""
    app.segmented_control(key="compare-shown").set_value("layers").run()
    click(app, "compare-tracing", 1, "encoder.embedding.at1")
    assert query(app, "patched") == "encoder.embedding.at1"
    model = load(checkpoints / "en-de", device="cpu")
    found = patch(model, CAT, DOG, {("encoder", "embedding"): [1]})
    assert found.patched_text != found.text
    shown = plain(html(app))
    assert "First sentence, with encoder embedding at “cat” from the second" in shown
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
    app = open_compare(other="The dog sat down on the mat.")
    told = json.loads(component(app, PUT_IN).json)
    # "down" has no counterpart, so it cannot be put anywhere.
    places = [place for _, place in told["tokens"]]
    aligned = [place for place in places if place is not None]
    assert 0 < len(aligned) < len(places)
    assert aligned == list(range(len(told["first"])))
    offered = {part for _, parts in told["states"] for part, *_ in parts}
    offered |= {part for _, rows in told["heads"] for row in rows for part, *_ in row}
    offered |= {f"encoder.{stage}.at0" for stage, _ in told["stages"]}
    for part in offered:
        assert PATCHES.parse(part) == part
    assert {"encoder.output", "decoder.1", "cross.1.2", "encoder.embedding.at0"} <= offered
    moves = [[1, "cross.1.2"], [2, "encoder.output"], [3, "cross.1.2"], [4, "../etc"], [5, None]]
    tell_state(app, PUT_IN, {"moves": moves})
    assert query(app, "patched") == "encoder.output"
    told = json.loads(component(app, PUT_IN).json)
    assert (told["put"], told["heard"]) == ([["encoder.output", "encoder output"]], 5)
    assert "First sentence, with encoder output from the second" in plain(html(app))


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
    assert set(charts(app)) == {"compare-heads", "compare-head"}
    # One of Hugging Face's, with other tokens, fewer layers and fewer heads.
    save_foreign(tmp_path / "marian", "marian")
    app = open_compare(folder=tmp_path, versus="model", other_model="marian")
    assert "Second model" in [each.label for each in app.selectbox]
    assert app.session_state["compare-other_model"] == "marian"
    assert set(charts(app)) == {"compare-heads", "compare-head"}
    assert "of the second model" in charts(app)["compare-head"]["layout"]["title"]["text"]


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
    title = charts(app)["compare-head"]["layout"]["title"]["text"]
    assert title.endswith("and layer 1, head 3 of the second model")
    assert any("that all surveys share" in plain(each.value) for each in app.markdown)
    names = [str(tmp_path / name) for name in ("en-de", "en-de-other")]
    partners = hs.figures.matched_by_surveys(*names)
    assert partners == {(site, head): (site, 3 - head) for site, head in partners}
    assert len(partners) == 4 * len(model.sites)
    assert not hs.figures.matched_by_surveys(names[0], f"{names[1]}@0")
