"""The hypotheses of a decoding as a tree that reads from left to right."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import plotly.graph_objects as go

from model.paper.search import Search
from model.trace.translation import Decoding, SearchNode
from model.trace.word_grouping import END, START, WORD_START
from viz.draw import style
from viz.draw.constants import CONSTANTS
from viz.draw.labels import escape_html, plain_text, token_text, visible

Point = tuple[float, float]

Branch = Literal["translation", "found", "pruned"]

NAMES: dict[Branch, str] = {
    "translation": "the translation",
    "found": "also found",
    "pruned": "pruned",
}
"""What a branch came to, as the legend says it."""

GIVEN = "given beforehand"

_ROW, _PLAIN_ROW = 50, 38
"""Pixels from one row of tokens to the next, with a number below each token and without."""

_ACROSS, _NARROW_ACROSS = 880, 320
"""Pixels that a line of the tree may have across before the next begins, as lines of a text do."""

_LETTER, _DIGIT, _NARROWEST, _BEND = 7.6, 6.6, 40, 26
"""Pixels of a letter, of a digit below a dot, of the narrowest step, and of what a branch needs to
come to its row."""

_ASIDE = CONSTANTS["RING"] + 2
"""Pixels from a dot to its texts, which the ring around it leaves free."""

_SCORE = 72
"""Pixels of the rank and score behind a hypothesis that was found."""

_MOST_LETTERS = 14
"""Longer tokens are cut, so that one of them cannot pull its step apart."""

_BETWEEN = 0.7
"""Rows left free between two lines."""

_LIFT = 0.06
"""Rows between a line and the texts above and below it."""


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Where each hypothesis stands: x in pixels, y in rows from the top.

    Attributes:
        points: of each node.
        edges: what leads to each node from the one before it, as corners of a line; None lifts the
            pen where a line of the tree is full and the next begins.
        branches: what each node belongs to.
        height: rows of all lines together.
    """

    points: tuple[Point, ...]
    edges: tuple[tuple[Point | None, ...], ...]
    branches: tuple[Branch, ...]
    height: float


def without_pruned(decoding: Decoding) -> Decoding:
    """The same with what was found alone."""
    branches = _rows(decoding)[1]
    kept = [place for place, branch in enumerate(branches) if branch != "pruned"]
    moved = {place: number for number, place in enumerate(kept)}
    nodes = (decoding.nodes[place] for place in kept)
    return replace(
        decoding,
        nodes=tuple(
            replace(node, parent=None if node.parent is None else moved[node.parent])
            for node in nodes
        ),
    )


def paths(decoding: Decoding) -> list[list[int]]:
    """Every branch as places of nodes, first token first.

    What was found comes first, the best of it before the rest; then what went on longest.
    """
    nodes = decoding.nodes
    continued = {node.parent for node in nodes}
    ends = [place for place in range(len(nodes)) if place not in continued]

    def order(end: int) -> tuple[float, float, int]:
        node = nodes[end]
        rank = math.inf if node.rank is None else node.rank
        return rank, -node.step, end

    return [_path(nodes, end) for end in sorted(ends, key=order)]


def _path(nodes: tuple[SearchNode, ...], end: int) -> list[int]:
    places = []
    place: int | None = end
    while place is not None:
        places.append(place)
        place = nodes[place].parent
    return places[::-1]


def hypothesis_text(decoding: Decoding, place: int) -> str:
    """What a hypothesis reads as, put together from its tokens."""
    tokens = (decoding.nodes[each].token for each in _path(decoding.nodes, place))
    # A character that the vocabulary lacks is written byte by byte.
    parts = [
        bytes.fromhex(byte[1]) if (byte := _BYTE.fullmatch(token)) else token.encode()
        for token in tokens
        if token != END
    ]
    text = b"".join(parts).decode(errors="replace").replace(WORD_START, " ")
    return visible(text.strip())


