"""What a run can be asked to do differently: other masks, positions, word order, heads.

    Intervention(masks={"decoder": allowed}, positions=PositionEdit(scale=0))
    Intervention(heads={("cross", 2, 3): 0})

Frozen values that have been checked and can be compared and hashed, without a model and without
torch; model/record/mask_editing.py makes a model follow them.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from model.record.head_edits import HeadEdits, Heads
from model.record.mask_rules import MaskError, Preset, Rule
from model.trace.attention_map import AttentionKind, BoolArray, Site

Side = Literal["encoder", "decoder"]
Sides = Literal["both", "encoder", "decoder"]

Place = Site | tuple[AttentionKind | str, int] | AttentionKind | str
"""What a mask is for: one layer, or every layer of a kind."""
Allowed = ArrayLike | Callable[[int, int], ArrayLike]
"""Boolean, (query, key) or (head, query, key), or a rule that gives one for any two lengths."""
# Any stands for Place: a mapping of single kinds or of single sites must do as well.
Masks = Mapping[Any, Allowed]
"""Masks that replace a model's own, by Place. One for a layer comes before one for its kind."""

MaskOrRule = BoolArray | Callable[[int, int], Any]
"""A mask that has been checked."""


class MaskEdits(Mapping[AttentionKind | Site, MaskOrRule]):
    """Masks whose places and values have been checked; the arrays are copies that stay as they are.

    Equal if places, arrays and rules are.

    Raises:
        MaskError: if a place is none or is named twice, a mask is not boolean or has neither two
            axes nor three, or a rule takes other arguments than two lengths.
    """

    def __init__(self, masks: Masks) -> None:
        if not isinstance(masks, Mapping):
            raise MaskError(
                'Masks go by what they are for, as in {"decoder": allowed}; '
                f"a {type(masks).__name__} does not say."
            )
        self._by_place: dict[AttentionKind | Site, MaskOrRule] = {}
        for named, allowed in masks.items():
            place = _place(named)
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

    def at(self, site: Site) -> MaskOrRule | None:
        """The mask or the rule for a site, or None where the model's own stays."""
        return self._by_place.get(site, self._by_place.get(site.kind))

    def without_padding(self, n_source: int, n_target: int) -> MaskEdits | None:
        """The same for a sentence without its padding.

        Args:
            n_source: tokens of its source without padding.
            n_target: of what its decoder reads. What stands beyond in a matrix is of padding, and
                says nothing of the tokens that are there when a longer translation is written.

        Returns:
            None if anything may look at the source's padding, so that the sentence cannot do
            without it.
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
        """Raises MaskError if a place is not among the sites of a model."""
        known = tuple(sites)
        for place in self:
            if place not in known and place not in {site.kind for site in known}:
                raise MaskError(
                    f"There is no {place} to mask in this model; it has "
                    f"{', '.join(map(str, known))}."
                )

    @cached_property
    def _key(self) -> frozenset[tuple[AttentionKind | Site, Hashable]]:
        return frozenset(
            (place, (mask.shape, mask.tobytes()) if isinstance(mask, np.ndarray) else mask)
            for place, mask in self.items()
        )


def allowed_array(place: AttentionKind | Site, allowed: Any) -> BoolArray:
    """What was given as a mask, as a boolean array.

    Whole numbers 0 and 1 count as False and True. Other numbers are refused: in an additive mask
    0 would mean the opposite.

    Args:
        place: what the mask is for; the error names it.
        allowed: a tensor, or anything that numpy.asarray takes.

    Returns:
        (query, key) or (head, query, key).

    Raises:
        MaskError: if it is not boolean, or has neither two axes nor three.
    """
    try:
        # A tensor comes from its device by itself; this file need not know torch for that.
        array = np.asarray(allowed.cpu() if hasattr(allowed, "cpu") else allowed)
    except (TypeError, ValueError):
        raise MaskError(
            f"The mask for {place} is no array; give it rows of equal length that hold True or "
            "False."
        ) from None
    if array.dtype.kind in "iu" and ((array == 0) | (array == 1)).all():
        array = array.astype(np.bool_)
    if array.dtype.kind != "b":
        raise MaskError(
            f"The mask for {place} must hold True (may attend) or False, but it holds "
            f"{array.dtype}; compare its numbers first, for example with > 0."
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
            "give its settings beforehand, as PRESETS[...].rule(width=2) does."
        ) from None


def _place(named: Any) -> AttentionKind | Site:
    try:
        if isinstance(named, str):
            return AttentionKind(named)
        if isinstance(named, Site):
            return named
        kind, layer = named
        return Site(kind, operator.index(layer))
    except (TypeError, ValueError):
        raise MaskError(
            f"A mask is for a kind of attention ({', '.join(AttentionKind)}), a Site or a "
            f"(kind, layer); {named!r} is none of these."
        ) from None


class PositionError(ValueError):
    """An edit, an order or a length that positions cannot follow; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEdit:
    """Other positions than the model's own, for one request.

    A token at position p of n gets the encoding of position p, or of n - 1 - p with `reverse`;
    `shift` is added to that, but not below position 0, where the first tokens then stand together;
    and the encoding is multiplied by `scale`. All three at rest change no bit.

    Attributes:
        scale: any finite number; 0 removes positions.
        shift: whole positions. It may lead to no position that the model was not made for.
        reverse: n is the length of the pass, so a sentence that is being decoded, whose length is
            not known, has none.
        side: "encoder", "decoder" or "both".

    Raises:
        PositionError: if a field has no such value.
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
        """Whether every token keeps its own encoding."""
        return self.scale == 1 and self.shift == 0 and not self.reverse

    def concerns(self, side: Side) -> bool:
        """Whether it changes an encoding of that side."""
        return not self.at_rest and self.side in ("both", side)


def ordered(token_ids: Sequence[int], order: Sequence[int] | None) -> list[int]:
    """Token ids in another order; the last of them, the end token, stays where it is.

    Args:
        token_ids: of a source, ending with the end token.
        order: for each place, which of the other tokens stands there; None leaves them.

    Raises:
        PositionError: if the order does not name each of these tokens once.
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
    """Everything that a run is asked to do differently; by default nothing.

    Equal interventions make equal runs, so one is a key to what was computed under it. A new kind
    of intervention is a field here, and in model/record/mask_editing.py what its tap asks.

    Attributes:
        masks: to use instead of the model's own, as {"decoder": allowed} or
            {("cross", 2): allowed}; see `model.record.mask_editing.editing`. A mask of decoder or
            cross-attention may be of any length, but nothing can look ahead to tokens that are not
            there yet.
        positions: to use instead of the model's own. A shift of the decoder's leaves it fewer
            positions, where a translation is cut; while one is written, they must not be reversed.
        source_order: for each place, which of the source's tokens before </s> the encoder reads
            there, counted from 0; None leaves them as they stand in the text.
        heads: what is done to single heads before W_O, as {("cross", 2, 3): 0}, which removes one;
            see `model.record.head_edits.HeadEdits`.

    Raises:
        MaskError: as `MaskEdits`.
        HeadError: as `HeadEdits`.
    """

    masks: Masks = field(default_factory=dict)
    positions: PositionEdit = PositionEdit()
    source_order: Sequence[int] | None = None
    heads: Heads = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.masks, MaskEdits):
            object.__setattr__(self, "masks", MaskEdits(self.masks))
        if not isinstance(self.heads, HeadEdits):
            object.__setattr__(self, "heads", HeadEdits(self.heads))
        if self.positions.at_rest:
            # On whichever side nothing is changed, it is the same nothing.
            object.__setattr__(self, "positions", PositionEdit())
        if self.source_order is not None:
            object.__setattr__(self, "source_order", tuple(self.source_order))

    def without_padding(self, n_source: int, n_target: int) -> Intervention | None:
        """The same for a sentence without its padding, as `MaskEdits.without_padding`."""
        masks = MaskEdits(self.masks).without_padding(n_source, n_target)
        return None if masks is None else replace(self, masks=masks)

    @property
    def of_encoder(self) -> Intervention:
        """What of it concerns the encoder: where only that runs, the rest has nothing to change."""
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
        )


UNCHANGED = Intervention()
"""The intervention that changes nothing: not one bit of a run."""
