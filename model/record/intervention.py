"""Interventions in a run: other masks, positions, word order or heads.

    Intervention(masks={"decoder": allowed}, positions=PositionEdit(scale=0))
    Intervention(heads={("cross", 2, 3): 0})

They are checked, frozen values that can be compared and hashed, without a model and without torch;
model/record/mask_editing.py applies them to a model.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, get_args

import numpy as np

from model.arguments import require
from model.record.head_edits import HeadEdits, Heads
from model.record.mask_edits import MaskEdits, Masks
from model.record.patches import Patch, checked_patches, side_of
from model.record.patches import Side as Side
from model.trace.attention_map import AttentionKind, Site

Sides = Literal["both", "encoder", "decoder"]

MaskScope = Site | tuple[AttentionKind | str, int] | AttentionKind | str
"""The place of a mask: one layer, or every layer of a kind."""


class PositionError(ValueError):
    """An impossible edit of positions, order or length; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEdit:
    """Edited positions.

    A token at position p of n gets the encoding of position p, or of n - 1 - p with `reverse`; then
    `shift` is added, but the result is at least 0, so the first tokens can share position 0; then
    the encoding is multiplied by `scale`. The defaults change no bit.

    Attributes:
        scale: any finite number; 0 removes positions.
        shift: a whole number that leads to no position beyond the model's.
        reverse: n is the length of the pass, so it is impossible while decoding, when the length is
            unknown.
        side: "encoder", "decoder" or "both".

    Raises:
        PositionError: if a value is impossible.
    """

    scale: float = 1.0
    shift: int = 0
    reverse: bool = False
    side: Sides = "both"

    def __post_init__(self) -> None:
        if not _is_number(self.scale) or not math.isfinite(self.scale):
            raise PositionError(
                f"The scale of positions must be a finite number; it is {self.scale!r}."
            )
        object.__setattr__(self, "scale", float(self.scale))
        try:
            shift = operator.index(self.shift)
        except TypeError:
            shift = None
        if shift is None or isinstance(self.shift, bool):
            raise PositionError(
                f"The shift of positions must be a whole number; it is {self.shift!r}."
            )
        object.__setattr__(self, "shift", shift)
        if not isinstance(self.reverse, bool | np.bool_):
            raise PositionError(f"reverse must be True or False; it is {self.reverse!r}.")
        if self.side not in get_args(Sides):
            raise PositionError(
                f"There is no side {self.side!r}; choose one of {', '.join(get_args(Sides))}."
            )

    @property
    def at_rest(self) -> bool:
        """Whether every token keeps its encoding."""
        return self.scale == 1 and self.shift == 0 and not self.reverse

    def concerns(self, side: Side) -> bool:
        """Whether it changes encodings on that side."""
        return not self.at_rest and self.side in ("both", side)


def ordered(token_ids: Sequence[int], order: Sequence[int] | None) -> list[int]:
    """Token ids in another order, an index for each place; the end token stays last.

    Raises PositionError if the order does not name each token but the end token once.
    """
    *words, end = token_ids
    if order is None:
        return [*words, end]
    try:
        places = [operator.index(place) for place in order]
    except TypeError:
        places = []
    if sorted(places) != list(range(len(words))):
        raise PositionError(
            f"The order must name each of the {len(words)} tokens before </s> once, from 0 to "
            f"{len(words) - 1}; it does not."
        )
    return [*(words[place] for place in places), end]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """All changes to a run; by default none.

    Equal interventions give equal runs, so one is a key for cached results. A new kind of
    intervention is a field here and a context in model/record/mask_editing.py.

    Attributes:
        masks: in place of the model's own, as {"decoder": allowed} or {("cross", 2): allowed}; see
            `model.record.mask_editing.editing`. A mask of decoder or cross-attention may have any
            length, but while decoding nothing can look ahead.
        positions: in place of the model's own. A shift of the decoder's leaves fewer positions, so
            translations are cut earlier; they must not be reversed while decoding.
        source_order: for each place, the index of the source token, before </s>, that the encoder
            reads there; None keeps the order of the text.
        heads: edits of single heads before W_O, as {("cross", 2, 3): 0}, which removes one; see
            `model.record.head_edits.HeadEdits`.
        patches: activations of another run in place of this one's, after the edits of heads; see
            `model.patching.patch`.

    Raises:
        MaskError: as `MaskEdits`.
        HeadError: as `HeadEdits`.
        PatchError: if two patches are for one part.
    """

    masks: Masks = field(default_factory=dict)
    positions: PositionEdit = PositionEdit()
    source_order: Sequence[int] | None = None
    heads: Heads = field(default_factory=dict)
    patches: Sequence[Patch] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.masks, MaskEdits):
            object.__setattr__(self, "masks", MaskEdits(self.masks))
        if not isinstance(self.heads, HeadEdits):
            object.__setattr__(self, "heads", HeadEdits(self.heads))
        require("positions", self.positions, PositionEdit)
        if self.positions.at_rest:
            # No change on one side equals no change on the other.
            object.__setattr__(self, "positions", PositionEdit())
        if self.source_order is not None:
            require("source_order", self.source_order, Iterable)
            object.__setattr__(self, "source_order", tuple(self.source_order))
        object.__setattr__(self, "patches", checked_patches(self.patches))

    def __repr__(self) -> str:
        changed = [
            f"{each.name}={value!r}"
            for each in fields(self)
            if (value := getattr(self, each.name)) != getattr(UNCHANGED, each.name)
        ]
        return f"Intervention({', '.join(changed)})"

    def without_padding(self, n_source: int, n_target: int) -> Intervention | None:
        """The intervention without padding, as `MaskEdits.without_padding`."""
        masks = MaskEdits(self.masks).without_padding(n_source, n_target)
        return None if masks is None else replace(self, masks=masks)

    @property
    def of_encoder(self) -> Intervention:
        """The part that concerns the encoder, for runs of the encoder alone."""
        return replace(
            self,
            masks={
                place: mask
                for place, mask in self.masks.items()
                if (place.kind if isinstance(place, Site) else place) is AttentionKind.ENCODER
            },
            positions=self.positions if self.positions.concerns("encoder") else PositionEdit(),
            heads={
                (site, head): edit
                for (site, head), edit in self.heads.items()
                if site.kind is AttentionKind.ENCODER
            },
            patches=[patch for patch in self.patches if side_of(patch.part) == "encoder"],
        )


UNCHANGED = Intervention()
"""The intervention that changes nothing: not one bit of a run."""
