"""Where in the model a page is: a small copy of Figure 1, whose blocks lead to their pages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from model.trace.attention_map import AttentionKind
from viz.browser.model_map import Block, model_map, opened
from viz.decoding.view import VIEW as DECODING
from viz.decoding.view import DecodingView
from viz.effects.view import VIEW as EFFECTS
from viz.effects.view import EffectsView
from viz.heads.payload import JOINT
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.links.head_refs import USUAL
from viz.links.parameters import View
from viz.masks.view import VIEW as MASKS
from viz.masks.view import MasksView
from viz.positions.view import VIEW as POSITIONS
from viz.positions.view import PositionsView
from viz.registry.pages import ASKED, HOME
from viz.service.questions import OfModel, Question
from viz.shell import address, stage

POSITION_BLOCK, NEXT_BLOCK = "positions", "next"

NAMES = {
    POSITION_BLOCK: "Positions",
    NEXT_BLOCK: "What comes next: decoding",
    AttentionKind.ENCODER: "Encoder self-attention",
    AttentionKind.DECODER: "Masked self-attention of the decoder",
    AttentionKind.CROSS: "Cross-attention",
    AttentionKind.MODULE: "Attention",
}


def show_map(question: Question | None, view: View) -> None:
    """The map, except on the first page, which is the whole of it, and on a stage."""
    if question is None or view.name == HOME or stage.is_on():
        return
    kinds = kinds_of(question)
    shown = about(view, kinds)
    model_map(
        [[Block(key, NAMES[key], key in shown) for key in stack] for stack in stacks(question)],
        on_open=partial(_open, [str(kind) for kind in kinds]),
    )


def kinds_of(question: Question) -> list[AttentionKind]:
    """The kinds of attention of a model."""
    if isinstance(question, OfModel):
        return [AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS]
    return list(dict.fromkeys(site.kind for site in question.trace.maps))


def stacks(question: Question) -> list[list[str]]:
    """The blocks of a model, by what stands in one box of Figure 1."""
    kinds = kinds_of(question)
    boxes: list[list[AttentionKind]] = [
        [kind for kind in kinds if kind in (AttentionKind.ENCODER, AttentionKind.MODULE)],
        [kind for kind in kinds if kind in (AttentionKind.DECODER, AttentionKind.CROSS)],
    ]
    parts = [list(map(str, box)) for box in boxes if box]
    if isinstance(question, OfModel):
        return [[POSITION_BLOCK], *parts, [NEXT_BLOCK]]
    return parts


def about(view: View, kinds: Collection[AttentionKind]) -> set[str]:
    """The blocks that a page is about, as it stands."""
    every = {str(kind) for kind in kinds}
    match view.name:
        case HEADS.name:
            attention = address.read(HeadsView).attention
            return every if attention == JOINT else {attention}
        case MASKS.name:
            return {address.read(MasksView).masked}
        case EFFECTS.name:
            effects = address.read(EffectsView)
            if effects.show == "maps":
                return {effects.mapped}
            return {str(AttentionKind.CROSS)} if effects.show == "alignment" else every
        case DECODING.name:
            return {NEXT_BLOCK}
        case POSITIONS.name:
            return {POSITION_BLOCK}
    return set()


def _open(kinds: Collection[str]) -> None:
    """Go to a block's page, as it was seen last."""
    key = opened()
    if address.is_followed():
        return
    if key == POSITION_BLOCK:
        address.open_view(POSITIONS, address.last(PositionsView), **{ASKED.name: ""})
    elif key == NEXT_BLOCK:
        address.open_view(DECODING, address.last(DecodingView), **{ASKED.name: ""})
    elif key in kinds:
        seen = address.last(HeadsView)
        if seen.attention != key:
            # Its layer and head are of another kind.
            seen = replace(seen, attention=key, layer=USUAL, head=USUAL, cell="", compare="")
        address.open_view(HEADS, seen, **{ASKED.name: ""})
