"""Axes, layouts of curves and a base class shared by figures of positions."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import FloatArray
from viz.charts.axes import Axis, number_axis
from viz.charts.chart import HEIGHT, Plot, chart
from viz.charts.marks import Mark
from viz.draw import style
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

SQUARE_HEIGHT, NARROW_SQUARE_HEIGHT = style.COMFORTABLE_HEIGHT, 280
SQUARE: dict[str, Any] = {"scaleanchor": "y", "constrain": "domain", "constraintoward": "left"}
"""An axis with the same scale as the other."""

_AXIS_HEIGHT, _NARROW_AXIS_HEIGHT = 54, 30


class TablePicture(Picture):
    """A picture of a table of positions.

    Attributes:
        rows: (position, d_model).
    """

    __slots__ = ()

    rows: FloatArray

    @property
    def setup(self) -> Lines:
        return [f"rows = translator.position_table({len(self.rows)})"]


class FormulaPicture(Picture):
    """A picture of the formula's table (section 3.5), for any model.

    Attributes:
        rows: from `model.explain.position_measures.formula_table`, (position, d_model).
    """

    __slots__ = ()
    needs_model = False
    origin = ()

    rows: FloatArray
    base: float

    @property
    def texts(self) -> Mapping[str, str]:
        return {"made_by": f"the formula of section 3.5, base {self.base:g}"}

    @property
    def setup(self) -> Lines:
        length, d_model = self.rows.shape
        return [
            f"base = {self.base!r}",
            f"rows = hs.figures.formula_table({d_model}, {length}, base)",
        ]


def table_numbers(table: FloatArray, dimensions: Sequence[int] | None = None) -> Numbers:
    """A table's numbers, all of them or some dimensions."""
    columns = range(table.shape[1]) if dimensions is None else dimensions
    return Numbers(
        {},
        {"position": range(len(table)), "dimension": columns},
        {"value": (("position", "dimension"), table[:, list(columns)])},
    )


def columns_in(
    room: int, values: NDArray[np.floating[Any]]
) -> tuple[NDArray[np.floating[Any]], dict[str, Any], str]:
    """A heatmap's columns where `room` of them fit.

    Where a browser has fewer pixels than columns, it leaves out any; so whole pairs are left out,
    evenly, and those that stay are drawn wider.

    Returns:
        the columns, where they lie for `cells` with their numbers as its customdata, and how many
        are left out, in words.
    """
    rows, count = values.shape
    step = math.ceil(count / room)
    columns = style.pair_columns(count, step)
    placed: dict[str, Any] = {"customdata": np.tile(columns, (rows, 1))}
    if step == 1:
        return values, placed, ""
    placed |= {"x0": (step - 1) / 2, "dx": step}
    return values[:, columns], placed, f", one pair in {step}"


def limit_of(values: NDArray[np.floating[Any]]) -> float:
    """The largest absolute value."""
    # All zeros, as with positions scaled to 0%, still need a scale.
    return float(np.abs(values).max()) or 1.0


def place_axis(title: str, length: int, *, down: bool = False, **more: Any) -> Axis:
    """An axis over 0, 1, … with labels at round numbers."""
    ends = [length - 0.5, -0.5] if down else [-0.5, length - 0.5]
    ticks = {"nticks": 9, "tickformat": "d", "ticks": "", "ticklabelstandoff": 6, "showgrid": False}
    return number_axis(title, range=ends, **ticks, **more)


def curves(
    layout: Layout,
    title: str,
    across: Axis,
    up: Axis,
    marks: Sequence[Mark],
    *,
    height: int = HEIGHT,
    legend: tuple[int, int] = (0, 0),
    **more: Any,
) -> go.Figure:
    """Lines over numbers, with so many rows of legend below them, wide and narrow."""
    wide, narrow = (style.LEGEND_HEIGHT * rows for rows in legend)
    return chart(
        layout,
        title,
        Plot(across=across, up=up, marks=marks, height=height),
        lines=[f"Across – {across.line}, up – {up.line}"],
        below=(_AXIS_HEIGHT + wide, _NARROW_AXIS_HEIGHT + narrow),
        **more,
    )


def curve_axis(title: str, at: Any = None, **more: Any) -> Axis:
    """An axis of curves."""
    return number_axis(title, at, nticks=7, **more)


def position_range(length: int) -> list[float]:
    """The range of an axis of positions."""
    # A single position still needs a width.
    return [0, length - 1] if length > 1 else [-0.5, 0.5]


def positions_words(turn: float) -> str:
    """A number of positions, such as "6.28 positions"."""
    return f"{length_words(turn)} positions"


def length_words(turn: float) -> str:
    """The number alone."""
    return f"{turn:,.0f}" if turn >= 100 else style.number(turn)
