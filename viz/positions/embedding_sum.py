"""The encoder's input: word, scaled word, position and their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.explain.position_measures import Values
from model.trace.attention_map import FloatArray, Tokens
from model.trace.terms import EmbeddingParts
from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html, side_texts
from viz.draw.panels import Panel
from viz.links.request import Request
from viz.positions.axes import columns_in
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

_HOVER = "<b>%{y}</b><br>dimension <b>%{customdata}</b><br>value <b>%{z:.6~g}</b><extra></extra>"

_PANEL_WIDTH, _NARROW_PANEL_WIDTH = 0.185, 0.84
"""The width of each heatmap as a share of its part; the rest holds the norms."""

_NARROW_PANEL_HEIGHT, _PANEL_GAP = 230, 34
_MAX_PANEL_HEIGHT = 720
_ROOM, _NARROW_ROOM = 160, 256
"""Columns that are at least a pixel wide."""

_BAR, _BAR_HEIGHT = 170, 62

_AXIS_ROOM, _NARROW_AXIS_ROOM = 44, 20
"""Pixels below the plot for an axis' labels and title."""


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingSum(Picture):
    """Word, scaled word, position and their sum, as heatmaps over the same tokens.

    Attributes:
        parts: of the sentence.
        sentence: the source.

    Raises:
        ValueError: if there is no token, or a part has not one finite row a token.
    """

    slug = "parts"
    about = "word, scaling, position and their sum"

    parts: EmbeddingParts
    sentence: str

    title = "Word and position"
    name = "word-and-position"

    @classmethod
    def of(cls, request: Request) -> EmbeddingSum:
        return cls(request.translator.embedding_parts(request.text), request.text)

    @property
    def alt(self) -> str:
        norms = ", ".join(
            f"{name.lower()} {_written(_norms(values).mean())}"
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
        factor = _factor(self.parts)
        if factor == 1:
            return "This model adds the position to the embedding as it is."
        return (
            f"The embedding is multiplied by {style.number(factor)} before the position is added."
        )

    @property
    def more(self) -> str:
        panels = _panels(self.parts)
        ratio = float(_norms(panels["Scaled word"]).mean()) / max(
            float(_norms(panels["Position"]).mean()), np.finfo(np.float64).tiny
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
                f"{_written(_norms(values).mean())} on average.",
                scale="signed",
                low=-limit,
                high=limit,
                unit=unit,
                beside=[_written(norm) for norm in _norms(values)],
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
        parts, panels = self.parts, _panels(self.parts)
        theme = themes.page(layout.dark)
        n_tokens, d_model = parts.word.shape
        height = min(style.plot_height(n_tokens), _MAX_PANEL_HEIGHT)
        if layout.narrow:
            height = min(height, _NARROW_PANEL_HEIGHT)
        full = 4 * height + 3 * _PANEL_GAP if layout.narrow else height
        room = _NARROW_ROOM if layout.narrow else _ROOM
        left_out = columns_in(room, parts.word)[1]
        labels = [escape_html(text) for text in side_texts(parts.tokens, layout.narrow)]
        step = style.label_step(n_tokens, height // style.MIN_ROW_HEIGHT)
        # A phone has no room for two colour bars beside each other.
        below = _NARROW_AXIS_ROOM + _BAR_HEIGHT if layout.narrow else _AXIS_ROOM
        spec: dict[str, Any] = {
            **style.bar_layout(
                theme,
                title=self.title,
                height=full,
                top=style.SMALL_FONT_SIZE + 10,
                lines=[f"Rows – token, columns – dimension{left_out}"] if layout.narrow else [],
                axis=below,
            ),
            "plot_bgcolor": style.CLEAR,
            "coloraxis": style.clipped_axis(theme, [parts.word], "word", length=_BAR),
            "coloraxis2": style.clipped_axis(
                theme,
                [parts.scaled, parts.position, parts.sum],
                "scaled word, position and sum",
                length=_BAR,
            ),
            "annotations": [],
        }
        data: list[Any] = []
        numbers: list[Any] = []
        for place, (name, values) in enumerate(panels.items()):
            suffix = "" if place == 0 else str(place + 1)
            across, down = _domains(place, layout.narrow, height, full)
            cells, _ = columns_in(room, values)
            data.append(
                go.Heatmap(
                    **cells,
                    coloraxis="coloraxis" if place == 0 else "coloraxis2",
                    hovertemplate=_HOVER,
                    xaxis=f"x{suffix}",
                    yaxis=f"y{suffix}",
                    name=name,
                )
            )
            rows = np.arange(0, n_tokens, step)
            numbers.append(
                go.Scatter(
                    x=np.full(len(rows), d_model - 0.5),
                    y=rows,
                    mode="text",
                    text=[f" {_written(norm)}" for norm in _norms(values)[::step]],
                    textposition="middle right",
                    textfont={
                        "size": style.DENSE_FONT_SIZE
                        if layout.narrow or step > 1
                        else style.SMALL_FONT_SIZE,
                        "color": theme.text,
                    },
                    cliponaxis=False,
                    hoverinfo="skip",
                    showlegend=False,
                    xaxis=f"x{suffix}",
                    yaxis=f"y{suffix}",
                    name=f"norms: {name}",
                )
            )
            last = place == 3 or not layout.narrow
            spec[f"xaxis{suffix}"] = {
                "domain": across,
                "anchor": f"y{suffix}",
                "range": [-0.5, d_model - 0.5],
                "nticks": 4,
                "tickformat": "d",
                "ticks": "",
                "tickfont": {"size": style.DENSE_FONT_SIZE},
                "ticklabelstandoff": 4,
                "title": style.axis_title("" if layout.narrow else f"Dimension{left_out}", 6),
                "showticklabels": last,
                "showgrid": False,
                "zeroline": False,
            }
            spec[f"yaxis{suffix}"] = style.axis(
                "Token" if place == 0 and not layout.narrow else "",
                labels,
                step,
                range=[n_tokens - 0.5, -0.5],
                domain=down,
                anchor=f"x{suffix}",
                showticklabels=layout.narrow or place == 0,
                **({} if place == 0 else {"matches": "y"}),
                **({"tickfont": {"size": style.DENSE_FONT_SIZE}} if layout.narrow else {}),
            )
            muted = {"size": style.SMALL_FONT_SIZE, "color": theme.muted}
            spec["annotations"] += [
                style.heading(theme, name, across[0], down[1]),
                style.heading(theme, "norm", across[1], down[1], xshift=3, font=muted),
            ]
        if layout.narrow:
            spec["coloraxis"]["colorbar"]["y"] = _BAR_HEIGHT / spec["height"]
        else:
            spec["coloraxis2"]["colorbar"]["x"] = 1 / 3
        return go.Figure({"data": data + numbers, "layout": spec})

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


def _factor(parts: EmbeddingParts) -> float:
    """The best-fitting factor by which words were multiplied."""
    word, scaled = parts.word.astype(np.float64), parts.scaled.astype(np.float64)
    size = float(np.square(word).sum())
    return round(float((word * scaled).sum()) / size, 6) if size else 1.0


def _domains(place: int, narrow: bool, height: int, full: int) -> tuple[list[float], list[float]]:
    """A heatmap's place, across and up, as shares of the plot."""
    if narrow:
        top = full - place * (height + _PANEL_GAP)
        return [0, _NARROW_PANEL_WIDTH], [max(0.0, (top - height) / full), top / full]
    return [place / 4, place / 4 + _PANEL_WIDTH], [0, 1]


def _norms(values: FloatArray) -> Values:
    return np.linalg.norm(values.astype(np.float64), axis=1)


def _written(norm: float) -> str:
    return f"{norm:.1f}" if norm >= 10 else f"{norm:.2f}"
