"""What is added to scores: a mask if it forbids keys, else a bias."""

from __future__ import annotations

import torch
from torch import Tensor

FORBIDDEN = -1e3
"""What is added to scores and lies below this forbids a key; learned biases stay far above."""


STEP = -50.0
"""A constant below this beside none below a tenth of it is a mask as well, such as −100."""

STEP_WITH_BIAS = -90.0
"""The same to which a learned bias was added, as Swin does."""


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
    """True = may attend, by what is added to scores."""
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


class Masks:
    """What additive masks allow; every layer adds the same one, which is looked through once."""

    def __init__(self) -> None:
        # By address; held with the mask, so that the address is not given to another.
        self._allowed: dict[int, tuple[tuple[object, ...], Tensor, Tensor | None]] = {}

    def allowed_by(self, added: Tensor) -> Tensor | None:
        """True = may attend, of the shape of what is added; None if it forbids no key."""
        if added.is_complex():
            return None
        address = added.untyped_storage()._cdata
        view = (added.storage_offset(), added.shape, added.stride())
        entry = self._allowed.get(address)
        if entry is None or entry[0] != view:
            allowed = allows(added)
            entry = (view, added, None if bool(allowed.all()) else allowed)
            self._allowed[address] = entry
        return entry[2]

    def forget(self, written: Tensor) -> None:
        """A tensor is about to be written to."""
        self._allowed.pop(written.untyped_storage()._cdata, None)
