"""What is drawn in a plot: lines, bands, points, bars, cells and texts.

A mark is a function of the sheet it is drawn on. Colours are names of the theme's, numbers of its
heads, or colours. Names and hover texts are plain text, except for Plotly's %{…} and tags of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz.charts.scale import Scale
from viz.draw import style, themes
from viz.draw.labels import escape_html

Values = Sequence[Any] | NDArray[Any]
Color = str | int


@dataclass(slots=True, kw_only=True)
class Sheet:
    """One plot while its marks are drawn.

    Attributes:
        number: of the plot, from 0.
        height: of the plot in pixels.
        at: where marks stand across that name no places of their own.
        rows: the same, down.
        full: the height of the figure in pixels.
        marks: traces of the mark that is being drawn.
        last: traces that are in the legend alone.
    """

    theme: themes.Theme
    narrow: bool
    number: int
    height: int
    at: Any
    rows: Any
    scale: Scale | None
    full: float
    first: list[Any] = field(default_factory=list)
    marks: list[Any] = field(default_factory=list)
    last: list[Any] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def suffix(self) -> str:
        """Of the names of its axes."""
        return str(self.number + 1) if self.number else ""

    def drawn(self, mark: Mark) -> list[Any]:
        """The traces of a mark, but for cells and entries of the legend."""
        self.marks = []
        mark(self)
        return self.marks

    def add(self, trace: Mapping[str, Any], where: list[Any] | None = None) -> None:
        """A trace as Plotly takes it."""
        axes = {"xaxis": f"x{self.suffix}", "yaxis": f"y{self.suffix}"}
        (self.marks if where is None else where).append({**axes, **trace})

    def shape(self, **shape: Any) -> None:
        """A shape as Plotly takes it."""
        self.shapes.append({"xref": f"x{self.suffix}", "yref": f"y{self.suffix}", **shape})

    def note(self, **note: Any) -> None:
        """An annotation as Plotly takes it."""
        axes = {"xref": f"x{self.suffix}", "yref": f"y{self.suffix}", "showarrow": False}
        self.notes.append({**axes, **note})


Mark = Callable[[Sheet], None]


def line(
    name: str,
    y: Values,
    *,
    x: Values | None = None,
    color: Color = 0,
    width: float = 2,
    dash: str = "solid",
    dots: float = 0,
    hover: str = "",
    legend: bool = True,
    **more: Any,
) -> Mark:
    """A line, with dots of so many pixels; hover texts name the line at their side."""

    def draw(sheet: Sheet) -> None:
        sheet.add(
            {
                "type": "scatter",
                "mode": "lines+markers" if dots else "lines",
                "x": sheet.at if x is None else x,
                "y": y,
                "name": escape_html(name),
                "showlegend": legend,
                "line": {"color": sheet.theme.color(color), "width": width, "dash": dash},
                **({"marker": {"size": dots}} if dots else {}),
                **_hover(hover, "<extra>%{fullData.name}</extra>"),
                **more,
            }
        )

    return draw


def band(name: str, low: Values, high: Values, *, color: Color = 0, legend: bool = True) -> Mark:
    """Everything between two lines, shaded."""

    def draw(sheet: Sheet) -> None:
        edge = {
            **{"type": "scatter", "mode": "lines", "x": sheet.at, "name": escape_html(name)},
            **{"line": {"width": 0}, "hoverinfo": "skip"},
        }
        shade = sheet.theme.color(color)
        fill = {
            "fill": "tonexty",
            "fillcolor": themes.pale(shade) if isinstance(color, int) else shade,
        }
        sheet.add({**edge, "y": low, "showlegend": False})
        sheet.add({**edge, "y": high, "showlegend": legend, **fill})

    return draw


def points(
    x: Values,
    y: Values | None = None,
    *,
    name: str = "",
    color: Color | Sequence[Color] = 0,
    size: float | Sequence[float] = 9,
    symbol: str | Sequence[str] = "circle",
    opacity: float = 1,
    edge: float = 0,
    edge_color: Color | Sequence[Color] | None = None,
    texts: Sequence[str] = (),
    hover: str = "",
    legend: bool = True,
    **more: Any,
) -> Mark:
    """Points, with an edge of so many pixels; one below the other if they have no heights."""

    def draw(sheet: Sheet) -> None:
        line: dict[str, Any] = {"width": edge}
        if edge_color is not None:
            line["color"] = _colors(sheet, edge_color)
        sheet.add(
            {
                "type": "scatter",
                "mode": "markers+text" if texts else "markers",
                "x": x,
                "y": sheet.rows if y is None else y,
                "name": escape_html(name),
                "showlegend": legend and bool(name),
                "marker": {
                    **{"size": size, "symbol": symbol, "opacity": opacity, "line": line},
                    "color": _colors(sheet, color),
                },
                **_texts(sheet, texts),
                **_hover(hover),
                **more,
            }
        )

    return draw


def bars(
    lengths: Values,
    *,
    down: bool = True,
    at: Values | None = None,
    name: str = "",
    color: Color | Sequence[Color] = "beside",
    hatched: Values = (),
    texts: Sequence[str] = (),
    hover: str = "",
    legend: bool = True,
    **more: Any,
) -> Mark:
    """Bars, one below the other or side by side, with texts at their ends; some are hatched."""

    def draw(sheet: Sheet) -> None:
        places = (sheet.rows if down else sheet.at) if at is None else at
        sides: dict[str, Any] = {"x": places, "y": lengths}
        if down:
            sides = {"orientation": "h", "x": lengths, "y": places}
        sheet.add(
            {
                "type": "bar",
                **sides,
                "name": escape_html(name),
                "showlegend": legend and bool(name),
                "marker": {
                    **{"color": _colors(sheet, color), "line": {"width": 0}},
                    **({"pattern": _hatch(sheet, hatched)} if len(hatched) else {}),
                },
                **_texts(sheet, texts, textposition="outside", cliponaxis=False),
                **_hover(hover),
                **more,
            }
        )

    return draw


def cells(
    values: NDArray[Any],
    *,
    name: str = "",
    gap: float = 1,
    hover: str = "",
    scale: Scale | None = None,
    **more: Any,
) -> Mark:
    """A heatmap in the chart's colours, or in a scale of its own."""

    def draw(sheet: Sheet) -> None:
        colors: dict[str, Any] = {"coloraxis": "coloraxis"}
        if scale:
            colors = scale.own(sheet.theme, sheet.narrow, sheet.full)
        sheet.add(
            {
                **{"type": "heatmap", "z": values, "xgap": gap, "ygap": gap, "name": name},
                **colors,
                **_hover(hover),
                **more,
            },
            sheet.first,
        )

    return draw


