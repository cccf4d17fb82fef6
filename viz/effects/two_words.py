"""The probabilities of two words without each source token."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.charts.axes import ALL, label_axis, number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import points, spans
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html, short_text
from viz.effects.contrasted import Contrasted, moved, quoted
from viz.save.numbers import Numbers

WITH_ALL = "with all"
"""The name of the row that has every token."""

_ROW = 30


@dataclass(frozen=True, slots=True, eq=False)
class WordsWithoutTokens(Contrasted):
    """Both words' probabilities while one source token after another is hidden."""

    name = "effects-contrast-tokens"

    @property
    def title(self) -> str:
        word, other = self.words
        return f"{word} and {other} without each source token"

    @property
    def _lost(self) -> Any:
        deleted = self.contrast.deleted
        return self.contrast.difference - (deleted[:, 0] - deleted[:, 1])

    @property
    def sentences(self) -> list[str]:
        """The tokens whose deletion changes a word's advantage most, in plain text."""
        tokens, deleted = axis_texts(self.contrast.source), self.contrast.deleted
        likeliest = self.contrast.likeliest_deleted
        order = np.argsort(-np.abs(self._lost), kind="stable")[:3].tolist()
        return [
            f"Without {quoted(tokens[place])}, "
            f"{moved(self.contrast, deleted[place], likeliest.at([place]))}."
            for place in order
        ]

    @property
    def alt(self) -> str:
        return f"{self.title}. One row a token, two points a row. {' '.join(self.sentences)}"

    @property
    def caption(self) -> str:
        word, other = self.words
        return f"Where the points change sides, {other} is likelier than {word} without that token."

    more = (
        "Each source token in turn is hidden from every layer of the encoder and of "
        "cross-attention, while the decoder has read the same words. The first row hides "
        "nothing."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """One row a source token; the first two traces are the points of the two words."""
        labels = [WITH_ALL, *axis_texts(self.contrast.source)]
        both = np.exp(
            np.vstack([self.contrast.log_probs, self.contrast.deleted]).astype(np.float64)
        )
        plot = Plot(
            across=number_axis("Probability", range=[-0.02, 1.02]),
            up=label_axis("", [*map(short_text, labels)] if layout.narrow else labels, room=ALL),
            marks=[
                spans(*both.T),
                *(
                    points(
                        both[:, place],
                        name=word,
                        color=place,
                        size=13,
                        symbol=("circle", "diamond")[place],
                        customdata=[*map(escape_html, labels)],
                        hover="%{customdata}<br>%{fullData.name} <b>%{x:.3~g}</b>",
                        cliponaxis=False,
                    )
                    for place, word in enumerate(self.words)
                ),
            ],
            height=max(style.MIN_PLOT_HEIGHT, _ROW * len(labels)),
        )
        return chart(
            layout,
            self.title,
            plot,
            short="Without each source token",
            lines=["Across – probability"],
            below=(56 + style.LEGEND_HEIGHT, 56 + 2 * style.LEGEND_HEIGHT),
        )

    def numbers(self) -> Numbers:
        deleted = self.contrast.deleted
        return Numbers(
            {},
            {"source": self.contrast.source, "word": range(2)},
            {
                "word_log_prob": (("source",), deleted[:, 0]),
                "other_log_prob": (("source",), deleted[:, 1]),
                "log_prob": (("word",), self.contrast.log_probs),
            },
        )
