"""The pictures of the decoding page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.logit_lens import LogitLens
from model.search import Search
from model.trace import AttentionKind, Tokens, Trace
from model.translation import Decoding, DecodingStep
from viz.decoding import certainty, steps, tree
from viz.decoding import lens as lens_map
from viz.decoding.attention import HeadMean, head_mean
from viz.decoding.search import search_name
from viz.draw.labels import token_text
from viz.heads.changes import UNCHANGED, Changes
from viz.heads.chosen import Head
from viz.heads.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture


def decoding_lines(sentence: str, search: Search, changes: Changes) -> Lines:
    """The lines of a notebook that decode a sentence under some changes."""
    return [
        f"from model import {'Sampling, ' if search.sampling else ''}Search",
        f"search = {search!r}",
        *(["from viz.heads.changes import Changes", f"changes = {changes!r}"] if changes else []),
        f"decoding = translator.decode({sentence!r}, search=search{_under(changes)})",
    ]


def _heads_lines(heads: Sequence[Head]) -> Lines:
    """The lines that say which heads a picture is of."""
    if not heads:
        return []
    named = ", ".join(
        f"(Site(AttentionKind({str(site.kind)!r}), {site.layer}), {number})"
        for site, number in heads
    )
    return ["from model.trace import AttentionKind, Site", f"heads = [{named}]"]


def _under(changes: Changes) -> str:
    return ", under=changes.under" if changes else ""


def _changed(changes: Changes) -> str:
    return ", changes=changes" if changes else ""


@dataclass(frozen=True, slots=True, eq=False)
class OneStep(Picture):
    """One step of a decoding: what the decoder looks at, and the likeliest next tokens.

    Attributes:
        decoding: of the sentence.
        trace: of its translation.
        search: how it was decoded.
        step: from 0.
        heads: whose attention is shown, the mean of those of one kind; of all where it has none.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "step"
    about: ClassVar[str] = "one step of the decoding and its likeliest next tokens: --token"

    decoding: Decoding
    trace: Trace
    search: Search
    step: int = 0
    heads: Sequence[Head] = ()
    changes: Changes = UNCHANGED

    name = "step"

    @classmethod
    def of(cls, request: Request) -> OneStep:
        decoding = request.decoding
        token, count = request.arguments.token or 1, len(decoding.steps)
        if not 1 <= token <= count:
            raise ExportError(
                f"There are the target tokens 1 to {count}; there is no target token {token}."
            )
        changes = request.changes
        trace = request.translator.trace_of(decoding.translation, under=changes.under)
        return cls(decoding, trace, request.search, token - 1, changes=changes)

    @property
    def title(self) -> str:
        token = token_text(self.decoding.translation.tokens[self.step])
        step = f"Step {self.step + 1} of {len(self.decoding.steps)}{self.changes.name}"
        return f"{step}: “{token}” is written"

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
            f"{token_text(token)} {100 * probability:.1f} %"
            for token, probability in zip(
                self.now.likeliest.tokens, self.now.probabilities, strict=True
            )
        ]
        row = self.cross.weights[self.step]
        most = int(row.argmax())
        share = certainty.percent(float(row[most]))
        return (
            f"{self.title}. {self.cross.name}: most of it, {share}, on "
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
        which = (", heads=heads" if self.heads else "") + _changed(self.changes)
        return [
            *decoding_lines(self.decoding.translation.source_text, self.search, self.changes),
            *_heads_lines(self.heads),
            "from viz.decoding.pictures import OneStep",
            "from viz.save.picture import Layout",
            f"trace = translator.trace_of(decoding.translation{_under(self.changes)})",
            f"picture = OneStep(decoding, trace, search, {self.step}{which})",
            f"picture.figure({layout!r})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class SearchTree(Picture):
    """Every hypothesis of a decoding as a tree.

    Attributes:
        decoding: of the sentence.
        search: how it was decoded.
        numbered: whether each hypothesis has its log-probability below.
        whole: whether what was pruned is drawn.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "tree"
    about: ClassVar[str] = "every hypothesis of the search as a tree: --beam, --samples, --prefix"

    decoding: Decoding
    search: Search
    numbered: bool = True
    whole: bool = True
    changes: Changes = UNCHANGED

    name = "search-tree"

    @classmethod
    def of(cls, request: Request) -> SearchTree:
        return cls(request.decoding, request.search, changes=request.changes)

    @property
    def title(self) -> str:
        return search_name(self.search) + self.changes.name

    @property
    def alt(self) -> str:
        return tree.tree_alt_text(self.decoding, self.title)

    @property
    def caption(self) -> str:
        return tree.tree_caption(self.search)

    def figure(self, layout: Layout) -> go.Figure:
        drawn = self.decoding if self.whole else tree.without_pruned(self.decoding)
        return tree.tree_figure(
            drawn, self.search, self.title, numbered=self.numbered, **layout.options
        )

    def numbers(self) -> Numbers:
        nodes = self.decoding.nodes
        places = {
            "parent": [-1 if node.parent is None else node.parent for node in nodes],
            "step": [node.step + 1 for node in nodes],
            "rank": [0 if node.rank is None else node.rank + 1 for node in nodes],
        }
        scores = [math.nan if node.score is None else node.score for node in nodes]
        arrays = {name: np.array(values) for name, values in places.items()}
        arrays["log_prob"] = np.array([node.log_prob for node in nodes])
        arrays["score"] = np.array(scores)
        arrays["fate"] = np.array([node.fate for node in nodes])
        tokens = Tokens(
            tokens=tuple(node.token for node in nodes), ids=tuple(node.token_id for node in nodes)
        )
        return Numbers(
            {"search": self.title},
            {"hypothesis": tokens},
            {name: (("hypothesis",), values) for name, values in arrays.items()},
        )

    def python(self, layout: Layout) -> Lines:
        return [
            "from viz.decoding.pictures import SearchTree",
            "from viz.save.picture import Layout",
            *decoding_lines(self.decoding.translation.source_text, self.search, self.changes),
            f"SearchTree(decoding, search{_changed(self.changes)}).figure({layout!r})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Certainty(Picture):
    """Probability, rank and entropy of every token of a decoding.

    Attributes:
        decoding: of the sentence.
        search: how it was decoded.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "certainty"
    about: ClassVar[str] = "probability, rank and entropy of every token of the translation"

    decoding: Decoding
    search: Search
    changes: Changes = UNCHANGED

    name = "certainty"

    @classmethod
    def of(cls, request: Request) -> Certainty:
        return cls(request.decoding, request.search, changes=request.changes)

    @property
    def title(self) -> str:
        return certainty.TITLE + self.changes.name

    @property
    def tokens(self) -> Tokens:
        """What was written."""
        translation = self.decoding.translation
        return Tokens(translation.tokens, translation.token_ids)

    @property
    def alt(self) -> str:
        return certainty.certainty_alt_text(self.tokens, self.decoding.steps, self.title)

    @property
    def caption(self) -> str:
        return (
            "Above, the probability that the model gave to each token it wrote; orange where "
            "another was likelier, with its rank. Below, the entropy of the whole distribution: "
            "0 bits if one token is certain, 1 bit as between two that are equally likely."
        )

    def figure(self, layout: Layout) -> go.Figure:
        return certainty.certainty_figure(
            self.tokens, self.decoding.steps, self.title, **layout.options
        )

    def numbers(self) -> Numbers:
        steps = self.decoding.steps
        return Numbers(
            {},
            {"target": self.tokens},
            {
                "probability": (("target",), np.array([step.probability for step in steps])),
                "rank": (("target",), np.array([step.rank for step in steps])),
                "entropy": (("target",), np.array([step.entropy for step in steps])),
                "forced": (("target",), np.array([step.forced for step in steps])),
            },
        )

    def python(self, layout: Layout) -> Lines:
        return [
            *decoding_lines(self.decoding.translation.source_text, self.search, self.changes),
            "from viz.decoding.pictures import Certainty",
            "from viz.save.picture import Layout",
            f"Certainty(decoding, search{_changed(self.changes)}).figure({layout!r})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LayerLens(Picture):
    """What each decoder layer would say at every step of a decoding.

    Attributes:
        lens: of the translation.
        sentence: the source.
        search: how it was decoded.
        pre_norm: whether the model normalises before its sublayers.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "layers"
    about: ClassVar[str] = "what each decoder layer would say at every step of the translation"

    lens: LogitLens
    sentence: str
    search: Search
    pre_norm: bool
    changes: Changes = UNCHANGED

    name = "layers"

    @classmethod
    def of(cls, request: Request) -> LayerLens:
        model = request.translator
        changes = request.changes
        trace = model.trace_of(request.decoding.translation, under=changes.under)
        lens = model.logit_lens(trace, under=changes.under)
        return cls(lens, request.text, request.search, model.is_pre_norm, changes)

    @property
    def title(self) -> str:
        return lens_map.TITLE + self.changes.name

    @property
    def alt(self) -> str:
        return lens_map.lens_alt_text(self.lens, self.title)

    @property
    def caption(self) -> str:
        return lens_map.lens_caption(pre_norm=self.pre_norm)

    def figure(self, layout: Layout) -> go.Figure:
        return lens_map.lens_figure(self.lens, self.title, **layout.options)

    def numbers(self) -> Numbers:
        lens = self.lens
        return Numbers(
            {},
            {"layer": range(len(lens.ranks)), "target": lens.tokens},
            {
                "likeliest": (
                    ("layer", "target"),
                    np.array([each.tokens for each in lens.likeliest], np.str_),
                ),
                "likeliest_log_prob": (("layer", "target"), lens.likeliest_log_probs),
                "log_prob": (("layer", "target"), lens.log_probs),
                "rank": (("layer", "target"), lens.ranks),
            },
        )

    def python(self, layout: Layout) -> Lines:
        return [
            *decoding_lines(self.sentence, self.search, self.changes),
            "from viz.decoding.lens import lens_figure",
            f"trace = translator.trace_of(decoding.translation{_under(self.changes)})",
            f"lens = translator.logit_lens(trace{_under(self.changes)})",
            f"lens_figure(lens, {self.title!r}{layout.python})",
        ]