def grey(hidden: NDArray[np.bool_], gap: float, *, hover: str = "", **more: Any) -> Mark:
    """A grey ground over cells."""

    def draw(sheet: Sheet) -> None:
        color = sheet.theme.forbidden
        sheet.add(
            {
                **{"type": "heatmap", "z": np.where(hidden, np.float32(1), np.float32(np.nan))},
                **{"zmin": 0, "zmax": 1, "colorscale": [[0, color], [1, color]]},
                **{"showscale": False, "hoverongaps": False, "xgap": gap, "ygap": gap},
                "name": "not allowed",
                **_hover(hover),
                **more,
            }
        )

    return draw


def cell_texts(
    values: NDArray[Any],
    texts: Sequence[str],
    *,
    where: NDArray[np.bool_] | None = None,
    size: int = style.SMALL_FONT_SIZE,
    scale: Scale | None = None,
    **more: Any,
) -> Mark:
    """A text in each cell, or in those of `where`, row by row, in black or white."""

    def draw(sheet: Sheet) -> None:
        used = scale or sheet.scale
        assert used is not None, "cells have a scale"
        rows, columns = np.nonzero(np.ones(values.shape) if where is None else where)
        colors = [used.ink(sheet.theme, value) for value in values[rows, columns].tolist()]
        sheet.add(style.cell_texts(columns, rows, list(texts), colors, size, **more))

    return draw


