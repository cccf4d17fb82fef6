"""Clicks on the cells of a heatmap, of which Streamlit is told for points alone."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go


def clickable(figure: go.Figure) -> go.Figure:
    """The figure with a point, which nobody sees, on every cell of its heatmaps.

    The points say under the pointer what the cells said. The customdata of each is the heatmap's
    `meta`, and the cell's row, column and number.
    """
    points = []
    for heatmap in figure.select_traces("heatmap"):
        values = np.asarray(heatmap.z)
        cells = [(row, column) for row, column in np.ndindex(*values.shape)]
        points.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [column for _, column in cells],
                "y": [row for row, _ in cells],
                "customdata": [[heatmap.meta, *cell, float(values[cell])] for cell in cells],
                "hovertemplate": heatmap.hovertemplate.replace("%{z", "%{customdata[3]"),
                "marker": {"size": 24, "opacity": 0},
                "xaxis": heatmap.xaxis,
                "yaxis": heatmap.yaxis,
                "showlegend": False,
            }
        )
    return go.Figure(figure).add_traces(points)
