"""What is added to scores: a mask if it forbids keys, else a bias."""

from __future__ import annotations

from torch import Tensor

FORBIDDEN = -1e3
"""What is added to scores and lies below this forbids a key; learned biases stay far above."""


STEP = -50.0
"""A constant below this beside none below a tenth of it is a mask as well, such as −100."""


def allows(added: Tensor) -> Tensor:
    """True = may attend, by what is added to scores."""
    allowed = added > FORBIDDEN
    low = added.amin() if added.numel() else added.sum()
    if bool(low <= STEP) and bool(low > FORBIDDEN):
        lowest = added == low
        if bool((lowest | (added > low / 10)).all()) and int(lowest.sum()) > 1:
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
        kept = self._allowed.get(address)
        if kept is None or kept[0] != view:
            allowed = allows(added)
            kept = (view, added, None if bool(allowed.all()) else allowed)
            self._allowed[address] = kept
        return kept[2]

    def forget(self, written: Tensor) -> None:
        """A tensor is about to be written to."""
        self._allowed.pop(written.untyped_storage()._cdata, None)
