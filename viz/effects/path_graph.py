"""The ways from source tokens through heads to a word."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from model.contrast.results import Edge, Paths
from viz.charts.axes import number_axis
from viz.charts.chart import Layout, Plot, chart
from viz.charts.marks import Mark, Sheet, line, points
from viz.draw import style
from viz.draw.labels import axis_texts, escape_html
from viz.effects.contrasted import Contrasted, example_means, quoted
from viz.effects.path_places import Node, beside, curve, is_below, places_of
from viz.save.notebook import Lines
from viz.save.numbers import Numbers

NARROW_EDGES = 12
"""How many edges a narrow figure has room for."""

_ROW, _LEAST_HEIGHT = 44, 300
_WIDEST, _THINNEST = 11.0, 1.2
"""The widths of the strongest edge and of one without any effect."""

_TOP, _BOTTOM = -0.12, 1.08
"""The ends of the upward axis."""


@dataclass(frozen=True, slots=True, eq=False)
class PathGraph(Contrasted):
    """The strongest edges from source tokens through heads to a word, as lines.

    Attributes:
        checkpoint: the model's folder, as a notebook finds it.
    """

    ways: Paths
    checkpoint: str = ""

    name = "effects-contrast-paths"

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
        edges = self.ways.edges[: NARROW_EDGES if layout.narrow else None]
        places = places_of(edges)
        columns = Counter(x for x, _ in places.values())
        height = max(_LEAST_HEIGHT, _ROW * max(columns.values(), default=1))
        most = max((abs(each.effect) for each in edges), default=0) or 1.0
        shares = [abs(each.effect) / most for each in edges]
        widths = [_THINNEST + (_WIDEST - _THINNEST) * share for share in shares]
        ways = [(*places[each.sender], *places[each.receiver]) for each in edges]
        marks = [
            self._line(edge, curve(way), share, width)
            for edge, way, share, width in zip(edges, ways, shares, widths, strict=True)
        ]
        nodes = points(
            [x for x, _ in places.values()],
            [y for _, y in places.values()],
            size=12,
            color="text",
            customdata=[
                [[str(node[0].kind), node[0].layer, node[1]]] if isinstance(node, tuple) else None
                for node in places
            ],
            hovertext=[escape_html(self.node_name(node)) for node in places],
            hover="%{hovertext}",
            cliponaxis=False,
        )

        def names(sheet: Sheet) -> None:
            font = {"size": style.SMALL_FONT_SIZE, "color": sheet.theme.text}
            for node, (x, y) in places.items():
                below = is_below((x, y), ways, widths, height / (_BOTTOM - _TOP))
                name = escape_html(self._label(node, sheet.narrow))
                # Without a ground: that would cut a line, which then seems to lead here.
                sheet.note(
                    **{"text": name, "x": x, "y": y, "font": font},
                    **beside(node, sheet.narrow, below=below),
                )

        last = max(columns, default=1)
        ends = [-0.4, last + 0.4] if layout.narrow else [-0.9, last + 0.7]
        plot = Plot(
            across=number_axis(visible=False, range=ends, fixedrange=True),
            up=number_axis(visible=False, range=[_BOTTOM, _TOP], fixedrange=True),
            # The strongest in front.
            marks=[*reversed(marks), nodes, names],
            height=height,
        )
        return chart(
            layout,
            self.title,
            plot,
            short="The ways to the word",
            lines=[self.title, "E – encoder, C – cross-attention"],
            below=28,
            hovermode="closest",
        )

    def _line(
        self, edge: Edge, points: tuple[list[float], list[float]], share: float, width: float
    ) -> Mark:
        """An edge; a click on any of its points opens its head."""
        x, y = points
        node = edge.receiver or edge.sender
        assert not isinstance(node, int), "a token reaches the word through heads alone"
        return line(
            "",
            y,
            x=x,
            color="positive" if edge.effect > 0 else "negative",
            width=width,
            opacity=0.45 + 0.5 * share,
            customdata=[[[str(node[0].kind), node[0].layer, node[1]]]] * len(x),
            hover=f"{escape_html(self.said(edge))}<extra></extra>",
            legend=False,
        )

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
