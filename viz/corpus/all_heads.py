"""Every head as a point, by any two measures over the corpus."""

import math
from collections.abc import Mapping, Sequence
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

_HEIGHT, _BELOW, _NAMED = 430, 84, 5
"""Pixels, and below the plot; the heads that are named where there is room, by each measure."""

_PLOTS = (((540, 180), (1200, 800)), ((270, 430), (540, 430)))
"""The least and the largest plot in pixels, wide and narrow: names keep clear of others in both."""

_POINT, _OFF, _LETTER, _LINE = 8, 9, 7, 18
"""Pixels from a point's middle to its edge and to its name; of a letter, and of a line."""

_SIDES = {
    f"{down} {across}": ((left, right), (top, bottom))
    for down, (top, bottom) in {"top": (-1, 0), "bottom": (0, 1), "middle": (-0.5, 0.5)}.items()
    for across, (left, right) in {"center": (-0.5, 0.5), "right": (0, 1), "left": (-1, 0)}.items()
    if (down, across) != ("middle", "center")
}
"""Where a name may stand at its point: its ends across and down, in its own widths and heights."""

_AROUND = 0.05
"""The room around all points, as a share of the range of their values."""

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
    marked: Head | None = None

    @property
    def title(self) -> str:
        up, across = (lower_first(QUANTITIES[key].name) for key in (self.up, self.across))
        return f"Every head: {up} by {across}"

    @property
    def name(self) -> str:
        return f"corpus-heads-{self.across}-{self.up}".replace("_", "-")

    caption = "Each point is one head."

    @property
    def more(self) -> str:
        across, up = (QUANTITIES[key].meaning for key in (self.across, self.up))
        return f"It stands at its means over the sentences. Across: {across} Up: {up}"

    @property
    def alt(self) -> str:
        return f"{self.title}. {all_sentence(self.survey, self.across, self.up)}"

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
        own, sides = self.points, self._sides(_PLOTS[layout.narrow])
        if not own:
            return empty_chart(layout, self.title, "No head has both measures.", height=_HEIGHT)
        across, up = (lower_first(QUANTITIES[key].name) for key in (self.across, self.up))
        hover = (
            "<b>%{customdata[1]}</b>%{customdata[2]}<br>"
            f"{escape_html(across)} %{{x}}<br>{escape_html(up)} %{{y}}"
        )
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
                texts=[head.short_name if head in sides else "" for head, *_ in heads],
                textposition=[sides.get(head, "top center") for head, *_ in heads],
                cliponaxis=False,
                customdata=[[str(head), head.name, self._label(head)] for head, *_ in heads],
                hover=hover,
            )
            for number, kind in enumerate(KINDS)
            if (heads := [each for each in own if each[0][0].kind is kind])
        ]
        if ring := [(x, y) for head, x, y in own if head == self.marked]:
            x, y = zip(*ring, strict=True)
            marks.append(points(x, y, symbol="circle-open", size=24, edge=3, color="accent"))
        axes = [
            _axis(key).with_(range=_range(values))
            for key, values in zip((self.across, self.up), self._values, strict=True)
        ]
        lines = [f"Across – {axes[0].title}", f"Up – {axes[1].title}"]
        plot = Plot(across=axes[0], up=axes[1], marks=marks, height=_HEIGHT)
        below = (_BELOW, _BELOW + style.LEGEND_HEIGHT)
        return chart(layout, self.title, plot, short="", lines=lines, below=below)

    @property
    def _values(self) -> tuple[list[float], list[float]]:
        return [x for _, x, _ in self.points], [y for *_, y in self.points]

    def _sides(self, plots: Sequence[tuple[int, int]]) -> dict[Head, str]:
        """Where names stand, of the heads that rank first and have room for theirs."""
        there = {place: (x, y) for place, x, y in self.points}
        first = [self.marked] if self.marked in there else []
        for key in (self.across, self.up):
            of_both = [place for place, _ in ranked(self.survey, key) if place in there]
            first += of_both[:_NAMED]
        ends = [_range(values) for values in self._values]
        names: list[dict[Head, _Box]] = [{} for _ in plots]
        sides: dict[Head, str] = {}
        for place in dict.fromkeys(filter(None, first)):
            for side in _SIDES:
                boxes = [
                    _fitting(place, side, _pixels(there, ends, plot), plot, taken)
                    for plot, taken in zip(plots, names, strict=True)
                ]
                if all(boxes):
                    sides[place] = side
                    for taken, box in zip(names, boxes, strict=True):
                        taken[place] = box  # type: ignore[assignment]
                    break
        return sides

    def _label(self, head: Head) -> str:
        label = self.survey.label(head)
        return f"<br>{escape_html(label.text)}" if label and label.says else ""

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


_Box = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels of a plot."""


def _range(values: Sequence[float]) -> list[float]:
    """The ends of an axis around some values."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    around = _AROUND * ((high - low) or 1.0)
    return [low - around, high + around]


def _pixels(
    there: Mapping[Head, tuple[float, float]],
    ends: Sequence[Sequence[float]],
    plot: tuple[int, int],
) -> dict[Head, tuple[float, float]]:
    """Where points lie in a plot, from its upper left corner."""
    (left, right), (bottom, top) = ends
    return {
        place: (plot[0] * (x - left) / (right - left), plot[1] * (top - y) / (top - bottom))
        for place, (x, y) in there.items()
    }


def _fitting(
    place: Head,
    side: str,
    there: Mapping[Head, tuple[float, float]],
    plot: tuple[int, int],
    taken: Mapping[Head, _Box],
) -> _Box | None:
    """The box of a name at a side of its point; None if it meets another one's, or a point."""
    x, y = there[place]
    width = _LETTER * len(place.short_name)
    across, down = _SIDES[side]
    ways = [(-1 if sum(each) < 0 else 1 if sum(each) > 0 else 0) * _OFF for each in (across, down)]
    left, right = (x + ways[0] + each * width for each in across)
    top, bottom = (y + ways[1] + each * _LINE for each in down)
    if left < 0 or right > plot[0] or top < 0 or bottom > plot[1]:
        return None
    others = (
        (x - _POINT, y - _POINT, x + _POINT, y + _POINT)
        for each, (x, y) in there.items()
        if each != place
    )
    meets = any(
        left < other[2] and other[0] < right and top < other[3] and other[1] < bottom
        for other in (*others, *taken.values())
    )
    return None if meets else (left, top, right, bottom)


def _axis(key: str) -> Axis:
    measure = QUANTITIES[key]
    if measure.unit == "share":
        return number_axis(measure.name, tickformat=".0%", hoverformat=".0%")
    unit = "" if measure.unit == "correlation" else f", {measure.unit}"
    return number_axis(f"{measure.name}{unit}", hoverformat=".3~g")
