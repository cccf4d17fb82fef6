"""Figure 1 with one sentence in it as the browser takes it, which then draws and plays it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from model.explain.labels import Label
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.blocks import TEMPERATURES, Blocks
from model.trace.trace import Trace
from viz.browser.envelope import seal, steps_of
from viz.draw import style, themes
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts
from viz.model_page.arcs import Arcs

DIMENSIONS: int = CONSTANTS["POSITION_DIMENSIONS"]
"""So many columns of a table of positions are drawn at most."""

NAMES = {
    AttentionKind.ENCODER: ("Encoder", "reads"),
    AttentionKind.DECODER: ("Decoder", "writes"),
    AttentionKind.MODULE: ("Attention", "as it was recorded"),
}
"""What a stack is called, and what it does."""

BLOCKS = {
    AttentionKind.ENCODER: "Self-attention",
    AttentionKind.DECODER: "Masked self-attention",
    AttentionKind.CROSS: "Cross-attention",
    AttentionKind.MODULE: "Attention",
}
"""What a kind of attention is called within its stack."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Figure:
    """All that the picture shows of one sentence.

    Attributes:
        trace: of the sentence.
        arcs: between its words.
        blocks: what the blocks beside attention did; None where only a trace is known.
        positions: rows of the tables added to the embeddings, by stack, (token, dimension); absent
            where none is added or nothing is known of it.
        acts: how positions act where nothing is added, as the end of a sentence.
        norm: where each block normalises, "pre" or "post"; empty where that is not known.
        labels: what each head does, by site; sites may be absent.
        pages: which pages can show this model, by name.
    """

    trace: Trace
    arcs: Arcs
    blocks: Blocks | None = None
    positions: Mapping[AttentionKind, FloatArray]
    acts: str = ""
    norm: str = ""
    labels: Mapping[Site, tuple[Label | None, ...]]
    pages: Sequence[str] = ()


def pack(
    figure: Figure, *, key: str, moment: int = 0, play: bool = False, stage: bool = False
) -> bytes:
    """A figure as the browser takes it, of payloads.json.

    Args:
        figure: of one sentence.
        key: names the sentence and its model; the browser plays once for every new one.
        moment: the step to rest at, counted from 1; 0 plays.
        play: whether it plays from there.
        stage: for a picture alone that fills the window.
    """
    trace, arcs = figure.trace, figure.arcs
    kinds = list(dict.fromkeys(site.kind for site in trace.maps))
    has_cross = AttentionKind.CROSS in kinds
    stacks = [kind for kind in kinds if kind in NAMES]
    values = {
        "payload": "figure",
        "key": key,
        "moment": moment,
        "play": play,
        "stage": stage,
        "themes": themes.STAGE_THEMES if stage else themes.THEMES,
        "written": [asdict(word) for word in arcs.written],
        "read": [asdict(word) for word in arcs.read],
        # A token that was predicted is read one position later.
        "offset": int(has_cross and bool(trace.predictions)),
        "rows": 2 if has_cross or arcs.written != arcs.read else 1,
        "arcs": {"weights": arcs.weights, "frames": len(arcs.weights)},
        "said": arcs.said,
        "later": arcs.later,
        "head": None
        if arcs.head is None
        else [str(arcs.head[0].kind), arcs.head[0].layer, arcs.head[1]],
        "stacks": [_stack(figure, kind, kinds) for kind in stacks],
        "next": _next(trace, figure.blocks),
        "temperatures": TEMPERATURES,
        "norm": figure.norm,
        "pages": list(figure.pages),
    }
    return seal(values)


def _stack(figure: Figure, kind: AttentionKind, kinds: Sequence[AttentionKind]) -> dict[str, Any]:
    trace = figure.trace
    name, does = NAMES[kind]
    has_cross = kind is AttentionKind.DECODER and AttentionKind.CROSS in kinds
    inside = [kind, AttentionKind.CROSS] if has_cross else [kind]
    if kind is AttentionKind.DECODER and not has_cross:
        does = "reads and goes on"
    tokens = trace.attention(kind, trace.layers(kind)[0]).queries
    return {
        "kind": str(kind),
        "name": name,
        "does": does,
        "side": kind.query_side or "source",
        "tokens": axis_texts(tokens),
        "blocks": [_block(figure, each) for each in inside],
        "added": None if figure.blocks is None else figure.blocks.added.get(kind),
        "positions": _positions(figure, kind),
    }


def _block(figure: Figure, kind: AttentionKind) -> dict[str, Any]:
    trace = figure.trace
    layers = trace.layers(kind)
    maps = [trace.attention(kind, layer) for layer in layers]
    first = maps[0]
    return {
        "kind": str(kind),
        "name": BLOCKS[kind],
        "layers": list(layers),
        "heads": first.n_heads,
        "queries": len(first.queries),
        "keys": len(first.keys),
        "keySide": kind.key_side or "source",
        "weights": [steps_of(each.weights) for each in maps],
        # Heads that differ in what they may see are drawn as if each saw what any of them may.
        "allowed": first.allowed.reshape(-1, *first.weights.shape[1:]).any(axis=0),
        "labels": [
            _labels(figure.labels.get(Site(kind, layer)), first.n_heads) for layer in layers
        ],
    }


def _labels(labels: Sequence[Label | None] | None, n_heads: int) -> list[str]:
    found = [label.text if label and label.earned else "" for label in labels or ()]
    return (found + [""] * n_heads)[:n_heads]


def _positions(figure: Figure, kind: AttentionKind) -> dict[str, Any] | None:
    table = figure.positions.get(kind)
    if table is None:
        unknown = dict.fromkeys(("cells", "dimensions", "of", "limit"))
        return {"acts": figure.acts, **unknown} if figure.acts else None
    columns = style.pair_columns(table.shape[1], max(1, table.shape[1] // 32))[:DIMENSIONS]
    shown = table[:, columns]
    limit = float(np.abs(shown).max()) or 1.0
    # 0 lies in the middle, so that nothing is drawn as nothing.
    cells = np.round((shown / limit + 1) * 127.5).astype(np.uint8)
    return {
        "acts": None,
        "cells": cells,
        "dimensions": cells.shape[1],
        "of": table.shape[1],
        "limit": limit,
    }


def _next(trace: Trace, blocks: Blocks | None) -> list[dict[str, Any]] | None:
    """What may come next at every step; the one that comes is among them."""
    if blocks is None or trace.log_probs is None:
        return None
    steps = []
    for step, likeliest in enumerate(blocks.likeliest):
        shares = [float(share) for share in blocks.probabilities[step]]
        own = trace.predictions[step : step + 1]
        if own.ids[0] not in likeliest.ids:
            likeliest = likeliest[: len(likeliest) - 1] + own
            shares = [*shares[:-1], float(np.exp(trace.log_probs[step]))]
        steps.append(
            {
                "texts": axis_texts(likeliest),
                "shares": shares,
                "chosen": likeliest.ids.index(own.ids[0]),
                "normalizers": None if blocks.normalizers is None else blocks.normalizers[step],
            }
        )
    return steps
