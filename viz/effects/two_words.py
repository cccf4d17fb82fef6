"""The probabilities of two words without each source token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html
from viz.effects.contrasted import Contrasted, moved, quoted
from viz.links.request import Request
from viz.save.numbers import Numbers
from viz.save.picture import Layout

WITH_ALL = "with all"
"""The name of the row that has every token."""

_ROW, _AXIS = 30, 46


@dataclass(frozen=True, slots=True, eq=False)
class WordsWithoutTokens(Contrasted):
    """Both words' probabilities while one source token after another is hidden."""

    slug = "sources"
    about = "both words without each source token; likewise"

    name = "effects-contrast-tokens"

    @classmethod
    def of(cls, request: Request) -> WordsWithoutTokens:
        return cls(*request.contrasted, target=request.target)

    @property
    def title(self) -> str:
        word, other = self.words
        return f"{word} and {other} without each source token"

    @property
    def decisive(self) -> int | None:
        """The source token whose deletion costs the word's advantage most; None if none does."""
        lost = self._lost
        return int(lost.argmax()) if lost.max() > 0 else None

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

    @property
    def more(self) -> str:
        return (
            "Each source token in turn is hidden from every layer of the encoder and of "
            "cross-attention, while the decoder has read the same words. The first row hides "
            "nothing."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """One row a source token; the first two traces are the points of the two words."""
        theme = themes.page(layout.dark)
        labels = [WITH_ALL, *axis_texts(self.contrast.source)]
        both = np.exp(
            np.vstack([self.contrast.log_probs, self.contrast.deleted]).astype(np.float64)
        )
        rows = list(range(len(labels)))
        height = max(style.MIN_PLOT_HEIGHT, _ROW * len(rows))
        spec = {
            **style.plain_layout(
                theme,
                title=escape_html("Without each source token" if layout.narrow else self.title),
                height=height,
                below=_AXIS + style.LEGEND_HEIGHT * (2 if layout.narrow else 1) + 10,
                lines=["Across – probability"] if layout.narrow else [],
            ),
            "xaxis": style.value_axis(
                theme, "" if layout.narrow else "Probability", range=[-0.02, 1.02]
            ),
            "yaxis": style.axis(
                "",
                [escape_html(_short(each, layout.narrow)) for each in labels],
                1,
                range=[len(rows) - 0.5, -0.5],
            ),
            "shapes": [
                {
                    **{"type": "line", "x0": one, "x1": two, "y0": row, "y1": row},
                    **{"layer": "below", "line": {"width": 3, "color": theme.grid}},
                }
                for row, (one, two) in enumerate(both.tolist())
            ],
        }
        data = [
            {
                "type": "scatter",
                "mode": "markers",
                "x": both[:, place],
                "y": rows,
                "name": escape_html(name),
                "marker": {"size": 13, "color": color, "symbol": symbol},
                "customdata": labels,
                "hovertemplate": "%{customdata}<br>%{fullData.name} <b>%{x:.3~g}</b>"
                "<extra></extra>",
                "showlegend": True,
                "cliponaxis": False,
            }
            for place, (name, color, symbol) in enumerate(
                zip(self.words, theme.heads, ("circle", "diamond"), strict=False)
            )
        ]
        return go.Figure({"data": data, "layout": spec})

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


def _short(label: str, narrow: bool) -> str:
    most = style.NARROW_LABEL
    return f"{label[: most - 1]}…" if narrow and len(label) > most else label
