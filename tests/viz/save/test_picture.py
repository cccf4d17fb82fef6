"""What every picture gets from its class: its Python, and what it can be saved as."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import pytest

from model.paper.search import Sampling, Search
from model.record.intervention import PositionEdit
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.save.notebook import Lines, assigned, public
from viz.save.picture import Layout, Picture

HOSTILE = "Search('); print(\"\n"


@dataclass(frozen=True, slots=True, eq=False)
class Example(Picture):
    weights: Any
    sentence: str
    head: int | None = None
    off: Sequence[Head] = ()

    title = "Example"
    name = "example"

    def figure(self, layout: Layout) -> go.Figure:
        return go.Figure()

    @property
    def setup(self) -> Lines:
        return ["weights = [head for head in range(3)]"]


def test_python_names_what_it_computes_and_writes_the_rest_where_it_is_not_usual() -> None:
    def last_lines(*fields: Any) -> Lines:
        return Example(*fields).python(Layout(dark=True))[1:]

    assert last_lines(None, HOSTILE) == [
        f"picture = hs.figures.Example(weights, {HOSTILE!r})",
        "picture.figure(hs.Layout(dark=True))",
    ]
    assert last_lines(None, "a", 0, [(Site(AttentionKind.CROSS, 1), 3)])[0] == (
        "picture = hs.figures.Example(weights, 'a', head=0, off=[(hs.Site.of('cross.1'), 3)])"
    )


def test_a_picture_is_offered_as_what_its_class_has() -> None:
    assert Example(None, "").formats == ["png", "svg", "pdf", "html", "py"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Layout(), "hs.Layout()"),
        (
            Search(beam=2, prefix=(3,), sampling=Sampling(seed=3)),
            "hs.Search(beam=2, sampling=hs.Sampling(seed=3), prefix=(3,))",
        ),
        ({"positions": PositionEdit(scale=0.5)}, "{'positions': hs.PositionEdit(scale=0.5)}"),
        (AttentionKind.ENCODER, "hs.figures.AttentionKind('encoder')"),
        ((HOSTILE, 0.5, None), f"({HOSTILE!r}, 0.5, None)"),
    ],
)
def test_values_are_written_by_their_public_names(value: object, written: str) -> None:
    assert public(value) == written


def test_names_inside_a_comprehension_are_not_assigned() -> None:
    lines = ["a, b = 1, 2", "c = {", "    site: 1 for site in range(3)", "}", "c[0] = a"]
    assert assigned(lines) == {"a", "b", "c"}
