"""What follows from additions to the tree: `tests/test_extensions.py` runs this in their copy."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from streamlit.testing.v1 import AppTest

import headscope as hs
from headscope.__main__ import main
from model.explain.attributing import attributions
from model.paper.config import TransformerConfig
from model.paper.multi_head import MultiHeadAttention
from model.paper.transformer import Transformer
from model.record import taps
from model.record.recording import recording
from model.survey.survey_file import read_survey
from tests.kit.apptest import OpenApp, go_to, nodes
from viz.effects.view import VIEW as EFFECTS
from viz.heads.view import VIEW as HEADS
from viz.inquiries.inquiry import Subject
from viz.inquiries.registry import offered
from viz.registry.pages import HOME, VIEWS
from viz.service import model_menu, session
from viz.service.jobs import running
from viz.service.questions import ModelQuestion
from viz.service.versions import version_of
from viz.talk.own_talks import ready_talk

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "checkpoints"
SENTENCE = "The cat sat."


def added(module: Any, name: str) -> Any:
    """A class that only the copy has."""
    return getattr(module, name)


def small(**changes: str) -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(vocab_size=20, d_model=16, d_ff=16, n_heads=2, **changes)
    return Transformer(config).eval()


def shows(app: AppTest, text: str) -> bool:
    """Whether a text stands anywhere in what a browser is sent."""
    return any(text in str(getattr(each, "proto", "")) for each in nodes(app))


@torch.no_grad()
def test_a_positional_encoding() -> None:
    halved, whole = small(positions="halved"), small()
    ids = torch.tensor([[5, 6, 7]])
    assert not torch.equal(halved(ids, ids), whole(ids, ids))


@torch.no_grad()
def test_a_scoring_function() -> None:
    halved, whole = small(scoring="halved"), small()
    ids = torch.tensor([[5, 6, 7]])
    assert not torch.equal(halved(ids, ids), whole(ids, ids))


def test_a_mask_preset(open_app: OpenApp) -> None:
    assert hs.PRESETS["last_token"](2, 3).tolist() == [[False, False, True]] * 2
    app = open_app(page="masks", part="compare", a="preset.last_token", sentence=SENTENCE)
    assert not app.warning
    assert shows(app, "Last token")


def test_a_head_measure(open_app: OpenApp) -> None:
    survey = read_survey(SHIPPED / "en-de")
    assert survey is not None
    app = open_app(order="widest", sentence=SENTENCE)
    assert not app.warning
    assert HEADS.parameter("order").parse("widest") == "widest"
    assert "`widest`" in (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert shows(app, "Largest weight")


def test_an_attribution_method(open_app: OpenApp, tmp_path: Path) -> None:
    maps = attributions(hs.load("toy-reverse"), "a b c", methods=["evenly"]).maps
    assert all(np.allclose(each.together, 1 / each.together.shape[1]) for each in maps)
    assert EFFECTS.parameter("method").parse("evenly") == "evenly"
    file = tmp_path / "evenly.json"
    shared = ("a b c", "--checkpoint", "toy-reverse", "--figure", "maps", "--method", "evenly")
    assert main(["export", *shared, "--out", str(file)]) == 0
    app = open_app(page="effects", show="maps", method="evenly", sentence=SENTENCE)
    assert not app.warning
    assert shows(app, "Evenly")


@torch.no_grad()
def test_an_adapter_for_a_foreign_attention_module() -> None:
    config = TransformerConfig(vocab_size=9, d_model=16, n_heads=4)
    model = torch.nn.Sequential(added(taps, "Doubled")(MultiHeadAttention(config))).eval()
    (site,) = taps.install_taps(model)
    with recording() as seen:
        model(torch.randn(1, 3, 16))
    assert seen[site].weights.shape == (1, 4, 3, 3)


def test_a_picture(tmp_path: Path) -> None:
    shared = ("a b c", "--checkpoint", "toy-reverse", "--figure", "largest")
    for suffix in ("html", "py"):
        file = tmp_path / f"largest.{suffix}"
        assert main(["export", *shared, "--out", str(file)]) == 0
        assert "Largest" in file.read_text(encoding="utf-8")
    assert hs.figures.LargestWeights


def test_a_page(open_app: OpenApp) -> None:
    page = (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert "| `share` | a number |" in page
    app = open_app(page="lengths", share="3", words="4", heads="1", sentence=SENTENCE)
    moved = added(import_module("viz.lengths.view"), "LengthsView")(3, 4, True)
    assert repr(moved) in [each.value for each in app.markdown]
    for name in VIEWS:
        go_to(app, name).run()
        assert not app.exception, name
        go_to(app, "lengths").run()
        assert repr(moved) in [each.value for each in app.markdown], name


def test_a_question_to_ask_the_model(checkpoints: Path) -> None:
    letters = session.ask(
        added(running, "count_letters")(version_of(checkpoints / "en-de"), SENTENCE)
    )
    assert letters == len(hs.load(checkpoints / "en-de").translate(SENTENCE).text)


def test_a_question_for_visitors(checkpoints: Path) -> None:
    subject = Subject(ModelQuestion(checkpoints / "en-de", SENTENCE))
    (letters,) = [each for each in offered(subject) if each.key == "letters"]
    answer = letters.answer(subject)
    assert answer.sentence == f"It has {len(subject.own)} letters."


def test_a_scene_of_the_included_talk(open_app: OpenApp) -> None:
    titles = [each.title for each in ready_talk().scenes]
    place = titles.index("One more") + 1
    app = open_app(page="masks", scene=str(place), sentence=SENTENCE)
    assert not app.warning


def test_an_act(open_app: OpenApp) -> None:
    assert "`still`" in (ROOT / "docs" / "parameters.md").read_text(encoding="utf-8")
    app = open_app(page=HOME, sentence=SENTENCE, act="still")
    assert not app.warning
    assert shows(app, "Nothing moves")


def test_a_checkpoint(open_app: OpenApp) -> None:
    assert "toy-again" in model_menu.checkpoints()
    app = open_app(folder=SHIPPED, checkpoint="toy-again", sentence="a b c")
    assert not app.warning
