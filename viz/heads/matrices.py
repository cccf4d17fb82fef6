"""The weight matrices of one head: what it reads of a token, and what it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import FloatArray, Site
from model.trace.terms import HeadMatrices
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import cells
from viz.charts.scale import clipped
from viz.charts.texts import corner_note
from viz.draw import style
from viz.save.notebook import Lines, public
from viz.save.numbers import Arrays, Axes, Numbers, of_head
from viz.save.picture import Layout, Picture

HEIGHT = 150
"""Pixels of one matrix."""

_GAP = 62
"""Pixels between two rows of matrices."""

_AXIS_ROOM, _LEFT = 34, 62
"""Pixels of the title of the axis across, above the colour bar, and of all that stands left."""

_HOVER = (
    "row <b>%{y}</b>, dimension <b>%{x}</b> of the token<br><b>%{z:.3~g}</b><extra>%{fullData.name}"
    "</extra>"
)


@dataclass(frozen=True, slots=True, eq=False)
class WeightMatrices(Picture):
    """W_Q, W_K, W_V and W_O of one head.

    Attributes:
        matrices: of `Translator.head_matrices`.
        site: where the head is.
        head: counted from 0.
    """

    origin = ("model",)

    matrices: HeadMatrices
    site: Site
    head: int

    @property
    def title(self) -> str:
        return f"{self.site.head_name(self.head)}, weight matrices"

    @property
    def name(self) -> str:
        return f"{self.site.kind}-layer{self.site.layer}-head{self.head}-matrices"

    @property
    def alt(self) -> str:
        sizes = "; ".join(
            f"W_{name} with root mean square {style.number(float(np.sqrt((values**2).mean())))}"
            for name, values in zip("QKVO", self._drawn.values(), strict=True)
        )
        d_model, d_k = self.matrices.w_q.shape
        return (
            f"{self.site.head_name(self.head)}: four heatmaps, the head’s dimensions down and the "
            f"token’s {d_model} dimensions across; queries and keys have {d_k} numbers, values "
            f"{len(self.matrices.w_o)}: {sizes}."
        )

    @property
    def caption(self) -> str:
        d_model, d_k = self.matrices.w_q.shape
        d_v = len(self.matrices.w_o)
        numbers = f"{d_k} numbers each" if d_k == d_v else f"{d_k}, {d_k} and {d_v} numbers"
        return (
            f"W_Q, W_K and W_V turn the token’s {d_model} numbers into the head’s query, key and "
            f"value, {numbers}; W_O writes the head’s output back."
        )

    more = (
        "A column in the colour of 0 is a dimension that the matrix hardly uses. All four "
        f"share one scale; the largest {style.percent(1 - style.CLIPPED)} of the numbers have "
        "its end colours."
    )

    def figure(self, layout: Layout) -> go.Figure:
        """The four on one colour scale to both sides of 0, W_Q, W_K and W_V transposed."""
        drawn, columns = self._drawn, 1 if layout.narrow else 2
        shared: dict[str, Any] = {
            **{"ticks": "", "tickformat": "d", "tickfont": {"size": style.DENSE_FONT_SIZE}},
            **{"showgrid": False, "automargin": False},
        }
        plots = []
        for place, (name, values) in enumerate(drawn.items()):
            height, width = values.shape
            across = number_axis(range=[-0.5, width - 0.5], nticks=5, **shared)
            up = number_axis(range=[height - 0.5, -0.5], nticks=4, **shared)
            if place >= len(drawn) - columns:
                across = across.with_(title=style.axis_title("Token’s dimension", 6))
            if not place % columns:
                up = up.with_(title=style.axis_title("Head’s dimension", 4))
            small = style.SMALL_FONT_SIZE
            heading = corner_note(name, at=0, color="text", size=small)
            map_ = cells(values, name=name, gap=0, hover=_HOVER)
            plots.append(Plot(across=across, up=up, marks=[map_, heading], height=HEIGHT))
        scale = clipped("weight in the matrix", list(drawn.values()), length=style.BAR)
        made = chart(
            layout,
            self.site.head_name(self.head),
            plots,
            lines=[],
            scale=scale,
            top=style.SMALL_FONT_SIZE + 10,
            below=style.BOTTOM + _AXIS_ROOM,
            abreast=2,
            between=0.06,
            gap=_GAP,
        )
        return made.update_layout(margin_l=_LEFT)

    def numbers(self) -> Numbers:
        matrices = self.matrices
        d_model, d_k = matrices.w_q.shape
        to_query, to_value = ("dimension", "of_query"), ("dimension", "of_value")
        axes: Axes = {
            "dimension": range(d_model),
            "of_query": range(d_k),
            "of_value": range(len(matrices.w_o)),
        }
        arrays: Arrays = {
            "w_q": (to_query, matrices.w_q),
            "w_k": (to_query, matrices.w_k),
            "w_v": (to_value, matrices.w_v),
            "w_o": (to_value[::-1], matrices.w_o),
        }
        return Numbers(of_head(self.site, self.head), axes, arrays)

    @property
    def setup(self) -> Lines:
        return [
            f"site = {public(self.site)}",
            f"matrices = translator.head_matrices(site, {self.head})",
        ]

    @property
    def _drawn(self) -> dict[str, FloatArray]:
        """The head's numbers down and the token's across, by name."""
        return {
            "W<sub>Q</sub>, to the query": self.matrices.w_q.T,
            "W<sub>K</sub>, to the key": self.matrices.w_k.T,
            "W<sub>V</sub>, to the value": self.matrices.w_v.T,
            "W<sub>O</sub>, back to the token": self.matrices.w_o,
        }
