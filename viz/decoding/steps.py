"""One step of a decoding: what the decoder looks at, and what it may write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import AttentionKind, FloatArray, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Decoding, DecodingStep
from viz.charts.axes import ALL, label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import bars, cells
from viz.charts.scale import weights
from viz.charts.texts import corner_note
from viz.decoding.attention import HeadMean, head_mean
from viz.decoding.certainty import percent
from viz.decoding.picture import DecodingPicture
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html, token_text
from viz.links.link_interventions import UNCHANGED, Changes
from viz.save.film import Series, Still
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout

_ROW, _STRIP, _HEADING = 30, 34, 66
"""Heights in pixels: of a bar, of a row of weights, and of the heading above either."""


@dataclass(frozen=True, slots=True, eq=False)
class OneStep(DecodingPicture):
    """One step of a decoding: what the decoder looks at, and the likeliest tokens it may write.

    Attributes:
        step: from 0.
        heads: those shown, as a mean for each kind; all heads of a kind if none of them is of it.
    """

    decoding: Decoding
    trace: Trace
    search: Search
    step: int = 0
    heads: Sequence[Head] = ()
    changes: Changes = UNCHANGED

    name = "step"

    @property
    def title(self) -> str:
        token = token_text(self.decoding.translation.tokens[self.step])
        step = f"Step {self.step + 1} of {len(self.decoding.steps)}{self.changes.name}"
        return f"{step}: “{token}” is written"

    @property
    def now(self) -> DecodingStep:
        return self.decoding.steps[self.step]

    @property
    def written(self) -> int | None:
        """The place of the token written among the likeliest; None if it is not one of them."""
        token_id = self.decoding.translation.token_ids[self.step]
        likeliest = self.now.likeliest.ids
        return likeliest.index(token_id) if token_id in likeliest else None

    @property
    def cross(self) -> HeadMean:
        """The weights on the source."""
        return head_mean(self.trace, AttentionKind.CROSS, self.heads)

    @property
    def own(self) -> HeadMean:
        """The weights on what the decoder has read of its own translation."""
        return head_mean(self.trace, AttentionKind.DECODER, self.heads)

    @property
    def _looks(self) -> list[tuple[str, Tokens, FloatArray]]:
        read = slice(self.step + 1)
        return [
            (self.cross.name, self.trace.source, self.cross.weights[self.step]),
            (self.own.name, self.trace.target[read], self.own.weights[self.step, read]),
        ]

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
        share = percent(float(row[most]))
        return (
            f"{self.title}. {self.cross.name}: most weight, {share}, on "
            f"“{token_text(self.trace.source.tokens[most])}”. "
            "The likeliest tokens it may write: "
            f"{', '.join(named)}."
        )

    caption = (
        "Where the decoder looks while it writes one token, and the ten likeliest tokens it "
        "may write; the one written is marked."
    )

    more = (
        "Upper row: weights on the source; lower row: weights on the translation that the "
        "decoder has read so far. The stronger the colour, the larger the weight. "
        "Probabilities are the model’s own."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """Rows of weights over their tokens; below them, the likeliest tokens it may write.

        The first traces are the rows; the last is the bars, likeliest at the top.
        """
        step = self.now
        shift = _HEADING - style.SMALL_FONT_SIZE - 16
        rows = [
            Plot(
                across=label_axis("", axis_texts(tokens), room=(24, 12), side="top"),
                up=number_axis(visible=False),
                marks=[
                    cells(looks[np.newaxis], name=name, ygap=0, hover="<b>%{z:.4~g}</b>"),
                    corner_note(escape_html(name), at=0, up=shift),
                ],
                height=_STRIP,
            )
            for name, tokens, looks in self._looks
        ]
        texts = axis_texts(step.likeliest)
        ticks = (0, 25, 50, 75, 100)
        likeliest = Plot(
            across=number_axis(
                "Probability of the next token",
                range=[0, 1],
                tickvals=[each / 100 for each in ticks],
                ticktext=[f"{each}%" for each in ticks],
            ),
            up=label_axis("", texts, room=ALL),
            marks=[
                bars(
                    list(step.probabilities),
                    color=[
                        "accent" if place == self.written else "beside"
                        for place in range(len(texts))
                    ],
                    texts=[style.percent(share, 1) for share in step.probabilities],
                    hover="%{x:.3%}",
                )
            ],
            height=_ROW * len(texts),
        )
        return chart(
            layout,
            self.title,
            [*rows, likeliest],
            lines=[],
            scale=weights(),
            top=_HEADING,
            below=(style.BOTTOM + style.SMALL_FONT_SIZE + 30, style.BOTTOM),
            abreast=1,
            gap=_HEADING,
        )

    def film(self) -> Series:
        """The translation is written token by token."""
        return Series(
            len(self.decoding.steps),
            lambda place: Still(replace(self, step=place).figure, self.caption),
        )

    def numbers(self) -> Numbers:
        (_, source, cross), (_, target, own) = self._looks
        return Numbers(
            {"step": self.step + 1},
            {"next": self.now.likeliest, "source": source, "target": target},
            {
                "probability": (("next",), np.array(self.now.probabilities)),
                "cross": (("source",), cross),
                "decoder": (("target",), own),
            },
        )

    @property
    def setup(self) -> Lines:
        return self.traced
