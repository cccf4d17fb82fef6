"""Panels as figures: one alone, or several side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.trace.attention_map import Tokens
from viz.charts.axes import label_axis
from viz.charts.chart import Layout
from viz.charts.marks import grey
from viz.charts.panel_plan import (
    EDGE,
    FIGURE_TITLE_LINE,
    LEAST_CELL,
    NUMBERED_CELL,
    WIDE,
    Place,
    Plan,
    lie_flat,
    plan_of,
)
from viz.charts.token_map import key_axis, keys_height
from viz.draw import style, themes
from viz.draw.labels import escape_html, side_texts
from viz.draw.panels import Panel

_BAR_LENGTH, _BAR_SLOT, _BAR_HEIGHT = 150, 190, 58

_BAR_EDGE = 30
"""Pixels to the left of a colour bar, for half of its first number."""

_QUERY, _KEY = "Query", "Key"
"""The default names of the axes."""


def panel_figure(panel: Panel, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """One matrix: queries down, keys across, categories with a legend or numbers with a bar.

    The first trace's z is the panel's values, unchanged; cells that it does not show lie grey above
    it.
    """
    theme = themes.page(dark)
    n_queries, n_keys = panel.values.shape
    columns = style.NARROW_NUMBERED_COLUMNS if narrow else style.NUMBERED_COLUMNS
    gap = 1 if n_queries <= style.NUMBERED_ROWS and n_keys <= columns else 0
    unit = escape_html(panel.unit)
    cells = _panel_cells(panel, theme, dark) | {"xgap": gap, "ygap": gap, "name": unit}
    data = [cells]
    if panel.scale == "category":
        data += [_legend_entry(*entry, theme) for entry in _legend(panel, dark).items()]
    else:
        bar = style.weight_bar(theme)
        ends = [panel.low, (panel.low + panel.high) / 2, panel.high]
        bar["title"] = {**bar["title"], "text": unit}
        del cells["showscale"]
        cells["colorbar"] = bar | {"tickvals": ends, "ticktext": list(map(style.number, ends))}
        if panel.shown is not None and not panel.shown.all():
            data += [
                grey(
                    ~panel.shown,
                    theme,
                    gap,
                    hovertemplate=style.hover_template(named=False, forbidden=True),
                ),
                _legend_entry("not allowed", theme.forbidden, theme),
            ]
    rows, across = panel.query_title, panel.key_title
    height, wanted = style.plot_height(n_queries), Layout(narrow=narrow, dark=dark)
    layout = {
        **style.layout(
            theme,
            title=escape_html(panel.title),
            height=height,
            top=keys_height(panel.keys, wanted),
            lines=[f"Rows – {rows}", f"Columns – {across}"] if narrow else [],
        ),
        "xaxis": key_axis(across, panel.keys, wanted).drawn(theme, narrow, first=True),
        "yaxis": label_axis(rows, panel.queries).drawn(theme, narrow, rows=height, first=True),
    }
    if panel.scale == "category":
        # Nothing stands beside the legend, which may need a line for each of its long names.
        layout["legend"] |= {"x": 0, "xanchor": "left", "y": 0}
    return go.Figure({"data": data, "layout": layout})


def _steps(colors: list[str]) -> list[list[Any]]:
    """A colour scale with one step per category and no gradients."""
    count = len(colors)
    return [
        [(place + side) / count, color] for place, color in enumerate(colors) for side in (0, 1)
    ]


def _legend_entry(name: str, color: str, theme: themes.Theme) -> dict[str, Any]:
    return style.legend_square(theme, escape_html(name), color)


def panels_figure(
    panels: Sequence[Panel],
    *,
    title: str = "",
    narrow: bool = False,
    slide: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Several matrices as one figure, side by side while their tokens can be read, else in rows.

    The first traces are the panels, their z the panels' values, unchanged. Cells are squares. What
    a panel does not show lies grey above it; colours that several panels share are explained once.
    Texts beside rows are left out.

    Args:
        panels: what to draw.
        title: of all of them, in sentence case.
        narrow: for a width below `style.NARROW`.
        slide: for a slide, which is wider than it is high; such a figure has a width of its own.
        dark: for a dark page.

    Raises:
        ValueError: if there is no panel, or one has no cell.
    """
    if not panels or any(not panel.values.size for panel in panels):
        raise ValueError(
            "There is no cell to draw; a figure needs a panel with a row and a column."
        )
    theme = themes.page(dark)
    plan = plan_of(panels, narrow, slide)
    data: list[dict[str, Any]] = []
    hidden: list[dict[str, Any]] = []
    numbers: list[dict[str, Any]] = []
    legend: dict[str, str] = {}
    bars: dict[tuple[Any, ...], dict[str, Any]] = {}
    layout: dict[str, Any] = {"annotations": []}
    gap = 1 if plan.cell >= LEAST_CELL else 0
    for number, (panel, place) in enumerate(zip(panels, plan.places, strict=True), start=1):
        suffix = "" if number == 1 else str(number)
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        cells = _panel_cells(panel, theme, dark) | axes | {"xgap": gap, "ygap": gap}
        data.append(cells)
        if panel.scale == "category":
            legend |= _legend(panel, dark)
        else:
            bars.setdefault((panel.scale, panel.low, panel.high, panel.unit), cells)
            if panel.shown is not None and not panel.shown.all():
                hidden.append(
                    grey(
                        ~panel.shown,
                        theme,
                        gap,
                        hovertemplate=style.hover_template(named=False, forbidden=True),
                    )
                    | axes
                )
                legend["not allowed"] = theme.forbidden
            if plan.cell >= NUMBERED_CELL and panel.scale == "weights":
                numbers.append(_cell_numbers(panel, theme) | axes)
        layout[f"xaxis{suffix}"], layout[f"yaxis{suffix}"] = _panel_axes(
            panel, place, plan, suffix, narrow
        )
        layout["annotations"].append(
            style.heading(
                theme,
                "<br>".join(escape_html(line) for line in place.title),
                place.left / plan.width,
                1 - place.top / plan.height,
                yshift=place.labels,
                align="left",
                font={"size": style.SMALL_FONT_SIZE, "color": theme.text, "weight": 600},
            )
        )
    entries = [_legend_entry(name, color, theme) for name, color in legend.items()]
    frame = _frame(panels, plan, title, bars, legend, theme, narrow)
    return go.Figure({"data": [*data, *hidden, *numbers, *entries], "layout": frame | layout})