def frames(
    places: Iterable[tuple[int, int]],
    *,
    rows: int = 1,
    columns: int = 1,
    color: Color = "accent",
    width: float = 3,
) -> Mark:
    """Frames, each around a block of cells whose upper left one is a place (row, column)."""

    def draw(sheet: Sheet) -> None:
        for row, column in places:
            sheet.shape(
                **{"type": "rect", "x0": column - 0.5, "x1": column + columns - 0.5},
                **{"y0": row - 0.5, "y1": row + rows - 0.5},
                line={"color": sheet.theme.color(color), "width": width},
            )

    return draw


def notes(x: float, texts: Sequence[str], **more: Any) -> Mark:
    """A text in each row, at a number."""

    def draw(sheet: Sheet) -> None:
        font = {"size": style.SMALL_FONT_SIZE, "color": sheet.theme.text}
        for row, text in enumerate(texts):
            sheet.note(text=escape_html(text), x=x, y=row, font=font, **more)

    return draw


def rule(
    *,
    x: float | None = None,
    y: float | None = None,
    color: Color = "muted",
    layer: str = "below",
    **line: Any,
) -> Mark:
    """A line through the whole plot at a number, below or above all else; `line` is Plotly's."""

    def draw(sheet: Sheet) -> None:
        ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
        if y is None:
            ends = {"x0": x, "x1": x, "yref": f"y{sheet.suffix} domain", "y0": 0, "y1": 1}
        style_of = {"color": sheet.theme.color(color), **line}
        sheet.shape(type="line", layer=layer, **ends, line=style_of)

    return draw


def spans(starts: Values, ends: Values, *, color: Color = "grid", width: float = 3) -> Mark:
    """A line in each row from one number to another, behind all else."""

    def draw(sheet: Sheet) -> None:
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            sheet.shape(
                **{"type": "line", "layer": "below", "x0": start, "x1": end, "y0": row, "y1": row},
                line={"width": width, "color": sheet.theme.color(color)},
            )

    return draw


def in_legend(mark: Mark) -> Mark:
    """What a mark adds to the legend, without the mark, after all that is drawn."""

    def draw(sheet: Sheet) -> None:
        before = sheet.marks
        for trace in sheet.drawn(mark):
            sheet.add({**trace, "x": [None], "y": [None], "showlegend": True}, sheet.last)
        sheet.marks = before

    return draw


def legend_square(name: str, color: Color) -> Mark:
    """A colour in the legend alone."""
    look: dict[str, Any] = {"symbol": "square", "size": 14, "edge": 1, "edge_color": "hatch"}
    return in_legend(points([], name=name, color=color, **look))


def _colors(sheet: Sheet, color: Color | Sequence[Color]) -> str | list[str]:
    if isinstance(color, str | int):
        return sheet.theme.color(color)
    return [sheet.theme.color(each) for each in color]


def _hatch(sheet: Sheet, hatched: Values) -> dict[str, Any]:
    return {
        **{"shape": np.where(hatched, "/", ""), "size": 7, "solidity": 0.2},
        **{"fgcolor": sheet.theme.hatch, "bgcolor": sheet.theme.forbidden},
        "fillmode": "overlay",
    }


def _texts(sheet: Sheet, texts: Sequence[str], **more: Any) -> dict[str, Any]:
    if not texts:
        return {}
    font = {"size": style.SMALL_FONT_SIZE, "color": sheet.theme.text}
    return {"text": [*map(escape_html, texts)], "textfont": font, **more}


def _hover(text: str, extra: str = "<extra></extra>") -> dict[str, Any]:
    """Nothing is shown under the pointer without a text."""
    if not text:
        return {"hoverinfo": "skip"}
    return {"hovertemplate": text if "<extra>" in text else text + extra}
