"""The pictures of the decoding page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.search import AS_IN_THE_PAPER, Search
from model.trace import AttentionKind, Site, Trace
from model.translation import Decoding, DecodingStep
from viz.decoding import steps
from viz.decoding.attention import HeadMean, head_mean
from viz.draw.labels import token_text
from viz.heads.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture


def decoding_lines(sentence: str, search: Search) -> Lines:
    """The lines of a notebook that decode a sentence."""
    return [
        "from model import Sampling, Search" if search.sampling else "from model import Search",
        f"search = {search!r}",
        f"decoding = translator.decode({sentence!r}, search=search)",
    ]


@dataclass(frozen=True, slots=True, eq=False)
class OneStep(Picture):
    """One step of a decoding: what the decoder looks at, and the likeliest next tokens.

    Attributes:
        decoding: of the sentence.
        trace: of its translation.
        search: how it was decoded.
        step: from 0.
        heads: whose attention is shown, the mean of those of one kind; of all where it has none.
    """

    slug: ClassVar[str] = "step"
    about: ClassVar[str] = "one step of the decoding and its likeliest next tokens: --token"

    decoding: Decoding
    trace: Trace
    search: Search
    step: int = 0
    heads: Sequence[tuple[Site, int]] = ()

    name = "step"

    @classmethod
    def of(cls, request: Request) -> OneStep:
        decoding = request.translator.decode(request.text, search=AS_IN_THE_PAPER)
        token, count = request.arguments.token or 1, len(decoding.steps)
        if not 1 <= token <= count:
            raise ExportError(
                f"There are the target tokens 1 to {count}; there is no target token {token}."
            )
        trace = request.translator.trace_of(decoding.translation)
        return cls(decoding, trace, AS_IN_THE_PAPER, token - 1)

    @property
    def title(self) -> str:
        token = token_text(self.decoding.translation.tokens[self.step])
        return f"Step {self.step + 1} of {len(self.decoding.steps)}: “{token}” is written"

    @property
    def now(self) -> DecodingStep:
        """What is shown."""
        return self.decoding.steps[self.step]

    @property
    def chosen(self) -> int | None:
        """The place of the token that was taken, among the likeliest; None if it is another."""
        taken = self.decoding.translation.token_ids[self.step]
        return self.now.likeliest.ids.index(taken) if taken in self.now.likeliest.ids else None

    @property
    def cross(self) -> HeadMean:
        """Where the decoder looks in the source."""
        return head_mean(self.trace, AttentionKind.CROSS, self.heads)

    @property
    def own(self) -> HeadMean:
        """Where it looks in what it wrote."""
        return head_mean(self.trace, AttentionKind.DECODER, self.heads)

    @property
    def alt(self) -> str:
        named = [
            f"{token_text(token)} {probability:.1%}"
            for token, probability in zip(
                self.now.likeliest.tokens, self.now.probabilities, strict=True
            )
        ]
        row = self.cross.weights[self.step]
        most = int(row.argmax())
        return (
            f"{self.title}. {self.cross.name}: most of it, {row[most]:.0%}, on "
            f"“{token_text(self.trace.source.tokens[most])}”. The likeliest next tokens: "
            f"{', '.join(named)}."
        )

    @property
    def caption(self) -> str:
        return (
            "What the decoder looks at while it writes one token: above in the source, below in "
            "what it has read of its own translation, the more the stronger the colour. Then the "
            "ten likeliest next tokens with the model's own probabilities, the one written marked."
        )

    def figure(self, layout: Layout) -> go.Figure:
        read = slice(self.step + 1)
        looks = [
            (self.cross.name, self.trace.source, self.cross.weights[self.step]),
            (self.own.name, self.trace.target[read], self.own.weights[self.step, read]),
        ]
        return steps.step_figure(self.now, self.chosen, looks, self.title, **layout.options)

    def numbers(self) -> Numbers:
        read = slice(self.step + 1)
        return Numbers(
            {"step": self.step + 1},
            {
                "next": self.now.likeliest,
                "source": self.trace.source,
                "target": self.trace.target[read],
            },
            {
                "probability": (("next",), np.array(self.now.probabilities)),
                "cross": (("source",), self.cross.weights[self.step]),
                "decoder": (("target",), self.own.weights[self.step, read]),
            },
        )

    def python(self, layout: Layout) -> Lines:
        named = [
            f"(Site(AttentionKind({str(site.kind)!r}), {site.layer}), {head})"
            for site, head in self.heads
        ]
        of = ["from model.trace import AttentionKind, Site"] if named else []
        heads = f", [{', '.join(named)}]" if named else ""
        return [
            *decoding_lines(self.decoding.translation.source_text, self.search),
            *of,
            "from viz.decoding.pictures import OneStep",
            "from viz.save.picture import Layout",
            "trace = translator.trace_of(decoding.translation)",
            f"picture = OneStep(decoding, trace, search, {self.step}{heads})",
            f"picture.figure({layout!r})",
        ]