def _panel_axes(
    panel: Panel, place: Place, plan: Plan, suffix: str, narrow: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The axes of a panel in its place; squares whatever the figure's width turns out to be."""
    n_queries, n_keys = panel.values.shape
    keys = side_texts(panel.keys, narrow)
    step = style.label_step(n_keys, int(n_keys * plan.cell / style.DENSE_FONT_SIZE))
    row_step = style.label_step(n_queries, int(n_queries * plan.cell / style.DENSE_FONT_SIZE))
    shared = {
        "constrain": "domain",
        "tickfont": {"size": plan.label_size},
        "ticklabelstandoff": 4,
        "automargin": False,
    }
    right, bottom = place.left + n_keys * plan.cell, place.top + n_queries * plan.cell
    across = style.axis("", [escape_html(text) for text in keys], step) | shared
    across |= {
        "domain": [place.left / plan.width, min(1.0, right / plan.width)],
        "anchor": f"y{suffix}",
        "range": [-0.5, n_keys - 0.5],
        "side": "top",
        "constraintoward": "left",
        "tickangle": 0 if lie_flat(keys, plan.cell, plan.label_size) else -90,
    }
    labels = [escape_html(text) for text in side_texts(panel.queries, narrow)]
    down = style.axis("", labels, row_step) | shared
    down |= {
        "domain": [max(0.0, 1 - bottom / plan.height), 1 - place.top / plan.height],
        "anchor": f"x{suffix}",
        "range": [n_queries - 0.5, -0.5],
        "scaleanchor": f"x{suffix}",
        "constraintoward": "top",
        "showticklabels": place.has_rows,
    }
    return across, down


def _panel_cells(panel: Panel, theme: themes.Theme, dark: bool) -> dict[str, Any]:
    """The cells of a panel as a heatmap, without a colour bar."""
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": panel.values,
        "showscale": False,
        "name": escape_html(panel.title),
    }
    if panel.scale == "category":
        colors = _colors(panel, dark)
        return cells | {
            "zmin": -0.5,
            "zmax": len(colors) - 0.5,
            "colorscale": _steps(colors),
            "customdata": np.array(list(panel.names), dtype=object)[panel.values],
            "hovertemplate": "<b>%{y}</b> to <b>%{x}</b><br>%{customdata}<extra></extra>",
        }
    signed = panel.scale == "signed"
    return cells | {
        "zmin": panel.low,
        "zmax": panel.high,
        "colorscale": theme.signed_colorscale if signed else theme.colorscale,
        "hovertemplate": f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{escape_html(panel.unit)} "
        "<b>%{z:.6~g}</b><extra></extra>",
    }


