"""The results of searches as a list: each translation, its search, and how likely it is."""

import textwrap
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.translation import Decoding, SearchNode
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Mark, bars
from viz.charts.texts import note
from viz.decoding.search_words import comparison_words, is_many, score, widths_words
from viz.decoding.tree import hypothesis_text
from viz.draw import style
from viz.draw.labels import escape_html
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.searches import search_name
from viz.save.notebook import Lines, public
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout, Picture

_LINE, _BAR, _GAP = 22, 18, 26
"""Heights in pixels: of a line of text, of the bar below it, and between two translations."""

_ACROSS, _NARROW_ACROSS = 96, 38
"""Letters in a line of a translation."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A translation in a list.

    Attributes:
        mark: a label before it, such as "A" or "2–8".
    """

    mark: str
    name: str
    text: str
    node: SearchNode
    best: bool = False


class ResultList(Picture):
    """The results of searches as a list with bars."""

    __slots__ = ()
    unit: ClassVar[str]
    reading: ClassVar[str]
    """How to read the bars, in one sentence."""

    decodings: Sequence[Decoding]
    changes: Changes

    @property
    @abstractmethod
    def results(self) -> list[SearchResult]:
        """The list."""

    @property
    @abstractmethod
    def lengths(self) -> list[float]:
        """The lengths of the bars, at most 0."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The list in plain text."""

    @property
    def caption(self) -> str:
        return f"{self.reading} {self.words}"

    @property
    def alt(self) -> str:
        listed = [
            f"{each.mark}, {each.name}: “{each.text}” with {style.number(value)}"
            for each, value in zip(self.results, self.lengths, strict=True)
        ]
        return f"{self.title}. {self.unit}: {'; '.join(listed)}."

    def figure(self, layout: Layout) -> go.Figure:
        """Each translation as text, above a bar whose length is its distance from 0."""
        results, values = self.results, self.lengths
        across = _NARROW_ACROSS if layout.narrow else _ACROSS
        places: list[float] = []
        marks: list[Mark] = []
        down = 0.0
        for each in results:
            text = textwrap.wrap(f"{each.mark}. {each.text or '∅'}", across) or [each.mark]
            how = textwrap.wrap(each.name, across)
            lines = [*(f"<b>{escape_html(line)}</b>" for line in text), *map(escape_html, how)]
            place: dict[str, Any] = {
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": down,
                "yanchor": "top",
            }
            marks.append(note("<br>".join(lines), size=style.FONT_SIZE, align="left", **place))
            down += _LINE * len(lines)
            places.append(down + _BAR / 2)
            down += _BAR + _GAP
        lengths = bars(
            values,
            at=places,
            width=_BAR,
            color=["accent" if each.best else "beside" for each in results],
            texts=[style.number(value) for value in values],
            hover="%{x:.5~g}",
        )
        unit = number_axis(
            range=[0, 1.25 * min([*values, -0.01])],
            showgrid=False,
            nticks=4 if layout.narrow else 8,
        )
        return chart(
            layout,
            self.title,
            Plot(
                across=unit.with_(title=style.axis_title(self.unit)),
                up=number_axis(visible=False, range=[down, 0], fixedrange=True),
                marks=[lengths, *marks],
                height=round(down),
            ),
            lines=[],
            below=style.BOTTOM + _GAP,
        )

    def numbers(self) -> Numbers:
        results = self.results
        nodes = [each.node for each in results]
        columns: dict[str, list[Any]] = {
            "mark": [each.mark for each in results],
            "translation": [each.text for each in results],
            "log_prob": [node.log_prob for node in nodes],
            "score": [node.score or 0.0 for node in nodes],
            "tokens": [node.step + 1 for node in nodes],
        }
        return column_numbers({}, "found", range(1, len(results) + 1), columns)

    @property
    def given(self) -> Lines:
        """The lines of a notebook that name the sentence, and the changes if there are any."""
        changes = [f"changes = {public(self.changes)}"] if self.changes else []
        return [f"sentence = {self.decodings[0].translation.source_text!r}", *changes]

    def decoded(self, searches: str) -> Lines:
        """The lines that decode the sentence with each of some searches."""
        under = ", under=changes.under" if self.changes else ""
        return [
            "decodings = [",
            f"    translator.decode(sentence, search=each{under}) for each in {searches}",
            "]",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSearches(ResultList):
    """The results of two searches.

    Attributes:
        changes: what the model did differently meanwhile.
    """

    decodings: Sequence[Decoding]
    searches: Sequence[Search]
    changes: Changes = UNCHANGED

    name = "two-searches"

    reading = "What each search found; the shorter the bar, the likelier."
    unit = "Log-probability; closer to 0 is likelier"

    @property
    def results(self) -> list[SearchResult]:
        return [
            SearchResult(
                f"{mark}, {rank + 1}" if is_many(search) else mark, search_name(search), text, node
            )
            for mark, decoding, search in zip("AB", self.decodings, self.searches, strict=True)
            for rank, node in enumerate(decoding.ranked if is_many(search) else decoding.ranked[:1])
            for text in [hypothesis_text(decoding, decoding.nodes.index(node))]
        ]

    @property
    def words(self) -> str:
        (one, other), (a, b) = self.decodings, self.searches
        return comparison_words(one, other, a, b)

    @property
    def title(self) -> str:
        return f"Two searches{self.changes.name}"

    @property
    def lengths(self) -> list[float]:
        return [each.node.log_prob for each in self.results]

    @property
    def setup(self) -> Lines:
        return [
            *self.given,
            f"searches = {public(tuple(self.searches))}",
            *self.decoded("searches"),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class SearchWidths(ResultList):
    """The results of beams of every width.

    Attributes:
        decodings: of one sentence, with beams of width 1, 2, ….
        search: the settings of all of them, except the width.
        changes: what the model did differently meanwhile.
    """

    decodings: Sequence[Decoding]
    search: Search
    changes: Changes = UNCHANGED

    name = "widths"

    reading = "What beams of each width found; the shorter the bar, the better."
    unit = "Log-probability over length penalty; closer to 0 is better"

    @property
    def results(self) -> list[SearchResult]:
        best = [decoding.ranked[0] for decoding in self.decodings]
        texts = [hypothesis_text(each, each.nodes.index(each.ranked[0])) for each in self.decodings]
        top = max(map(score, best))
        results = []
        for _, group in groupby(range(len(best)), texts.__getitem__):
            first, *rest = group
            named = f"widths {first + 1} to {rest[-1] + 1}" if rest else f"width {first + 1}"
            mark = f"{first + 1}–{rest[-1] + 1}" if rest else str(first + 1)
            wins = len(set(texts)) > 1 and score(best[first]) == top
            name = f"{named}, best" if wins else named
            results.append(SearchResult(mark, name, texts[first], best[first], wins))
        return results

    @property
    def words(self) -> str:
        best = [each.ranked[0] for each in self.decodings]
        texts = [each.translation.text for each in self.decodings]
        return widths_words(best, texts, self.search.length_penalty)

    @property
    def title(self) -> str:
        return f"Beams of every width{self.changes.name}"

    @property
    def lengths(self) -> list[float]:
        return [each.node.score or 0.0 for each in self.results]

    @property
    def setup(self) -> Lines:
        return [
            *self.given,
            f"search = {public(self.search)}",
            *self.decoded("hs.figures.searches_of_every_width(search)"),
        ]
