"""A panel of the masks page as a figure to keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace import Tokens
from viz import style
from viz.heads import side_texts
from viz.labels import escape_html
from viz.mask_panels import mask_panel
from viz.masks import Mask
from viz.panels import Panel


def panel_figure(panel: Panel, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """One matrix: queries down, keys across, categories with a legend or numbers with a bar.

    The first trace's z is the panel's values, unchanged; cells that it does not show lie grey above
    it.

    Args:
        panel: what to draw; that it can be painted on makes no difference.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    n_queries, n_keys = panel.values.shape
    columns = style.NARROW_NUMBERED_COLUMNS if narrow else style.NUMBERED_COLUMNS
    gap = 1 if n_queries <= style.NUMBERED_ROWS and n_keys <= columns else 0
    cells: dict[str, Any] = {
        "type": "heatmap",
        "z": panel.values,
        "xgap": gap,
        "ygap": gap,
        "hovertemplate": f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{escape_html(panel.unit)} "
        "<b>%{z:.6~g}</b><extra></extra>",
        "name": escape_html(panel.unit),
    }
    data = [cells]
    if panel.scale == "category":
        used = np.unique(panel.values).tolist()
        colors = list(panel.colors["dark" if dark else "light"])
        names = list(panel.names)
        cells |= {
            "zmin": -0.5,
            "zmax": len(colors) - 0.5,
            "colorscale": _steps(colors),
            "showscale": False,
            "customdata": np.array(names, dtype=object)[panel.values],
            "hovertemplate": "<b>%{y}</b> to <b>%{x}</b><br>%{customdata}<extra></extra>",
        }
        legend = list(panel.legend) or names
        shown = {legend[number]: colors[number] for number in used}
        data += [_legend_entry(name, color, theme) for name, color in shown.items()]
    else:
        signed = panel.scale == "signed"
        bar = style.weight_bar(theme)
        ends = [panel.low, (panel.low + panel.high) / 2, panel.high]
        bar["title"] = {**bar["title"], "text": escape_html(panel.unit)}
        cells |= {
            "zmin": panel.low,
            "zmax": panel.high,
            "colorscale": theme.signed_colorscale if signed else theme.colorscale,
            "colorbar": {**bar, "tickvals": ends, "ticktext": [style.number(end) for end in ends]},
        }
        if panel.shown is not None and not panel.shown.all():
            data += [
                _hidden(panel.shown, theme, gap),
                _legend_entry("not allowed", theme.forbidden, theme),
            ]
    rows, across = panel.query_title, panel.key_title
    lines = [f"Rows – {rows}", f"Columns – {across}"] if narrow else []
    height = style.plot_height(n_queries)
    texts = side_texts(panel.keys, narrow)
    width = style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH
    layout = style.layout(
        theme,
        title=escape_html(panel.title),
        height=height,
        top=style.labels_height(texts, width),
        lines=lines,
    )
    if panel.scale == "category":
        # Nothing stands beside the legend, which may need a line for each of its long names.
        layout["legend"] |= {"x": 0, "xanchor": "left", "y": 0}
    labelled = style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS
    layout |= {
        "xaxis": style.axis(
            "" if narrow else across,
            [escape_html(text) for text in texts],
            style.label_step(n_keys, labelled),
            range=[-0.5, n_keys - 0.5],
            side="top",
            autotickangles=[0, -90] if narrow else [0, -45, -90],
        ),
        "yaxis": style.axis(
            "" if narrow else rows,
            _row_labels(panel.queries, narrow),
            style.label_step(n_queries, height // style.MIN_ROW_HEIGHT),
            range=[n_queries - 0.5, -0.5],
        ),
    }
    return go.Figure({"data": data, "layout": layout})


def mask_figure(mask: Mask, *, narrow: bool = False, dark: bool = False) -> go.Figure:
    """One mask, its cells coloured by the reason why they are forbidden.

    Args:
        mask: what to draw.
        narrow: for a width below `style.NARROW`, where its whole name has no room.
        dark: for a dark page.
    """
    return panel_figure(
        mask_panel(mask, f"{mask.short} mask" if narrow else mask.name), narrow=narrow, dark=dark
    )


def _row_labels(queries: Tokens, narrow: bool) -> list[str]:
    return [escape_html(text) for text in side_texts(queries, narrow)]


def _steps(colors: list[str]) -> list[list[Any]]:
    """A colour scale of as many steps as there are categories, without anything between them."""
    count = len(colors)
    return [
        [(place + side) / count, color] for place, color in enumerate(colors) for side in (0, 1)
    ]


def _legend_entry(name: str, color: str, theme: style.Look) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": [None],
        "y": [None],
        "mode": "markers",
        "marker": {
            "symbol": "square",
            "size": 14,
            "color": color,
            "line": {"width": 1, "color": theme.hatch},
        },
        "name": escape_html(name),
        "showlegend": True,
    }


def _hidden(shown: NDArray[np.bool_], theme: style.Look, gap: int) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": np.where(shown, np.float32(np.nan), np.float32(1)),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, theme.forbidden], [1, theme.forbidden]],
        "showscale": False,
        "hoverongaps": False,
        "hovertemplate": "<b>%{y}</b> to <b>%{x}</b><br>not allowed<extra></extra>",
        "xgap": gap,
        "ygap": gap,
        "name": "not allowed",
    }
