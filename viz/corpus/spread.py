"""One head among all: its measures over many sentences, and how far away it looks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.survey.corpus_survey import QUANTILES, REACH, CorpusSurvey, HeadProfile
from model.trace.attention_map import AttentionKind, Site
from model.trace.head import Head
from viz.charts.axes import ALL, label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import bars, line, points
from viz.corpus.examples import shares_of
from viz.corpus.quantities import QUANTITIES
from viz.draw import style
from viz.save.notebook import Lines
from viz.save.numbers import Numbers, column_numbers, of_head
from viz.save.picture import Picture

_ROW, _BARS, _BELOW = 38, 220, 64
_LOW, _HIGH = QUANTILES // 10, QUANTILES - 1 - QUANTILES // 10
"""The places of the 10% and the 90% quantile."""


@dataclass(frozen=True, slots=True, eq=False)
class OfSurvey(Picture):
    """What a survey says.

    Attributes:
        folder: the checkpoint's, as a notebook finds it.
    """

    survey: CorpusSurvey
    folder: str

    origin = ("model",)

    @property
    def needs_model(self) -> bool:
        return False

    @property
    def setup(self) -> Lines:
        return [
            f"folder = {self.folder!r}",
            "survey = hs.read_survey(hs.checkpoint_folder(folder))",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class OfHead(OfSurvey):
    """What a survey says of one head."""

    site: Site
    head: int

    @property
    def profile(self) -> HeadProfile:
        return self.survey.of(Head(self.site, self.head))


@dataclass(frozen=True, slots=True, eq=False)
class HeadSpread(OfHead):
    """One head's shares of weight over the sentences, against the means of all other heads."""

    @property
    def keys(self) -> list[str]:
        """The measures that are shares, largest median first, which is what is drawn."""
        return shares_of(self.survey, Head(self.site, self.head))

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)} among all heads"

    @property
    def name(self) -> str:
        return f"corpus-{self.site.kind}-layer{self.site.layer}-head{self.head}"

    caption = (
        "Dot: this head’s median over the sentences; line: its middle 80%. Ticks: the means of "
        "the other heads."
    )

    @property
    def alt(self) -> str:
        parts = [
            f"{QUANTITIES[key].name} {style.percent(self.profile.measures[key].mean)}"
            for key in self.keys[:3]
        ]
        return f"{self.title}, mean shares over the sentences: {'; '.join(parts)}."

    def others(self, key: str) -> list[float]:
        """The means of all other heads that have a measure."""
        return [
            profile.measures[key].mean
            for site, heads in self.survey.heads.items()
            for head, profile in enumerate(heads)
            if key in profile.measures and (site, head) != (self.site, self.head)
        ]

    def figure(self, layout: Layout) -> go.Figure:
        """A row for each measure."""
        keys, measures = self.keys, self.profile.measures
        others = [(place, value) for place, key in enumerate(keys) for value in self.others(key)]
        spreads = np.array([measures[key].quantiles for key in keys]).reshape(-1, QUANTILES)
        size = style.SMALL_FONT_SIZE if layout.narrow else style.FONT_SIZE
        plot = Plot(
            across=number_axis(range=[-0.02, 1.02], tickformat=".0%"),
            up=label_axis(
                "",
                [short_name(QUANTITIES[key].name) for key in keys],
                room=ALL,
                tickfont={"size": size},
            ),
            marks=[
                points(
                    [value for _, value in others],
                    [place for place, _ in others],
                    name="other heads",
                    symbol="line-ns-open",
                    size=13,
                    color="hatch",
                    edge=1.5,
                ),
                *(
                    line(
                        "",
                        [place, place],
                        x=each[[_LOW, _HIGH]],
                        width=7,
                        opacity=0.45,
                        legend=False,
                    )
                    for place, each in enumerate(spreads)
                ),
                points(
                    spreads[:, QUANTILES // 2],
                    name="this head",
                    size=13,
                    customdata=[measures[key].mean for key in keys],
                    hover="median <b>%{x:.0%}</b>, mean %{customdata:.0%}",
                ),
            ],
            height=_ROW * len(keys),
        )
        return chart(layout, self.title, plot, short="Among all heads", lines=[], below=_BELOW)

    def numbers(self) -> Numbers:
        keys, measures = self.keys, self.profile.measures
        columns: dict[str, Any] = {"measure": keys, "mean": [measures[key].mean for key in keys]}
        for place in range(0, QUANTILES, 2):
            columns[f"quantile_{5 * place}"] = [measures[key].quantiles[place] for key in keys]
        return column_numbers(of_head(self.site, self.head), "place", range(len(keys)), columns)


@dataclass(frozen=True, slots=True, eq=False)
class LookDistances(OfHead):
    """The share of a head's weight at each distance of key from query."""

    title = "How far away it looks"

    @property
    def name(self) -> str:
        return f"corpus-distances-{self.site.kind}-layer{self.site.layer}-head{self.head}"

    @property
    def caption(self) -> str:
        if self.site.kind is AttentionKind.CROSS:
            return "Position in the source minus position in the translation; −1 is one earlier."
        return "Share of all its weight by distance in tokens; −1 is the token before."

    @property
    def alt(self) -> str:
        most = int(np.argmax(self.profile.distances))
        return (
            f"{self.title}: most weight, {style.percent(self.profile.distances[most])}, at "
            f"distance {style.fixed(most - REACH, 0)}."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """A bar for each distance; the ends hold what is farther away."""
        away = [*range(-REACH, 1 if self.site.kind is AttentionKind.DECODER else REACH + 1)]
        shares = [self.profile.distances[each + REACH] for each in away]
        ends = {-REACH: f"≤ −{REACH}", REACH: f"≥ {REACH}"}
        ticks = [each for each in away if each % 4 == 0]
        plot = Plot(
            across=number_axis(
                at=away,
                tickvals=ticks,
                ticktext=[ends.get(each, style.fixed(each, 0)) for each in ticks],
            ),
            up=number_axis(tickformat=".0%", rangemode="tozero"),
            marks=[
                bars(
                    shares,
                    down=False,
                    color=[0 if each == max(shares) else "beside" for each in shares],
                    hover="distance %{x}<br><b>%{y:.1%}</b>",
                )
            ],
            height=_BARS,
        )
        return chart(layout, self.title, plot, lines=[], below=_BELOW // 2, bargap=0.15)

    def numbers(self) -> Numbers:
        away = list(range(-REACH, REACH + 1))
        return column_numbers(
            of_head(self.site, self.head),
            "place",
            range(len(away)),
            {"distance": away, "share": self.profile.distances},
        )


def short_name(name: str) -> str:
    """A measure's name where there is little room."""
    short = name.removeprefix("Weight on ").removesuffix(", beyond chance")
    return short[0].upper() + short[1:]
