"""Follows the columns of scores and weights along the axis of keys, whatever moves them there.

Between queries times keys and weights times values, a model may add columns (a sink), drop or move
some. A column goes by its number among those of the tensor in which its axis began.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence, Set
from math import prod
from typing import NamedTuple

from torch import Tensor

from model.watch.axes import Piece

FOREIGN = 1 << 40
"""Numbers from here on are columns of another product, put beside those of the first."""

_ids = itertools.count(1)


class Lost(NamedTuple):
    """Columns that cannot be followed, with the operation that moved them."""

    by: str


Columns = tuple[int, ...]
"""A number for each column, below 0 for one that was added; no two added ones are equal."""

ColumnOrder = Columns | Lost | None
"""The columns of a tensor; None if all stand where they began."""


class Layout(NamedTuple):
    """A storage's shape and steps when it was made, and the columns of its last axis."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    moved: ColumnOrder = None

    @classmethod
    def of(cls, x: Tensor, moved: ColumnOrder = None) -> Layout:
        """The layout of a tensor that was just made."""
        return cls(tuple(x.shape), x.stride(), moved)

    def made_as(self, x: Tensor) -> bool:
        """Whether a view is the whole storage as it was made."""
        return (tuple(x.shape), x.stride()) == self[:2]

    def whole(self, x: Tensor) -> Tensor:
        """The storage of a view, as it was made."""
        return x.as_strided(self.shape, self.steps, 0)

    def columns(self, x: Tensor) -> ColumnOrder:
        """The columns of a view of the storage."""
        if isinstance(self.moved, Lost) or x.dim() == 0 or self.made_as(x):
            return self.moved
        if self.moved is None and is_whole(x):
            return None
        found = self._part(x)
        if isinstance(found, Lost) or self.moved is not None:
            return found
        return None if found == tuple(range(self._size(x))) else found

    def _axis(self, x: Tensor) -> int | None:
        """The axis of the storage along which a view's last one runs."""
        if x.shape[-1] == 1:
            return len(self.shape) - 1
        axes = range(len(self.shape) - 1, -1, -1)
        return next((i for i in axes if self.steps[i] == x.stride(-1) and self.shape[i] > 1), None)

    def _size(self, x: Tensor) -> int:
        axis = self._axis(x)
        return 0 if axis is None else self.shape[axis]

    def _part(self, x: Tensor) -> Columns | Lost:
        axis = self._axis(x)
        if axis is None or (self.moved is not None and axis != len(self.shape) - 1):
            return Lost("a view")
        step, size = self.steps[axis], self.shape[axis]
        others = [s for s, n in zip(x.stride()[:-1], x.shape[:-1], strict=True) if n > 1]
        start = x.storage_offset() // step % size if step else 0
        if start + x.shape[-1] > size or any(s % (step * size) and s >= step for s in others):
            return Lost("a view")
        numbers = range(size) if self.moved is None else self.moved
        assert not isinstance(numbers, Lost)
        return tuple(numbers[start : start + x.shape[-1]])


def is_whole(x: Tensor) -> bool:
    """Whether a view shows each number of its storage once."""
    repeats = any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True))
    return not repeats and x.numel() * x.itemsize == x.untyped_storage().nbytes()


def added(n: int) -> Columns:
    """Numbers of new columns."""
    return tuple(-next(_ids) for _ in range(n))


def foreign(n: int) -> Columns:
    """Numbers of columns of another product."""
    return tuple(FOREIGN + next(_ids) for _ in range(n))


def padded(found: ColumnOrder, n: int, pads: Sequence[int]) -> ColumnOrder:
    """The columns after `constant_pad_nd` of n columns; the rest of its pads is of other axes."""
    front, back = pads[:2]
    if isinstance(found, Lost):
        return found
    if len(pads) > 2 and (pads[2] or any(pads[4:])):
        return Lost("constant_pad_nd")
    if not front and not back:
        return found
    numbers = tuple(range(n)) if found is None else found
    numbers = numbers[max(-front, 0) : n - max(-back, 0)]
    return added(max(front, 0)) + numbers + added(max(back, 0))


def aligned(x: Tensor, own: ColumnOrder, wanted: ColumnOrder, fill: Tensor) -> Tensor | None:
    """A tensor's columns under the numbers of others, which have `fill` where it has none.

    None if columns were lost, or the tensor has other rows than `fill`.
    """
    if isinstance(own, Lost) or isinstance(wanted, Lost):
        return None
    n = fill.shape[-1]
    names = tuple(range(x.shape[-1])) if own is None else own
    rows = fill.shape[:-1]
    if len(names) != x.shape[-1] or x.numel() != prod(rows) * x.shape[-1]:
        return None
    x = x.reshape(*rows, x.shape[-1])
    if own == wanted and x.shape == fill.shape:
        return x
    where = {name: at for at, name in enumerate(names)}
    pairs = [
        (to, where[name])
        for to, name in enumerate(range(n) if wanted is None else wanted)
        if name in where
    ]
    out = fill.clone()
    out[..., [to for to, _ in pairs]] = x[..., [at for _, at in pairs]]
    return out


def numbered(name: str, n: int) -> tuple[str, ...]:
    """Names of keys that are no tokens: "[sink]", or "[sink 1]", "[sink 2]"."""
    return (f"[{name}]",) if n == 1 else tuple(f"[{name} {at}]" for at in range(1, n + 1))


class Extra(NamedTuple):
    """The keys of an attention that are no tokens, among those that queries are multiplied with.

    Attributes:
        tokens: the keys of the text, which stand together.
        names: of all keys before these, and then of all behind them.
    """

    tokens: range
    names: tuple[str, ...]

    def name(self, at: int) -> str:
        """The name of a key that is no token."""
        return self.names[at if at < self.tokens.start else at - len(self.tokens)]


def extra_keys(
    parts: Sequence[Piece], texts: Set[int], events: int, kind_of: Callable[[int], str]
) -> Extra | None:
    """The keys that are no tokens, among keys that were put together of several tensors.

    None if there are none, or those of the text do not stand together.

    Args:
        parts: the tensors.
        texts: the roots of queries, which are tokens; empty where keys are of another text.
        events: what the queries depend on, as `Node.events`.
        kind_of: what a root is: "parameter", "constant" or "input".
    """

    def depends(part: Piece) -> bool:
        """Whether a tensor may be computed from the text."""
        both_known = part.events and events
        return bool(part.events & events) if both_known else not part.plain

    if any(part.root in texts for part in parts):
        is_token = [part.root in texts or depends(part) for part in parts]
    else:
        is_token = [kind_of(part.root) == "input" or not part.plain for part in parts]
    if all(is_token) or not any(is_token):
        return None
    first, end = is_token.index(True), len(parts) - is_token[::-1].index(True)
    if not all(is_token[first:end]):
        return None
    starts = [0, *itertools.accumulate(part.length for part in parts)]
    names = numbered("prefix", starts[first])
    behind: dict[str, int] = {}
    for part in parts[end:]:
        kind = {"parameter": "bias", "constant": "zero", "input": "added"}[kind_of(part.root)]
        behind[kind] = behind.get(kind, 0) + part.length
    names += tuple(name for kind, n in behind.items() for name in numbered(kind, n))
    return Extra(range(starts[first], starts[end]), names)
