"""The slider of training steps: what it shows, where it stands, and what the address says of it."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import snapshot_file
from model.checkpoints.shipped import CheckpointError
from model.explain.examples import example_values, read_examples
from model.explain.growth import growth_of
from model.explain.growth_file import write_growth
from model.explain.labels import HeadValues
from model.explain.labels_file import save_labels
from model.trace.attention_map import Site
from model.translate.translator import load
from tests.kit.apptest import OpenApp, go_to
from tests.kit.labels import tiny_survey
from tests.kit.shown import captions, html, plain, query, said
from tests.kit.tiny_checkpoint import PAIRS, SNAPSHOTS, write_tiny_snapshots
from viz.heads.training_curves import NAMES
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.versions import snapshot_of

NAME = "en-de-childhood"
LAST = SNAPSHOTS[-1]
SENTENCE = PAIRS[0][0]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, checkpoints: Path) -> Path:
    """The tiny checkpoint, and one with snapshots and examples."""
    folder = tmp_path_factory.mktemp("both")
    shutil.copytree(checkpoints / "en-de", folder / "en-de")
    write_tiny_snapshots(folder / NAME)
    examples = [
        {"source": source, "translation": text, "shows": "Something."} for source, text in PAIRS
    ]
    (folder / NAME / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    return folder


@pytest.fixture
def open_childhood(open_app: OpenApp, both: Path) -> Callable[..., AppTest]:
    """Opens the app on the checkpoint with snapshots."""
    return lambda **query: open_app(folder=both, checkpoint=NAME, **query)


def slider(app: AppTest) -> Any:
    return app.select_slider(key="step")


def asked(app: AppTest) -> ModelQuestion:
    found: ModelQuestion = app.session_state["bar-opened.kept"]
    return found


def model_in_address(app: AppTest) -> dict[str, str]:
    """What the address says of the model; the heads page writes there as well."""
    return {name: app.query_params[name] for name in ("checkpoint", "step")
            if name in app.query_params}  # fmt: skip


def test_a_checkpoint_with_snapshots_has_a_slider_that_stands_at_the_last_step(
    open_childhood: OpenApp, both: Path
) -> None:
    app = open_childhood()
    assert slider(app).options == ["0", "2", "20", "1,120"]
    assert slider(app).value == LAST
    assert PAIRS[0][1] in html(app)
    assert asked(app) == ModelQuestion(snapshot_file(both / NAME, LAST), SENTENCE, "", 3)
    assert asked(app).folder == both / NAME
    assert model_in_address(app) == {"checkpoint": NAME}


def test_a_checkpoint_without_snapshots_has_no_slider(open_app: OpenApp, both: Path) -> None:
    app = open_app(folder=both)
    assert not app.select_slider
    assert "steps" not in captions(app)
    assert asked(app) == ModelQuestion(both / "en-de", SENTENCE, "")


def test_moving_the_slider_shows_what_the_model_said_then_and_writes_the_step(
    open_childhood: OpenApp, both: Path
) -> None:
    app = slider(open_childhood()).set_value(2).run()
    then = load(both / NAME, device="cpu", snapshot=1).translate(SENTENCE)
    assert then.text != PAIRS[0][1]
    assert (
        session.ask(ModelQuestion(asked(app).checkpoint, SENTENCE).translate).translation.text
        == then.text
    )
    assert asked(app).snapshot == 1
    assert model_in_address(app) == {"checkpoint": NAME, "step": "2"}
    slider(app).set_value(LAST).run()
    assert PAIRS[0][1] in html(app)
    assert model_in_address(app) == {"checkpoint": NAME}


def test_the_line_of_facts_says_how_far_the_training_had_come(open_childhood: OpenApp) -> None:
    app = open_childhood(step="20")
    assert "after 20 of 1,120 steps, BLEU 60.5 on validation sentences · " in captions(app)
    assert "after 1,120 of 1,120 steps, BLEU 90.8 on validation sentences · " in captions(
        slider(app).set_value(LAST).run()
    )


@pytest.mark.parametrize(
    "recorded",
    [
        None, [], {}, "x", 3, {"snapshots": 5}, {"snapshots": [3, None, {"step": 20}]},
        {"snapshots": [{"step": 20, "bleu": "<b>high</b>"}]},
        {"snapshots": [{"step": 20, "bleu": True}]},
        {"snapshots": {"step": 20, "bleu": 3}},
    ],
)  # fmt: skip
def test_metrics_without_a_score_of_the_snapshot_leave_it_out(
    open_app: OpenApp, both: Path, tmp_path: Path, recorded: Any
) -> None:
    shutil.copytree(both / NAME, tmp_path / NAME)
    metrics = tmp_path / NAME / "metrics.json"
    metrics.unlink()
    if recorded is not None:
        metrics.write_text(json.dumps(recorded if isinstance(recorded, dict) else {}))
    app = open_app(folder=tmp_path, checkpoint=NAME, step="20")
    assert "after 20 of 1,120 steps · " in captions(app)


def test_a_link_opens_a_snapshot_and_keeps_it_in_the_address(open_childhood: OpenApp) -> None:
    app = open_childhood(step="0")
    assert slider(app).value == 0
    assert asked(app).snapshot == 0
    assert app.query_params["step"] == "0"
    assert not app.warning or "step" not in app.warning[0].value


@pytest.mark.parametrize("step", ["3", "-1", "x", "", "1,120", "../2", "*2*", "0002", "9" * 400])
def test_a_step_that_is_not_there_is_named_and_the_last_shown(
    open_childhood: OpenApp, step: str
) -> None:
    app = open_childhood(step=step)
    assert slider(app).value == LAST
    said = plain(app.warning[0].value)
    assert said.startswith("The address asks for step “")
    assert "which is none of 0, 2, 20, 1120; shown instead: “1120”." in said


def test_a_step_of_a_checkpoint_without_snapshots_is_left_out_of_the_address(
    open_app: OpenApp, both: Path
) -> None:
    app = open_app(folder=both, step="20")
    said = plain(app.warning[0].value)
    assert re.search("“20”.* no snapshots.* left out", said)
    assert not app.select_slider
    app.text_input(key="sentence").set_value(PAIRS[3][0]).run()
    assert "step" not in app.query_params


def test_another_checkpoint_takes_the_step_out_of_the_address_and_back_comes_the_last(
    open_childhood: OpenApp,
) -> None:
    app = open_childhood(step="2")
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert not app.select_slider
    assert model_in_address(app) == {}
    app.selectbox(key="checkpoint").set_value(NAME).run()
    assert slider(app).value == LAST
    assert model_in_address(app) == {"checkpoint": NAME}


def test_every_page_shows_the_snapshot_and_the_step_outlives_the_way_there(
    open_childhood: OpenApp, both: Path
) -> None:
    app = open_childhood(step="2")
    for page in ("masks", "positions", "heads"):
        go_to(app, page).run()
        assert not app.error
        assert slider(app).value == 2
        assert asked(app).checkpoint == snapshot_file(both / NAME, 2)
        assert app.query_params["step"] == "2"
    go_to(app, "about").run()
    assert not app.error
    assert any(f"{NAME}: 0.1 million parameters" in plain(each.value) for each in app.markdown)
    go_to(app, "heads").run()
    assert slider(app).value == 2


def test_sentence_target_and_step_are_one_question(open_childhood: OpenApp) -> None:
    app = open_childhood(step="20", sentence="The dog sleeps.", target="Der Hund schläft.")
    question = asked(app)
    assert (question.sentence, question.target) == ("The dog sleeps.", "Der Hund schläft.")
    assert (question.checkpoint.stem, question.snapshot) == ("20", 2)
    assert "You typed this target" in html(app)


def test_what_is_kept_for_one_snapshot_is_not_given_for_another(both: Path) -> None:
    folder = both / NAME
    first, last = (snapshot_of(folder, step) for step in (0, LAST))
    assert session.folder_of(first) == folder == session.folder_of(folder)
    assert session.translator(first) is session.translator(first)
    assert session.translator(first) is not session.translator(last)
    weights = [
        session.ask(ModelQuestion(each, SENTENCE, PAIRS[0][1]).record).attention("cross", 0).weights
        for each in (first, last)
    ]
    assert weights[0].shape == weights[1].shape
    assert (weights[0] != weights[1]).any()
    assert session.examples(first) == session.examples(folder)
    assert session.examples(first)
    save_labels(folder, tiny_survey())
    assert session.labels(first) == {}
    assert session.labels(last) == tiny_survey().labels


def test_a_whole_run_of_snapshots_stays_loaded_beside_a_trained_model(both: Path) -> None:
    folder = both / NAME
    trained = session.translator(both / "en-de")
    loaded = [session.translator(snapshot_of(folder, step)) for step in SNAPSHOTS]
    assert session.translator(both / "en-de") is trained
    for step, translator in zip(SNAPSHOTS, loaded, strict=True):
        assert session.translator(snapshot_of(folder, step)) is translator


def test_a_snapshot_that_went_away_is_one_sentence(both: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no longer has the snapshot .*\.$"):
        session.translator(snapshot_of(both / NAME, 77))


def test_a_damaged_snapshot_is_one_sentence_and_another_can_be_chosen(
    open_app: OpenApp, both: Path, tmp_path: Path
) -> None:
    shutil.copytree(both / NAME, tmp_path / NAME)
    snapshot_file(tmp_path / NAME, 2).write_bytes(b"nothing")
    app = open_app(folder=tmp_path, step="2")
    assert len(app.error) == 1
    assert "damaged" in app.error[0].value
    slider(app).set_value(20).run()
    assert not app.error
    assert asked(app).snapshot == 2


def test_a_single_snapshot_is_shown_without_a_slider(
    open_app: OpenApp, both: Path, tmp_path: Path
) -> None:
    shutil.copytree(both / NAME, tmp_path / NAME)
    for step in SNAPSHOTS[:-1]:
        snapshot_file(tmp_path / NAME, step).unlink()
    app = open_app(folder=tmp_path)
    assert not app.select_slider
    assert asked(app).snapshot == 0
    assert "after 1,120 of 1,120 steps" in captions(app)


def test_what_heads_did_over_training_is_drawn_where_it_was_measured(
    open_childhood: OpenApp, open_app: OpenApp, both: Path, tmp_path: Path
) -> None:
    app = open_childhood(below="training")
    assert (app.session_state["heads-below"], "Over training" in sections(app)) == ("facts", False)
    folder = tmp_path / "grown"
    shutil.copytree(both, folder)
    growth = growth_of({step: survey_of(folder / NAME, place) for place, step in
                        enumerate(SNAPSHOTS)})  # fmt: skip
    write_growth(folder / NAME, growth)
    app = open_app(folder=folder, checkpoint=NAME, below="training", attention="encoder")
    assert "Over training" in sections(app)
    (chart,) = app.get("plotly_chart")
    assert "4 steps of training" in chart.proto.alt
    options = app.selectbox(key="heads-grown").options
    assert options[0] == "What this head does most"
    assert NAMES["previous"] in options
    app = app.selectbox(key="heads-grown").set_value("next").run()
    (chart,) = app.get("plotly_chart")
    assert chart.proto.alt.startswith(f"{NAMES['next']}: 8 heads ")
    assert query(app, "grown") == "next"
    assert any(
        "The label needs at least 50% of its weight" in plain(each.value) for each in app.markdown
    )
    app = app.segmented_control(key="heads-below").set_value("training").run()
    app.session_state["heads-attention"] = "cross"
    assert not app.run().exception
    assert query(app, "grown") == ""
    assert "Over training" not in sections(open_app(folder=folder, below="training"))


def test_damaged_curves_are_said_and_the_page_stands(
    open_app: OpenApp, both: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(both, folder)
    (folder / NAME / "growth.json").write_text("{}")
    app = open_app(folder=folder, checkpoint=NAME)
    assert not app.exception
    assert "growth.json is damaged" in said(app)
    assert "Over training" not in sections(app)


def sections(app: AppTest) -> str:
    """What there is below the picture."""
    return " ".join(app.segmented_control(key="heads-below").options)


def survey_of(folder: Path, place: int) -> Mapping[Site, tuple[HeadValues, ...]]:
    return example_values(load(folder, device="cpu", snapshot=place), read_examples(folder))
