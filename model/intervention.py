"""What a run can be asked to do differently: other masks, other positions, another word order.

Values that have been checked, without a model; model/editing.py makes a model follow them.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from model.mask_presets import Preset
from model.masks import MaskError
from model.trace import AttentionKind, BoolArray, Site

Side = Literal["encoder", "decoder"]
Sides = Literal["both", "encoder", "decoder"]

Place = Site | tuple[AttentionKind | str, int] | AttentionKind | str
"""What a mask is for: one layer, or every layer of a kind."""
Allowed = ArrayLike | Callable[[int, int], ArrayLike]
"""Boolean, (query, key) or (head, query, key), or a rule that gives one for any two lengths."""
# Any stands for Place: a mapping of single kinds or of single sites must do as well.
Masks = Mapping[Any, Allowed]
"""Masks that replace a model's own, by Place. One for a layer comes before one for its kind."""


class MaskEdits:
    """Masks whose places and values have been checked; the arrays are copies.

    Raises:
        MaskError: if a place is none, is named twice or is not among sites, a mask is not boolean
            or has neither two axes nor three, or a rule takes other arguments than two lengths.
    """

    def __init__(self, masks: Masks, sites: Iterable[Site] | None = None) -> None:
        known = None if sites is None else tuple(sites)
        if not isinstance(masks, Mapping):
            raise MaskError(
                'Masks go by what they are for, as in {"decoder": allowed}; '
                f"a {type(masks).__name__} does not say."
            )
        self._by_place: dict[AttentionKind | Site, BoolArray | Callable[[int, int], Any]] = {}
        for named, allowed in masks.items():
            place = _place(named, known)
            if place in self._by_place:
                raise MaskError(f"There are two masks for {place}; give one.")
            if isinstance(allowed, Preset):
                allowed = allowed.rule()
            if callable(allowed):
                _require_rule(place, allowed)
                self._by_place[place] = allowed
            else:
                self._by_place[place] = allowed_array(place, allowed).copy()

    @property
    def places(self) -> tuple[AttentionKind | Site, ...]:
        """Every place that has a mask."""
        return tuple(self._by_place)

    def at(self, site: Site) -> BoolArray | Callable[[int, int], Any] | None:
        """The mask or the rule for a site, or None where the model's own stays."""
        return self._by_place.get(site, self._by_place.get(site.kind))


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
        array = np.asarray(allowed.cpu() if isinstance(allowed, Tensor) else allowed)
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


def _place(named: Any, known: tuple[Site, ...] | None) -> AttentionKind | Site:
    try:
        if isinstance(named, str):
            place: AttentionKind | Site = AttentionKind(named)
        elif isinstance(named, Site):
            place = named
        else:
            kind, layer = named
            place = Site(kind, operator.index(layer))
    except (TypeError, ValueError):
        raise MaskError(
            f"A mask is for a kind of attention ({', '.join(AttentionKind)}), a Site or a "
            f"(kind, layer); {named!r} is none of these."
        ) from None
    if known is not None and place not in known and place not in {site.kind for site in known}:
        raise MaskError(
            f"There is no {place} to mask in this model; it has {', '.join(map(str, known))}."
        )
    return place


class PositionError(ValueError):
    """An edit, an order or a length that positions cannot follow; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionEdit:
    """Other positions than the model's own, for one request.

    A token at position p of n gets the encoding of position p, or of n - 1 - p with `reverse`;
    `shift` is added to that, but not below position 0, where the first tokens then stand together;
    and the encoding is multiplied by `scale`. All three at rest change no bit.

    Attributes:
        scale: any finite number; 0 takes positions away.
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


def ordered(token_ids: Sequence[int], order: Iterable[int] | None) -> list[int]:
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
