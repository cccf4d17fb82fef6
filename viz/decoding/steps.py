"""One step of a decoding: what the decoder looks at, and what it may write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import AttentionKind, FloatArray, Tokens
from model.trace.head import Head
from model.trace.trace import Trace
from model.trace.translation import Decoding, DecodingStep
from viz.decoding.attention import HeadMean, head_mean
from viz.decoding.certainty import percent
from viz.decoding.picture import DecodingPicture
from viz.draw import style, themes
from viz.draw.labels import axis_labels, escape_html, token_text
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.request import Request
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
        decoding: of the sentence.
        trace: of its translation.
        step: from 0.
        heads: those shown, as a mean for each kind; all heads of a kind if none of them is of it.
    """

    slug = "step"
    about = "one step of the decoding and the likeliest tokens it may write: --token"

    decoding: Decoding
    trace: Trace
    search: Search
    step: int = 0
    heads: Sequence[Head] = ()
    changes: Changes = UNCHANGED

    name = "step"

    @classmethod
    def of(cls, request: Request) -> OneStep:
        decoding = request.decoding
        step = request.token_of(len(decoding.steps)) or 0
        changes = request.changes
        trace = request.translator.trace_of(decoding.translation, under=changes.under)
        return cls(decoding, trace, request.search, step, changes=changes)

    @property
    def title(self) -> str:
        token = token_text(self.decoding.translation.tokens[self.step])
        step = f"Step {self.step + 1} of {len(self.decoding.steps)}{self.changes.name}"
        return f"{step}: “{token}” is written"

    @property
    def now(self) -> DecodingStep:
        """The step."""
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

    @property
    def caption(self) -> str:
        return (
            "Where the decoder looks while it writes one token, and the ten likeliest tokens it "
            "may write; the one written is marked."
        )

    @property
    def more(self) -> str:
        return (
            "Upper row: weights on the source; lower row: weights on the translation that the "
            "decoder has read so far. The stronger the colour, the larger the weight. "
            "Probabilities are the model’s own."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """Rows of weights over their tokens; below them, the likeliest tokens it may write.

        The first traces are the rows; the last is the bars, likeliest at the top.
        """
        theme, step, looks = themes.page(layout.dark), self.now, self._looks
        labels = axis_labels(step.likeliest)
        heights = [_STRIP] * len(looks) + [_ROW * len(labels)]
        full = sum(heights) + _HEADING * len(looks)
        below = 0 if layout.narrow else style.SMALL_FONT_SIZE + 30
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme, title=self.title, height=full, top=_HEADING, lines=[], axis=below
            ),
            "plot_bgcolor": style.CLEAR,
            "coloraxis": {
                "cmin": 0,
                "cmax": 1,
                "colorscale": theme.colorscale,
                "colorbar": style.weight_bar(theme),
            },
            "annotations": [],
        }
        data: list[dict[str, Any]] = []
        top = float(full)
        for place, (name, tokens, weights) in enumerate(looks):
            suffix = "" if place == 0 else str(place + 1)
            texts = axis_labels(tokens)
            data.append(
                {
                    "type": "heatmap",
                    "z": weights[np.newaxis],
                    "coloraxis": "coloraxis",
                    "xaxis": f"x{suffix}",
                    "yaxis": f"y{suffix}",
                    "xgap": 1,
                    "name": name,
                    "hovertemplate": "<b>%{z:.4~g}</b><extra></extra>",
                }
            )
            spec[f"xaxis{suffix}"] = style.axis(
                "",
                texts,
                style.label_step(len(texts), 12 if layout.narrow else 24),
                range=[-0.5, len(texts) - 0.5],
                side="top",
                anchor=f"y{suffix}",
            )
            spec[f"yaxis{suffix}"] = {
                "domain": [(top - _STRIP) / full, top / full],
                "visible": False,
                "anchor": f"x{suffix}",
            }
            muted = {"size": style.SMALL_FONT_SIZE, "color": theme.muted}
            shift = _HEADING - style.SMALL_FONT_SIZE - 16
            spec["annotations"].append(
                style.heading(theme, escape_html(name), 0, top / full, yshift=shift, font=muted)
            )
            top -= _STRIP + _HEADING
        last = str(len(looks) + 1)
        spec[f"xaxis{last}"] = {
            "title": style.axis_title("" if layout.narrow else "Probability of the next token"),
            "range": [0, 1],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "ticktext": [f"{each}%" for each in (0, 25, 50, 75, 100)],
            "gridcolor": theme.grid,
            "zeroline": False,
            "automargin": True,
            "anchor": f"y{last}",
        }
        spec[f"yaxis{last}"] = style.axis(
            "",
            labels,
            1,
            range=[len(labels) - 0.5, -0.5],
            domain=[0, max(0.0, top / full)],
            anchor=f"x{last}",
        )
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": list(step.probabilities),
                "y": list(range(len(labels))),
                "xaxis": f"x{last}",
                "yaxis": f"y{last}",
                "marker": {
                    "color": [
                        theme.accent if place == self.written else theme.beside
                        for place in range(len(labels))
                    ]
                },
                "text": [style.percent(share, 1) for share in step.probabilities],
                "textposition": "outside",
                "cliponaxis": False,
                "textfont": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
                "showlegend": False,
                "hovertemplate": "%{x:.3%}<extra></extra>",
            }
        )
        return go.Figure({"data": data, "layout": spec})

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
