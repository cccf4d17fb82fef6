"""What lies on the cells of a heatmap of tokens: their names, and hatching where forbidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from viz.draw import style, themes
from viz.draw.labels import axis_labels


def cell_names(queries: Tokens, keys: Tokens) -> NDArray[np.object_] | None:
    """Both labels of every cell and their positions, (query, key, 2); None if too many."""
    if len(queries) * len(keys) > style.NAMED_CELLS:
        return None
    rows, columns = (
        [f"{label} ({position})" for position, label in enumerate(axis_labels(tokens))]
        for tokens in (queries, keys)
    )
    return np.stack(
        np.meshgrid(np.array(rows, object), np.array(columns, object), indexing="ij"), axis=-1
    )


def forbidden_traces(
    forbidden: NDArray[np.bool_],
    named: NDArray[np.object_] | None,
    theme: themes.Theme,
    gap: int,
) -> list[Any]:
    """A grey background over forbidden cells, with one hatched outline per run of them in a row."""
    x: list[float | None] = []
    y: list[float | None] = []
    for row, cells in enumerate(forbidden):
        edges = np.flatnonzero(np.diff(cells.astype(np.int8), prepend=0, append=0)) - 0.5
        for left, right in edges.reshape(-1, 2).tolist():
            x += [left, right, right, left, left, None]
            y += [row - 0.5, row - 0.5, row + 0.5, row + 0.5, row - 0.5, None]
    return [
        go.Heatmap(
            z=np.where(forbidden, np.float32(1), np.float32(np.nan)),
            zmin=0,
            zmax=1,
            colorscale=[[0, theme.forbidden], [1, theme.forbidden]],
            showscale=False,
            hoverongaps=False,
            customdata=named,
            hovertemplate=style.hover_template(named=named is not None, forbidden=True),
            xgap=gap,
            ygap=gap,
            name="not allowed",
        ),
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"width": 0},
            fill="toself",
            fillpattern={
                "shape": "/",
                "size": 9,
                "solidity": 0.15,
                "fgcolor": theme.hatch,
                "bgcolor": theme.forbidden,
            },
            hoverinfo="skip",
            name="not allowed",
            showlegend=True,
        ),
    ]
