"""Every hypothesis of a decoding as a tree."""

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import Tokens
from model.trace.token_schemes import START
from model.trace.translation import Decoding, SearchNode
from viz.charts.axes import number_axis
from viz.charts.chart import Plot, chart
from viz.charts.marks import Color, Mark, line, points
from viz.charts.texts import texts
from viz.decoding.picture import DecodingPicture
from viz.decoding.tree import (
    ACROSS,
    ASIDE,
    LETTER,
    NAMES,
    Branch,
    Tree,
    fate_words,
    hypothesis_text,
    layout_tree,
    node_label,
    without_pruned,
)
from viz.draw import style
from viz.draw.labels import escape_html
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.searches import search_name
from viz.save.numbers import Numbers, column_numbers
from viz.save.picture import Layout

GIVEN = "given beforehand"

_ROW, _PLAIN_ROW = 50, 38
"""Pixels from one row of tokens to the next, with a number below each token and without."""

_NARROW_ACROSS = 320
"""Pixels across a line of a narrow tree."""

_LIFT = 0.06
"""Rows between a line and the texts above and below it."""

_LINES: dict[Branch, float] = {"translation": 4, "found": 2.5, "pruned": 1.5}
"""The widths of branches in pixels."""

_INKS: dict[Branch, Color] = {"translation": "accent", "found": "text", "pruned": "muted"}
_COLORS: dict[Branch, Color] = {**_INKS, "pruned": "hatch"}
"""The colours of a branch's texts, and of its lines and points."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchTree(DecodingPicture):
    """Every hypothesis of a decoding as a tree.

    Attributes:
        numbered: whether each hypothesis has its log-probability below.
        whole: whether pruned hypotheses are drawn.
    """

    decoding: Decoding
    search: Search
    numbered: bool = True
    whole: bool = True
    changes: Changes = UNCHANGED

    name = "search-tree"

    @property
    def title(self) -> str:
        return search_name(self.search) + self.changes.name

    @property
    def alt(self) -> str:
        listed = [
            f"“{hypothesis_text(self.decoding, self.decoding.nodes.index(node))}” "
            f"with {style.number(node.score or 0.0)}"
            for node in self.decoding.ranked
        ]
        return (
            f"{self.title}: "
            f"{style.count_of(len(self.decoding.nodes), 'hypothesis', 'hypotheses')} as a tree. "
            "Translations with their log-probability over length penalty, best first: "
            f"{'; '.join(listed)}."
        )

    @property
    def caption(self) -> str:
        given = " Dotted: tokens that were given." if self.search.prefix else ""
        return f"{self._dots}{given}"

    @property
    def _dots(self) -> str:
        """The meaning of a dot."""
        if self.search.sampling is not None:
            return "Each line of dots is one sample, drawn token by token."
        if self.search.beam == 1:
            return "Each dot is the likeliest token of its step that the model may write."
        return "Each dot is a hypothesis; pale branches were pruned."

    @property
    def more(self) -> str:
        if self.search.sampling is not None:
            kind = "Samples that begin alike still have separate rows."
        elif self.search.beam == 1:
            kind = "Greedy decoding keeps only one hypothesis, so the tree has one branch."
        else:
            kind = (
                f"A hypothesis is one of the {self.search.beam} likeliest of its step that "
                "continue, or one that has ended. It is pruned when others are likelier, or when "
                "the search ends."
            )
        return (
            f"{kind} Read the tree from left to right, line by line. The number below a dot is the "
            "log-probability of all tokens up to it. A diamond ends a translation; next to it are "
            "its rank and its log-probability over the length penalty: the closer to 0, the better."
        )

    def figure(self, layout: Layout) -> go.Figure:
        """The tree; its last trace but the legend has a point a node, with its place first."""
        decoding = self.decoding if self.whole else without_pruned(self.decoding)
        across = _NARROW_ACROSS if layout.narrow else ACROSS
        tree = layout_tree(decoding, across)
        nodes = decoding.nodes
        forced = len(self.search.prefix)
        small = style.SMALL_FONT_SIZE
        marks = [
            points([0], [0], size=8, color="muted", hover="Every translation starts here"),
            texts(
                [5],
                [-_LIFT],
                [escape_html(START)],
                name="start",
                at="top right",
                size=small,
                color="muted",
            ),
        ]
        # The most important lines are drawn last, on top.
        for branch in reversed(NAMES):
            for given in (False, True):
                edges = [
                    place
                    for place, node in enumerate(nodes)
                    if tree.branches[place] == branch and (node.step < forced) == given
                ]
                if edges:
                    marks.append(_edges(tree, edges, given=given))
        for branch in NAMES:
            places = [place for place in range(len(nodes)) if tree.branches[place] == branch]
            if places:
                marks += _texts(decoding, tree, places, _INKS[branch], numbered=self.numbered)
                marks.append(_legend(NAMES[branch], _COLORS[branch], width=_LINES[branch]))
        if forced:
            marks.append(_legend(GIVEN, "text", dash="dot"))
        x, y = zip(*tree.points, strict=True)
        marks.append(
            points(
                x,
                y,
                size=[12 if node.score is not None else 8 for node in nodes],
                symbol=["diamond" if node.score is not None else "circle" for node in nodes],
                color=[_COLORS[branch] for branch in tree.branches],
                customdata=[
                    [place, escape_html(hypothesis_text(decoding, place)), _fate(nodes, place)]
                    for place in range(len(nodes))
                ],
                hover="<b>%{customdata[1]}</b><br>%{customdata[2]}",
            )
        )
        plain: dict[str, Any] = {"visible": False, "fixedrange": True}
        return chart(
            layout,
            self.title,
            Plot(
                across=number_axis(range=[-14, across], **plain),
                up=number_axis(range=[tree.height - 0.5, -0.5], **plain),
                marks=marks,
                height=round(tree.height * (_ROW if self.numbered else _PLAIN_ROW)),
            ),
            lines=["Read line by line, as in a text"],
            below=(style.BOTTOM, style.BOTTOM + style.LEGEND_HEIGHT),
            hovermode="closest",
        )

    def numbers(self) -> Numbers:
        nodes = self.decoding.nodes
        columns: dict[str, list[Any]] = {
            "parent": [-1 if node.parent is None else node.parent for node in nodes],
            "step": [node.step + 1 for node in nodes],
            "rank": [0 if node.rank is None else node.rank + 1 for node in nodes],
            "log_prob": [node.log_prob for node in nodes],
            "score": [math.nan if node.score is None else node.score for node in nodes],
            "fate": [node.fate for node in nodes],
        }
        tokens = Tokens(
            tuple(node.token for node in nodes),
            tuple(node.token_id for node in nodes),
            "sentencepiece",
        )
        return column_numbers({"search": self.title}, "hypothesis", tokens, columns)


def _edges(tree: Tree, places: list[int], *, given: bool) -> Mark:
    # The pen is lifted after each.
    corners = [corner for place in places for corner in (*tree.edges[place], None)]
    branch = tree.branches[places[0]]
    return line(
        "",
        [corner and corner[1] for corner in corners],
        x=[corner and corner[0] for corner in corners],
        color=_COLORS[branch],
        width=_LINES[branch],
        dash="dot" if given else "solid",
        legend=False,
    )


def _texts(
    decoding: Decoding, tree: Tree, places: list[int], color: Color, *, numbered: bool
) -> list[Mark]:
    """The tokens of a branch, with their numbers below, and what stands at its ends."""
    nodes = [decoding.nodes[place] for place in places]
    x, y = zip(*(tree.points[place] for place in places), strict=True)
    beside = [each + ASIDE for each in x]
    labels = [node_label(node) for node in nodes]
    clipped: dict[str, Any] = {"color": color, "cliponaxis": None}
    above = [each - _LIFT for each in y]
    marks = [texts(beside, above, [*map(escape_html, labels)], at="top right", **clipped)]
    if numbered:
        below = [each + _LIFT for each in y]
        shown = [style.number(node.log_prob) for node in nodes]
        size = style.DENSE_FONT_SIZE
        marks.append(texts(beside, below, shown, at="bottom right", size=size, **clipped))
    ends = [place for place, node in enumerate(nodes) if node.score is not None]
    if ends:
        after = [beside[end] + LETTER * len(labels[end]) + 6 for end in ends]
        shown = [_final(nodes[end]) for end in ends]
        heights, size = [y[end] for end in ends], style.FONT_SIZE
        marks.append(texts(after, heights, shown, at="middle right", size=size, **clipped))
    return marks


def _final(node: SearchNode) -> str:
    ranked = "" if node.rank is None else f"<b>{node.rank + 1}.</b> "
    return ranked + style.number(node.score or 0.0)


def _legend(name: str, color: Color, **look: Any) -> Mark:
    return line(name, [None], x=[None], color=color, **look)


def _fate(nodes: tuple[SearchNode, ...], place: int) -> str:
    return "<br>".join(map(escape_html, fate_words(nodes, place)))