def layout_tree(decoding: Decoding, across: float = _ACROSS) -> Tree:
    """Rows that no two branches share at one place: the translation's first, the rest close by.

    Args:
        decoding: of a sentence.
        across: pixels that a line may have.
    """
    nodes = decoding.nodes
    widths = _widths(nodes)
    rows, branches = _rows(decoding)
    # Of each step: its line, and the left edge of its token there. Step 0 is the start.
    lines, lefts = [0], [0.0]
    for step, width in enumerate(widths):
        right = lefts[-1] + width
        if step + 1 < len(widths) and right + widths[step + 1] > across:
            lines.append(lines[-1] + 1)
            lefts.append(float(_BEND))
        else:
            lines.append(lines[-1])
            lefts.append(right)
    used: defaultdict[int, set[int]] = defaultdict(set)
    used[0].add(0)
    for node, row in zip(nodes, rows, strict=True):
        line, before = lines[node.step + 1], 0 if node.parent is None else rows[node.parent]
        used[line] |= {row, before}
    tops, top = {}, 0.0
    for line in sorted(used):
        tops[line] = top
        top += len(used[line]) + _BETWEEN
    # A line has the rows that something stands in, and no others.
    places = {line: {row: n for n, row in enumerate(sorted(each))} for line, each in used.items()}

    def height(line: int, row: int) -> float:
        return tops[line] + places[line][row]

    points, edges = [], []
    for node, row in zip(nodes, rows, strict=True):
        step, line = node.step, lines[node.step + 1]
        before = 0 if node.parent is None else rows[node.parent]
        x, y = lefts[step + 1], height(line, row)
        bend: list[Point | None] = [(x - _BEND, height(line, before)), (x, y)]
        start = (lefts[step], height(lines[step], before))
        if line != lines[step]:
            edge = lefts[step] + widths[step]
            bend = [(edge, start[1]), None, *bend]
        points.append((x, y))
        edges.append((start, *bend))
    return Tree(tuple(points), tuple(edges), branches, top - _BETWEEN)


def _rows(decoding: Decoding) -> tuple[list[int], tuple[Branch, ...]]:
    nodes = decoding.nodes
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = [-1] * len(nodes)
    branches: list[Branch] = ["pruned"] * len(nodes)
    for path in paths(decoding):
        new = [place for place in path if rows[place] < 0]
        first, last = nodes[new[0]], nodes[path[-1]]
        parent = 0 if first.parent is None else rows[first.parent]
        row = _nearest_free(taken, parent, first.step, last.step)
        taken[row].append((first.step, last.step))
        for place in new:
            rows[place] = row
            if last.score is not None:
                branches[place] = "translation" if last.rank == 0 else "found"
    return rows, tuple(branches)


def _nearest_free(
    taken: defaultdict[int, list[tuple[int, int]]], beside: int, first: int, last: int
) -> int:
    def is_free(row: int) -> bool:
        return all(last < start or end < first for start, end in taken[row])

    # Row 0 is the translation's, the first that comes.
    rows = range(1 if taken else 0, len(taken) + 1)
    return min(filter(is_free, rows), key=lambda row: (abs(row - beside), -row))


def _widths(nodes: Iterable[SearchNode]) -> list[float]:
    # Of the start, and of each step.
    widths = [_LETTER * len(START) + _BEND]
    for node in nodes:
        if node.step + 1 == len(widths):
            widths.append(_NARROWEST)
        label = _LETTER * len(_label(node))
        below = _DIGIT * len(style.number(node.log_prob))
        width = _ASIDE + (max(label, below) + _BEND if node.score is None else label + _SCORE)
        widths[node.step + 1] = max(widths[node.step + 1], width)
    return widths


def _label(node: SearchNode) -> str:
    text = token_text(node.token)
    return text if len(text) <= _MOST_LETTERS else plain_text(text[: _MOST_LETTERS - 1] + "…")


