"""Heatmap cells and colour bars as shapes, which stay sharp in a PDF."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

VECTOR_CELLS = 12_000
"""With more cells, heatmaps stay bitmaps; as shapes they would make files of megabytes."""


def as_shapes(figure: go.Figure) -> go.Figure:
    """The figure with the cells of its heatmaps as shapes, if they are few.

    Plotly paints a heatmap as a bitmap in screen resolution, which is blurred on paper.
    """
    # Transparent ones only catch the pointer.
    shown = [trace for trace in figure.data if trace.type != "heatmap" or trace.opacity != 0]
    heatmaps = [trace for trace in shown if trace.type == "heatmap"]
    if sum(np.size(trace.z) for trace in heatmaps) > VECTOR_CELLS:
        return figure
    shapes = [shape for trace in heatmaps for shape in _cells(trace, figure.layout)]
    changed = go.Figure(figure)
    changed.data = []
    for trace in shown:
        changed.add_trace(_bar_of(trace) if trace.type == "heatmap" else trace)
    for trace in heatmaps:
        rows, columns = np.shape(trace.z)
        for axis, count in ((trace.yaxis or "y", rows), (trace.xaxis or "x", columns)):
            settings = changed.layout[f"{axis[0]}axis{axis[1:]}"]
            # A shape gives its axis neither type nor range.
            settings.type = "linear"
            if settings.range is None:
                settings.range = [-0.5, count - 0.5]
    return changed.update_layout(shapes=[*shapes, *figure.layout.shapes])


def _bar_of(heatmap: Any) -> go.Scatter:
    """A trace that shows nothing but a heatmap's colour bar."""
    own = {
        "colorscale": heatmap.colorscale,
        "cmin": heatmap.zmin,
        "cmax": heatmap.zmax,
        "colorbar": heatmap.colorbar.to_plotly_json(),
        "showscale": heatmap.showscale is not False,
    }
    return go.Scatter(
        x=[None],
        y=[None],
        xaxis=heatmap.xaxis,
        yaxis=heatmap.yaxis,
        mode="markers",
        hoverinfo="skip",
        showlegend=False,
        marker={"color": [0], **({"coloraxis": heatmap.coloraxis} if heatmap.coloraxis else own)},
    )


def _cells(heatmap: Any, layout: Any) -> list[dict[str, Any]]:
    """One shape for each colour: all cells of that colour."""
    values = np.asarray(heatmap.z, dtype=np.float64)
    # Heatmaps may share a scale, which then belongs to the layout.
    scale = layout[heatmap.coloraxis] if heatmap.coloraxis else heatmap
    low, high = (scale.cmin, scale.cmax) if heatmap.coloraxis else (scale.zmin, scale.zmax)
    places: dict[str, list[str]] = {}
    for row, column in zip(*np.nonzero(np.isfinite(values)), strict=True):
        left, right = column - 0.5, column + 0.5
        top, bottom = row - 0.5, row + 0.5
        color = _color(scale.colorscale, (values[row, column] - low) / (high - low))
        places.setdefault(color, []).append(f"M{left},{top}H{right}V{bottom}H{left}Z")
    gap = max(heatmap.xgap or 0, heatmap.ygap or 0)
    # Where cells touch, antialiasing shows the background unless they overlap a little.
    overlap = min(0.4, 0.05 * layout.width / values.shape[1])
    return [
        {
            "type": "path",
            "path": "".join(paths),
            "fillcolor": color,
            "line": {"color": layout.plot_bgcolor if gap else color, "width": gap or overlap},
            "xref": heatmap.xaxis or "x",
            "yref": heatmap.yaxis or "y",
            "layer": "between",
        }
        for color, paths in places.items()
    ]


def _color(colorscale: Any, share: float) -> str:
    """The colour at a share of the way along a scale, as Plotly interpolates it."""
    stops = [stop for stop, _ in colorscale]
    colors = np.array(
        [[int(color[at : at + 2], 16) for at in (1, 3, 5)] for _, color in colorscale]
    )
    mixed = [np.interp(share, stops, channel) for channel in colors.T]
    return "#" + "".join(f"{round(channel):02x}" for channel in mixed)
