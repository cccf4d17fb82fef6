"""One attention head as a picture, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.explain.reading import Seen, site_map
from model.trace.attention_map import AttentionKind, AttentionMap, Tokens
from viz.draw import style
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_labels, axis_texts, escape_html, side_texts

_COMPLETE = 0.999
"""Weights of a row that add up to more than this add up to 1 before rounding."""


def attention_heatmap(
    attention_map: AttentionMap,
    head: int,
    *,
    beside: Tokens | None = None,
    beside_title: str = "Token predicted next",
    arrow: str = "→",
    query_title: str | None = None,
    sides: bool = True,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """One head's weights: queries down, keys across, 0 to 1 on one colour scale for every head.

    The first trace is the weights, (query, key), unchanged. Cells that may not be attended to lie
    hatched above it, so that they do not look like cells with the weight 0.

    Args:
        attention_map: the site.
        head: counted from 0.
        beside: a token for each row, shown on the right, such as the one it went on to predict.
            Leave it out where rows predict nothing, as in the encoder.
        beside_title: what these are.
        arrow: stands before each of them; "←" where the row is named by what it predicts and what
            it read stands beside it.
        query_title: the title of the row axis, where the usual one is not true.
        sides: whether tokens are of a source and a target, of `Seen.has_sides`.
        narrow: for a width below `style.NARROW`: without axis titles at the sides, with shorter
            labels, and with numbers only where a phone has room for them.
        dark: for a dark page.

    Raises:
        IndexError: if there is no such head.
        ValueError: if there are not as many tokens beside the rows as rows.
    """
    one = attention_map.head(head)
    weights, forbidden = one.weights, ~one.allowed
    n_queries, n_keys = weights.shape
    if beside is not None and len(beside) != n_queries:
        raise ValueError(
            f"Each row needs one token beside it: there are {n_queries} rows and "
            f"{len(beside)} tokens."
        )
    theme = style.look(dark)
    named = cell_names(attention_map.queries, attention_map.keys)
    columns = style.NARROW_NUMBERED_COLUMNS if narrow else style.NUMBERED_COLUMNS
    numbered = n_queries <= style.NUMBERED_ROWS and n_keys <= columns
    # Lines between cells guide the eye along a row, but would cover cells a few pixels wide.
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
        traces += forbidden_traces(forbidden, named, theme, gap)
    if numbered:
        traces.append(_numbers(weights, forbidden, theme))
    figure = go.Figure(traces)
    rows = query_title or f"Query: {row_noun(attention_map.site.kind, sides=sides)}"
    keys = key_title(attention_map.site.kind, sides=sides)
    lines = []
    if narrow:
        lines = [f"Rows – {rows}", f"Columns – {keys}"]
        if beside is not None:
            # In the same colour as the axis title that it replaces.
            right = f'<span style="color: {theme.accent}">Right – {beside_title}</span>'
            lines.insert(1, right)
    height = style.plot_height(n_queries)
    column_texts = side_texts(attention_map.keys, narrow)
    figure.update_layout(
        style.layout(
            theme,
            title=one.name,
            height=height,
            top=style.labels_height(
                column_texts, style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH
            ),
            lines=lines,
        )
    )
    if not weights.size:
        return _without_cells(figure, theme)
    row_step = style.label_step(n_queries, height // style.MIN_ROW_HEIGHT)
    downward = [n_queries - 0.5, -0.5]
    figure.update_layout(
        xaxis=style.axis(
            "" if narrow else keys,
            [escape_html(text) for text in column_texts],
            style.label_step(
                n_keys, style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS
            ),
            range=[-0.5, n_keys - 0.5],
            side="top",
            # Slanted labels would extend beyond a narrow figure.
            autotickangles=[0, -90] if narrow else [0, -45, -90],
        ),
        yaxis=style.axis(
            "" if narrow else rows,
            [escape_html(text) for text in side_texts(attention_map.queries, narrow)],
            row_step,
            range=downward,
        ),
    )
    if beside is not None:
        # Plotly draws an axis only if a trace uses it.
        figure.add_scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip", showlegend=False)
        figure.update_layout(
            yaxis2=style.axis(
                "" if narrow else beside_title,
                [f"{arrow} {escape_html(text)}" for text in side_texts(beside, narrow)],
                row_step,
                range=downward,
                side="right",
                overlaying="y",
                matches="y",
                color=theme.accent,
            )
        )
    return figure


def head_figure(
    seen: Seen,
    attention: AttentionKind | str,
    layer: int,
    head: int,
    *,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """One head as the app shows it: its heatmap with what each row predicts beside it.

    Args:
        seen: the trace as it is read.
        attention: its kind.
        layer: counted from 0.
        head: counted from 0.
        narrow: for one column, as on a phone.
        dark: on a dark ground.

    Raises:
        IndexError: if there is no such layer or head.
    """
    attention_map = site_map(seen, attention, layer)
    kind = attention_map.site.kind
    titles = row_titles(kind, seen)
    return attention_heatmap(
        attention_map,
        head,
        beside=seen.beside.get(kind),
        beside_title=titles.beside,
        arrow=titles.arrow,
        query_title=titles.query,
        sides=seen.has_sides,
        narrow=narrow,
        dark=dark,
    )


@dataclass(frozen=True, slots=True)
class RowTitles:
    """The names of the rows of one kind of attention.

    Attributes:
        query: the row axis.
        beside: what stands to the right of the rows.
        arrow: stands before each of these.
    """

    query: str
    beside: str
    arrow: str


def row_titles(kind: AttentionKind, seen: Seen) -> RowTitles:
    """The names of a trace's rows, given how the trace is read."""
    if kind is AttentionKind.CROSS and seen.by_prediction:
        return RowTitles("Query: target token predicted", "Token just read", "←")
    row = row_noun(kind, sides=seen.has_sides)
    return RowTitles(f"Query: {row}", "Token predicted next", "→")


