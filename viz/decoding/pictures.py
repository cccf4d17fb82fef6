"""The pictures of the decoding page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.search import Search
from model.translation import Decoding
from viz.decoding import steps
from viz.draw.labels import token_text
from viz.heads.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture


@dataclass(frozen=True, slots=True, eq=False)
class OneStep(Picture):
    """The likeliest next tokens at one step of a decoding.

    Attributes:
        decoding: of the sentence.
        search: how it was decoded.
        step: from 0.
    """

    slug: ClassVar[str] = "step"
    about: ClassVar[str] = "one step of the decoding and its likeliest next tokens: --token"

    decoding: Decoding
    search: Search
    step: int = 0

    name = "step"

    @classmethod
    def of(cls, request: Request) -> OneStep:
        decoding = request.decoding
        token, count = request.arguments.token or 1, len(decoding.steps)
        if not 1 <= token <= count:
            raise ExportError(
                f"There are the target tokens 1 to {count}; there is no target token {token}."
            )
        return cls(decoding, request.search, token - 1)

    @property
    def title(self) -> str:
        return f"Step {self.step + 1} of {len(self.decoding.steps)}"

    @property
    def chosen(self) -> int | None:
        """The place of the token that was taken, among the likeliest; None if it is another."""
        ids = self.decoding.steps[self.step].likeliest.ids
        taken = self.decoding.translation.token_ids[self.step]
        return ids.index(taken) if taken in ids else None

    @property
    def alt(self) -> str:
        step = self.decoding.steps[self.step]
        named = [
            f"{token_text(token)} {probability:.1%}"
            for token, probability in zip(step.likeliest.tokens, step.probabilities, strict=True)
        ]
        return f"{self.title}: the likeliest next tokens are {', '.join(named)}."

    @property
    def caption(self) -> str:
        return (
            "The ten likeliest next tokens with the model's own probabilities; the one that the "
            "translation goes on with is marked."
        )

    def figure(self, layout: Layout) -> go.Figure:
        return steps.step_figure(
            self.decoding.steps[self.step], self.chosen, self.title, **layout.options
        )

    def numbers(self) -> Numbers:
        step = self.decoding.steps[self.step]
        return Numbers(
            {"step": self.step + 1, "chosen": token_text(self._token)},
            {"next": step.likeliest},
            {"probability": (("next",), np.array(step.probabilities))},
        )

    @property
    def _token(self) -> str:
        return self.decoding.translation.tokens[self.step]

    def python(self, layout: Layout) -> Lines:
        return [
            "from model import Search",
            "from viz.decoding.pictures import OneStep",
            "from viz.save.picture import Layout",
            f"search = {self.search!r}",
            f"decoding = translator.decode({self.decoding.translation.source_text!r}, "
            "search=search)",
            f"OneStep(decoding, search, {self.step}).figure({layout!r})",
        ]
