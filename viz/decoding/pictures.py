"""The pictures of the decoding page."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import AttentionKind, Tokens
from model.trace.logit_lens import LogitLens
from model.trace.trace import Trace
from model.trace.translation import Decoding, DecodingStep
from viz.decoding import certainty, steps, tree
from viz.decoding import lens as lens_map
from viz.decoding.attention import HeadMean, head_mean
from viz.decoding.search import WIDEST, of_every_width, search_name, written_settings
from viz.decoding.search_results import (
    Found,
    by_width,
    compared,
    comparison_words,
    found_alt_text,
    found_figure,
    widths_words,
)
from viz.draw import style
from viz.draw.labels import token_text
from viz.links.head_refs import Head
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.request import Request
from viz.save.formats import ExportError
from viz.save.notebook import Lines, public
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture


def decoding_lines(sentence: str, search: Search, changes: Changes) -> Lines:
    """The lines of a notebook that decode a sentence under some changes."""
    return [
        f"search = {public(search)}",
        *([f"changes = hs.figures.{changes!r}"] if changes else []),
        f"decoding = translator.decode({sentence!r}, search=search{_under(changes)})",
    ]


def _heads_lines(heads: Sequence[Head]) -> Lines:
    """The lines that say which heads a picture is of."""
    if not heads:
        return []
    named = ", ".join(
        f"(hs.Site(hs.AttentionKind({str(site.kind)!r}), {site.layer}), {number})"
        for site, number in heads
    )
    return [f"heads = [{named}]"]


def _under(changes: Changes) -> str:
    return ", under=changes.under" if changes else ""


def _changed(changes: Changes) -> str:
    return ", changes=changes" if changes else ""


@dataclass(frozen=True, slots=True, eq=False)
class OneStep(Picture):
    """One step of a decoding: what the decoder looks at, and the likeliest tokens it may write.

    Attributes:
        decoding: of the sentence.
        trace: of its translation.
        search: how it was decoded.
        step: from 0.
        heads: whose attention is shown, the mean of those of one kind; of all where it has none.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "step"
    about: ClassVar[str] = "one step of the decoding and the likeliest tokens it may write: --token"

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
        step = request.token_of(len(decoding.steps)) or 0
        changes = request.changes
        trace = request.translator.trace_of(decoding.translation, under=changes.under)
        return cls(decoding, trace, request.search, step, changes=changes)

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
            f"{token_text(token)} {style.percent(probability, 1)}"
            for token, probability in zip(
                self.now.likeliest.tokens, self.now.probabilities, strict=True
            )
        ]
        row = self.cross.weights[self.step]
        most = int(row.argmax())
        share = certainty.percent(float(row[most]))
        return (
            f"{self.title}. {self.cross.name}: most of it, {share}, on "
            f"“{token_text(self.trace.source.tokens[most])}”. "
            "The likeliest of the tokens it may write: "
            f"{', '.join(named)}."
        )

    @property
    def caption(self) -> str:
        return (
            "What the decoder looks at while it writes one token: above in the source, below in "
            "what it has read of its own translation, the more the stronger the colour. Then the "
            "ten likeliest of the tokens it may write, with the model's own probabilities; the one "
            "written is marked."
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
            f"trace = translator.trace_of(decoding.translation{_under(self.changes)})",
            f"picture = hs.figures.OneStep(decoding, trace, search, {self.step}{which})",
            f"picture.figure({public(layout)})",
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
            *decoding_lines(self.decoding.translation.source_text, self.search, self.changes),
            f"hs.figures.SearchTree(decoding, search{_changed(self.changes)}).figure("
            f"{public(layout)})",
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
            "another token that it may write was likelier, with its rank among those. Below, the "
            "entropy of the whole distribution: 0 bits if one token is certain, 1 bit as between "
            "two that are equally likely."
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
            f"hs.figures.Certainty(decoding, search{_changed(self.changes)}).figure("
            f"{public(layout)})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LayerLens(Picture):
    """What each decoder layer would say at every step of a decoding.

    Attributes:
        lens: of the translation.
        sentence: the source.
        search: how it was decoded.
        final_norm: whether the decoder has a norm after its last layer.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "layers"
    about: ClassVar[str] = "what each decoder layer would say at every step of the translation"

    lens: LogitLens
    sentence: str
    search: Search
    final_norm: bool
    changes: Changes = UNCHANGED

    name = "layers"

    @classmethod
    def of(cls, request: Request) -> LayerLens:
        model = request.translator
        changes = request.changes
        trace = model.trace_of(request.decoding.translation, under=changes.under)
        lens = model.logit_lens(trace, under=changes.under)
        return cls(lens, request.text, request.search, model.has_final_norm, changes)

    @property
    def title(self) -> str:
        return lens_map.TITLE + self.changes.name

    @property
    def alt(self) -> str:
        return lens_map.lens_alt_text(self.lens, self.title)

    @property
    def caption(self) -> str:
        return lens_map.lens_caption(final_norm=self.final_norm)

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
            f"trace = translator.trace_of(decoding.translation{_under(self.changes)})",
            f"lens = translator.logit_lens(trace{_under(self.changes)})",
            f"hs.figures.lens_figure(lens, {self.title!r}{layout.python})",
        ]


def _found_numbers(found: Sequence[Found]) -> Numbers:
    nodes = [each.node for each in found]
    arrays = {
        "mark": np.array([each.mark for each in found], np.str_),
        "translation": np.array([each.text for each in found], np.str_),
        "log_prob": np.array([node.log_prob for node in nodes]),
        "score": np.array([node.score or 0.0 for node in nodes]),
        "tokens": np.array([node.step + 1 for node in nodes]),
    }
    return Numbers(
        {},
        {"found": range(1, len(found) + 1)},
        {name: (("found",), values) for name, values in arrays.items()},
    )


class _FoundList(Picture):
    """What searches found, as a list with bars."""

    _unit: ClassVar[str]

    @property
    @abstractmethod
    def found(self) -> list[Found]:
        """The list."""

    @property
    @abstractmethod
    def _values(self) -> list[float]:
        """What the bars are as long as."""

    @property
    def alt(self) -> str:
        return found_alt_text(self.found, self._values, self.title, self._unit)

    def figure(self, layout: Layout) -> go.Figure:
        return found_figure(self.found, self._values, self.title, self._unit, **layout.options)

    def numbers(self) -> Numbers:
        return _found_numbers(self.found)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSearches(_FoundList):
    """What two searches find.

    Attributes:
        decodings: of one sentence, A and B.
        searches: how each was decoded.
        changes: under which both were decoded.
    """

    slug: ClassVar[str] = "compare"
    about: ClassVar[str] = (
        "what the search finds beside another one: --beam, --samples, --against; by default greedy"
    )

    decodings: Sequence[Decoding]
    searches: Sequence[Search]
    changes: Changes = UNCHANGED

    name = "two-searches"

    _unit: ClassVar[str] = "Log-probability; nearer 0 is likelier"

    @classmethod
    def of(cls, request: Request) -> ComparedSearches:
        try:
            settings = written_settings(request.arguments.against)
        except ValueError:
            raise ExportError(
                "--against takes the settings of a search as the address of the decoding page has "
                "them, such as search-1-60-100-0-100-1-4."
            ) from None
        other = settings.search(request.search.prefix)
        decodings = (request.decoding, request.decode(other))
        return cls(decodings, (request.search, other), request.changes)

    @property
    def found(self) -> list[Found]:
        """Both, or more where samples were drawn."""
        return compared(self.decodings, self.searches)

    @property
    def words(self) -> str:
        """Which of them the model thinks likelier."""
        (one, other), (a, b) = self.decodings, self.searches
        return comparison_words(one, other, a, b)

    @property
    def title(self) -> str:
        return f"Two searches{self.changes.name}"

    @property
    def caption(self) -> str:
        return f"What each search found; the shorter the bar, the likelier. {self.words}"

    @property
    def _values(self) -> list[float]:
        return [each.node.log_prob for each in self.found]

    def python(self, layout: Layout) -> Lines:
        source = self.decodings[0].translation.source_text
        a, b = self.searches
        return [
            *decoding_lines(source, a, self.changes),
            f"other_search = {public(b)}",
            f"other = translator.decode({source!r}, search=other_search{_under(self.changes)})",
            "pair = (decoding, other), (search, other_search)",
            f"hs.figures.ComparedSearches(*pair{_changed(self.changes)}).figure({public(layout)})",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class SearchWidths(_FoundList):
    """What beams of every width find.

    Attributes:
        decodings: of one sentence, with beams of 1, 2, ….
        search: how it was decoded, but for the width.
        changes: under which it was decoded.
    """

    slug: ClassVar[str] = "widths"
    about: ClassVar[str] = f"what beams of the widths 1 to {WIDEST} find"

    decodings: Sequence[Decoding]
    search: Search
    changes: Changes = UNCHANGED

    name = "widths"

    _unit: ClassVar[str] = "Log-probability over length penalty; nearer 0 is better"

    @classmethod
    def of(cls, request: Request) -> SearchWidths:
        found = [request.decode(each) for each in of_every_width(request.search)]
        return cls(found, request.search, request.changes)

    @property
    def found(self) -> list[Found]:
        """Neighbouring widths that found the same stand together."""
        return by_width(self.decodings)

    @property
    def words(self) -> str:
        """Whether wider is better."""
        best = [each.ranked[0] for each in self.decodings]
        texts = [each.translation.text for each in self.decodings]
        return widths_words(best, texts, self.search.length_penalty)

    @property
    def title(self) -> str:
        return f"Beams of every width{self.changes.name}"

    @property
    def caption(self) -> str:
        return f"What beams of each width found; the shorter the bar, the better. {self.words}"

    @property
    def _values(self) -> list[float]:
        return [each.node.score or 0.0 for each in self.found]

    def python(self, layout: Layout) -> Lines:
        source = self.decodings[0].translation.source_text
        return [
            *decoding_lines(source, self.search, self.changes),
            "decodings = [",
            f"    translator.decode({source!r}, search=each{_under(self.changes)})",
            "    for each in hs.figures.searches_of_every_width(search)",
            "]",
            f"hs.figures.SearchWidths(decodings, search{_changed(self.changes)}).figure("
            f"{public(layout)})",
        ]
