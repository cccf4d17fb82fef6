"""The first page as files: a document that plays, and a film for slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from model.explain.alignment_table import AlignmentTable
from model.explain.measures import Facts
from model.explain.reading import ReadTrace
from model.record.intervention import Side
from model.trace.attention_map import AttentionKind, FloatArray
from model.trace.blocks import Blocks
from model.trace.trace import Trace
from viz.browser.files import joined
from viz.browser.trace_payload import Labels
from viz.draw.style import count_of
from viz.model_page.arcs import arcs_of
from viz.model_page.payload import Figure, pack
from viz.save.document import document
from viz.save.film import Played
from viz.save.picture import Picture

HTML = '<div class="headscope model-view"></div>'

_SIDES: Mapping[AttentionKind, Side] = {
    AttentionKind.ENCODER: "encoder",
    AttentionKind.DECODER: "decoder",
}

_READ_SECONDS, _STEP_SECONDS = 2.0, 1.4
"""For how long the sentence goes up the encoder, and one token up the decoder."""

_WALK_SECONDS = 45.0
"""For how long the walk lasts: some ten stops, each with a sentence to read."""


class Encoding(Protocol):
    """How a model knows order."""

    is_added: ClassVar[bool]
    acts: ClassVar[str]


class Model(Protocol):
    """What the picture asks of a translator, whose own class needs torch."""

    @property
    def positions(self) -> Encoding: ...
    @property
    def norm(self) -> str: ...
    @property
    def n_parameters(self) -> int: ...
    def position_table(
        self, length: int | None = None, *, side: Side = "encoder"
    ) -> FloatArray: ...


def figure_of_model(
    model: Model,
    trace: Trace,
    seen: ReadTrace,
    facts: Facts,
    *,
    table: AlignmentTable | None,
    blocks: Blocks,
    labels: Labels,
    pages: Sequence[str] = (),
) -> Figure:
    """All that the picture shows of a whole Transformer, whose blocks can be asked."""
    lengths = {AttentionKind.ENCODER: len(trace.source), AttentionKind.DECODER: len(trace.target)}
    return Figure(
        trace=trace,
        seen=seen,
        facts=facts,
        arcs=arcs_of(trace, table),
        blocks=blocks,
        positions={
            kind: model.position_table(length, side=_SIDES[kind])
            for kind, length in lengths.items()
            if model.positions.is_added
        },
        acts=model.positions.acts,
        norm=model.norm,
        labels=labels,
        # The model can be asked what each head is worth.
        effects={},
        pages=pages,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PlayedSentence(Picture):
    """The paper's Figure 1 with a sentence running through it."""

    shown: Figure

    title = "The sentence, played"
    name = "played"

    @property
    def caption(self) -> str:
        return self.shown.arcs.said

    def page(self, dark: bool) -> str:
        trace = self.shown.trace
        texts = " – ".join(text for text in (trace.source_text, trace.text) if text)
        return _document(self.shown, texts, dark=dark or None, play=True, vectors=True)

    def film(self) -> Played:
        written = len(self.shown.trace.target)
        return Played(
            lambda dark: _document(self.shown, self.title, dark=dark, play=True, stage=True),
            _READ_SECONDS + _STEP_SECONDS * written,
        )


@dataclass(frozen=True, slots=True, eq=False)
class WalkedModel(Picture):
    """The walk through the model with a sentence in it, from stop to stop."""

    shown: Figure

    title = "The walk, as a film"
    name = "walk"

    def film(self) -> Played:
        return Played(
            lambda dark: _document(
                self.shown, self.title, dark=dark, walk=1, stage=True, vectors=True
            ),
            _WALK_SECONDS,
            most=_WALK_SECONDS,
        )


def _document(figure: Figure, title: str, *, dark: bool | None, **shown: Any) -> str:
    """A file with the picture in it, shown as `pack` takes it."""
    return document(
        # A file can ask no model.
        pack(replace(figure, effects=None), key=title, **shown),
        title=title,
        html=HTML,
        css=joined("model_view/model_view.css"),
        script=joined(Path(__file__).with_name("standalone.js")),
        about=f"{count_of(len(figure.trace.maps), 'block')} of attention are in this file. "
        "It asks nothing of any network.",
        provenance=figure.trace.provenance,
        dark=dark,
    )
