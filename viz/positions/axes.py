"""Axes, layouts of curves and a base class shared by figures of positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import FloatArray
from viz.draw import style, themes
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Picture

SQUARE_HEIGHT, NARROW_SQUARE_HEIGHT = style.COMFORTABLE_HEIGHT, 280
SQUARE = {"scaleanchor": "y", "constrain": "domain", "constraintoward": "left"}
"""An axis with the same scale as the other."""

_CURVE_HEIGHT = 320
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
        base: of the wavelengths.
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


def columns_in(room: int, values: NDArray[np.floating[Any]]) -> tuple[dict[str, Any], str]:
    """A heatmap's columns where `room` of them fit, and how many are left out, in words.

    Where a browser has fewer pixels than columns, it leaves out any; so whole pairs are left out,
    evenly, and those that stay are drawn wider. Their numbers are the heatmap's customdata.
    """
    rows, count = values.shape
    step = math.ceil(count / room)
    columns = style.pair_columns(count, step)
    numbers = np.tile(columns, (rows, 1))
    cells = {"z": values if step == 1 else values[:, columns], "customdata": numbers}
    if step == 1:
        return cells, ""
    return {**cells, "x0": (step - 1) / 2, "dx": step}, f", one pair in {step}"


def limit_of(values: NDArray[np.floating[Any]]) -> float:
    """The largest absolute value."""
    # All zeros, as with positions scaled to 0%, still need a scale.
    return float(np.abs(values).max()) or 1.0


def numbered_axis(title: str, length: int, **more: Any) -> dict[str, Any]:
    """An axis over 0, 1, … with labels at round numbers."""
    return {
        "title": style.axis_title(title),
        "range": [-0.5, length - 0.5],
        "tickmode": "auto",
        "nticks": 9,
        "tickformat": "d",
        "ticks": "",
        "ticklabelstandoff": 6,
        "tickfont": {"size": style.SMALL_FONT_SIZE},
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        **more,
    }


def curve_axis(theme: themes.Theme, title: str, **more: Any) -> dict[str, Any]:
    """An axis of curves."""
    return style.value_axis(theme, title, nticks=7, zerolinecolor=theme.muted, **more)


def curve_layout(
    theme: themes.Theme,
    title: str,
    *,
    height: int = _CURVE_HEIGHT,
    legend_rows: int = 0,
    narrow: bool = False,
    lines: Sequence[str] = (),
) -> dict[str, Any]:
    """The layout of curves: the title above the plot, the legend below it in rows."""
    axis = _NARROW_AXIS_HEIGHT if narrow else _AXIS_HEIGHT
    below = axis + style.LEGEND_HEIGHT * legend_rows
    return style.plain_layout(theme, title=title, height=height, below=below, lines=lines)


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
