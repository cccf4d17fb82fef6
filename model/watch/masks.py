"""Tells masks, which forbid keys, from other biases that are added to scores."""

from __future__ import annotations

import torch
from torch import Tensor

FORBIDDEN = -1e3
"""A number below this, added to a score, forbids a key; learned biases stay far above it."""


STEP = -50.0
"""A constant below this, with no other number below a tenth of it, is a mask as well: −100."""

STEP_WITH_BIAS = -90.0
"""The same with a learned bias added, as in Swin."""


def far_above(x: Tensor) -> Tensor:
    """True = no mask was written here: all but what lies far below every other number.

    Relative positions and other scores may lie as low as a mask; with them numbers lie in between.
    """
    allowed = x > FORBIDDEN
    if bool(allowed.all()):
        return allowed
    x = x if x.is_floating_point() else x.float()
    for limit in (FORBIDDEN, min(FORBIDDEN, float(x.amin()) / 2)):
        allowed = x > limit
        largest = x.abs().masked_fill(~allowed, 0).amax()
        highest = x.masked_fill(allowed, -torch.inf).amax()
        if not bool(2 * largest > -highest):
            return allowed
    return torch.ones_like(allowed)


def allows(added: Tensor) -> Tensor:
    """The mask in a tensor that is added to scores; True = may attend."""
    allowed = far_above(added)
    low = added.amin() if added.numel() else added.sum()
    if bool(low <= STEP) and bool(low > FORBIDDEN):
        lowest = added == low
        if bool((lowest | (added > low / 10)).all()) and int(lowest.sum()) > 1:
            return ~lowest
        lowest = added < low * 3 / 4
        if bool(low <= STEP_WITH_BIAS) and bool((lowest | (added > low / 4)).all()):
            return ~lowest
    return allowed


def row_shift(x: Tensor, y: Tensor, where: Tensor) -> Tensor | None:
    """What x has more than y in each row, (…, 1); None if that differs within a row.

    Only cells where `where` is True count; a row without any has 0.
    """
    more = x - y
    highest = more.masked_fill(~where, -torch.inf).amax(dim=-1, keepdim=True)
    lowest = more.masked_fill(~where, torch.inf).amin(dim=-1, keepdim=True)
    known = where.any(dim=-1, keepdim=True)
    largest = torch.stack([each.abs().masked_fill(~where, 0).amax() for each in (x, y)]).amax()
    rounding = 8 * torch.finfo(x.dtype).eps * max(1.0, float(largest))
    if bool((known & (highest - lowest > rounding)).any()):
        return None
    return highest.where(known, 0.0)


_MOST = 8
"""The most tensors that are remembered: a model may add another one in each layer."""


class Masks:
    """The masks in additive tensors; every layer adds the same one, so each is analysed once."""

    def __init__(self) -> None:
        # By address; kept together with the mask, so that the address cannot be reused.
        self._allowed: dict[int, tuple[tuple[object, ...], Tensor, Tensor | None]] = {}

    def allowed_by(self, added: Tensor) -> Tensor | None:
        """The mask in an added tensor, in its shape, True = may attend; None if it forbids none."""
        if added.is_complex():
            return None
        address = added.untyped_storage()._cdata
        view = (added.storage_offset(), added.shape, added.stride())
        entry = self._allowed.get(address)
        if entry is None or entry[0] != view:
            allowed = allows(added)
            entry = (view, added, None if bool(allowed.all()) else allowed)
            self._allowed[address] = entry
            if len(self._allowed) > _MOST:
                self._allowed.pop(next(iter(self._allowed)))
        return entry[2]

    def forget(self, written: Tensor) -> None:
        """Drop a tensor that is about to be overwritten."""
        self._allowed.pop(written.untyped_storage()._cdata, None)
