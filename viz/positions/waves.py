"""Dimensions of a table of positions as waves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.explain.position_measures import (
    BASE,
    Values,
    require_index,
    require_table,
    wavelengths,
)
from model.trace.attention_map import FloatArray
from viz.charts.marks import line, rule
from viz.draw import style, themes
from viz.positions.axes import (
    FormulaPicture,
    TablePicture,
    curve_axis,
    curves,
    length_words,
    limit_of,
    position_range,
    positions_words,
    table_numbers,
)
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

NO_DIMENSION = "Choose a dimension to see its wave."

AROUND = 32
"""Positions shown on either side of a marked one; more would hide fast waves."""

_LEGEND_ENTRIES, _NARROW_LEGEND_ENTRIES = 3, 1
_DASHES = ("solid", "dash", "dot")
_WAVE_HOVER = "position <b>%{x}</b><br>value <b>%{y:.6~g}</b>"


def wave_names(d_model: int, base: float | None) -> list[str]:
    """What is said of every dimension of a table after its number; nothing of learned ones."""
    if base is None:
        return [""] * d_model
    turns = wavelengths(d_model, base)
    return [
        f" ({'cos' if dimension % 2 else 'sin'}), wavelength {length_words(turns[dimension // 2])}"
        for dimension in range(d_model)
    ]


class _Lines(Picture):
    """Dimensions over position, one line each.

    Attributes:
        rows: (position, d_model).
        dimensions: those to draw, in this order.
        base: of the wavelengths; None for a table that was learned.
        position: marked by a vertical line, with AROUND positions on either side; None marks none.

    Raises:
        IndexError: if there is no such dimension or position.
        ValueError: if the table is empty or not finite, or no formula has its width and base.
    """

    __slots__ = ()

    rows: FloatArray
    dimensions: Sequence[int]
    base: float | None
    position: int | None

    @property
    def _line_names(self) -> list[str]:
        require_table(self.rows)
        d_model = self.rows.shape[1]
        for dimension in self.dimensions:
            require_index("dimension", dimension, d_model)
        names = wave_names(d_model, self.base)
        return [f"dimension {dimension}{names[dimension]}" for dimension in self.dimensions]

    @property
    def alt(self) -> str:
        names = "; ".join(self._line_names) or "none is chosen"
        length = style.count_of(len(self.rows), "position")
        return f"Dimensions over {length}, one line each: {names}."

    @property
    def caption(self) -> str:
        if self.position is not None:
            return "The same two numbers as waves; the vertical line marks the point’s position."
        if self.base is None:
            return "These dimensions were learned: they need not be waves and have no wavelength."
        if not self.dimensions:
            return NO_DIMENSION
        length, turns = len(self.rows), wavelengths(self.rows.shape[1], self.base)
        fast, slow = min(self.dimensions), max(self.dimensions)
        if self.base < 1:
            fast, slow = slow, fast
        if fast // 2 == slow // 2:
            return f"Dimension {fast} {_turning(fast, turns, length)}."
        return (
            f"Dimension {fast} {_turning(fast, turns, length)}; dimension {slow} "
            f"{_turning(slow, turns, length)}."
        )

    @property
    def more(self) -> str:
        if self.base is None or self.position is not None or not self.dimensions:
            return ""
        return (
            "The wavelength of dimensions 2i and 2i + 1 is "
            f"2π · {self.base:,.0f}^(2i / {self.rows.shape[1]}) positions."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """One line per dimension, with its wavelength in its name."""
        table, position = self.rows, self.position
        marks = [
            line(
                name,
                np.ascontiguousarray(table[:, dimension]),
                color=place,
                dash=_DASHES[place // len(themes.LIGHT.heads) % len(_DASHES)],
                hover=_WAVE_HOVER,
                mode="lines" if len(table) > 1 else "markers",
            )
            for place, (dimension, name) in enumerate(
                zip(self.dimensions, self._line_names, strict=True)
            )
        ]
        shown, limit = position_range(len(table)), 1.05 * limit_of(table)
        rows = [-(-len(marks) // entries) for entries in (_LEGEND_ENTRIES, _NARROW_LEGEND_ENTRIES)]
        if position is not None:
            require_index("position", position, len(table))
            shown = _ends_around(position, len(table))
            marks.append(rule(x=position, color="text", width=1.5, layer="above"))
        return curves(
            layout,
            "Dimensions over position",
            curve_axis("Position", np.arange(len(table)), range=shown),
            curve_axis("Value", range=[-limit, limit]),
            marks,
            legend=(rows[0], rows[1]),
        )

    def numbers(self) -> Numbers:
        return table_numbers(self.rows, self.dimensions)


@dataclass(frozen=True, slots=True, eq=False)
class Waves(TablePicture, _Lines):
    """Dimensions of a table over position; fields as in _Lines."""

    rows: FloatArray
    dimensions: Sequence[int]
    base: float | None = BASE
    position: int | None = None

    title = "Dimensions over position"

    @property
    def name(self) -> str:
        return "waves" if self.position is None else f"waves-pair{self.dimensions[0] // 2}"


@dataclass(frozen=True, slots=True, eq=False)
class FormulaWaves(FormulaPicture, _Lines):
    """Dimensions of the formula's table over position."""

    rows: FloatArray
    dimensions: Sequence[int]
    base: float

    title = "Dimensions of the formula over position"
    name = "formula-waves"
    position = None


def _ends_around(position: int, length: int) -> list[float]:
    """The range of positions around one; near an edge, as many positions as elsewhere."""
    low = max(0, min(position - AROUND, length - 1 - 2 * AROUND))
    return position_range(length) if length <= 2 * AROUND else [low, low + 2 * AROUND]


def _turning(dimension: int, turns: Values, length: int) -> str:
    turn = float(turns[dimension // 2])
    around = length / turn
    share = (
        f"{around:,.1f} times over the {style.count_of(length, 'position')} shown"
        if around >= 1
        else f"{_percent(around)} of one turn over the {style.count_of(length, 'position')} shown"
    )
    return f"turns once in {positions_words(turn)}, {share}"


def _percent(share: float) -> str:
    return style.percent(share) if share >= 0.01 else "less than 1%"
