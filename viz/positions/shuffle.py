"""A sentence whose words stand in another order: what moved, and what the encoder makes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.trace.attention_map import Tokens
from viz.draw import style
from viz.draw.labels import escape_html, side_texts
from viz.draw.word_diff import word_diff

Distances = Mapping[str, NDArray[np.floating]]
"""How far each row moved, (token,), by what was done."""

_HOVER = "<b>%{x}</b><br>distance <b>%{y:.3~g}</b><extra>%{fullData.name}</extra>"
_HEIGHT, _BELOW = 280, style.LEGEND_HEIGHT + 12
_BAR_WIDTH, _POINT = 0.5, 11
"""Of a bar as a share of its token's room, and of a point in pixels."""

_SAME = 1e-3
"""A row that moved by less than this share of its length is the same vector, but for rounding."""


def reordered(tokens: Tokens, places: list[int]) -> Tokens:
    """Tokens in another order.

    Args:
        tokens: as they stand.
        places: for each place of the new order, where its token stood.
    """
    return Tokens(
        tuple(tokens.tokens[place] for place in places),
        tuple(tokens.ids[place] for place in places),
    )


def moved_words(before: str, after: str) -> tuple[str, ...]:
    """The words of both texts that stand at another place in the second, in its order."""
    left: Counter[str] = Counter()
    came: list[str] = []
    for change, text in word_diff(before, after):
        words = text.split()
        if change == "removed":
            left.update(words)
        elif change == "added":
            came += words
    moved = []
    for word in came:
        if left[word] > 0 and any(map(str.isalnum, word)):
            left[word] -= 1
            moved.append(word)
    return tuple(moved)


def distances_figure(
    tokens: Tokens, distances: Distances, *, narrow: bool = False, dark: bool = False
) -> go.Figure:
    """How far the encoder's row of each token lies from its row in the original order.

    Args:
        tokens: in the new order.
        distances: for each thing that was done, one distance a token.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.

    Raises:
        ValueError: if there is not one distance a token.
    """
    if any(len(values) != len(tokens) for values in distances.values()):
        raise ValueError(f"Each of the {len(tokens)} tokens needs one distance.")
    theme = style.look(dark)
    labels = [escape_html(text) for text in side_texts(tokens, narrow)]
    # The first as bars and the others as points on them: where nothing moved, a point shows it.
    bar = {"type": "bar", "width": _BAR_WIDTH}
    points = {"type": "scatter", "mode": "markers", "cliponaxis": False}
    data = [
        {
            **(points if place else bar),
            "x": np.arange(len(tokens)),
            "y": values,
            "marker": {"color": theme.heads[place], "line": {"width": 0}}
            | ({"size": _POINT, "symbol": "diamond"} if place else {}),
            "name": name,
            "hovertemplate": _HOVER,
        }
        for place, (name, values) in enumerate(distances.items())
    ]
    layout = style.layout(
        theme,
        title="How far the encoder's rows moved" if not narrow else "How far each row moved",
        height=_HEIGHT,
        top=style.labels_height(
            side_texts(tokens, narrow), style.NARROW_PLOT_WIDTH if narrow else style.PLOT_WIDTH
        ),
        lines=["Distance by token, in the new order"] if narrow else [],
    )
    layout |= {
        "height": layout["height"] - layout["margin"]["b"] + _BELOW,
        "margin": {**layout["margin"], "b": _BELOW},
        "legend": {**layout["legend"], "x": 0, "xref": "container", "xanchor": "left", "y": 0},
        "plot_bgcolor": style.CLEAR,
        "xaxis": style.axis(
            "" if narrow else "Token, in the new order",
            labels,
            style.label_step(
                len(tokens), style.NARROW_LABELLED_COLUMNS if narrow else style.LABELLED_COLUMNS
            ),
            side="top",
        ),
        "yaxis": {
            "title": style.axis_title("" if narrow else "Distance"),
            "tickfont": {"size": style.SMALL_FONT_SIZE},
            "rangemode": "tozero",
            "gridcolor": theme.grid,
            "automargin": True,
        },
        "showlegend": True,
    }
    return go.Figure({"data": data, "layout": layout})


def distances_alt_text(tokens: Tokens, distances: Distances, length: float) -> str:
    """The figure in words; arguments as in `distances_figure` and `distances_caption`."""
    most = {
        name: "0 up to rounding" if _is_still(values, length) else f"at most {_largest(values)}"
        for name, values in distances.items()
    }
    return (
        f"Distance of each of {style.count_of(len(tokens), 'row')} from its row in the original "
        f"order: {'; '.join(f'{name}, {words}' for name, words in most.items())}."
    )


def distances_caption(distances: Distances, length: float) -> str:
    """What the figure shows, with what was measured, in plain text.

    Args:
        distances: as in the figure.
        length: of a row, on average.
    """
    said = [
        f"{name.capitalize()}, "
        + (
            "every row stays the same, up to rounding"
            if _is_still(values, length)
            else f"rows move by up to {_largest(values)}, "
            f"{style.percent(values.max() / length)} of their mean length"
        )
        for name, values in distances.items()
    ]
    return (
        f"{'. '.join(said)}. Each value is the Euclidean distance between a token’s encoder rows "
        "in the two orders."
    )


def _is_still(values: NDArray[np.floating], length: float) -> bool:
    return not len(values) or float(values.max()) < _SAME * length


def _largest(values: NDArray[np.floating]) -> str:
    return style.number(values.max())
