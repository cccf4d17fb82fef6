"""Saved traces in the app: from a folder, dropped on the page, and what they cannot show."""

import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.trace.trace import Trace
from model.translate.translator import load
from tests.app.conftest import ROOT
from tests.app.test_heads_page import component, select, selected, sent
from tests.kit import traces
from tests.kit.apptest import OpenApp, go_to
from tests.kit.shown import captions, html, said, warnings
from viz.links.parameters import View
from viz.registry.pages import VIEWS
from viz.service import model_menu
from viz.service.model_menu import TRACES_VARIABLE
from viz.shell import uploaded_trace

KINDS = {
    "gpt.npz": ("decoder", traces.DECODER_WORDS, "2 decoder layers of 3 heads, 4 tokens"),
    "bert.npz": ("encoder", traces.ENCODER_WORDS, "2 encoder layers of 3 heads, 5 tokens"),
}
NEED_A_MODEL = [view for view in VIEWS.values() if view.without_model]
DROP = "application/octet-stream"


@pytest.fixture(scope="module")
def own(checkpoints: Path) -> Trace:
    """What the tiny model did once."""
    return load(checkpoints / "en-de", device="cpu").trace("The cat eats.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, own: Trace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the app has its traces from."""
    traces.write_traces(tmp_path)
    own.save(tmp_path / "own.npz")
    monkeypatch.setenv(TRACES_VARIABLE, str(tmp_path))
    return tmp_path


def page(app: AppTest, name: str) -> AppTest:
    return go_to(app, name).run()


def drop(app: AppTest, name: str, content: bytes) -> AppTest:
    (field,) = [each for each in app.file_uploader if each.key.startswith("dropped-file")]
    dropped: AppTest = field.set_value((name, content, DROP)).run()
    return dropped


# ---- from a folder -------------------------------------------------------------------------------


def test_traces_stand_in_the_menu_below_the_models(open_app: OpenApp) -> None:
    menu = open_app().selectbox(key="checkpoint")
    assert menu.options == ["en-de", "Trace: bert", "Trace: gpt", "Trace: own"]


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_one_text_shows_the_kind_that_it_has(open_app: OpenApp, name: str) -> None:
    kind, words, shape = KINDS[name]
    app = open_app(checkpoint=name)
    assert not app.exception
    assert not said(app)
    assert selected(app)[0] == kind
    found = sent(app)
    assert [each["kind"] for each in found.header["kinds"]] == [kind]
    assert found.axis(kind, "queries") == found.axis(kind, "keys") == words
    assert not found.header["canSwitchOff"]
    assert found.header["asks"] is None
    assert found.kind(kind)["q"] is None
    assert app.query_params == {"checkpoint": name}
    field = app.text_input(key="bar-trace")
    assert field.disabled
    assert field.value == " ".join(words)
    assert shape in captions(app)
    assert not [each for each in app.text_input if each.key in ("sentence", "target")]
    shown = html(app) + " ".join(each.label for each in app.text_input)
    assert not any(word in shown for word in ("German", "English", "ource token", "arget token"))
    assert "Label" not in app.dataframe[0].value


def test_a_trace_of_our_own_model_shows_what_it_recorded(open_app: OpenApp, own: Trace) -> None:
    app = open_app(checkpoint="own.npz")
    assert selected(app)[0] == "cross"
    found = sent(app)
    for site, seen in own.maps.items():
        assert np.allclose(found.weights(site.kind)[site.layer], seen.weights, atol=1e-5)
        assert seen.q is not None
        # What takes a weight apart in the picture.
        queries = found.kind(site.kind)["q"].reshape(-1, *seen.q.shape)
        assert np.allclose(queries[site.layer], seen.q, atol=1e-5)
    assert own.text in html(app)
    select(app, attention="encoder", layer="1", head="2", cell="1.1")
    assert app.session_state["heads-below"] == "query-key"
    assert len(app.get("plotly_chart")) == 1
    assert not said(app)


@pytest.mark.parametrize("section", ["facts", "numbers", "query-key", "matrices"])
@pytest.mark.parametrize("name", [*KINDS, "own.npz"])
def test_each_section_shows_something_or_says_why_not(
    open_app: OpenApp, name: str, section: str
) -> None:
    app = open_app(checkpoint=name, below=section, cell="1.1")
    assert not app.exception
    lacking = section == "matrices" or (section == "query-key" and name != "own.npz")
    assert len(app.info) == lacking
    assert bool(said(app)) == lacking


@pytest.mark.parametrize("view", NEED_A_MODEL, ids=lambda view: str(view.name))
@pytest.mark.parametrize("name", [*KINDS, "own.npz"])
def test_a_page_that_needs_a_model_says_so_and_leads_to_the_heads(
    open_app: OpenApp, name: str, view: View
) -> None:
    app = page(open_app(checkpoint=name, attention="decoder", layer="1"), view.name)
    (told,) = app.info
    assert said(app) == (
        f"{view.without_model} cannot be shown here: {name} is a saved trace, without a model to "
        "run. The heads page shows it."
    )
    assert told.icon
    app.button(key="bar-show-heads").click().run()
    assert component(app) is not None
    assert app.session_state["heads-layer"] == 1
    assert app.query_params["checkpoint"] == name


def test_the_page_about_tells_what_the_file_tells(open_app: OpenApp) -> None:
    app = page(open_app(checkpoint="gpt.npz"), "about")
    text = " ".join(each.value for each in app.markdown)
    assert "## The trace" in text
    assert KINDS["gpt.npz"][2] in text
    assert "weights, but no scores" in text
    assert "## The model" not in text
    assert "million parameters" not in text
    own = page(open_app(checkpoint="own.npz"), "about")
    text = " ".join(each.value for each in own.markdown)
    assert "look into every weight" in text
    assert "prediction of each row" in text


def test_a_kind_that_a_trace_lacks_is_said(open_app: OpenApp) -> None:
    app = open_app(checkpoint="gpt.npz", attention="encoder", layer="1")
    (warning,) = warnings(app)
    assert re.search("“encoder”.* shown instead: “decoder”", warning)
    assert selected(app)[0] == "decoder"


def test_a_layer_that_a_trace_lacks_is_said(open_app: OpenApp) -> None:
    app = open_app(checkpoint="bert.npz", attention="encoder", layer="7", head="1")
    assert selected(app) == ("encoder", 1, 1)
    (warning,) = warnings(app)
    assert re.search("layers 0 to 1, .*layer 7; shown instead: layer 1", warning)


def test_a_model_and_a_trace_are_chosen_in_turn(open_app: OpenApp) -> None:
    app = open_app(sentence="The dog eats.")
    app.selectbox(key="checkpoint").set_value("bert.npz").run()
    assert selected(app)[0] == "encoder"
    app.selectbox(key="checkpoint").set_value("en-de").run()
    assert app.text_input(key="sentence").value == "The dog eats."
    assert not said(app)
    assert sent(app).header["canSwitchOff"]


def test_a_trace_is_shown_on_stage(open_app: OpenApp) -> None:
    app = open_app(checkpoint="gpt.npz", present="1")
    assert sent(app).header["stage"]
    assert not said(app)


@pytest.mark.parametrize(
    "name", ["gone.npz", "../gpt.npz", "/etc/passwd.npz", "gpt.npz/../own.npz", "..\\gpt.npz"]
)
def test_a_link_to_a_trace_that_is_not_there_gets_a_sentence(
    open_app: OpenApp, folder: Path, name: str
) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "gone.npz").write_bytes(traces.DECODER)
    (warning,) = warnings(open_app(checkpoint=name))
    assert "no folder in HEADSCOPE_TRACES" in warning
    assert "shown instead: “en-de”" in warning