def alt_text(attention_map: AttentionMap, head: int, *, sides: bool = True) -> str:
    """The heatmap's alternative text.

    Args:
        attention_map: the site.
        head: counted from 0.
        sides: whether tokens are of a source and a target.

    Raises:
        IndexError: if there is no such head.
    """
    one = attention_map.head(head)
    weights, allowed = one.weights, one.allowed
    kind = attention_map.site.kind
    n_queries, n_keys = weights.shape
    query_noun, key_noun = nouns(kind, sides=sides)
    words = (
        f"Layer {attention_map.site.layer}, head {head}, {kind.full_name.lower()}: "
        f"{style.count_of(n_queries, query_noun)} by {style.count_of(n_keys, key_noun)}; "
    )
    if not weights.size:
        return words + "there is no cell to show."
    if not allowed.any():
        return words + "no query may attend to any key."
    # -1 lies below every weight, so that a forbidden cell is never the largest.
    row, column = np.unravel_index(np.argmax(np.where(allowed, weights, -1)), weights.shape)
    query = axis_texts(attention_map.queries)[row]
    key = axis_texts(attention_map.keys)[column]
    return words + f"the largest weight is {weights[row, column]:.2f}, from {query} to {key}."


def caption(attention_map: AttentionMap, *, by_prediction: bool = False, sides: bool = True) -> str:
    """How to read the heatmap, in one line of plain text.

    Args:
        attention_map: the site.
        by_prediction: whether rows are named by the token that they predict.
        sides: whether tokens are of a source and a target.
    """
    row = row_words(attention_map.site.kind, by_prediction=by_prediction, sides=sides)
    # Rows without special tokens, or of a query that may look nowhere, add up to less.
    complete = bool((attention_map.weights.sum(axis=-1) > _COMPLETE).all())
    total = "; it adds up to 1" if complete else ""
    hatched = " Hatched: not allowed." if not attention_map.allowed.all() else ""
    return f"{row}{total}.{hatched} Layers and heads count from 0."


def row_words(kind: AttentionKind, *, by_prediction: bool = False, sides: bool = True) -> str:
    """A description of a heatmap's rows, without a full stop; see `caption`."""
    match kind:
        case AttentionKind.ENCODER if not sides:
            return "A row shows where a token looks among all of them"
        case AttentionKind.ENCODER:
            return "A row shows where a source token looks in its own sentence"
        case AttentionKind.DECODER:
            return "A row shows where the decoder looks in what it has read so far"
        case AttentionKind.CROSS if by_prediction:
            return "A row shows where the decoder looks in the source to predict that token"
        case AttentionKind.CROSS:
            return "A row shows where the decoder looks in the source after reading that token"
        case _:
            return "A row shows where one query looks among the keys"


def nouns(kind: AttentionKind, *, sides: bool = True) -> tuple[str, str]:
    """The nouns for query and key, such as "target token"; without sides, "token"."""
    if not sides and kind is not AttentionKind.MODULE:
        return "token", "token"
    return kind.query_noun, kind.key_noun


def key_title(kind: AttentionKind, *, sides: bool = True) -> str:
    """The title of the key axis."""
    return f"Key: {nouns(kind, sides=sides)[1]} looked at"


def row_noun(kind: AttentionKind, *, sides: bool = True) -> str:
    """The name of a row's token, such as "target token just read"."""
    noun, _ = nouns(kind, sides=sides)
    return f"{noun} just read" if kind in (AttentionKind.DECODER, AttentionKind.CROSS) else noun


def _without_cells(figure: go.Figure, theme: style.Look) -> go.Figure:
    """The figure of a head with all queries or all keys hidden: one sentence, no axes."""
    figure.data[0].showscale = False
    figure.add_annotation(
        text="There is no cell to show.",
        x=0.5,
        y=0.5,
        xref="paper",
        yref="paper",
        showarrow=False,
        font={"size": style.FONT_SIZE, "color": theme.muted},
    )
    return figure.update_layout(
        xaxis={"visible": False}, yaxis={"visible": False}, plot_bgcolor=style.CLEAR
    )


def cell_names(queries: Tokens, keys: Tokens) -> NDArray[np.object_] | None:
    """Both labels of every cell and their positions, (query, key, 2); None if too many."""
    if len(queries) * len(keys) > style.NAMED_CELLS:
        return None
    rows, columns = (
        [f"{label} ({position})" for position, label in enumerate(axis_labels(tokens))]
        for tokens in (queries, keys)
    )
    return np.stack(np.meshgrid(_strings(rows), _strings(columns), indexing="ij"), axis=-1)


def _strings(texts: list[str]) -> NDArray[np.object_]:
    return np.array(texts, dtype=object)


def _numbers(
    weights: NDArray[np.float32], forbidden: NDArray[np.bool_], theme: style.Look
) -> go.Scatter:
    """Each weight as two digits in its cell, except where it would round to 0."""
    # Not the heatmap's own texts, which Plotly writes in a grey that is hard to read on mid-tones.
    rows, columns = np.nonzero((weights >= CONSTANTS["LEAST_NUMBER"]) & ~forbidden)
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


def forbidden_traces(
    forbidden: NDArray[np.bool_],
    named: NDArray[np.object_] | None,
    theme: style.Look,
    gap: int,
) -> list[Any]:
    """A grey background over forbidden cells, with one hatched outline per run of them in a row.

    Args:
        forbidden: (query, key).
        named: what hovering names a cell by, as `cell_names` gives it.
        theme: of the page.
        gap: pixels between cells.
    """
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
