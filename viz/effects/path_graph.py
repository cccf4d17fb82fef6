"""The ways from source tokens through heads to a word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from model.contrast.results import Edge, Paths
from model.trace.attention_map import Site
from model.trace.head import Head
from viz.draw import style, themes
from viz.draw.labels import axis_texts, escape_html
from viz.effects.contrasted import Contrasted, example_means, quoted
from viz.links.request import Request
from viz.save.notebook import Lines
from viz.save.numbers import Numbers
from viz.save.picture import Layout

NARROW_EDGES = 12
"""How many edges a narrow figure has room for."""

_ROW, _LEAST_HEIGHT = 44, 300
_WIDEST, _THINNEST = 11.0, 1.2
"""The widths of the strongest edge and of one without any effect."""

_TOP, _BOTTOM = -0.12, 1.08
"""The ends of the upward axis."""

_NAME_HEIGHT, _TO_NAME, _NAME_REACH = 16, 9, 0.25
"""A name's height and its distance from its node in pixels, and half its width in columns."""

_APART = 0.2
"""By how much of a row neighbouring columns are moved up and down."""

_STEPS = 24
"""The points of an edge's curve; clicks are heard at each."""

Node = int | Head | None
"""A source token, a head, or the word."""


@dataclass(frozen=True, slots=True, eq=False)
class PathGraph(Contrasted):
    """The strongest edges from source tokens through heads to a word, as lines.

    Attributes:
        ways: the edges.
        checkpoint: the model's folder, as a notebook finds it.
    """

    slug = "paths"
    about = "the ways from the source to the word; likewise"

    ways: Paths
    checkpoint: str = ""

    name = "effects-contrast-paths"

    @classmethod
    def of(cls, request: Request) -> PathGraph:
        return cls(*request.contrasted, request.paths, request.folder, target=request.target)

    @property
    def title(self) -> str:
        word, other = self.words
        return f"The ways to {word} instead of {other}"

    def node_name(self, node: Node) -> str:
        """A node as people read it."""
        if node is None:
            return quoted(self.contrast.word)
        if isinstance(node, int):
            return quoted(axis_texts(self.contrast.source)[node])
        return node.short_name

    def said(self, edge: Edge) -> str:
        """An edge in plain text."""
        return (
            f"{self.node_name(edge.sender)} to {self.node_name(edge.receiver)}: "
            f"{style.number(edge.effect)}"
        )

    @property
    def alt(self) -> str:
        listed = "; ".join(map(self.said, self.ways.edges[:8]))
        return (
            f"{self.title}. A graph with source tokens at the left, heads in the order of their "
            f"layers, and the word at the right. The strongest of {len(self.ways.edges)} edges, "
            f"with the drop in the word’s advantage without them: {listed}."
        )

    @property
    def caption(self) -> str:
        word, other = self.words
        return (
            "The thicker a line, the more changes when its start is replaced for its end alone. "
            f"Orange helps {word}, blue {other}. Click a line to open its head."
        )

    @property
    def more(self) -> str:
        ways = self.ways
        instead = "its mean over the model’s examples" if ways.by_mean else "nothing"
        agreement = (
            ""
            if math.isnan(ways.correlation)
            else " Ranked by its strongest outgoing line, a head stands as it does by its effect "
            f"when it is replaced itself with rank correlation {style.fixed(ways.correlation, 2)}."
        )
        return (
            f"Shown are the {len(ways.edges)} strongest of {ways.measured} measured lines: those "
            f"among the source tokens and the {len(ways.heads)} heads of encoder and "
            "cross-attention with the strongest effects. For each line, what its left end gives is "
            f"replaced for its right end alone: a head gives {instead}, a token the mean embedding "
            "of the sentence’s tokens. All other heads of the two kinds give what they gave, while "
            "feed-forward layers and the decoder’s self-attention pass the change on (path "
            "patching: Wang et al. 2023, Goldowsky-Dill et al. 2023). Where a head has no line to "
            f"its right, what it gives goes on along lines too thin to be shown.{agreement}"
        )

    def figure(self, layout: Layout) -> go.Figure:
        """Columns from the source to the word; one trace a line, then the nodes."""
        theme = themes.page(layout.dark)
        edges = self.ways.edges[: NARROW_EDGES if layout.narrow else None]
        places = _places(edges)
        lines = [(*places[each.sender], *places[each.receiver]) for each in edges]
        most = max((abs(each.effect) for each in edges), default=0) or 1.0
        rows = (
            max(
                sum(x == column for x, _ in places.values())
                for column in {x for x, _ in places.values()}
            )
            if places
            else 1
        )
        height = max(_LEAST_HEIGHT, _ROW * rows)
        shares = [abs(each.effect) / most for each in edges]
        widths = [_THINNEST + (_WIDEST - _THINNEST) * share for share in shares]
        data: list[dict[str, Any]] = []
        for edge, share, width in zip(*map(reversed, (edges, shares, widths)), strict=True):
            x, y = _curve(places[edge.sender], places[edge.receiver])
            site, head = edge.receiver or edge.sender
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": x,
                    "y": y,
                    "line": {
                        "width": width,
                        "color": theme.positive if edge.effect > 0 else theme.negative,
                    },
                    "opacity": 0.45 + 0.5 * share,
                    "customdata": [[[str(site.kind), site.layer, head]]] * len(x),
                    "hovertemplate": f"{escape_html(self.said(edge))}<extra></extra>",
                    "showlegend": False,
                }
            )
        names = [escape_html(self._label(node, layout.narrow)) for node in places]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [x for x, _ in places.values()],
                "y": [y for _, y in places.values()],
                "marker": {"size": 12, "color": theme.text},
                "customdata": [
                    [[str(node[0].kind), node[0].layer, node[1]]]
                    if isinstance(node, tuple)
                    else None
                    for node in places
                ],
                "hovertext": [escape_html(self.node_name(node)) for node in places],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "showlegend": False,
                "cliponaxis": False,
            }
        )
        last = max((x for x, _ in places.values()), default=1)
        spec: dict[str, Any] = {
            **style.plain_layout(
                theme,
                title=escape_html("The ways to the word" if layout.narrow else self.title),
                height=height,
                below=28,
                lines=[escape_html(self.title), "E – encoder, C – cross-attention"]
                if layout.narrow
                else [],
            ),
            "xaxis": {
                "visible": False,
                "range": [-0.4, last + 0.4] if layout.narrow else [-0.9, last + 0.7],
                "fixedrange": True,
            },
            "yaxis": {"visible": False, "range": [_BOTTOM, _TOP], "fixedrange": True},
            "hovermode": "closest",
            "annotations": [
                {
                    **{"text": name, "x": x, "y": y, "showarrow": False},
                    **_beside(
                        node,
                        layout.narrow,
                        below=is_below((x, y), lines, widths, height / (_BOTTOM - _TOP)),
                    ),
                    # Without a ground: that would cut a line, which then seems to lead here.
                    "font": {"size": style.SMALL_FONT_SIZE, "color": theme.text},
                }
                for name, (node, (x, y)) in zip(names, places.items(), strict=True)
            ],
        }
        return go.Figure({"data": data, "layout": spec})

    def _label(self, node: Node, narrow: bool) -> str:
        """The text beside a node."""
        if isinstance(node, tuple):
            site, head = node
            short = site.kind.short_name[0] if narrow else site.kind.short_name
            return f"{short} {site.layer}.{head}"
        return self.node_name(node) if node is None else self.node_name(node)[1:-1]

    def numbers(self) -> Numbers:
        edges = self.ways.edges
        return Numbers(
            {"rank_correlation": str(self.ways.correlation)},
            {"edge": range(len(edges))},
            {
                name: (("edge",), np.array(values))
                for name, values in {
                    "sender": [self.node_name(each.sender) for each in edges],
                    "receiver": [self.node_name(each.receiver) for each in edges],
                    "effect": [each.effect for each in edges],
                }.items()
            },
        )

    @property
    def setup(self) -> Lines:
        return [
            *self.contrasted,
            example_means(self.checkpoint),
            "ways = hs.figures.paths(translator, trace, pair, means)",
        ]


def _places(edges: Sequence[Edge]) -> dict[Node, tuple[float, float]]:
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


def _curve(start: tuple[float, float], end: tuple[float, float]) -> tuple[list[float], list[float]]:
    """The points of a line that leaves and arrives level."""
    t = np.linspace(0, 1, _STEPS)
    x = start[0] + (end[0] - start[0]) * t
    y = start[1] + (end[1] - start[1]) * _smooth(t)
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
        place: of the node.
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


def _beside(node: Node, narrow: bool, *, below: bool) -> dict[str, Any]:
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