@pytest.mark.parametrize(("content", "message"), traces.HOSTILE.values(), ids=traces.HOSTILE)
def test_a_bad_file_in_the_folder_gets_its_sentence(
    open_app: OpenApp, folder: Path, content: bytes, message: str
) -> None:
    (folder / "bad.npz").write_bytes(content)
    app = open_app(checkpoint="bad.npz")
    assert len(app.error) == 1
    assert message in said(app)
    assert component(app) is None
    app.selectbox(key="checkpoint").set_value("gpt.npz").run()
    assert component(app) is not None


def test_folders_and_files_are_listed_once_and_a_missing_one_is_passed_over(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "gpt.npz").write_bytes(b"another")
    (other / "more.npz").mkdir()
    (folder / "notes.txt").write_text("none", encoding="utf-8")
    places = [str(other / "gpt.npz"), "", str(folder / "missing"), str(folder), str(other)]
    monkeypatch.setenv(TRACES_VARIABLE, os.pathsep.join(places))
    assert model_menu.traces() == {
        "bert.npz": folder / "bert.npz",
        "gpt.npz": other / "gpt.npz",
        "own.npz": folder / "own.npz",
    }


def test_traces_open_where_there_is_no_model(open_app: OpenApp, folder: Path) -> None:
    app = open_app(folder=folder / "none")
    assert selected(app)[0] == "encoder"
    assert not said(app)


# ---- dropped on the page -------------------------------------------------------------------------


def test_a_dropped_file_is_shown_and_its_name_stays_out_of_the_address(open_app: OpenApp) -> None:
    app = drop(open_app(), "secret name.npz", traces.ENCODER)
    assert app.query_params["checkpoint"] == "dropped"
    assert "secret" not in str(app.query_params)
    assert "Dropped: secret name" in app.selectbox(key="checkpoint").options
    assert sent(app).axis("encoder", "queries") == traces.ENCODER_WORDS
    assert not said(app)
    drop(app, "other.npz", traces.DECODER)
    assert sent(app).axis("decoder", "queries") == traces.DECODER_WORDS
    assert [each for each in app.selectbox(key="checkpoint").options if "Dropped" in each] == [
        "Dropped: other"
    ]


def test_a_dropped_file_is_nobody_else_s(open_app: OpenApp) -> None:
    drop(open_app(), "mine.npz", traces.ENCODER)
    app = open_app(checkpoint="dropped")
    assert "drop it again" in said(app)
    assert not [each for each in app.selectbox(key="checkpoint").options if "Dropped" in each]


@pytest.mark.parametrize(("content", "message"), traces.HOSTILE.values(), ids=traces.HOSTILE)
def test_a_bad_file_that_is_dropped_gets_its_sentence(
    open_app: OpenApp, content: bytes, message: str
) -> None:
    app = drop(open_app(), "bad.npz", content)
    assert message in said(app)
    assert app.selectbox(key="checkpoint").value == "en-de"
    assert component(app) is not None
    drop(app, "good.npz", traces.DECODER)
    assert not said(app)


def test_what_all_drop_together_is_bounded(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploaded_trace, "ALL_BYTES", 400)
    app = drop(open_app(), "mine.npz", traces.DECODER)
    assert "more dropped traces" in said(app)


def test_the_server_takes_as_much_as_the_page_offers_to_take() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert config["server"]["maxUploadSize"] == uploaded_trace.MOST_MEGABYTES
