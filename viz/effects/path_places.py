"""Where the nodes of a graph of paths stand, how its lines run, and where its names are free."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.contrast.results import Edge
from model.trace.attention_map import Site
from model.trace.head import Head

_NAME_HEIGHT, _TO_NAME, _NAME_REACH = 16, 9, 0.25
"""A name's height and its distance from its node in pixels, and half its width in columns."""

_APART = 0.2
"""By how much of a row neighbouring columns are moved up and down."""

_STEPS = 24
"""The points of an edge's curve; clicks are heard at each."""

Node = int | Head | None
"""A source token, a head, or the word."""


def places_of(edges: Sequence[Edge]) -> dict[Node, tuple[float, float]]:
    """Where each node stands: columns by layer, and rows so that few lines cross."""
    nodes: dict[Node, None] = dict.fromkeys(
        node for edge in edges for node in (edge.sender, edge.receiver)
    )
    sites: list[Site] = sorted({node[0] for node in nodes if isinstance(node, tuple)})
    columns: list[Sequence[Node]] = [
        sorted(node for node in nodes if isinstance(node, int)),
        *(
            [*sorted(node for node in nodes if isinstance(node, tuple) and node[0] == site)]
            for site in sites
        ),
        [node for node in nodes if node is None],
    ]
    places: dict[Node, tuple[float, float]] = {}
    for x, column in enumerate(columns):

        def wanted(node: Node) -> float:
            into = [edge for edge in edges if edge.receiver == node and edge.sender in places]
            total = sum(abs(edge.effect) for edge in into)
            if not total:
                return 0.5
            return sum(abs(edge.effect) * places[edge.sender][1] for edge in into) / total

        ordered = column if x == 0 else sorted(column, key=wanted)
        # Neighbouring columns stand a little apart in height, or lines would pass through nodes.
        apart = 0.0 if x in (0, len(columns) - 1) else _APART * (-1) ** x
        for number, node in enumerate(ordered):
            places[node] = (float(x), (number + 0.5 + apart) / len(ordered))
    return places


def curve(way: tuple[float, float, float, float]) -> tuple[list[float], list[float]]:
    """The points of a line that leaves (x, y) and arrives at (x, y) level."""
    x0, y0, x1, y1 = way
    t = np.linspace(0, 1, _STEPS)
    x, y = x0 + (x1 - x0) * t, y0 + (y1 - y0) * _smooth(t)
    return x.tolist(), y.tolist()


def _smooth(t: NDArray[np.float64]) -> NDArray[np.float64]:
    return t * t * (3 - 2 * t)


def is_below(
    place: tuple[float, float],
    lines: Sequence[tuple[float, float, float, float]],
    widths: Sequence[float],
    scale: float,
) -> bool:
    """Whether thinner lines run below a node, where its name would stand, than above it.

    Args:
        lines: the start and the end of each, (x, y, x, y).
        widths: of the lines in pixels.
        scale: pixels of one unit of y.
    """
    x0, y0, x1, y1 = np.array(lines).T[:, :, None]
    t = (place[0] + np.linspace(-_NAME_REACH, _NAME_REACH, 9) - x0) / (x1 - x0)
    # How far below the node's middle each line runs, in pixels.
    down = (y0 + (y1 - y0) * _smooth(t) - place[1]) * scale
    reach = (_NAME_HEIGHT + np.array(widths)[:, None]) / 2
    middle = _TO_NAME + _NAME_HEIGHT / 2

    def hidden(at: float) -> float:
        crosses = ((t >= 0) & (t <= 1) & (np.abs(down - at) < reach)).any(axis=1)
        return float(np.array(widths)[crosses].sum())

    return hidden(middle) < hidden(-middle)


def beside(node: Node, narrow: bool, *, below: bool) -> dict[str, Any]:
    """Where a name stands: left of a token, right of the word, above a head or below it."""
    if narrow and not isinstance(node, tuple):
        return {
            "yanchor": "bottom",
            "yshift": _TO_NAME,
            "xanchor": "right" if node is None else "left",
        }
    if isinstance(node, int):
        return {"xanchor": "right", "xshift": -10}
    if node is None:
        return {"xanchor": "left", "xshift": 10}
    if below:
        return {"yanchor": "top", "yshift": -_TO_NAME}
    return {"yanchor": "bottom", "yshift": _TO_NAME}
