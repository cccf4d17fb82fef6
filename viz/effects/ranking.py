"""Which map to believe: every method's agreement with the truth, as bars and in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.agreement import Agreement, mean_agreement
from model.explain.attribution import METHODS, TELLING, Agreements
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import Mark, bars, notes, points
from viz.draw import style
from viz.draw.labels import axis_texts, lower_first
from viz.effects.estimate_vs_deletion import CrossMaps
from viz.effects.ranking_words import Score, best, names, ranking_sentences, written
from viz.effects.self_maps import PLAIN, part_name
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, column_numbers

CORRELATION, TOP = "Rank correlation", "Same token on top"
"""The two numbers of a method."""

_ROW, _HEADING, _AXIS, _BELOW = 34, 30, 30, 34
_NUMBER_ROOM = 0.14
"""The room for numbers right of the bars, as a share of a panel."""

_SHORT = {"residual_norms": "Norms with residual"}
"""Shorter titles for a narrow figure."""


@dataclass(frozen=True, slots=True, eq=False)
class MapRanking(CrossMaps):
    """How well every method agrees with the truth.

    Attributes:
        marked: a method that stands out; empty for none.
        pairs: further sentences with their translations, for a mean over them.
        examples: how well every method agrees with the truth in these.
    """

    marked: str = ""
    pairs: Sequence[tuple[str, str]] = ()
    examples: Sequence[Agreements] = ()

    name = "effects-ranking"

    @property
    def title(self) -> str:
        return f"Agreement with the truth: {part_name(self.site, self.head)}"

    @property
    def scores(self) -> list[Score]:
        """One a method, the one with the highest rank correlation first."""
        maps, listed = self.attributions, []
        for method in dict.fromkeys(each.method for each in maps.maps):
            place = method, self.site, self.head
            over = None
            if self.examples:
                over = (
                    mean_agreement([each[place].correlation for each in self.examples]),
                    mean_agreement([each[place].top for each in self.examples]),
                )
            listed.append(
                Score(
                    method=method,
                    correlation=_of(maps.correlation(*place, later=self.later), self.token),
                    top=_of(maps.top_agreement(*place, later=self.later), self.token),
                    examples=over,
                )
            )
        return sorted(listed, key=lambda each: _order(each.correlation), reverse=True)

    @property
    def alt(self) -> str:
        listed = "; ".join(
            f"{lower_first(METHODS[each.method].title)} {written(each.correlation, 0)} and "
            f"{written(each.top, 1)}"
            for each in self.scores
        )
        return (
            f"{self.title}. Rank correlation with the truth, and how often the same token is on "
            f"top: {listed}."
        )

    caption = "The longer a bar, the better a method’s map agrees with the truth."

    @property
    def more(self) -> str:
        of = "on average over target tokens" if self.token is None else "of this target token"
        row = (
            " This layer is read one row later, which leaves out the last target token; only the "
            "methods that use gradients count it."
            if self.later and self.site is not None
            else ""
        )
        return (
            "Rank correlation: how alike a map and the truth order the source tokens (Spearman’s, "
            f"{of}); 1 is the same order, 0 no relation. Same token on top: how often the source "
            "token whose deletion costs most is also the greatest in the map, counting only target "
            f"tokens that lose at least {TELLING} when some source token is deleted. Lines: the "
            f"model’s examples, if measured; one sentence alone says little.{row}"
        )

    @property
    def brief(self) -> str:
        """The best method in a few words, for the foot of a stage."""
        values = {
            each.method: each.examples[0].mean if each.examples else each.correlation
            for each in self.scores
        }
        first, most = best(values)
        if not first:
            return "No map stands out as closest to the truth"
        text = f"Closest to the truth: {names(first)}, {written(most, 0)}"
        return text if PLAIN in first else f"{text}; plain weights {written(values[PLAIN], 0)}"

    @property
    def sentences(self) -> list[str]:
        """Which map to believe, in plain text."""
        tokens = axis_texts(self.attributions.predictions)
        return ranking_sentences(self.scores, "" if self.token is None else tokens[self.token])

    def figure(self, layout: Layout) -> go.Figure:
        """One row a method, with two bars: rank correlation with the truth, and same token on top.

        The first two traces are the bars. If examples were measured, the next two are their means
        with 95% intervals.
        """
        ranked, narrow = self.scores, layout.narrow
        over = any(each.examples for each in ranked)
        return chart(
            layout,
            self.title,
            [self._plot(place, ranked, narrow) for place in range(2)],
            short="Agreement with the truth",
            lines=[self.title.partition(": ")[2]],
            top=_HEADING if narrow else 0,
            below=_AXIS + style.LEGEND_HEIGHT * (2 if narrow and over else 1) + 12,
            between=0.06,
            gap=_HEADING + _AXIS + _BELOW,
            bargap=0.35,
        )

    def _plot(self, place: int, ranked: list[Score], narrow: bool) -> Plot:
        """The bars of one of the two numbers, with the means over the examples."""
        name, values = (CORRELATION, TOP)[place], [each.both[place] for each in ranked]
        titles = [METHODS[each.method].title for each in ranked]
        hover = f"%{{customdata}}<br>{name.lower()} <b>%{{x:.4~g}}</b>"
        of = "this sentence" if self.token is None else "this target token"
        lows = [each.examples[place].low for each in ranked if each.examples]
        low = min([0.0, *(value for value in [*values, *lows] if not np.isnan(value))])
        end = 1 + (1 - low) * _NUMBER_ROOM
        marks = [
            bars(
                values,
                name=of,
                color=["accent" if each.method == self.marked else "beside" for each in ranked],
                customdata=titles,
                hover=f"{hover}<extra>{of}</extra>",
                legend=not place,
            ),
            notes(end, [written(value, place) for value in values], xanchor="right"),
        ]
        if any(each.examples for each in ranked):
            marks.append(_means(ranked, place, f"{hover}<extra>the examples</extra>"))
        return Plot(
            across=number_axis(
                range=[low * 1.05, end],
                tickvals=[0, 0.5, 1],
                ticktext=["0%", "50%", "100%"] if place else ["0", "0.5", "1"],
                zeroline=True,
            ),
            up=label_axis(
                "",
                [_SHORT.get(each.method, title) for each, title in zip(ranked, titles, strict=True)]
                if narrow
                else titles,
                shared=True,
            ),
            marks=marks,
            heading=name,
            heading_size=style.SMALL_FONT_SIZE,
            height=_ROW * len(ranked),
        )

    def numbers(self) -> Numbers:
        ranked = self.scores
        columns: dict[str, Any] = {
            "method": [each.method for each in ranked],
            "rank_correlation": [each.correlation for each in ranked],
            "same_top": [each.top for each in ranked],
        }
        for place, name in enumerate(("rank_correlation", "same_top")):
            for part in ("mean", "low", "high"):
                if self.examples:
                    columns[f"examples_{name}_{part}"] = [
                        getattr(each.examples[place], part) for each in ranked if each.examples
                    ]
        return column_numbers({"part": self.part}, "place", range(len(ranked)), columns)

    @property
    def setup(self) -> Lines:
        if not self.examples:
            return self.attributed
        later = {self.site.layer: self.later} if self.site else {}
        return [
            *self.attributed,
            f"pairs = {list(self.pairs)!r}",
            "examples = [",
            "    hs.figures.cross_attributions(translator, translator.trace(*pair)).agreements("
            f"later={later!r})",
            "    for pair in pairs",
            "]",
        ]


def _of(agreement: Agreement, token: int | None) -> float:
    if token is None:
        return agreement.mean
    # Read one row later, there is no row for the last token.
    return float(agreement.rows[token]) if token < len(agreement.rows) else float("nan")


def _order(value: float) -> float:
    return -2.0 if np.isnan(value) else value


def _means(ranked: Sequence[Score], place: int, hover: str) -> Mark:
    """The means over the examples, with their intervals."""
    each = [(row, score.examples[place]) for row, score in enumerate(ranked) if score.examples]
    return lambda sheet: points(
        [mean.mean for _, mean in each],
        [row for row, _ in each],
        name="the model’s examples, mean and 95% interval",
        symbol="diamond",
        size=10,
        color="text",
        error_x={
            **{"type": "data", "symmetric": False, "color": sheet.theme.text, "thickness": 2},
            "array": [mean.high - mean.mean for _, mean in each],
            "arrayminus": [mean.mean - mean.low for _, mean in each],
        },
        customdata=[METHODS[score.method].title for score in ranked if score.examples],
        hover=hover,
        legend=not place,
    )(sheet)
