"""Interventions in a run: other masks, positions, word order or heads.

    Intervention(masks={"decoder": allowed}, positions=PositionEdit(scale=0))
    Intervention(heads={("cross", 2, 3): 0})

They are checked, frozen values that can be compared and hashed, without a model and without torch;
model/record/mask_editing.py applies them to a model.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from model.arguments import require
from model.brief import brief, listed
from model.record.head_edits import HeadEdits, Heads
from model.record.mask_rules import MaskError, Preset, Rule
from model.record.patches import Patch, checked_patches, side_of
from model.record.patches import Side as Side
from model.trace.attention_map import AttentionKind, BoolArray, Site

Sides = Literal["both", "encoder", "decoder"]

MaskScope = Site | tuple[AttentionKind | str, int] | AttentionKind | str
"""The place of a mask: one layer, or every layer of a kind."""
Allowed = ArrayLike | Callable[[int, int], ArrayLike]
"""Boolean, (query, key) or (head, query, key), or a rule that gives one for any two lengths."""
# Any stands for MaskScope, so that a mapping of kinds alone or of sites alone fits as well.
Masks = Mapping[Any, Allowed]
"""Masks that replace a model's own, by MaskScope. One for a layer precedes one for its kind."""

MaskOrRule = BoolArray | Callable[[int, int], Any]
"""A checked mask."""


class MaskEdits(Mapping[AttentionKind | Site, MaskOrRule]):
    """Checked masks by place; arrays are read-only copies.

    Two are equal if their places, arrays and rules are. Raises MaskError if a place is invalid or
    has two masks, a mask is not boolean or has neither two axes nor three, or a rule takes other
    arguments than two lengths.
    """

    def __init__(self, masks: Masks) -> None:
        if not isinstance(masks, Mapping):
            raise MaskError(
                'Masks go by what they are for, as in {"decoder": allowed}; '
                f"a {type(masks).__name__} does not say."
            )
        self._by_place: dict[AttentionKind | Site, MaskOrRule] = {}
        for key, allowed in masks.items():
            place = _place(key)
            if place in self._by_place:
                raise MaskError(f"There are two masks for {place}; give one.")
            if isinstance(allowed, Preset):
                allowed = allowed.rule()
            if callable(allowed):
                _require_rule(place, allowed)
                self._by_place[place] = allowed
            else:
                own = allowed_array(place, allowed).copy()
                own.setflags(write=False)
                self._by_place[place] = own

    def __getitem__(self, place: AttentionKind | Site) -> MaskOrRule:
        return self._by_place[place]

    def __iter__(self) -> Iterator[AttentionKind | Site]:
        return iter(self._by_place)

    def __len__(self) -> int:
        return len(self._by_place)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaskEdits):
            return NotImplemented
        return self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"{{{listed([f'{place}: {brief(mask)}' for place, mask in self.items()])}}}"

    def at(self, site: Site) -> MaskOrRule | None:
        """The mask or the rule for a site; None keeps the model's own."""
        return self._by_place.get(site, self._by_place.get(site.kind))

    def without_padding(self, n_source: int, n_target: int) -> MaskEdits | None:
        """The masks of a sentence without its padding; None if a mask allows source padding.

        Rows and columns beyond its tokens describe padding, not the tokens of a longer translation.
        """
        masks: dict[AttentionKind | Site, MaskOrRule] = {}
        for place, mask in self.items():
            kind = place.kind if isinstance(place, Site) else place
            rows, columns = kind.axes(n_source, n_target, None)
            if isinstance(mask, np.ndarray):
                if kind.key_side == "source" and mask[..., columns:].any():
                    return None
                mask = mask[..., :rows, :columns]
            elif isinstance(mask, Rule) and mask.over_padding:
                return None
            masks[place] = mask
        return MaskEdits(masks)

    def require_sites(self, sites: Iterable[Site]) -> None:
        """Raises MaskError if a place is none of a model's."""
        known = tuple(sites)
        for place in self:
            if place not in known and place not in {site.kind for site in known}:
                raise MaskError(
                    f"This model has no {place} to mask; it has {', '.join(map(str, known))}."
                )

    @cached_property
    def _key(self) -> frozenset[tuple[AttentionKind | Site, Hashable]]:
        return frozenset(
            (place, (mask.shape, mask.tobytes()) if isinstance(mask, np.ndarray) else mask)
            for place, mask in self.items()
        )


def allowed_array(place: AttentionKind | Site, allowed: Any) -> BoolArray:
    """A mask as a boolean array, (query, key) or (head, query, key).

    Whole numbers 0 and 1 count as False and True. Other numbers are refused, since in an additive
    mask 0 means the opposite.

    Args:
        place: of the mask, for the error.
        allowed: a tensor, or anything that numpy.asarray takes.

    Raises:
        MaskError: if it is not boolean, or has neither two axes nor three.
    """
    try:
        # This file does not import torch, but takes its tensors.
        array = np.asarray(allowed.cpu() if hasattr(allowed, "cpu") else allowed)
    except (TypeError, ValueError):
        raise MaskError(
            f"The mask for {place} is no array; give it rows of equal length with True or False."
        ) from None
    if array.dtype.kind in "iu" and ((array == 0) | (array == 1)).all():
        array = array.astype(np.bool_)
    if array.dtype.kind != "b":
        raise MaskError(
            f"The mask for {place} must contain True (may attend) or False, not {array.dtype}; "
            "compare its numbers first, for example with > 0."
        )
    if array.ndim not in (2, 3):
        raise MaskError(
            f"The mask for {place} must have the shape (query, key) or (head, query, key); its "
            f"shape is {array.shape}."
        )
    return array


def _require_rule(place: AttentionKind | Site, rule: Callable[[int, int], Any]) -> None:
    try:
        inspect.signature(rule).bind(1, 1)
    except (TypeError, ValueError):
        raise MaskError(
            f"The rule for {place} must take the numbers of queries and keys and nothing else; "
            "fix its settings beforehand, as PRESETS[...].rule(width=2) does."
        ) from None


def _place(key: Any) -> AttentionKind | Site:
    try:
        if isinstance(key, str):
            return Site.of(key) if "." in key else AttentionKind(key)
        return Site.of(key)
    except (TypeError, ValueError):
        raise MaskError(
            f"A mask is for a kind of attention ({', '.join(AttentionKind)}), a Site or a "
            f"(kind, layer); {key!r} is none of these."
        ) from None


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
