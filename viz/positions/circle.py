"""A pair of dimensions of a table of positions as points on a circle."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.position_measures import (
    BASE,
    on_circle,
    pair_of,
    require_index,
    rotation_angles,
    wavelengths,
)
from model.trace.attention_map import FloatArray
from viz.charts.marks import Mark, line, points
from viz.draw import style
from viz.positions.axes import (
    NARROW_SQUARE_HEIGHT,
    SQUARE,
    SQUARE_HEIGHT,
    TablePicture,
    curve_axis,
    curves,
    limit_of,
    positions_words,
    table_numbers,
)
from viz.save.film import Series, Still
from viz.save.numbers import Numbers
from viz.save.picture import Layout

TRAIL = 16
"""Steps behind the point that are drawn as a line; earlier ones are dots."""

MOST_FILMED = 40
"""So many positions a film shows at most, one after another."""

_HOVER = "position <b>%{text}</b><br>(%{x:.4~f}, %{y:.4~f})"


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
        hover=_HOVER,
        legend=False,
        text=numbers,
        **look,
    )
