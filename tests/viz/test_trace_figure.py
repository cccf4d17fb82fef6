"""A figure in a line: what it draws, what goes with it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io
import pytest

import headscope as hs
from headscope.commands.pictures import PICTURES
from headscope.trace_figure import figure_of
from model.arguments import UnknownNameError
from model.trace.trace import Trace
from model.translate.translator import Translator, load
from viz.heads.every_head import EveryHead
from viz.heads.one_head import OneHead
from viz.save import image
from viz.save.formats import ExportError

SENTENCE = "The cat eats."


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Translator:
    return load(folder, device="cpu")


def test_a_kind_a_layer_and_a_head_are_one_head_with_its_provenance(
    loaded: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = loaded.trace(SENTENCE)
    figure = trace.figure("cross", 1, 2)
    assert isinstance(figure.picture, OneHead)
    figure.save(tmp_path / "head.json")
    saved = json.loads((tmp_path / "head.json").read_text(encoding="utf-8"))
    assert saved | trace.provenance.texts | {"sentence": SENTENCE} == saved
    np.testing.assert_array_equal(
        figure.frame()["weight"], trace.maps["cross", 1].weights[2].ravel()
    )
    asked: dict[str, Any] = {}
    monkeypatch.setattr(image, "image", lambda *_, **named: asked.update(named) or b"%PDF")
    figure.save(tmp_path / "head.pdf", width="8.5cm")
    assert (asked["sentence"], asked["model"]) == (SENTENCE, trace.provenance.model)
    assert isinstance(trace.figure("encoder", words=True).picture, EveryHead)
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    assert "application/vnd.plotly.v1+json" in figure._repr_mimebundle_()


@pytest.mark.parametrize(
    "name", ["mask", "effects", "certainty", "differences", "likeness", "tree"]
)
def test_any_picture_of_the_command_line_is_one_of_a_trace(loaded: Translator, name: str) -> None:
    trace = loaded.trace(SENTENCE)
    other = {"other": loaded.trace("The dog sleeps.")} if name == "differences" else {}
    figure = trace.figure(name, translator=loaded, **other)
    assert isinstance(figure.picture, PICTURES[name].kind)
    assert figure.picture.figure(hs.Layout()).data


def test_a_second_trace_of_another_model_is_compared_as_one(
    loaded: Translator, folder: Path
) -> None:
    trace = loaded.trace(SENTENCE)
    other = hs.load("toy-reverse").trace("a b")
    more = trace.figure("differences", translator=loaded, other=other).picture.more
    assert "Different models are compared" in more


def test_a_shipped_model_is_found_and_any_other_asked_for(loaded: Translator) -> None:
    shipped = hs.load("toy-reverse").trace("a b c")
    assert shipped.figure("effects").picture.effects.source_text == "a b c"
    own = Trace.of(np.full((1, 2, 2), 0.5))
    assert own.figure("encoder", 0, 0).picture.figure(hs.Layout()).data
    with pytest.raises(ExportError, match=r"effects asks the model.*translator=hs\.load"):
        own.figure("effects")


def test_what_a_figure_does_not_take_is_refused(loaded: Translator, tmp_path: Path) -> None:
    trace = loaded.trace(SENTENCE)
    refused: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        (("heds",), {}, UnknownNameError, "Did you mean heads"),
        (("head",), {"methd": 1}, UnknownNameError, "Did you mean method"),
        (("head",), {"token": 2}, ExportError, "does not use token; leave it out"),
        (("maps",), {"method": "x"}, ExportError, "invalid choice"),
        (("pair",), {"translator": loaded}, ExportError, "second with"),
        (("head", 9), {}, IndexError, "no layer 9"),
    ]
    for given, options, error, said in refused:
        with pytest.raises(error, match=said):
            figure_of(trace, *given, **options)
    for name, how, said in (
        ("head.xyz", {}, "cannot be written"),
        ("a.pdf", {"width": "1m"}, "1m"),
    ):
        with pytest.raises(ExportError, match=said):
            trace.figure("cross", 1, 2).save(tmp_path / name, **how)
