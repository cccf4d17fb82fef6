"""One attention head as a picture, and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace import AttentionKind, AttentionMap, Tokens
from viz import style
from viz.labels import axis_labels, axis_texts

KIND_NAMES = {
    AttentionKind.ENCODER: "Encoder self-attention",
    AttentionKind.DECODER: "Decoder self-attention",
    AttentionKind.CROSS: "Cross-attention",
    AttentionKind.MODULE: "Attention module",
}
"""What each kind of attention is called wherever it is named."""

_QUERY = {
    AttentionKind.ENCODER: "source token",
    AttentionKind.DECODER: "target token",
    AttentionKind.CROSS: "target token",
    AttentionKind.MODULE: "position",
}
_KEY = _QUERY | {AttentionKind.CROSS: "source token"}


def attention_heatmap(
    attention_map: AttentionMap,
    head: int,
    *,
    predictions: Tokens | None = None,
    dark: bool = False,
) -> go.Figure:
    """One head's weights: queries down, keys across, 0 to 1 on one colour scale for every head.

    The first trace is the weights, (query, key), unchanged. Cells that may not be attended to lie
    hatched above it, so that they do not look like cells with the weight 0.

    Args:
        attention_map: the site.
        head: counted from 0.
        predictions: the token each row went on to predict, as long as the queries; shown on the
            right. Leave it out where rows predict nothing, as in the encoder.
        dark: for a dark page.

    Raises:
        IndexError: if there is no such head.
        ValueError: if predictions are not as many as queries.
    """
    weights = _head_weights(attention_map, head)
    forbidden = ~_allowed(attention_map, head)
    n_queries, n_keys = weights.shape
    if predictions is not None and len(predictions) != n_queries:
        raise ValueError(
            f"Each row needs one prediction: there are {n_queries} rows and "
            f"{len(predictions)} predictions."
        )
    theme = style.look(dark)
    named = _cell_names(attention_map)
    numbered = n_queries <= style.NUMBERED_ROWS and n_keys <= style.NUMBERED_COLUMNS
    # A line between cells helps the eye along a row, and would eat cells a few pixels wide.
    gap = 1 if numbered else 0
    traces: list[Any] = [
        go.Heatmap(
            z=weights,
            zmin=0,
            zmax=1,
            colorscale=theme.colorscale,
            colorbar=style.weight_bar(theme),
            customdata=named,
            hovertemplate=style.hover_template(named=named is not None),
            xgap=gap,
            ygap=gap,
            name="weight",
        )
    ]
    if forbidden.any():
        traces += _forbidden_traces(forbidden, named, theme, gap)
    if numbered:
        traces.append(_numbers(weights, forbidden, theme))
    figure = go.Figure(traces)
    height = style.plot_height(n_queries)
    row_step = style.label_step(n_queries, height // style.MIN_ROW_HEIGHT)
    downward = [n_queries - 0.5, -0.5]
    figure.update_layout(
        style.layout(
            theme,
            title=f"{KIND_NAMES[attention_map.site.kind]}, "
            f"layer {attention_map.site.layer}, head {head}",
            height=height,
            top=style.labels_height(axis_texts(attention_map.keys)),
        ),
        xaxis=style.axis(
            f"Key: {_KEY[attention_map.site.kind]} looked at",
            axis_labels(attention_map.keys),
            style.label_step(n_keys, style.LABELLED_COLUMNS),
            range=[-0.5, n_keys - 0.5],
            side="top",
        ),
        yaxis=style.axis(
            f"Query: {_query_title(attention_map.site.kind)}",
            axis_labels(attention_map.queries),
            row_step,
            range=downward,
        ),
    )
    if predictions is not None:
        # Plotly draws an axis only where a trace uses it.
        figure.add_scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip", showlegend=False)
        figure.update_layout(
            yaxis2=style.axis(
                "Token predicted next",
                [f"→ {label}" for label in axis_labels(predictions)],
                row_step,
                range=downward,
                side="right",
                overlaying="y",
                matches="y",
                color=theme.accent,
            )
        )
    return figure


def alt_text(attention_map: AttentionMap, head: int) -> str:
    """The heatmap in words, for those who do not see it.

    Args:
        attention_map: the site.
        head: counted from 0.

    Raises:
        IndexError: if there is no such head.
    """
    weights = _head_weights(attention_map, head)
    allowed = _allowed(attention_map, head)
    kind = attention_map.site.kind
    n_queries, n_keys = weights.shape
    words = (
        f"Layer {attention_map.site.layer}, head {head}, {KIND_NAMES[kind].lower()}: "
        f"{_count(n_queries, _QUERY[kind])} by {_count(n_keys, _KEY[kind])}; "
    )
    if not allowed.any():
        return words + "no query may attend to any key."
    # -1 lies below every weight, so that a forbidden cell is never the largest.
    row, column = np.unravel_index(np.argmax(np.where(allowed, weights, -1)), weights.shape)
    query = axis_texts(attention_map.queries)[row]
    key = axis_texts(attention_map.keys)[column]
    return words + f"the largest weight is {weights[row, column]:.2f}, from {query} to {key}."


def caption(attention_map: AttentionMap) -> str:
    """How to read the heatmap, in one line of plain text."""
    match attention_map.site.kind:
        case AttentionKind.ENCODER:
            row = "A row shows where a source token looks in its own sentence"
        case AttentionKind.DECODER:
            row = "A row shows where the decoder looks in what it has read so far"
        case AttentionKind.CROSS:
            row = "A row shows where the decoder looks in the source after reading that token"
        case _:
            row = "A row shows where one query looks among the keys"
    hatched = " Hatched: not allowed." if not attention_map.allowed.all() else ""
    return f"{row}; it adds up to 1.{hatched} Layers and heads count from 0."


def _query_title(kind: AttentionKind) -> str:
    reads = kind in (AttentionKind.DECODER, AttentionKind.CROSS)
    return f"{_QUERY[kind]} just read" if reads else _QUERY[kind]


def _head_weights(attention_map: AttentionMap, head: int) -> NDArray[np.float32]:
    """The weights of one head, (query, key)."""
    if not 0 <= head < attention_map.n_heads:
        raise IndexError(
            f"{attention_map.site} has the heads 0 to {attention_map.n_heads - 1}; "
            f"there is no head {head}."
        )
    return attention_map.weights[head]


def _allowed(attention_map: AttentionMap, head: int) -> NDArray[np.bool_]:
    """Where one head may attend, (query, key)."""
    allowed = attention_map.allowed
    return allowed[head] if allowed.ndim == 3 else allowed


def _cell_names(attention_map: AttentionMap) -> NDArray[np.object_] | None:
    """Both labels of every cell and their positions, (query, key, 2); None if too many."""
    if len(attention_map.queries) * len(attention_map.keys) > style.NAMED_CELLS:
        return None
    queries, keys = (
        [f"{label} ({position})" for position, label in enumerate(axis_labels(tokens))]
        for tokens in (attention_map.queries, attention_map.keys)
    )
    return np.stack(np.meshgrid(_strings(queries), _strings(keys), indexing="ij"), axis=-1)


def _strings(texts: list[str]) -> NDArray[np.object_]:
    return np.array(texts, dtype=object)


def _numbers(
    weights: NDArray[np.float32], forbidden: NDArray[np.bool_], theme: style.Look
) -> go.Scatter:
    """Each weight as two digits in its cell, except where it would round to 0."""
    # Not the heatmap's own texts: Plotly writes those in a grey that fades on the middle colours.
    rows, columns = np.nonzero((weights >= 0.005) & ~forbidden)
    shown = weights[rows, columns].tolist()
    return go.Scatter(
        x=columns,
        y=rows,
        mode="text",
        text=[f"{weight:.2f}" for weight in shown],
        textfont={
            "size": style.SMALL_FONT_SIZE,
            "color": [theme.ink(weight) for weight in shown],
        },
        hoverinfo="skip",
        showlegend=False,
        name="weight as a number",
    )


def _forbidden_traces(
    forbidden: NDArray[np.bool_],
    named: NDArray[np.object_] | None,
    theme: style.Look,
    gap: int,
) -> list[Any]:
    """A grey ground over every forbidden cell, and one hatched outline a run of them in a row."""
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
