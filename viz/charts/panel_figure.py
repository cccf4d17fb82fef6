"""Panels as figures: one alone, or several side by side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import Tokens
from viz.charts.axes import Axis, label_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import Mark, cell_texts, cells, grey, legend_square
from viz.charts.panel_plan import (
    EDGE,
    LEAST_CELL,
    NUMBERED_CELL,
    WIDE,
    PanelPlace,
    Plan,
    lie_flat,
    plan_of,
)
from viz.charts.scale import Scale
from viz.charts.texts import corner_note
from viz.charts.token_map import key_axis, keys_height
from viz.draw import style
from viz.draw.labels import escape_html, side_texts
from viz.draw.panels import Panel

_BAR_LENGTHS, _BAR_SLOT, _BAR_HEIGHT = (150, 110), 190, 58
"""Pixels of a colour bar, wide and narrow, and of its place."""

_NARROWEST = 340
"""Pixels of a narrow figure at least."""

_BAR_EDGE = 30
"""Pixels to the left of a colour bar, for half of its first number."""

_QUERY, _KEY = "Query", "Key"
"""The default names of the axes."""


def panel_figure(panel: Panel, layout: Layout) -> go.Figure:
    """One matrix: queries down, keys across, categories with a legend or numbers with a bar.

    The first trace's z is the panel's values, unchanged; cells that it does not show lie grey above
    it.
    """
    n_queries, n_keys = panel.values.shape
    columns = style.NARROW_NUMBERED_COLUMNS if layout.narrow else style.NUMBERED_COLUMNS
    gap = 1 if n_queries <= style.NUMBERED_ROWS and n_keys <= columns else 0
    scale = _scale(panel, layout, (style.BAR, style.NARROW_BAR))
    rows, across = panel.query_title, panel.key_title
    return chart(
        layout,
        panel.title,
        Plot(
            across=key_axis(across, panel.keys, layout),
            up=label_axis(rows, panel.queries),
            marks=_marks(panel, scale, gap, layout, has_bar=not scale.steps),
            height=style.plot_height(n_queries),
        ),
        lines=[f"Rows – {rows}", f"Columns – {across}"],
        # Nothing stands beside a legend alone, which may need a line for each of its long names.
        scale=None if scale.steps else scale,
        top=keys_height(panel.keys, layout),
        below=(style.BOTTOM, style.BOTTOM + style.LEGEND_HEIGHT),
        ground="grid",
    )


def panels_figure(panels: Sequence[Panel], layout: Layout, *, title: str = "") -> go.Figure:
    """Several matrices as one figure, side by side while their tokens can be read, else in rows.

    The first traces are the panels, their z the panels' values, unchanged. Cells are squares. What
    a panel does not show lies grey above it; colours that several panels share are explained once.
    Texts beside rows are left out. A figure for a slide has a width of its own.

    Args:
        title: of all of them, in sentence case.

    Raises:
        ValueError: if there is no panel, or one has no cell.
    """
    if not panels or any(not panel.values.size for panel in panels):
        raise ValueError(
            "There is no cell to draw; a figure needs a panel with a row and a column."
        )
    plan = plan_of(panels, layout.narrow, layout.slide)
    width, gap = plan.width + 2 * EDGE, 1 if plan.cell >= LEAST_CELL else 0
    scales = [_scale(panel, layout, _BAR_LENGTHS) for panel in panels]
    bars: list[Scale] = []
    for scale in scales:
        if not scale.steps and scale not in bars:
            bars.append(scale)
    named = {name for panel in panels for name in _legend(panel, layout)}
    room = _NARROWEST if layout.narrow else int(width)
    legend_rows = -(-int(sum(len(name) * 7.5 + 52 for name in named)) // room)
    abreast = max(1, int(width // _BAR_SLOT))
    bar_rows = -(-len(bars) // abreast)
    plots: list[Plot] = []
    ends, told = [], 0
    for panel, place, scale in zip(panels, plan.places, scales, strict=True):
        has_bar = scale in bars[told:]
        if has_bar:
            row, column = divmod(told, abreast)
            told += 1
            scale = replace(
                scale,
                under=style.LEGEND_HEIGHT * legend_rows + _BAR_HEIGHT * (bar_rows - 1 - row),
                bar={"x": (column * _BAR_SLOT + _BAR_EDGE) / width, "xref": "container"},
            )
        marks = _marks(panel, scale, gap, layout, has_bar=has_bar)
        if plan.cell >= NUMBERED_CELL and panel.scale == "weights":
            marks.append(_numbers(panel, scale))
        heading = "<br>".join(map(escape_html, place.title))
        look: dict[str, Any] = {"color": "text", "weight": 600, "align": "left"}
        marks.append(corner_note(heading, at=0, up=place.labels, **look))
        across, up = _axes(panel, place, plan, layout.narrow)
        # Squares, whatever the figure's width turns out to be.
        up = up.with_(scaleanchor=f"x{len(plots) + 1}" if plots else "x")
        plots.append(Plot(across=across, up=up, marks=marks))
        ends.append(plan.ends(panel, place))
    rows = _common([(panel.queries, panel.query_title) for panel in panels], _QUERY)
    columns = _common([(panel.keys, panel.key_title) for panel in panels], _KEY)
    return chart(
        layout,
        title,
        plots,
        lines=[],
        always=[f"Rows – {rows}", f"Columns – {columns}"],
        below=14 + style.LEGEND_HEIGHT * legend_rows + _BAR_HEIGHT * bar_rows,
        places=(plan.height, ends),
        ground="grid",
        width=width if width > WIDE else None,
    )


def _axes(panel: Panel, place: PanelPlace, plan: Plan, narrow: bool) -> tuple[Axis, Axis]:
    """The axes of a panel in its place."""
    shared: dict[str, Any] = {
        "constrain": "domain",
        "tickfont": {"size": plan.label_size},
        "ticklabelstandoff": 4,
        "automargin": False,
    }
    across, up = (
        label_axis("", tokens, room=(room, room), **shared)
        for tokens in (panel.keys, panel.queries)
        for room in [int(len(tokens) * plan.cell / style.DENSE_FONT_SIZE)]
    )
    flat = lie_flat(side_texts(panel.keys, narrow), plan.cell, plan.label_size)
    return (
        across.with_(side="top", constraintoward="left", tickangle=0 if flat else -90),
        up.with_(constraintoward="top", showticklabels=place.has_rows),
    )


def _scale(panel: Panel, layout: Layout, lengths: tuple[int, int]) -> Scale:
    """The colours of categories, or of numbers with a bar of so many pixels, wide and narrow."""
    if panel.scale == "category":
        colors = panel.colors["dark" if layout.dark else "light"]
        return Scale(title="", low=-0.5, high=len(colors) - 0.5, steps=colors)
    has_quarters = panel.scale == "weights" and panel.high == 1 and not layout.narrow
    ends = np.linspace(panel.low, panel.high, 5 if has_quarters else 3).tolist()
    return Scale(
        title=panel.unit,
        low=panel.low,
        high=panel.high,
        ticks={end: style.number(end) for end in ends},
        lengths=lengths,
    )


def _marks(panel: Panel, scale: Scale, gap: int, layout: Layout, *, has_bar: bool) -> list[Mark]:
    """The cells of a panel, grey where it does not show them, with what the legend says."""
    said = f"{escape_html(panel.unit)} <b>%{{z:.6~g}}</b>"
    meant = None
    if scale.steps:
        said, meant = "%{customdata}", np.array(list(panel.names), dtype=object)[panel.values]
    drawn = cells(
        panel.values,
        name=escape_html(panel.title),
        gap=gap,
        scale=scale,
        showscale=has_bar,
        customdata=meant,
        hover=f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{said}",
    )
    hidden = []
    if panel.shown is not None and not panel.shown.all() and not scale.steps:
        hover = style.hover_template(named=False, forbidden=True)
        hidden = [grey(~panel.shown, gap, hover=hover)]
    legend = [legend_square(name, color) for name, color in _legend(panel, layout).items()]
    return [drawn, *hidden, *legend]


def _legend(panel: Panel, layout: Layout) -> dict[str, str]:
    """The colours that the legend names: of the categories that occur, or of hidden cells."""
    if panel.scale == "category":
        names = list(panel.legend) or list(panel.names)
        colors = panel.colors["dark" if layout.dark else "light"]
        return {names[used]: colors[used] for used in np.unique(panel.values).tolist()}
    is_whole = panel.shown is None or panel.shown.all()
    return {} if is_whole else {"not allowed": "forbidden"}


def _numbers(panel: Panel, scale: Scale) -> Mark:
    """Each number in its cell, except where it would round to 0 or the cell is not shown."""
    where = panel.values >= 0.5 * 10.0**-panel.digits
    if panel.shown is not None:
        where = where & panel.shown
    texts = [f"{value:.{panel.digits}f}" for value in panel.values[where].tolist()]
    return cell_texts(panel.values, texts, where=where, size=style.DENSE_FONT_SIZE, scale=scale)


def _common(axes: Sequence[tuple[Tokens, str]], plain: str) -> str:
    """The most specific axis title that all panels share; otherwise `plain`."""
    closer = {tokens: title for tokens, title in axes if title != plain}
    titles = {closer.get(tokens, title) for tokens, title in axes}
    return titles.pop() if len(titles) == 1 else plain
