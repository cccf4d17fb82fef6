"""One map, or two of the same tokens side by side, with marks on their cells."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import BoolArray, FloatArray, Tokens
from viz.draw import style, themes
from viz.draw.cells import cell_names, forbidden_traces
from viz.draw.labels import escape_html, side_texts
from viz.effects.head_map import lower_first
from viz.save.picture import Layout, Picture

Cells = Sequence[tuple[int, int]]

COSTLIEST, GREATEST = "costs most when deleted", "greatest in this row of the map"
"""The meaning of marks: on a source token, and on a cell."""

_BETWEEN, _BELOW = 0.04, 40
"""The gap between two maps: side by side, as a share of the plot; stacked, in pixels."""

_BAR, _NARROW_BAR = 200, 110
_SYMBOLS = {COSTLIEST: ("circle-open", 0.62, 14), GREATEST: ("circle", 0.24, 8)}
"""The symbol of each mark, its size as a share of a row's height, and in the legend in pixels."""

_LINE = 46
"""Characters that fit into a line below a narrow figure's title."""

_LARGEST_ROW = 30
"""The row height in pixels from which on marks grow no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One map.

    Attributes:
        name: its heading, in sentence case.
        short_name: the same for a colour bar with little room.
        unit: of its numbers.
        values: (row, column).
        marks: the cells with each mark, by the mark's meaning.
        allowed: (row, column); other cells are hatched. None if all are allowed.
    """

    name: str
    short_name: str
    unit: str
    values: FloatArray
    marks: dict[str, Cells]
    allowed: BoolArray | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The rows and columns of maps.

    Attributes:
        rows: one token each.
        columns: one token each.
        row_title: such as "Target token predicted".
        column_title: such as "Source token".
    """

    rows: Tokens
    columns: Tokens
    row_title: str
    column_title: str


class SideBySide(Picture):
    """One map or two of the same tokens, each on its own scale."""

    __slots__ = ()

    @property
    @abstractmethod
    def panels(self) -> list[Panel]:
        """The maps."""

    @property
    @abstractmethod
    def sides(self) -> Sides:
        """Their rows and columns."""

    @property
    @abstractmethod
    def narrow_title(self) -> str:
        """The title of a narrow figure, with the whole title in lines below it; "" for none."""

    @property
    @abstractmethod
    def framed(self) -> int | None:
        """The row that is framed, from 0; None for none."""

    def figure(self, layout: Layout) -> go.Figure:
        """The first traces are the maps, their values unchanged."""
        panels, sides, title = self.panels, self.sides, self.title
        theme, narrow, narrow_title = themes.page(layout.dark), layout.narrow, self.narrow_title
        n_rows, n_columns = panels[0].values.shape
        columns = side_texts(sides.columns, narrow)
        plot = style.plot_height(n_rows)
        count = len(panels)
        room = style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH // count
        labels = style.labels_height(columns, room)
        full = count * plot + (count - 1) * (_BELOW + labels) if narrow else plot
        lines = [
            *(map(escape_html, textwrap.wrap(title, _LINE)) if narrow_title else ()),
            f"Rows – {lower_first(sides.row_title)}",
            f"Columns – {lower_first(sides.column_title)}",
        ]
        shared = style.layout(
            theme,
            title=escape_html((narrow and narrow_title) or title),
            height=full,
            top=labels + (style.LINE_HEIGHT if narrow else 0),
            lines=lines if narrow else [],
        )
        below = (
            style.BOTTOM + 2 * style.LEGEND_HEIGHT if narrow else style.BOTTOM + style.LEGEND_HEIGHT
        )
        spec: dict[str, Any] = {
            **style.with_bottom(shared, below),
            "legend": style.legend_below(shared),
            "shapes": [],
        }
        names = cell_names(sides.rows, sides.columns)
        gap = 1 if n_rows <= style.NUMBERED_ROWS else 0
        maps, hatched, marks = [], [], []
        for place, panel in enumerate(panels):
            suffix = ("", "2")[place]
            axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
            scale = _scale(panel.values, theme)
            bar = style.value_bar(theme, scale["zmax"], panel.unit)
            if scale["zmin"] == 0:
                bar |= {"tickvals": [0, scale["zmax"]], "ticktext": ["0", f"{scale['zmax']:.3g}"]}
            if narrow:
                # Two of them share the width of a phone, so they name the map, not the unit.
                bar["title"]["text"] = panel.short_name
                bar |= {"x": place, "xanchor": ("left", "right")[place], "len": _NARROW_BAR}
            else:
                bar |= {"x": place * (1 + _BETWEEN) / 2, "len": _BAR}
            bar["y"] = (below - style.BOTTOM) / spec["height"]
            maps.append(
                {
                    "type": "heatmap",
                    "z": panel.values,
                    **scale,
                    "colorbar": bar,
                    "xgap": gap,
                    "ygap": gap,
                    "customdata": names,
                    "hovertemplate": style.hover_template(named=names is not None, unit=panel.unit),
                    "name": panel.name,
                    **axes,
                }
            )
            if panel.allowed is not None and not panel.allowed.all():
                forbidden = forbidden_traces(~panel.allowed, names, theme, gap)
                # One legend entry is enough for both maps.
                hatched += [each.update(axes) for each in forbidden]
                hatched[-1].showlegend = not place
            marks += [
                _mark(mark, cells, panel.values, scale, plot, theme) | axes
                for mark, cells in panel.marks.items()
            ]
            top = full if not (narrow and place) else plot
            across = [0.0, 1.0]
            if count == 2 and not narrow:
                across = [[0.0, (1 - _BETWEEN) / 2], [(1 + _BETWEEN) / 2, 1.0]][place]
            spec[f"xaxis{suffix}"] = style.axis(
                _heading(panel, narrow),
                [escape_html(text) for text in columns],
                style.label_step(
                    n_columns,
                    style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS // count,
                ),
                range=[-0.5, n_columns - 0.5],
                domain=across,
                anchor=f"y{suffix}",
                side="top",
                autotickangles=[0, -90] if narrow else [0, -45, -90],
            )
            spec[f"yaxis{suffix}"] = style.axis(
                "" if narrow or place else sides.row_title,
                [escape_html(text) for text in side_texts(sides.rows, narrow)],
                style.label_step(n_rows, plot // style.MIN_ROW_HEIGHT),
                range=[n_rows - 0.5, -0.5],
                domain=[max(0.0, (top - plot) / full), top / full],
                anchor=f"x{suffix}",
                showticklabels=narrow or not place,
            )
            if self.framed is not None:
                spec["shapes"].append(_frame(self.framed, n_columns, suffix, theme))
        used = dict.fromkeys(mark for panel in panels for mark in panel.marks)
        return go.Figure(
            {
                "data": [*maps, *hatched, *marks, *(_legend(mark, theme) for mark in used)],
                "layout": spec,
            }
        )


def _heading(panel: Panel, narrow: bool) -> str:
    is_named = narrow or panel.unit in lower_first(panel.name)
    return f"<b>{panel.name}</b>" + ("" if is_named else f" – {panel.unit}")


def greatest(values: FloatArray) -> list[tuple[int, int]]:
    """The largest cells of each row; none if all cells of a row are equal."""
    return [
        (row, int(column))
        for row, each in enumerate(values)
        if each.min() < each.max()
        for column in np.flatnonzero(each == each.max())
    ]


def _scale(values: FloatArray, theme: themes.Theme) -> dict[str, Any]:
    """From 0 up, or on both sides of 0 if a value is negative."""
    limit = max(float(np.nanmax(np.abs(values))), 1e-6)
    if np.nanmin(values) < 0:
        return {"zmin": -limit, "zmax": limit, "colorscale": theme.signed_colorscale}
    return {"zmin": 0, "zmax": limit, "colorscale": theme.colorscale}


def _mark(
    mark: str,
    cells: Cells,
    values: FloatArray,
    scale: dict[str, Any],
    plot: int,
    theme: themes.Theme,
) -> dict[str, Any]:
    symbol, share, _ = _SYMBOLS[mark]
    low, high = scale["zmin"], scale["zmax"]
    ink = theme.signed_ink if low < 0 else theme.ink
    shown = [float(values[cell]) for cell in cells]
    colors = [
        theme.text if np.isnan(value) else ink((value - low) / (high - low)) for value in shown
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [column for _, column in cells],
        "y": [row for row, _ in cells],
        "marker": {
            "symbol": symbol,
            "size": share * min(plot / len(values), _LARGEST_ROW),
            "color": colors,
            "line": {"width": 2},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _legend(mark: str, theme: themes.Theme) -> dict[str, Any]:
    symbol, _, size = _SYMBOLS[mark]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [None],
        "y": [None],
        "marker": {
            "symbol": symbol,
            "size": size,
            "color": theme.text,
            "line": {"width": 2, "color": theme.text},
        },
        "name": mark,
        "showlegend": True,
    }


def _frame(token: int, n_columns: int, suffix: str, theme: themes.Theme) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": f"x{suffix}",
        "yref": f"y{suffix}",
        "x0": -0.5,
        "x1": n_columns - 0.5,
        "y0": token - 0.5,
        "y1": token + 0.5,
        "line": {"color": theme.accent, "width": 3},
    }
