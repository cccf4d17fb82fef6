"""Masks of one's own: which keys a query of which head may attend to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from model.brief import brief, listed
from model.record.mask_rules import MaskError, Preset, Rule
from model.trace.attention_map import AttentionKind, BoolArray, Site

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
