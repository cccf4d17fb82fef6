"""The hypotheses of a decoding as a tree that reads from left to right."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from model.trace.token_schemes import END, START, WORD_START
from model.trace.translation import Decoding, SearchNode
from viz.draw import style
from viz.draw.constants import CONSTANTS
from viz.draw.labels import plain_text, token_text, visible

Point = tuple[float, float]

Branch = Literal["translation", "found", "pruned"]

NAMES: dict[Branch, str] = {
    "translation": "the translation",
    "found": "also found",
    "pruned": "pruned",
}
"""The fate of a branch, in the legend."""

ACROSS = 880
"""Pixels across a line of the tree; then the next line begins, as in a text."""

LETTER, _DIGIT, _NARROWEST, _BEND = 7.6, 6.6, 40, 26
"""Widths in pixels: of a letter, of a digit below a dot, of the narrowest step, and of a bend."""

ASIDE = CONSTANTS["RING"] + 2
"""Pixels from a dot to its texts, beyond the ring around it."""

_SCORE = 72
"""The width in pixels of the rank and score behind a translation."""

_MOSTLETTERS = 14
"""Longer tokens are cut, so that none of them widens its step."""

_BETWEEN = 0.7
"""Empty rows between two lines."""


_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The place of each hypothesis: x in pixels, y in rows from the top.

    Attributes:
        edges: what leads to each node from the one before it, as corners of a line; None lifts the
            pen where a line of the tree is full and the next begins.
        branches: what each node belongs to.
    """

    points: tuple[Point, ...]
    edges: tuple[tuple[Point | None, ...], ...]
    branches: tuple[Branch, ...]
    height: float


def without_pruned(decoding: Decoding) -> Decoding:
    """The decoding without pruned hypotheses."""
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

    Translations come first, the best of them before the others; then what else ended; then the
    longest branches.
    """
    nodes = decoding.nodes
    continued = {node.parent for node in nodes}
    ends = [place for place in range(len(nodes)) if place not in continued]

    def order(end: int) -> tuple[float, bool, float, int]:
        node = nodes[end]
        rank = math.inf if node.rank is None else node.rank
        return rank, node.score is None, -node.step, end

    return [_path(nodes, end) for end in sorted(ends, key=order)]


def _path(nodes: tuple[SearchNode, ...], end: int) -> list[int]:
    places = []
    place: int | None = end
    while place is not None:
        places.append(place)
        place = nodes[place].parent
    return places[::-1]


def hypothesis_text(decoding: Decoding, place: int) -> str:
    """The text of a hypothesis."""
    tokens = (decoding.nodes[each].token for each in _path(decoding.nodes, place))
    # A character that the vocabulary lacks is written byte by byte; as in the translation's text,
    # bytes that are no character are �.
    parts = [
        bytes.fromhex(byte[1]) if (byte := _BYTE.fullmatch(token)) else token.encode()
        for token in tokens
        if token != END
    ]
    text = b"".join(parts).decode(errors="replace").replace(WORD_START, " ")
    return visible(text.strip())


def layout_tree(decoding: Decoding, across: float = ACROSS) -> Tree:
    """Where each hypothesis stands, in lines of a width in pixels: no two on one place."""
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
    # A line has no empty rows.
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
    widths = [LETTER * len(START) + _BEND]
    for node in nodes:
        if node.step + 1 == len(widths):
            widths.append(_NARROWEST)
        label = LETTER * len(node_label(node))
        below = _DIGIT * len(style.number(node.log_prob))
        width = ASIDE + (max(label, below) + _BEND if node.score is None else label + _SCORE)
        widths[node.step + 1] = max(widths[node.step + 1], width)
    return widths


def node_label(node: SearchNode) -> str:
    """Its token, shortened if it is long."""
    text = token_text(node.token)
    return text if len(text) <= _MOSTLETTERS else plain_text(text[: _MOSTLETTERS - 1] + "…")


def fate_words(nodes: tuple[SearchNode, ...], place: int) -> list[str]:
    """How probable a hypothesis is and what became of it, in plain text."""
    node = nodes[place]
    before = 0.0 if node.parent is None else nodes[node.parent].log_prob
    words = [
        f"“{token_text(node.token)}” has the probability "
        f"{style.number(math.exp(node.log_prob - before))} here",
        f"log-probability so far {style.number(node.log_prob)}",
    ]
    if node.score is not None:
        words.append(f"over the length penalty {style.number(node.score)}")
    if node.rank is not None:
        words.append(f"rank {node.rank + 1} among the translations")
    if node.fate == "cut":
        words.append("cut off at the length limit")
    if node.fate == "pruned":
        words.append("pruned")
    return words
