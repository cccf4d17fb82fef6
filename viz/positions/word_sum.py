"""One token's embedding, its position and their sum, drawn to one scale."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import FloatArray
from model.trace.terms import EmbeddingParts
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import line
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.positions.axes import limit_of
from viz.positions.embedding_sum import factor_of, norm_words, norms_of
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

_HEIGHT, _GAP = 112, 40
_HOVER = "dimension <b>%{x}</b><br>value <b>%{y:.4~g}</b>"


@dataclass(frozen=True, slots=True, eq=False)
class WordSum(Picture):
    """A token as the encoder reads it: embedding, position and their sum over the dimensions.

    Attributes:
        place: the position of the token, from 0.

    Raises:
        IndexError: if there is no such token.
    """

    parts: EmbeddingParts
    sentence: str
    place: int = 0

    @property
    def word(self) -> str:
        """The token as people read it."""
        return axis_texts(self.parts.tokens)[self.place]

    @property
    def title(self) -> str:
        return f"“{self.word}” + position {self.place}"

    @property
    def name(self) -> str:
        return f"word-sum-{self.place}"

    @property
    def rows(self) -> Mapping[str, FloatArray]:
        """The vectors by their headings, (dimension,) each."""
        factor = factor_of(self.parts)
        times = "" if factor == 1 else f" × {factor:g}"
        return {
            f"“{self.word}”{times}": self.parts.scaled[self.place],
            f"+ position {self.place}": self.parts.position[self.place],
            "= what the encoder reads": self.parts.sum[self.place],
        }

    @property
    def caption(self) -> str:
        word, position, _ = (norm_words(norms_of(each[None])[0]) for each in self.rows.values())
        return f"To one scale: the word has length {word}, its position {position}."

    @property
    def more(self) -> str:
        factor = factor_of(self.parts)
        scaled = (
            "The model adds the position to the embedding as it is."
            if factor == 1
            else f"The model multiplies the embedding by {factor:g} before it adds the position."
        )
        return f"{scaled} A length is the norm of a vector."

    @property
    def alt(self) -> str:
        lengths = ", ".join(
            f"{name}: length {norm_words(norms_of(row[None])[0])}"
            for name, row in self.rows.items()
        )
        count = style.count_of(self.parts.sum.shape[-1], "dimension")
        return f"{self.title}: three lines over {count}, to one scale. {lengths}."

    def figure(self, layout: Layout) -> go.Figure:
        """One plot below the other, all to one scale; the first traces are the three vectors."""
        rows = self.rows
        limit = 1.05 * limit_of(np.stack(list(rows.values())))
        colors = ("beside", "positive", "accent")
        last = len(rows) - 1
        plots = [
            Plot(
                across=number_axis(
                    "Dimension" if place == last else "",
                    range=[-0.5, len(row) - 0.5],
                    showticklabels=place == last,
                    showgrid=False,
                ),
                up=number_axis("Value", range=[-limit, limit], nticks=4),
                marks=[
                    line(
                        heading,
                        row,
                        x=np.arange(len(row)),
                        color=colors[place],
                        width=1,
                        hover=_HOVER,
                        legend=False,
                        fill="tozeroy",
                    )
                ],
                heading=heading,
                height=_HEIGHT,
            )
            for place, (heading, row) in enumerate(rows.items())
        ]
        return chart(
            layout,
            self.title,
            plots,
            lines=["Across – dimension, up – value"],
            top=24,
            abreast=1,
            gap=_GAP,
        )

    def numbers(self) -> Numbers:
        values = dict(zip(("word", "position", "sum"), self.rows.values(), strict=True))
        return Numbers(
            {"token": self.word},
            {"dimension": range(self.parts.sum.shape[-1])},
            {name: (("dimension",), row) for name, row in values.items()},
        )

    @property
    def setup(self) -> Lines:
        return [
            f"sentence = {self.sentence!r}",
            "parts = translator.embedding_parts(sentence)",
        ]
