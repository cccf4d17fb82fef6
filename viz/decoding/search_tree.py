"""Every hypothesis of a decoding as a tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.attention_map import Tokens
from model.trace.token_schemes import START
from model.trace.translation import Decoding, SearchNode
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
from viz.draw import style, themes
from viz.draw.labels import escape_html
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.request import Request
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


@dataclass(frozen=True, slots=True, eq=False)
class SearchTree(DecodingPicture):
    """Every hypothesis of a decoding as a tree.

    Attributes:
        decoding: of the sentence.
        numbered: whether each hypothesis has its log-probability below.
        whole: whether pruned hypotheses are drawn.
    """

    slug = "tree"
    about = "every hypothesis of the search as a tree: --beam, --samples, --prefix"

    decoding: Decoding
    search: Search
    numbered: bool = True
    whole: bool = True
    changes: Changes = UNCHANGED

    name = "search-tree"

    @classmethod
    def of(cls, request: Request) -> SearchTree:
        return cls(request.decoding, request.search, changes=request.changes)

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
        """The tree; its last trace has a point a node, whose customdata begins with its place."""
        theme = themes.page(layout.dark)
        decoding = self.decoding if self.whole else without_pruned(self.decoding)
        across = _NARROW_ACROSS if layout.narrow else ACROSS
        tree = layout_tree(decoding, across)
        nodes = decoding.nodes
        x, y = zip(*tree.points, strict=True)
        inks = {"translation": theme.accent, "found": theme.text, "pruned": theme.muted}
        lines = {**inks, "pruned": theme.hatch}
        forced = len(self.search.prefix)
        data = [_start(theme)]
        # The most important lines are drawn last, on top.
        for branch in reversed(NAMES):
            for given in (False, True):
                edges = [
                    place
                    for place, node in enumerate(nodes)
                    if tree.branches[place] == branch and (node.step < forced) == given
                ]
                if edges:
                    data.append(_edges(tree, edges, lines[branch], given=given))
        for branch in NAMES:
            places = [place for place in range(len(nodes)) if tree.branches[place] == branch]
            if places:
                data += _texts(decoding, tree, places, inks[branch], numbered=self.numbered)
                data.append(_legend(NAMES[branch], lines[branch], width=_LINES[branch]))
        if forced:
            data.append(_legend(GIVEN, theme.text, dash="dot"))
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": x,
                "y": y,
                "marker": {
                    "size": [12 if node.score is not None else 8 for node in nodes],
                    "symbol": ["diamond" if node.score is not None else "circle" for node in nodes],
                    "color": [lines[branch] for branch in tree.branches],
                    "opacity": 1,
                },
                "customdata": [
                    [place, escape_html(hypothesis_text(decoding, place)), _fate(nodes, place)]
                    for place in range(len(nodes))
                ],
                "hovertemplate": "<b>%{customdata[1]}</b><br>%{customdata[2]}<extra></extra>",
                # A click dims nothing, here as in the other traces.
                "unselected": {"marker": {"opacity": 1}},
                "showlegend": False,
            }
        )
        shared = style.layout(
            theme,
            title=self.title,
            height=round(tree.height * (_ROW if self.numbered else _PLAIN_ROW)),
            lines=["Read line by line, as in a text"] if layout.narrow else [],
        )
        spec: dict[str, Any] = {
            **shared,
            "plot_bgcolor": style.CLEAR,
            "hovermode": "closest",
            "legend": style.legend_below(shared),
            "xaxis": {"visible": False, "range": [-14, across], "fixedrange": True},
            "yaxis": {"visible": False, "range": [tree.height - 0.5, -0.5], "fixedrange": True},
        }
        return go.Figure({"data": data, "layout": spec})

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


def _start(theme: themes.Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [0],
        "y": [0],
        "text": [escape_html(START)],
        "textposition": "top right",
        "textfont": {"size": style.SMALL_FONT_SIZE, "color": theme.muted},
        "marker": {"size": 8, "color": theme.muted},
        "unselected": {"marker": {"opacity": 1}, "textfont": {"color": theme.muted}},
        "hovertemplate": "Every translation starts here<extra></extra>",
        "showlegend": False,
    }


def _edges(tree: Tree, places: list[int], color: str, *, given: bool) -> dict[str, Any]:
    # The pen is lifted after each.
    corners = [corner for place in places for corner in (*tree.edges[place], None)]
    branch = tree.branches[places[0]]
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [corner and corner[0] for corner in corners],
        "y": [corner and corner[1] for corner in corners],
        "line": {"color": color, "width": _LINES[branch], "dash": "dot" if given else "solid"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _texts(
    decoding: Decoding, tree: Tree, places: list[int], color: str, *, numbered: bool
) -> list[dict[str, Any]]:
    nodes = [decoding.nodes[place] for place in places]
    x, y = zip(*(tree.points[place] for place in places), strict=True)
    shared: dict[str, Any] = {
        "type": "scatter",
        "mode": "text",
        "unselected": {"textfont": {"color": color}},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    traces = [
        {
            **shared,
            "x": [each + ASIDE for each in x],
            "y": [each - _LIFT for each in y],
            "text": [escape_html(node_label(node)) for node in nodes],
            "textposition": "top right",
            "textfont": {"size": style.SMALL_FONT_SIZE, "color": color},
        }
    ]
    if numbered:
        traces.append(
            {
                **traces[0],
                "y": [each + _LIFT for each in y],
                "text": [style.number(node.log_prob) for node in nodes],
                "textposition": "bottom right",
                "textfont": {"size": style.DENSE_FONT_SIZE, "color": color},
            }
        )
    ends = [place for place, node in enumerate(nodes) if node.score is not None]
    if ends:
        traces.append(
            {
                **shared,
                "x": [x[end] + ASIDE + LETTER * len(node_label(nodes[end])) + 6 for end in ends],
                "y": [y[end] for end in ends],
                "text": [_final(nodes[end]) for end in ends],
                "textposition": "middle right",
                "textfont": {"size": style.FONT_SIZE, "color": color},
            }
        )
    return traces


def _final(node: SearchNode) -> str:
    ranked = "" if node.rank is None else f"<b>{node.rank + 1}.</b> "
    return ranked + style.number(node.score or 0.0)


def _legend(name: str, color: str, **line: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [None],
        "y": [None],
        "line": {"color": color, **line},
        "name": name,
        "showlegend": True,
    }


def _fate(nodes: tuple[SearchNode, ...], place: int) -> str:
    return "<br>".join(map(escape_html, fate_words(nodes, place)))
