"""Dimensions of a table of positions as waves, and a pair of them as points on a circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

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
from viz.draw import style, themes
from viz.links.request import Request
from viz.positions.axes import (
    NARROW_SQUARE_HEIGHT,
    SQUARE,
    SQUARE_HEIGHT,
    FormulaPicture,
    TablePicture,
    curve_axis,
    curve_layout,
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

TRAIL = 16
"""Steps behind the point that are drawn as a line; earlier ones are dots."""

_LEGEND_ENTRIES, _NARROW_LEGEND_ENTRIES = 3, 1
_DASHES = ("solid", "dash", "dot")
_WAVE_HOVER = "position <b>%{x}</b><br>value <b>%{y:.6~g}</b><extra>%{fullData.name}</extra>"
_CIRCLE_HOVER = "position <b>%{text}</b><br>(%{x:.4~f}, %{y:.4~f})<extra></extra>"


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
        if self.base is None:
            return [f"dimension {dimension}" for dimension in self.dimensions]
        turns = wavelengths(d_model, self.base)
        return [
            f"dimension {dimension} ({'cos' if dimension % 2 else 'sin'}), wavelength "
            f"{length_words(turns[dimension // 2])}"
            for dimension in self.dimensions
        ]

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
        table, dimensions, position = self.rows, self.dimensions, self.position
        names = self._line_names
        theme = themes.page(layout.dark)
        positions = np.arange(len(table))
        colors = theme.heads
        data = [
            {
                "type": "scatter",
                "x": positions,
                "y": np.ascontiguousarray(table[:, dimension]),
                "mode": "lines" if len(table) > 1 else "markers",
                "line": {
                    "color": colors[place % len(colors)],
                    "width": 2,
                    "dash": _DASHES[place // len(colors) % len(_DASHES)],
                },
                "hovertemplate": _WAVE_HOVER,
                "name": name,
                "showlegend": True,
            }
            for place, (dimension, name) in enumerate(zip(dimensions, names, strict=True))
        ]
        shown, marks = position_range(len(table)), []
        if position is not None:
            require_index("position", position, len(table))
            shown = _ends_around(position, len(table))
            ends = {"x0": position, "x1": position, "y0": 0, "y1": 1, "yref": "paper"}
            marks = [{"type": "line", **ends, "line": {"color": theme.text, "width": 1.5}}]
        limit = 1.05 * limit_of(table)
        entries = _NARROW_LEGEND_ENTRIES if layout.narrow else _LEGEND_ENTRIES
        spec = {
            **curve_layout(
                theme,
                "Dimensions over position",
                legend_rows=-(-len(names) // entries),
                narrow=layout.narrow,
                lines=["Across – position, up – value"] if layout.narrow else [],
            ),
            "xaxis": curve_axis(theme, "" if layout.narrow else "Position") | {"range": shown},
            "yaxis": curve_axis(theme, "" if layout.narrow else "Value")
            | {"range": [-limit, limit]},
            "shapes": marks,
        }
        return go.Figure({"data": data, "layout": spec})

    def numbers(self) -> Numbers:
        return table_numbers(self.rows, self.dimensions)


@dataclass(frozen=True, slots=True, eq=False)
class Waves(TablePicture, _Lines):
    """Dimensions of a table over position; fields as in _Lines."""

    slug = "waves"
    about = "dimensions of that table over position: --dimensions"

    rows: FloatArray
    dimensions: Sequence[int]
    base: float | None = BASE
    position: int | None = None

    title = "Dimensions over position"

    @classmethod
    def of(cls, request: Request) -> Waves:
        return cls(request.table, request.dimensions, request.translator.positions.base)

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

    slug = "circle"
    about = "a pair of dimensions as points: --dimensions (its first names the pair), --position"

    rows: FloatArray
    pair: int
    position: int
    base: float | None = BASE

    title = "A pair of dimensions as points"

    @classmethod
    def of(cls, request: Request) -> Circle:
        return cls(
            request.table,
            request.pair,
            request.arguments.position,
            request.translator.positions.base,
        )

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
        table, pair, position, base = self.rows, self.pair, self.position, self.base
        sine, cosine = pair_of(table, pair)
        require_index("position", position, len(table))
        theme = themes.page(layout.dark)
        data: list[dict[str, Any]] = []
        if on_circle(table, pair):
            radius = float(np.hypot(sine, cosine).mean())
            angles = np.linspace(0, 2 * math.pi, 181)
            data.append(
                {
                    "x": radius * np.cos(angles),
                    "y": radius * np.sin(angles),
                    "mode": "lines",
                    "line": {"color": theme.muted, "width": 1, "dash": "dot"},
                    "hoverinfo": "skip",
                    "name": "the circle that all positions lie on",
                }
            )
        trail = slice(max(0, position - TRAIL), position + 1)
        data += [
            {
                "x": cosine[:position],
                "y": sine[:position],
                "text": np.arange(position),
                "mode": "markers",
                "marker": {"color": theme.beside, "size": 6},
                "hovertemplate": _CIRCLE_HOVER,
                "name": "earlier positions",
            },
            {
                "x": cosine[trail],
                "y": sine[trail],
                "mode": "lines",
                "line": {"color": theme.beside, "width": 2},
                "hoverinfo": "skip",
                "name": "the last steps",
            },
            {
                "x": [0, cosine[position]],
                "y": [0, sine[position]],
                "mode": "lines",
                "line": {"color": theme.positive, "width": 2},
                "hoverinfo": "skip",
                "name": "from the origin",
            },
            {
                "x": [cosine[position]],
                "y": [sine[position]],
                "text": [position],
                "mode": "markers",
                "marker": {"color": theme.positive, "size": 14},
                "hovertemplate": _CIRCLE_HOVER,
                "name": "the position",
            },
        ]
        limit = 1.15 * limit_of(np.stack([sine, cosine]))
        across, up = f"Dimension {2 * pair + 1}", f"Dimension {2 * pair}"
        lines = [f"Across – {across.lower()}, up – {up.lower()}"] if layout.narrow else []
        if base is not None:
            turn = positions_words(wavelengths(table.shape[1], base)[pair])
            lines.append(f"One turn takes {turn}")
        spec = {
            **curve_layout(
                theme,
                f"Pair {pair} at position {position}",
                height=NARROW_SQUARE_HEIGHT if layout.narrow else SQUARE_HEIGHT,
                narrow=layout.narrow,
                lines=lines,
            ),
            "showlegend": False,
            "xaxis": curve_axis(theme, "" if layout.narrow else across)
            | SQUARE
            | {"range": [-limit, limit]},
            "yaxis": curve_axis(theme, "" if layout.narrow else up) | {"range": [-limit, limit]},
        }
        return go.Figure({"data": [{"type": "scatter", **trace} for trace in data], "layout": spec})

    def numbers(self) -> Numbers:
        return table_numbers(self.rows, (2 * self.pair, 2 * self.pair + 1))


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
