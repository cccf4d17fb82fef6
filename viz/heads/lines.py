"""One attention head as lines between two columns of words, to keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Mark, line
from viz.charts.texts import texts
from viz.draw import style
from viz.draw.axis_names import key_title, row_titles
from viz.draw.constants import CONSTANTS
from viz.draw.labels import escape_html, side_texts
from viz.heads.one_head import OfHead
from viz.save.picture import Layout

FAINTEST: float = CONSTANTS["FAINTEST"]
"""Weights below are left out, as in the browser: they would be a grey veil."""

STEPS = 20
"""So many shades and thicknesses: a trace of Plotly's has one of each."""

POINTS = 17
"""Of a line, which is level at its words, so that it can be followed where many cross."""

_ROW, _THINNEST, _THICKEST = 30, 0.5, 9.0
_SIDES = (0.35, 0.6)
"""Room for words at either side, as a share of what lies between the columns, wide and narrow."""


@dataclass(frozen=True, slots=True, eq=False)
class HeadLines(OfHead):
    """One head as lines between words."""

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, as lines"

    @property
    def name(self) -> str:
        return f"{self.site.kind}-layer{self.site.layer}-head{self.head}-lines"

    caption = (
        "A line joins a query on the left with a key on the right; its thickness and opacity "
        "are the weight."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """Queries on the left, keys on the right; weights below FAINTEST have no line."""
        one, kind, narrow = self.map.head(self.head), self.site.kind, layout.narrow
        weights = one.weights
        labels = [side_texts(tokens, narrow) for tokens in (one.queries, one.keys)]
        most = max(1, *map(len, labels))
        steps = np.ceil(weights * STEPS).astype(int)
        along = np.linspace(0, 1, POINTS)
        bend = along**2 * (3 - 2 * along)
        marks: list[Mark] = []
        for step in range(1, STEPS + 1):
            rows, columns = np.nonzero((steps == step) & (weights >= FAINTEST))
            if not len(rows):
                continue
            # Each column of words in the middle of the picture's height, as long as it is.
            left = rows + (most - len(labels[0])) / 2
            right = columns + (most - len(labels[1])) / 2
            # NaN behind every line parts it from the next.
            heights = np.full((len(rows), POINTS + 1), np.nan)
            heights[:, :POINTS] = left[:, None] + np.outer(right - left, bend)
            share = (step - 0.5) / STEPS
            marks.append(
                line(
                    f"weights up to {step / STEPS:.2f}",
                    heights.ravel(),
                    x=np.tile([*along, np.nan], len(rows)),
                    color="accent",
                    width=_THINNEST + share * (_THICKEST - _THINNEST),
                    opacity=share,
                    legend=False,
                )
            )
        for place, (side, at) in enumerate(zip(labels, ("left", "right"), strict=True)):
            marks.append(
                texts(
                    np.full(len(side), place),
                    np.arange(len(side)) + (most - len(side)) / 2,
                    [f" {escape_html(text)} " for text in side],
                    name=("queries", "keys")[place],
                    at=f"middle {at}",
                    size=style.FONT_SIZE if most <= style.FEW_LABELS else style.SMALL_FONT_SIZE,
                )
            )
        room = _SIDES[narrow]
        return chart(
            layout,
            one.name,
            Plot(
                across=number_axis(visible=False, range=[-room, 1 + room], fixedrange=True),
                up=number_axis(visible=False, range=[most - 0.5, -0.5], fixedrange=True),
                marks=marks,
                height=most * _ROW,
            ),
            lines=[],
            always=[
                f"Left – {row_titles(kind, self.seen).query}",
                f"Right – {key_title(kind, sides=self.seen.has_sides)}",
            ],
            below=12,
        )
