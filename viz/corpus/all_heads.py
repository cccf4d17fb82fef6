"""Every head as a point, by any two measures over the corpus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.corpus.quantities import QUANTITIES, ranked, value_of
from viz.corpus.sentences import all_sentence
from viz.corpus.spread import OfSurvey
from viz.draw import style, themes
from viz.draw.labels import escape_html
from viz.links.head_refs import KINDS
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout

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
        return f"Every head: {_lower(QUANTITIES[self.up].name)} by {_lower(self._across)}"

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
        theme, points = themes.page(layout.dark), self.points
        named = self._named(points)
        farthest = max((x for _, x, _ in points), default=0.0)
        data: list[dict[str, Any]] = []
        for number, kind in enumerate(KINDS):
            own = [each for each in points if each[0][0].kind is kind]
            if not own:
                continue
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers+text",
                    "x": [x for _, x, _ in own],
                    "y": [y for *_, y in own],
                    "text": [place.short_name if place in named else "" for place, *_ in own],
                    "textposition": [_beside(x, farthest) for _, x, _ in own],
                    "textfont": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
                    "cliponaxis": False,
                    "marker": {
                        "size": 12,
                        "color": theme.heads[number],
                        "symbol": _SYMBOLS[kind],
                        "line": {"width": 1, "color": theme.hover},
                    },
                    "name": kind.full_name,
                    "showlegend": True,
                    "customdata": [[str(head), head.name, self._label(head)] for head, *_ in own],
                    "hovertemplate": "<b>%{customdata[1]}</b>%{customdata[2]}<br>"
                    f"{escape_html(_lower(self._across))} %{{x}}<br>"
                    f"{escape_html(_lower(QUANTITIES[self.up].name))} %{{y}}<extra></extra>",
                }
            )
        titles = [_axis(self.across), _axis(self.up)]
        narrow = layout.narrow
        spec = {
            **style.plain_layout(
                theme,
                title="" if narrow else escape_html(self.title),
                height=_HEIGHT,
                below=_BELOW + (style.LEGEND_HEIGHT if narrow else 0),
                lines=[f"Across – {titles[0]}", f"Up – {titles[1]}"] if narrow else [],
            ),
            "xaxis": style.value_axis(
                theme, "" if narrow else titles[0], **_format(self.across), hoverformat=".3~g"
            ),
            "yaxis": style.value_axis(
                theme, "" if narrow else titles[1], **_format(self.up), hoverformat=".3~g"
            ),
        }
        for key, axis in ((self.across, "xaxis"), (self.up, "yaxis")):
            if QUANTITIES[key].unit == "share":
                spec[axis]["hoverformat"] = ".0%"
        if not data:
            spec |= style.without_plot(theme, "No head has both measures.")
        return go.Figure({"data": data, "layout": spec})

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


def _axis(key: str) -> str:
    measure = QUANTITIES[key]
    return (
        measure.name
        if measure.unit in ("share", "correlation")
        else (f"{measure.name}, {measure.unit}")
    )


def _format(key: str) -> dict[str, Any]:
    return {"tickformat": ".0%"} if QUANTITIES[key].unit == "share" else {}


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]
