"""Bars of two passes' log-probabilities, token by token."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import FloatArray, Tokens
from model.trace.token_runs import PositionPair
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Plot, chart, empty_chart
from viz.charts.marks import Mark, bars
from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html, side_texts, visible
from viz.draw.word_diff import aligned
from viz.masks.compared import TwoMasks
from viz.masks.head_in_batch import InBatch
from viz.masks.painted import Edits
from viz.save.notebook import Lines
from viz.save.numbers import Arrays, Axes, Numbers, axis_name
from viz.save.picture import Layout

_LABELLED = (28, 10)
"""The most pairs of bars with room for all labels, in a wide and a narrow figure."""

_NO_TOKEN = "–"

PLOT_HEIGHT = 260
"""The plot's height in pixels, without its surroundings."""

_HOVER = (
    "<b>%{customdata[0]}</b><br>%{customdata[1]}<br>log-probability <b>%{y:.4~g}</b><br>"
    "probability <b>%{customdata[2]:.4~g}</b>"
)
"""Of a bar; customdata is the token, the name of its side, and e^y."""

Side = tuple[Tokens, FloatArray]
"""The predicted tokens of a pass, and the natural logarithm of each one's probability."""


@dataclass(frozen=True, slots=True, eq=False)
class LogProbs(InBatch):
    """The probability of each target token in two passes: bars that hang from 0.

    Where the two targets differ, they are aligned: tokens that both have share a place, others
    stand under two labels, A above B, or have a place that the other leaves empty.

    Attributes:
        sides: both passes, without padding.

    Raises:
        ValueError: if there are not as many numbers as tokens.
    """

    under: TwoMasks | Edits
    sides: tuple[Side, Side]

    title = "How probable each target token is"
    name = "log-probabilities"

    @property
    def texts(self) -> Mapping[str, str]:
        return self.at.texts | self.under.texts

    @property
    def alt(self) -> str:
        """The sums, and where both have the same token the one that moved most."""
        words = "Log-probability of each target token: " + "; ".join(
            f"{visible(name)}, {style.count_of(len(tokens), 'token')}, sum {_sum(log_probs)}"
            for name, (tokens, log_probs) in zip(self.under.names, self.sides, strict=True)
        )
        (tokens_a, log_probs_a), (tokens_b, log_probs_b) = self.sides
        both = [
            (first, float(log_probs_a[first]), float(log_probs_b[second]))
            for first, second in aligned(*self.sides)
            if first is not None
            and second is not None
            and tokens_a.tokens[first] == tokens_b.tokens[second]
        ]
        finite = [entry for entry in both if math.isfinite(entry[1]) and math.isfinite(entry[2])]
        if not finite:
            return f"{words}."
        position, one, other = max(finite, key=lambda entry: abs(entry[1] - entry[2]))
        return (
            f"{words}. The largest change is at {axis_texts(tokens_a)[position]} ({position}): "
            f"{style.number(one)} and {style.number(other)}."
        )

    @property
    def caption(self) -> str:
        given = "the target you typed" if self.at.is_typed else "the model's own translation"
        return (
            f"{self.at.sentence}: the decoder reads {given}; the longer a bar, the less probable "
            "its next token."
        )

    @property
    def more(self) -> str:
        (tokens_a, _), (tokens_b, _) = self.sides
        differing = (
            ""
            if tokens_a == tokens_b
            else " The two targets differ: shared tokens share a place; elsewhere the upper label "
            f"is that of the left bar, the lower that of the right bar, and {_NO_TOKEN} means no "
            "token."
        )
        return (
            "A bar hangs from 0, which is certainty, down to the natural logarithm of the token's "
            "probability. The legend gives the sums over the whole targets and the order of each "
            f"pair of bars.{differing}"
        )

    def figure(self, layout: Layout) -> go.Figure:
        """The traces are the bars of A and of B, one a place, NaN where there is no token.

        Numbers that are not finite, such as those of padding, have no bar.
        """
        narrow, colors = layout.narrow, themes.page(layout.dark).heads[:2]
        places = aligned(*self.sides)
        if not places:
            return empty_chart(layout, self.title, "There is no token to show.", height=PLOT_HEIGHT)
        marks: list[Mark] = []
        lowest = 0.0
        for side, (tokens, log_probs) in enumerate(self.sides):
            name = visible(self.under.names[side])
            there = np.array([place[side] is not None for place in places], dtype=np.bool_)
            y = np.full(len(places), np.nan)
            y[there] = np.where(np.isfinite(log_probs), log_probs, np.nan)
            labels = [escape_html(text) for text in axis_texts(tokens)]
            named = np.full((len(places), 3), "", dtype=object)
            named[there, 0] = [f"{label} ({position})" for position, label in enumerate(labels)]
            named[:, 1] = escape_html(name)
            named[:, 2] = np.exp(y)
            lowest = float(np.nanmin([lowest, *y]))
            marks.append(
                bars(
                    y,
                    down=False,
                    name=f"{name}: sum {_sum(log_probs)}",
                    color=side,
                    customdata=named,
                    hover=_HOVER,
                )
            )
        texts = _labels(places, self.sides[0][0], self.sides[1][0], narrow)
        step = style.label_step(len(places), _LABELLED[narrow])
        # Two lines beside each other, when they must turn, need as much as this leaves them.
        dense = narrow or len(places) > _LABELLED[False] // 2
        labels_height = style.labels_height(
            # As long as the longest line with the square before it, and as many lines.
            [max(label, key=len) + "  " * (len(label) - 1) for label in texts],
            style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH,
        )
        return chart(
            layout,
            self.title,
            Plot(
                across=label_axis(
                    "Target token",
                    [""] * len(places),
                    room=_LABELLED,
                    ticktext=[_tick(label, colors) for label in texts[::step]],
                    side="top",
                    autotickangles=[0, -90],
                    tickfont={"size": style.DENSE_FONT_SIZE if dense else style.SMALL_FONT_SIZE},
                ),
                up=number_axis(
                    "log-probability (base e)",
                    # Room for a bar that is nearly certain, and none above 0: no logarithm is.
                    range=[min(lowest * 1.06, -0.1), 0],
                    nticks=6,
                    zeroline=True,
                ),
                marks=marks,
                height=PLOT_HEIGHT,
            ),
            lines=[
                "Up – log-probability (base e)",
                "Bars from 0 down: the longer, the less probable",
            ],
            top=labels_height + style.FONT_SIZE * (max(map(len, texts)) - 1),
            below=(style.BOTTOM, style.BOTTOM + style.LEGEND_HEIGHT),
            barmode="group",
            bargap=0.3,
            bargroupgap=0.06,
        )

    def numbers(self) -> Numbers:
        axes: Axes = {}
        arrays: Arrays = {}
        for name, (tokens, log_probs) in zip(self.under.names, self.sides, strict=True):
            axis = axis_name(axes, "token", tokens, name.lower())
            arrays[f"log_probability_{name.lower()}"] = ((axis,), log_probs)
        return Numbers({}, axes, arrays)

    @property
    def setup(self) -> Lines:
        return [
            *self.under.passes(self.at),
            "n = batch.target_lengths[at.number]",
            "sides = tuple((each.predictions[:n], each.log_probs[:n]) for each in passes)",
        ]


def _labels(
    places: Sequence[PositionPair], tokens_a: Tokens, tokens_b: Tokens, narrow: bool
) -> list[tuple[str, ...]]:
    """What stands at each place: one text that both share, or that of A and that of B."""
    texts_a, texts_b = side_texts(tokens_a, narrow), side_texts(tokens_b, narrow)
    labels: list[tuple[str, ...]] = []
    for first, second in places:
        if first is None or second is None or tokens_a.tokens[first] != tokens_b.tokens[second]:
            one = _NO_TOKEN if first is None else texts_a[first]
            labels.append((one, _NO_TOKEN if second is None else texts_b[second]))
        else:
            labels.append((texts_a[first],))
    return labels


def _tick(label: tuple[str, ...], colors: Sequence[str]) -> str:
    """A label for Plotly; where there are two, each begins with a square in its bar's colour."""
    if len(label) == 1:
        return escape_html(label[0])
    return "<br>".join(
        f'<span style="color: {color}">■</span> {escape_html(text)}'
        for text, color in zip(label, colors, strict=True)
    )


def _sum(log_probs: FloatArray) -> str:
    return style.number(float(log_probs[np.isfinite(log_probs)].sum()))
