"""Every head as a point, by any two measures over the corpus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.charts.axes import Axis, number_axis
from viz.charts.chart import Layout, Plot, chart, empty_chart
from viz.charts.marks import points
from viz.corpus.quantities import QUANTITIES, ranked, value_of
from viz.corpus.sentences import all_sentence
from viz.corpus.spread import OfSurvey
from viz.draw import style
from viz.draw.labels import escape_html, lower_first
from viz.links.head_refs import KINDS
from viz.save.numbers import Numbers, column_numbers

_HEIGHT, _BELOW, _NAMED = 430, 84, 4
"""Pixels, and below the plot; the heads that are named, by each of the two measures."""

_RIGHT = 0.85
"""Of the largest value across: farther right, a point is at the edge."""

_LEFT = 0.1
"""The share of the width from which a name fits to the left of its point, too."""

_NAME_WIDTH, _NAME_HEIGHT = 0.2, 0.05
"""The room of a name, as shares of the width and the height of a narrow chart."""

_SYMBOLS = {
    AttentionKind.ENCODER: "circle",
    AttentionKind.CROSS: "diamond",
    AttentionKind.DECODER: "square",
}


@dataclass(frozen=True, slots=True, eq=False)
class AllHeads(OfSurvey):
    """Every head by two measures.

    Attributes:
        across: the key of the measure across.
        up: that of the measure upwards.
    """

    across: str
    up: str

    @property
    def title(self) -> str:
        return f"Every head: {lower_first(QUANTITIES[self.up].name)} by {lower_first(self._across)}"

    @property
    def name(self) -> str:
        return f"corpus-heads-{self.across}-{self.up}".replace("_", "-")

    @property
    def caption(self) -> str:
        return "Each point is one head, by its means over the sentences."

    @property
    def more(self) -> str:
        return f"Across: {QUANTITIES[self.across].meaning} Up: {QUANTITIES[self.up].meaning}"

    @property
    def alt(self) -> str:
        return f"{self.title}. {all_sentence(self.survey, self.across, self.up)}"

    @property
    def _across(self) -> str:
        return QUANTITIES[self.across].name

    @property
    def points(self) -> list[tuple[Head, float, float]]:
        """The heads that have both values, with these."""
        both = [
            (
                place,
                value_of(self.survey, place, self.across),
                value_of(self.survey, place, self.up),
            )
            for place in self.survey.places
        ]
        return [each for each in both if not math.isnan(each[1] + each[2])]

    def figure(self, layout: Layout) -> go.Figure:
        """A trace for each kind of attention; a point's customdata begins with its head."""
        own, named = self.points, self._named(self.points)
        if not own:
            return empty_chart(layout, self.title, "No head has both measures.", height=_HEIGHT)
        across, up = (lower_first(QUANTITIES[key].name) for key in (self.across, self.up))
        hover = (
            "<b>%{customdata[1]}</b>%{customdata[2]}<br>"
            f"{escape_html(across)} %{{x}}<br>{escape_html(up)} %{{y}}"
        )
        farthest = max(x for _, x, _ in own)
        marks = [
            points(
                [x for _, x, _ in heads],
                [y for *_, y in heads],
                name=kind.full_name,
                color=number,
                size=12,
                symbol=_SYMBOLS[kind],
                edge=1,
                edge_color="hover",
                texts=[head.short_name if head in named else "" for head, *_ in heads],
                textposition=[_beside(x, farthest) for _, x, _ in heads],
                cliponaxis=False,
                customdata=[[str(head), head.name, self._label(head)] for head, *_ in heads],
                hover=hover,
            )
            for number, kind in enumerate(KINDS)
            if (heads := [each for each in own if each[0][0].kind is kind])
        ]
        axes = [_axis(self.across), _axis(self.up)]
        lines = [f"Across – {axes[0].title}", f"Up – {axes[1].title}"]
        plot = Plot(across=axes[0], up=axes[1], marks=marks, height=_HEIGHT)
        below = (_BELOW, _BELOW + style.LEGEND_HEIGHT)
        return chart(layout, self.title, plot, short="", lines=lines, below=below)

    def _named(self, points: list[tuple[Head, float, float]]) -> set[Head]:
        """The heads that rank first, except where another one's name stands already."""
        there = {place: (x, y) for place, x, y in points}
        wide, high = (
            max(values) - min(values) or 1.0
            for values in zip(*there.values(), (0, 0), strict=False)
        )
        named: dict[Head, None] = {}
        for key in (self.across, self.up):
            first = [place for place, _ in ranked(self.survey, key) if place in there][:_NAMED]
            for place in first:
                x, y = there[place]
                others = (there[each] for each in named if each != place)
                if not any(
                    abs(x - left) < _NAME_WIDTH * wide and abs(y - up) < _NAME_HEIGHT * high
                    for left, up in others
                ):
                    named[place] = None
        return set(named)

    def _label(self, head: Head) -> str:
        label = self.survey.label(head)
        return f"<br>{escape_html(label.text)}" if label and label.earned else ""

    def numbers(self) -> Numbers:
        points = self.points
        columns: dict[str, Any] = {
            "attention": [str(site.kind) for (site, _), *_ in points],
            "layer": [site.layer for (site, _), *_ in points],
            "head": [head for (_, head), *_ in points],
            self.across: [x for _, x, _ in points],
            self.up: [y for *_, y in points],
        }
        return column_numbers({}, "place", range(len(points)), columns)


def _beside(x: float, farthest: float) -> str:
    """Where a name stands: at an edge, it would be cut or stand on the axis's numbers."""
    if x > _RIGHT * farthest:
        return "top left"
    return "top right" if x < _LEFT * farthest else "top center"


def _axis(key: str) -> Axis:
    measure = QUANTITIES[key]
    if measure.unit == "share":
        return number_axis(measure.name, tickformat=".0%", hoverformat=".0%")
    unit = "" if measure.unit == "correlation" else f", {measure.unit}"
    return number_axis(f"{measure.name}{unit}", hoverformat=".3~g")