def _colors(panel: Panel, dark: bool) -> list[str]:
    return list(panel.colors["dark" if dark else "light"])


def _legend(panel: Panel, dark: bool) -> dict[str, str]:
    """The colours of the categories that occur in a panel, by what the legend calls them."""
    names, colors = list(panel.legend) or list(panel.names), _colors(panel, dark)
    return {names[used]: colors[used] for used in np.unique(panel.values).tolist()}


def _cell_numbers(panel: Panel, theme: themes.Theme) -> dict[str, Any]:
    """Each number in its cell, except where it would round to 0 or the cell is not shown."""
    shown = panel.values >= 0.5 * 10.0**-panel.digits
    if panel.shown is not None:
        shown = shown & panel.shown
    rows, columns = np.nonzero(shown)
    values = panel.values[rows, columns].tolist()
    texts = [f"{value:.{panel.digits}f}" for value in values]
    colors = [theme.ink(min(value / panel.high, 1.0)) for value in values]
    return style.cell_texts(columns, rows, texts, colors, style.DENSE_FONT_SIZE)


def _frame(
    panels: Sequence[Panel],
    plan: Plan,
    title: str,
    bars: dict[tuple[Any, ...], dict[str, Any]],
    legend: dict[str, str],
    theme: themes.Theme,
    narrow: bool,
) -> dict[str, Any]:
    """The layout around the panels: title, what rows and columns are, colour bars and legend."""
    width = plan.width + 2 * EDGE
    heading = textwrap.wrap(title, 40 if narrow else 78)
    rows = _common([(panel.queries, panel.query_title) for panel in panels], _QUERY)
    columns = _common([(panel.keys, panel.key_title) for panel in panels], _KEY)
    lines = [f"Rows – {rows}", f"Columns – {columns}"]
    legend_rows = -(-int(sum(len(name) * 7.5 + 52 for name in legend)) // int(width))
    abreast = max(1, int(width // _BAR_SLOT))
    bar_rows = -(-len(bars) // abreast)
    above = 18 + FIGURE_TITLE_LINE * len(heading) + style.LINE_HEIGHT * len(lines)
    below = 14 + style.LEGEND_HEIGHT * legend_rows + _BAR_HEIGHT * bar_rows
    height = plan.height + above + below
    for number, ((scale, low, high, unit), cells) in enumerate(bars.items()):
        row, column = divmod(number, abreast)
        bottom = style.LEGEND_HEIGHT * legend_rows + _BAR_HEIGHT * (bar_rows - 1 - row)
        bar = style.weight_bar(theme)
        ends = [low, (low + high) / 2, high] if scale == "signed" or high != 1 else bar["tickvals"]
        cells |= {
            "showscale": True,
            "colorbar": {
                **bar,
                "title": {**bar["title"], "text": escape_html(unit)},
                "len": _BAR_LENGTH,
                "x": (column * _BAR_SLOT + _BAR_EDGE) / width,
                "xref": "container",
                "y": bottom / height,
                "tickvals": ends,
                "ticktext": [style.number(end) if end else "0" for end in ends],
            },
        }
    shared = style.layout(
        theme, title="<br>".join(map(escape_html, heading)), height=0, lines=lines
    )
    # Plotly positions a title by its last line.
    shared["title"]["pad"]["t"] += FIGURE_TITLE_LINE * max(0, len(heading) - 1)
    own_width = {"width": width} if width > WIDE else {}
    return shared | {
        **own_width,
        "height": height,
        "margin": {"l": EDGE, "r": EDGE, "t": above, "b": below},
        "legend": style.legend_below(shared),
    }


def _common(axes: Sequence[tuple[Tokens, str]], plain: str) -> str:
    """The most specific axis title that all panels share; otherwise `plain`."""
    closer = {tokens: title for tokens, title in axes if title != plain}
    titles = {closer.get(tokens, title) for tokens, title in axes}
    return titles.pop() if len(titles) == 1 else plain
