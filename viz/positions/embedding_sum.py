"""The encoder's input: word, scaled word, position and their sum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.position_measures import Values
from model.trace.attention_map import FloatArray, Tokens
from model.trace.terms import EmbeddingParts
from viz.charts.axes import label_axis, number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import cells
from viz.charts.scale import clipped
from viz.charts.texts import corner_note, texts
from viz.draw import style
from viz.draw.labels import axis_texts, lower_first
from viz.draw.panels import Panel
from viz.positions.axes import columns_in
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

_HOVER = "<b>%{y}</b><br>dimension <b>%{customdata}</b><br>value <b>%{z:.6~g}</b>"

_NARROW_PANEL_HEIGHT, _PANEL_GAP = 230, 34
_MAX_PANEL_HEIGHT = 720
_ROOM, _NARROW_ROOM = 160, 256
"""Columns that are at least a pixel wide."""

_BAR_HEIGHT = 62


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSum(Picture):
    """Word, scaled word, position and their sum, as heatmaps over the same tokens.

    Raises:
        ValueError: if there is no token, or a part has not one finite row a token.
    """

    parts: EmbeddingParts
    sentence: str

    title = "Word and position"
    name = "word-and-position"

    @property
    def alt(self) -> str:
        norms = ", ".join(
            f"{name.lower()} {norm_words(norms_of(values).mean())}"
            for name, values in _panels(self.parts).items()
        )
        tokens = self.parts.tokens
        return (
            f"Four heatmaps of {style.count_of(len(tokens), 'token')} from {axis_texts(tokens)[0]} "
            f"on by {style.count_of(self.parts.word.shape[1], 'dimension')}: word, scaled word, "
            f"position and their sum. Mean norms: {norms}."
        )

    @property
    def caption(self) -> str:
        factor = factor_of(self.parts)
        if factor == 1:
            return "This model adds the position to the embedding as it is."
        return (
            f"The embedding is multiplied by {style.number(factor)} before the position is added."
        )

    @property
    def more(self) -> str:
        panels = _panels(self.parts)
        ratio = float(norms_of(panels["Scaled word"]).mean()) / max(
            float(norms_of(panels["Position"]).mean()), np.finfo(np.float64).tiny
        )
        compared = (
            f"A word is then {style.number(ratio)} times as long as a position, on average. "
            if np.abs(self.parts.position).max() and ratio >= 0.01
            else ""
        )
        return (
            f"{compared}The word has its own colour scale; the other three share one, which makes "
            "them comparable. The largest 1% of the numbers have the colours at its ends. The "
            "numbers on the right are the norms of the rows."
        )

    @property
    def panels(self) -> list[Panel]:
        """The four for the browser to draw, with one pointer; fast at any length."""
        parts, panels = self.parts, _panels(self.parts)
        dimensions = Tokens.unnamed(range(parts.word.shape[-1]))
        shared = style.clipped_limit([parts.scaled, parts.position, parts.sum])
        return [
            Panel(
                title=name,
                values=values,
                queries=parts.tokens,
                keys=dimensions,
                alt=f"{name}: {style.count_of(len(parts.tokens), 'token')} by "
                f"{style.count_of(len(dimensions), 'dimension')}; the norm of a row is "
                f"{norm_words(norms_of(values).mean())} on average.",
                scale="signed",
                low=-limit,
                high=limit,
                unit=unit,
                beside=[norm_words(norm) for norm in norms_of(values)],
                beside_title="Norm of the row",
                query_title="Token",
                key_title="Dimension",
                sign=sign,
            )
            for (name, values), limit, unit, sign in zip(
                panels.items(),
                (style.clipped_limit([parts.word]), shared, shared, shared),
                ("word", *3 * ("scaled word, position and sum",)),
                ("", "→", "+", "="),
                strict=True,
            )
        ]

    def figure(self, layout: Layout) -> go.Figure:
        """The first four traces are the four, or pairs of them; each row's norm is at its right."""
        parts, narrow = self.parts, layout.narrow
        panels = _panels(parts)
        n_tokens, d_model = parts.word.shape
        height = style.plot_height(n_tokens)
        height = min(height, _NARROW_PANEL_HEIGHT if narrow else _MAX_PANEL_HEIGHT)
        step = style.label_step(n_tokens, height // style.MIN_ROW_HEIGHT)
        rows = np.arange(0, n_tokens, step)
        dense = {"size": style.DENSE_FONT_SIZE}
        tight: dict[str, Any] = {"tickfont": dense} if narrow else {}
        # A phone has no room for two colour bars beside each other.
        word = clipped("word", [parts.word], under=_BAR_HEIGHT if narrow else 0)
        plots = []
        for place, (name, values) in enumerate(panels.items()):
            drawn, placed, left_out = columns_in(_NARROW_ROOM if narrow else _ROOM, values)
            norms = [f" {norm_words(norm)}" for norm in norms_of(values)[::step]]
            plots.append(
                Plot(
                    across=number_axis(
                        f"Dimension{left_out}",
                        range=[-0.5, d_model - 0.5],
                        nticks=4,
                        tickformat="d",
                        ticks="",
                        tickfont=dense,
                        ticklabelstandoff=4,
                        showticklabels=place == len(panels) - 1 or not narrow,
                        showgrid=False,
                        automargin=False,
                    ),
                    up=label_axis(
                        "Token",
                        parts.tokens,
                        shared=True,
                        matches="y" if place else None,
                        **tight,
                    ),
                    marks=[
                        cells(
                            drawn,
                            name=name,
                            gap=0,
                            hover=_HOVER,
                            scale=None if place else word,
                            **placed,
                        ),
                        texts(
                            np.full(len(rows), d_model - 0.5),
                            rows,
                            norms,
                            name=f"norms: {name}",
                            at="middle right",
                            size=dense["size"] if narrow or step > 1 else style.SMALL_FONT_SIZE,
                        ),
                        corner_note("norm", right=3),
                    ],
                    heading=name,
                    height=height,
                )
            )
        return chart(
            layout,
            self.title,
            plots,
            lines=[f"Rows – token, columns – {lower_first(plots[0].across.title)}"],
            scale=clipped(
                "scaled word, position and sum",
                [parts.scaled, parts.position, parts.sum],
                bar={} if narrow else {"x": 1 / 3},
            ),
            top=style.SMALL_FONT_SIZE + 10,
            below=(style.BOTTOM + 44, style.BOTTOM + 20 + _BAR_HEIGHT),
            between=0,
            beside=(0.065, 0.16),
            gap=_PANEL_GAP,
        )

    def numbers(self) -> Numbers:
        cells, parts = ("token", "dimension"), self.parts
        return Numbers(
            {},
            {"token": parts.tokens, "dimension": range(parts.sum.shape[1])},
            {name: (cells, getattr(parts, name)) for name in ("word", "scaled", "position", "sum")},
        )

    @property
    def setup(self) -> Lines:
        return [
            f"sentence = {self.sentence!r}",
            "parts = translator.embedding_parts(sentence)",
        ]


def _panels(parts: EmbeddingParts) -> dict[str, FloatArray]:
    panels = {
        "Word": parts.word,
        "Scaled word": parts.scaled,
        "Position": parts.position,
        "Sum": parts.sum,
    }
    shape = (len(parts.tokens), parts.word.shape[-1])
    if not all(shape):
        raise ValueError("There is no token to show; type a sentence.")
    for name, values in panels.items():
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(
                f"{name} must hold one finite row a token, {shape}; it has the shape "
                f"{values.shape}."
            )
    return panels


def factor_of(parts: EmbeddingParts) -> float:
    """The best-fitting factor by which words were multiplied."""
    word, scaled = parts.word.astype(np.float64), parts.scaled.astype(np.float64)
    size = float(np.square(word).sum())
    return round(float((word * scaled).sum()) / size, 6) if size else 1.0


def norms_of(values: FloatArray) -> Values:
    """The length of each row, (token,)."""
    return np.linalg.norm(values.astype(np.float64), axis=1)


def norm_words(norm: float) -> str:
    """A length with the digits that count."""
    return f"{norm:.1f}" if norm >= 10 else f"{norm:.2f}"
