"""One head, and one sentence of a batch in which it is looked at: what pictures of masks share."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind, AttentionMap, Site
from viz.charts.panel_figure import panels_figure
from viz.draw.labels import visible
from viz.draw.panels import Panel
from viz.masks.panels import number_panel, weights_panel
from viz.save.notebook import Lines, public
from viz.save.numbers import Arrays, Numbers, of_head
from viz.save.picture import Layout, Picture

CELLS = ("query", "key")
"""The axes of a matrix."""

QUOTED_CHARACTERS = 60
"""The most characters of a sentence in its name."""


@dataclass(frozen=True, slots=True)
class HeadInBatch:
    """One head in one sentence of a batch.

    Attributes:
        number: which of them, from 0.
        target: a translation of one's own for the first; empty for the model's.
        layer: from 0.
        head: from 0.
    """

    sentences: tuple[str, ...]
    number: int
    target: str
    kind: AttentionKind
    layer: int
    head: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", AttentionKind(self.kind))

    @property
    def title(self) -> str:
        return Site(self.kind, self.layer).head_name(self.head)

    @property
    def name(self) -> str:
        return f"{self.kind}-layer{self.layer}-head{self.head}"

    @property
    def sentence(self) -> str:
        """The sentence by number and first words."""
        return sentence_name(self.number, self.sentences[self.number])

    @property
    def is_typed(self) -> bool:
        """Whether the sentence has a target typed by the reader."""
        return self.number == 0 and bool(self.target)

    @property
    def texts(self) -> dict[str, str]:
        return {
            "sentence": self.sentences[self.number],
            "target": self.target if self.is_typed else "",
            "batch": "\n".join(self.sentences),
            "number_in_batch": str(self.number + 1),
        }

    @property
    def setup(self) -> Lines:
        """The lines of a notebook that record the batch."""
        return [
            f"at = {public(self)}",
            "targets = [translator.translate(sentence) for sentence in at.sentences]",
            *(["targets[0] = at.target"] if self.target else []),
            "batch = translator.trace_batch(at.sentences, targets)",
        ]


PASSES = [
    "passes = []",
    "for intervention in interventions:",
    "    each = [hs.Intervention()] * len(at.sentences)",
    "    each[at.number] = intervention",
    "    recorded = translator.trace_batch(at.sentences, targets, under=each)",
    "    passes.append(recorded.padded[at.number])",
]
"""The lines of a notebook that run the batch once under each of `interventions`."""

MAPS = "maps = tuple(each.attention(at.kind, at.layer) for each in passes)"
"""The line after them that takes the head's site."""


@dataclass(frozen=True, slots=True, eq=False)
class InBatch(Picture):
    """A picture of a sentence in its batch."""

    at: HeadInBatch

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts


class Panels(InBatch):
    """Matrices side by side, as a page shows them."""

    @property
    @abstractmethod
    def panels(self) -> list[Panel]:
        """The matrices."""

    @property
    def alt(self) -> str:
        return " ".join(panel.alt for panel in self.panels)

    def figure(self, layout: Layout) -> go.Figure:
        return panels_figure(self.panels, layout, title=self.title)


class ChangedWeights(Panels):
    """One head's weights in two passes of the same tokens, and their difference."""

    __slots__ = ()

    maps: tuple[AttentionMap, AttentionMap]

    def changed_panels(self, titles: tuple[str, str], sign: str = "") -> list[Panel]:
        """The weights under two titles, a sign before the second; then the difference."""
        return changed_panels(*self.maps, self.at.head, titles, sign=sign)

    def changed_numbers(self, names: tuple[str, str]) -> Numbers:
        """The weights under two names, and the difference."""
        first, second = (each.head(self.at.head) for each in self.maps)
        arrays: Arrays = {}
        for name, one in zip(names, (first, second), strict=True):
            arrays[f"weight_{name}"] = (CELLS, one.weights)
            arrays[f"allowed_{name}"] = (CELLS, one.allowed)
        arrays["difference"] = (CELLS, second.weights - first.weights)
        axes = {"query": first.queries, "key": first.keys}
        return Numbers(of_head(self.maps[0].site, self.at.head), axes, arrays)


def changed_panels(
    before: AttentionMap, after: AttentionMap, head: int, titles: tuple[str, str], *, sign: str = ""
) -> list[Panel]:
    """One head's weights at a site in two passes, and their change, from -1 to 1."""
    change = after.head(head).weights - before.head(head).weights
    return [
        weights_panel(before, head, titles[0]),
        weights_panel(after, head, titles[1], sign=sign),
        number_panel(before, "Difference", change, limit=1.0, unit="difference", sign="="),
    ]


def sentence_name(number: int, text: str) -> str:
    """A sentence of a batch by its number, from 0, and its first words: "Sentence 1, “The cat”"."""
    shown = visible(text)
    cut = "…" if len(shown) > QUOTED_CHARACTERS else ""
    return f"Sentence {number + 1}, “{shown[:QUOTED_CHARACTERS]}{cut}”"