def tree_figure(
    decoding: Decoding,
    search: Search,
    title: str,
    *,
    numbered: bool = True,
    narrow: bool = False,
    dark: bool = False,
) -> go.Figure:
    """The tree; its last trace has a point a node, whose customdata begins with its place.

    Args:
        decoding: of a sentence.
        search: how it was decoded.
        title: in plain text.
        numbered: whether each hypothesis has its log-probability below.
        narrow: for a width below `style.NARROW`.
        dark: for a dark page.
    """
    theme = style.look(dark)
    across = _NARROW_ACROSS if narrow else _ACROSS
    tree = layout_tree(decoding, across)
    nodes = decoding.nodes
    x, y = zip(*tree.points, strict=True)
    inks = {"translation": theme.accent, "found": theme.text, "pruned": theme.muted}
    lines = {**inks, "pruned": theme.hatch}
    forced = len(search.prefix)
    data = [_start(theme)]
    # What matters most is drawn last, over the rest.
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
            data += _texts(decoding, tree, places, inks[branch], numbered=numbered)
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
        title=title,
        height=round(tree.height * (_ROW if numbered else _PLAIN_ROW)),
        lines=["Lines read one after another, as in a text"] if narrow else [],
    )
    layout: dict[str, Any] = {
        **shared,
        "plot_bgcolor": style.CLEAR,
        "hovermode": "closest",
        "legend": style.legend_below(shared),
        "xaxis": {"visible": False, "range": [-14, across], "fixedrange": True},
        "yaxis": {"visible": False, "range": [tree.height - 0.5, -0.5], "fixedrange": True},
    }
    return go.Figure({"data": data, "layout": layout})


_LINES: dict[Branch, float] = {"translation": 4, "found": 2.5, "pruned": 1.5}


def _start(theme: style.Look) -> dict[str, Any]:
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
            "x": [each + _ASIDE for each in x],
            "y": [each - _LIFT for each in y],
            "text": [escape_html(_label(node)) for node in nodes],
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
                "x": [x[end] + _ASIDE + _LETTER * len(_label(nodes[end])) + 6 for end in ends],
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


def tree_alt_text(decoding: Decoding, title: str) -> str:
    """The tree in words."""
    found = [
        f"“{hypothesis_text(decoding, decoding.nodes.index(node))}” "
        f"with {style.number(node.score or 0.0)}"
        for node in decoding.ranked
    ]
    return (
        f"{title}: {style.count_of(len(decoding.nodes), 'hypothesis', 'hypotheses')} as a tree. "
        "Found, with log-probability over "
        f"length penalty, best first: {'; '.join(found)}."
    )


def tree_caption(search: Search) -> str:
    """How to read the tree, in plain text."""
    if search.sampling is not None:
        dots = (
            "Each line of dots is one sample, drawn token by token; samples that begin alike have "
            "rows of their own all the same."
        )
    elif search.beam == 1:
        dots = (
            "Each dot is the likeliest token of its step that may be written; greedy decoding "
            "holds no other, so the tree has one branch."
        )
    else:
        dots = (
            f"Each dot is a hypothesis: one of the {search.beam} likeliest of its step that go on, "
            "or one that has ended. Pale branches were pruned: others were likelier, or the search "
            "was over."
        )
    given = " What is dotted was given beforehand, without a choice." if search.prefix else ""
    return (
        f"Read it from left to right, line by line. {dots}{given} Below a dot stands the "
        "log-probability of all tokens up to it. A diamond ends a translation, with its place and "
        "its log-probability over the length penalty; nearer 0 is better."
    )


def _fate(nodes: tuple[SearchNode, ...], place: int) -> str:
    return "<br>".join(map(escape_html, fate_words(nodes, place)))


def fate_words(nodes: tuple[SearchNode, ...], place: int) -> list[str]:
    """How probable a hypothesis is, and what became of it, in plain text."""
    node = nodes[place]
    before = 0.0 if node.parent is None else nodes[node.parent].log_prob
    said = [
        f"“{token_text(node.token)}” has the probability "
        f"{style.number(math.exp(node.log_prob - before))} here",
        f"log-probability so far {style.number(node.log_prob)}",
    ]
    if node.score is not None:
        said.append(f"over the length penalty {style.number(node.score)}")
    if node.rank is not None:
        said.append(f"place {node.rank + 1} among what was found")
    if node.fate == "cut":
        said.append("cut at the most tokens it may have")
    if node.fate == "pruned":
        said.append("pruned")
    return said
