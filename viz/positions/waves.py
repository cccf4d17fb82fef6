"""Dimensions of a table of positions as waves, and a pair of them as points on a circle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.position_measures import (
    BASE,
    Values,
    on_circle,
    pair_of,
    require_index,
    require_table,
    rotation_angles,
    wavelengths,
)
from model.trace.attention_map import FloatArray
from viz.charts.marks import Mark, line, points, rule
from viz.draw import style, themes
from viz.positions.axes import (
    NARROW_SQUARE_HEIGHT,
    SQUARE,
    SQUARE_HEIGHT,
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
from viz.save.film import Series, Still
from viz.save.numbers import Numbers
from viz.save.picture import Layout, Picture

NO_DIMENSION = "Choose a dimension to see its wave."

AROUND = 32
"""Positions shown on either side of a marked one; more would hide fast waves."""

TRAIL = 16
"""Steps behind the point that are drawn as a line; earlier ones are dots."""

MOST_FILMED = 40
"""So many positions a film shows at most, one after another."""

_LEGEND_ENTRIES, _NARROW_LEGEND_ENTRIES = 3, 1
_DASHES = ("solid", "dash", "dot")
_WAVE_HOVER = "position <b>%{x}</b><br>value <b>%{y:.6~g}</b>"
_CIRCLE_HOVER = "position <b>%{text}</b><br>(%{x:.4~f}, %{y:.4~f})"


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


@dataclass(frozen=True, slots=True, eq=False)
class Circle(TablePicture):
    """A pair of dimensions, sine and cosine of one frequency, as a point for each position.

    Attributes:
        rows: (position, d_model), d_model even.
        pair: counted from 0.
        position: of the point; earlier ones are its trail.
        base: of the wavelengths; None for a table that was learned.

    Raises:
        ValueError: if d_model is odd.
        IndexError: if there is no such pair or position.
    """

    rows: FloatArray
    pair: int
    position: int
    base: float | None = BASE

    title = "A pair of dimensions as points"

    @property
    def name(self) -> str:
        return f"circle-pair{self.pair}"

    @property
    def alt(self) -> str:
        sine, cosine = pair_of(self.rows, self.pair)
        require_index("position", self.position, len(self.rows))
        where = "on a circle" if on_circle(self.rows, self.pair) else "on no circle"
        across, up = float(cosine[self.position]), float(sine[self.position])
        return (
            f"Dimensions {2 * self.pair} and {2 * self.pair + 1} of all positions as points "
            f"{where}; position {self.position} stands at {style.number(across)} across and "
            f"{style.number(up)} up."
        )

    @property
    def caption(self) -> str:
        if not on_circle(self.rows, self.pair):
            return (
                "These two dimensions trace no circle: their distance from the origin changes with "
                "the position, so a shift is not a rotation here."
            )
        return "The pair is a point on a circle; a later position is the same point turned further."

    @property
    def more(self) -> str:
        if not on_circle(self.rows, self.pair):
            return ""
        turned = ""
        if len(self.rows) > 1:
            step = math.degrees(float(rotation_angles(self.rows, 1)[self.pair]))
            turned = f" Each step turns it by {style.number(step)}°."
        return f"The sine runs up and the cosine across.{turned} Measured on the table."

    def figure(self, layout: Layout) -> go.Figure:
        """The cosine runs across and the sine up: a point starts on the right and turns left.

        The circle is drawn only if the table's own points lie on one.
        """
        table, pair, position = self.rows, self.pair, self.position
        sine, cosine = pair_of(table, pair)
        require_index("position", position, len(table))
        marks: list[Mark] = []
        if on_circle(table, pair):
            radius = float(np.hypot(sine, cosine).mean())
            angles = np.linspace(0, 2 * math.pi, 181)
            ring = radius * np.sin(angles), radius * np.cos(angles)
            name = "the circle that all positions lie on"
            marks.append(_stroke(name, *ring, color="muted", width=1, dash="dot"))
        trail = slice(max(0, position - TRAIL), position + 1)
        now, origin = slice(position, position + 1), np.zeros(1)
        spoke = [np.concatenate([origin, part[now]]) for part in (sine, cosine)]
        marks += [
            _dots("earlier positions", sine, cosine, slice(position), color="beside", size=6),
            _stroke("the last steps", sine[trail], cosine[trail], color="beside"),
            _stroke("from the origin", *spoke, color="positive"),
            _dots("the position", sine, cosine, now, color="positive", size=14),
        ]
        limit = 1.15 * limit_of(np.stack([sine, cosine]))
        ends = [-limit, limit]
        across, up = f"Dimension {2 * pair + 1}", f"Dimension {2 * pair}"
        turn = []
        if self.base is not None:
            turns = positions_words(wavelengths(table.shape[1], self.base)[pair])
            turn = [f"One turn takes {turns}"]
        return curves(
            layout,
            f"Pair {pair} at position {position}",
            curve_axis(across, **SQUARE, range=ends),
            curve_axis(up, range=ends),
            marks,
            height=NARROW_SQUARE_HEIGHT if layout.narrow else SQUARE_HEIGHT,
            always=turn,
        )

    def film(self) -> Series:
        """The point moves from position to position, at most `MOST_FILMED` of them."""
        count = min(len(self.rows), MOST_FILMED)
        return Series(
            count, lambda place: Still(replace(self, position=place).figure, self.caption)
        )

    def numbers(self) -> Numbers:
        return table_numbers(self.rows, (2 * self.pair, 2 * self.pair + 1))


def _stroke(name: str, up: NDArray[Any], across: NDArray[Any], **look: Any) -> Mark:
    """A line of the circle."""
    return line(name, up, x=across, legend=False, **look)


def _dots(name: str, up: NDArray[Any], across: NDArray[Any], places: slice, **look: Any) -> Mark:
    """Positions on the circle."""
    numbers = np.arange(len(up))[places]
    return points(
        *(across[places], up[places]),
        name=name,
        hover=_CIRCLE_HOVER,
        legend=False,
        text=numbers,
        **look,
    )


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
