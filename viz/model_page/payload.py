"""Figure 1 with one sentence in it as the browser takes it, which then draws and plays it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.explain.measures import Facts
from model.explain.reading import ReadTrace
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.blocks import TEMPERATURES, Blocks
from model.trace.trace import Trace
from viz.browser.coarse_heads import coarse_heads
from viz.browser.envelope import seal
from viz.browser.trace_payload import Labels, values_of
from viz.browser.trace_payload import pack as pack_trace
from viz.draw import style
from viz.draw.constants import CONSTANTS
from viz.draw.labels import axis_texts
from viz.model_page.arcs import Arcs
from viz.model_page.view import ACTS

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
        seen: the trace, read as it was recorded.
        facts: as in viz.browser.trace_payload, and so are the labels and effects.
        arcs: between its words.
        blocks: what the blocks beside attention did; None where only a trace is known.
        positions: rows of the tables added to the embeddings, by stack, (token, dimension); absent
            where none is added or nothing is known of it.
        acts: how positions act where nothing is added, as the end of a sentence.
        norm: where each block normalises, "pre" or "post"; empty where that is not known.
        labels: what each head does.
        effects: what each head is worth.
        pages: which pages can show this model, by name.
        picture: bytes of the image whose patches are read; None for none.
    """

    trace: Trace
    seen: ReadTrace
    facts: Facts
    arcs: Arcs
    blocks: Blocks | None = None
    positions: Mapping[AttentionKind, FloatArray]
    acts: str = ""
    norm: str = ""
    labels: Labels
    effects: Mapping[Site, FloatArray] | None = None
    pages: Sequence[str] = ()
    picture: NDArray[np.uint8] | None = None


def pack(
    figure: Figure,
    *,
    key: str,
    epoch: int = 0,
    moment: int = 0,
    play: bool = False,
    place: str = "",
    walk: int = 0,
    kiosk: bool = False,
    acts: Sequence[str] = (),
    stage: bool = False,
    selection: Mapping[str, str] | None = None,
    vectors: bool = False,
    asks: Mapping[str, Any] | None = None,
    in_corpus: bool = False,
    reading: tuple[ReadTrace, Facts] | None = None,
    gives: bool = False,
) -> bytes:
    """A figure as the browser takes it, the "figure" of payloads.json.

    Args:
        figure: of one sentence.
        key: names the sentence and its model; the browser plays once for every new one.
        epoch: the browser takes moment, play, place and walk once for every new one, and keeps
            its own else.
        moment: the step to rest at, counted from 1; 0 plays.
        play: whether it plays from there.
        place: where in the model one is, as a link spells it; empty for the whole of it.
        walk: the stop of the walk, counted from 1; 0 for none.
        kiosk: whether the walk goes by itself; the browser then asks for examples.
        acts: by their names, offered at the end of the walk.
        stage: for a picture alone that fills the window.
        selection: as in viz.browser.trace_payload.values_of.
        vectors: likewise.
        asks: from viz.browser.asking; None where there is no model to ask.
        in_corpus: as in viz.browser.trace_payload.values_of.
        reading: the trace as its heads are shown, with their facts; None where they are shown as
            they were recorded.
        gives: whether a server gives the heads of a long text, which are then sent coarsely.

    Raises:
        TraceError: if the layers of one kind of attention differ in heads or tokens.
    """
    trace, arcs = figure.trace, figure.arcs
    kinds = list(dict.fromkeys(site.kind for site in trace.maps))
    has_cross = AttentionKind.CROSS in kinds
    stacks = [kind for kind in kinds if kind in NAMES]
    if has_cross and AttentionKind.DECODER not in kinds:
        # Recorded alone, it is all that is known of the decoder.
        stacks.append(AttentionKind.CROSS)
    shown: dict[str, Any] = {
        "effects": figure.effects,
        "epoch": epoch,
        "selection": selection,
        "stage": stage,
        "in_corpus": in_corpus,
    }
    coarse = coarse_heads(figure.seen) if gives else None
    heads = values_of(
        *(figure.seen, figure.facts, figure.labels), vectors=vectors, coarse=coarse, **shown
    )
    read = None
    if reading is not None:
        coarse = coarse_heads(reading[0]) if gives else None
        read = pack_trace(*reading, figure.labels, coarse=coarse, **shown)
    own = {
        "payload": "figure",
        "reading": None if read is None else np.frombuffer(read, np.uint8),
        "key": key,
        "moment": moment,
        "play": play,
        "place": place,
        "walk": walk,
        "kiosk": kiosk,
        "acts": [[name, ACTS[name]] for name in acts],
        "asks": asks,
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
        else [str(arcs.head.site.kind), arcs.head.site.layer, arcs.head.number],
        "stacks": [_stack(figure, kind, kinds) for kind in stacks],
        "next": _next(trace, figure.blocks),
        "temperatures": TEMPERATURES,
        "norm": figure.norm,
        "pages": list(figure.pages),
        "picture": figure.picture,
    }
    return seal(heads | own)


def _stack(figure: Figure, kind: AttentionKind, kinds: Sequence[AttentionKind]) -> dict[str, Any]:
    name, does = NAMES[AttentionKind.DECODER if kind is AttentionKind.CROSS else kind]
    has_cross = kind is AttentionKind.DECODER and AttentionKind.CROSS in kinds
    inside = [kind, AttentionKind.CROSS] if has_cross else [kind]
    # Where not every layer was recorded, the first block has a row for each of the other's.
    inside.sort(key=lambda each: len(figure.trace.layers(each)), reverse=True)
    if kind is AttentionKind.DECODER and not has_cross:
        does = "reads and goes on"
    return {
        "kind": str(kind),
        "name": name,
        "does": does,
        "side": kind.query_side or "source",
        "blocks": [
            {"kind": str(each), "name": BLOCKS[each], "keySide": each.key_side or "source"}
            for each in inside
        ],
        "added": None if figure.blocks is None else figure.blocks.added.get(kind),
        "positions": _positions(figure, kind),
    }


def _positions(figure: Figure, kind: AttentionKind) -> dict[str, Any] | None:
    table = figure.positions.get(kind)
    if table is None:
        unknown = dict.fromkeys(("cells", "dimensions", "of", "limit"))
        return {"acts": figure.acts, **unknown} if figure.acts else None
    return packed_positions(table)


def packed_positions(table: FloatArray) -> dict[str, Any]:
    """Rows of a table that is added to embeddings, (token, dimension), as a stack has them."""
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
                "ids": list(likeliest.ids),
                "shares": shares,
                "chosen": likeliest.ids.index(own.ids[0]),
                "normalizers": None if blocks.normalizers is None else blocks.normalizers[step],
            }
        )
    return steps
