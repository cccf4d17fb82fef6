"""Heads as matrices to keep: several of one kind side by side, or all three kinds in one square."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from viz.draw import style
from viz.draw.heatmap import key_title, row_titles
from viz.draw.panels import Panel

JOINED = {
    AttentionKind.ENCODER: "Upper left: source tokens look at the source.",
    AttentionKind.CROSS: "Lower left: target tokens look at the source.",
    AttentionKind.DECODER: "Lower right: target tokens look at the target.",
}
"""What the square holds, in the order in which it is read, and how to read it."""


def compared_panels(
    seen: ReadTrace, attention: AttentionKind | str, heads: Sequence[tuple[int, int]]
) -> list[Panel]:
    """The weights of several heads of one kind of attention, a panel each.

    Args:
        seen: the trace as it is read.
        attention: the kind.
        heads: layer and head of each, counted from 0.

    Raises:
        IndexError: if there is no such layer or head.
    """
    kind = AttentionKind(attention)
    panels = []
    for layer, head in heads:
        if Site(kind, layer) not in seen.maps:
            raise IndexError(f"There is no layer {layer} of {kind} attention.")
        one = seen.maps[Site(kind, layer)].head(head)
        panels.append(
            Panel(
                title=f"Layer {layer}, head {head}",
                values=one.weights,
                queries=one.queries,
                keys=one.keys,
                alt=f"Layer {layer}, head {head}: "
                f"{style.count_of(len(one.queries), 'query', 'queries')} by "
                f"{style.count_of(len(one.keys), 'key')}.",
                scale="weights",
                shown=one.allowed,
                query_title=row_titles(kind, seen).query,
                key_title=key_title(kind, sides=seen.has_sides),
            )
        )
    return panels


def joint_maps(seen: ReadTrace, layer: int) -> list[AttentionMap]:
    """The maps of one layer of every kind that has it.

    Raises:
        IndexError: if no kind of attention has such a layer.
    """
    maps = [seen.maps[Site(kind, layer)] for kind in JOINED if Site(kind, layer) in seen.maps]
    if not maps:
        raise IndexError(f"There is no layer {layer}.")
    return maps


def joint_panel(seen: ReadTrace, layer: int, head: int) -> Panel:
    """One head number of all three kinds of attention over source and target tokens together.

    Source tokens look at the source (encoder), target tokens at the source (cross) and at the
    target (decoder). Cells of no attention, and those not allowed, are not shown.

    Args:
        seen: the trace as it is read, with rows named by what was read.
        layer: counted from 0; a kind without that layer stays empty.
        head: counted from 0.

    Raises:
        IndexError: if there is no such layer or head.
    """
    maps = {each.site.kind: each for each in joint_maps(seen, layer)}
    tokens = _joined(seen.source, seen.target)
    n_source = len(seen.source)
    weights = np.zeros((len(tokens), len(tokens)), dtype=np.float32)
    shown = np.zeros(weights.shape, dtype=np.bool_)
    for kind, each in maps.items():
        down, across = kind.axes(0, n_source, 0)
        part = each.head(head)
        place = np.s_[down : down + len(part.queries), across : across + len(part.keys)]
        weights[place], shown[place] = part.weights, part.allowed
    return Panel(
        title=f"All three kinds of attention, layer {layer}, head {head}",
        values=weights,
        queries=tokens,
        keys=tokens,
        alt=f"Source and target together, {style.count_of(len(tokens), 'token')}: encoder at "
        "the upper left, "
        "cross-attention below it, the decoder beside that.",
        scale="weights",
        shown=shown,
        query_title="Query: source, then target",
        key_title="Key: source, then target",
    )


def _joined(source: Tokens, target: Tokens) -> Tokens:
    return Tokens((*source.tokens, *target.tokens), (*source.ids, *target.ids))
