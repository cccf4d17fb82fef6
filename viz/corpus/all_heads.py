"""Every head as a point, by any two measures over the corpus."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.explain.labels import RULE
from model.trace.attention_map import AttentionKind
from viz.corpus.quantities import QUANTITIES, ranked, value_of
from viz.corpus.sentences import all_sentence
from viz.corpus.spread import OfSurvey
from viz.draw import style, themes
from viz.draw.labels import escape_html
from viz.links.head_refs import KINDS, Head, head_name
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout

_HEIGHT, _BELOW, _NAMED = 430, 84, 4
"""Pixels, and below the plot; the heads that are named, by each of the two measures."""

_RIGHT = 0.85
"""Of the largest value across: farther right, a point is at the edge."""

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
        there = {place for place, *_ in points}
        named = {
            place
            for key in (self.across, self.up)
            for place, _ in [each for each in ranked(self.survey, key) if each[0] in there][:_NAMED]
        }
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
                    "text": [head_name(*place) if place in named else "" for place, *_ in own],
                    # Above a point at the right edge, a name would be cut.
                    "textposition": [
                        "top left" if x > _RIGHT * farthest else "top center" for _, x, _ in own
                    ],
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
                    "customdata": [
                        [f"{site}.{head}", site.head_name(head), self._label(site, head)]
                        for (site, head), *_ in own
                    ],
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

    def _label(self, site: Any, head: int) -> str:
        label = self.survey.of((site, head)).label
        return "" if label is None else f"<br>{escape_html(RULE[label].text)}"

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
