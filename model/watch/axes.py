"""Traces each axis of a tensor to its origin: the batch, the text, or a projection's features.

An axis of a view is found by its strides in the layout of its storage; what an operation makes
gets its axes from what it read. All of it is worked out when an attention asks, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from operator import itemgetter
from typing import NamedTuple

from torch import Tensor


class Origin(Enum):
    """The origin of an axis."""

    OUTSIDE = "an axis of an input or a parameter"
    FEATURES = "what a linear map made"
    MIXTURES = "what a parameter made of positions"
    JOINED = "tensors put side by side"
    COPIES = "one tensor repeated"
    UNKNOWN = "not known"


@dataclass(slots=True, eq=False)
class Line:
    """One axis through all tensors that have it; equal to itself alone.

    Attributes:
        origin: one of `Origin`.
        storage: for an axis from outside, the address of the storage where it first appeared.
        mapped: whether a linear map has read along other axes since: then it holds positions.
        base: what it was before a product told its rows from its columns.
        side: 0 for rows of a product, 1 for its columns.
        parts: of which tensors it was put together since a linear map made them; None for what its
            base says.
    """

    origin: Origin
    storage: int | None = None
    mapped: bool = False
    base: Line | None = None
    side: int | None = None
    parts: Pieces | None = None

    @property
    def root(self) -> Line:
        """The axis before any product or linear map."""
        return self if self.base is None else self.base.root


class Piece(NamedTuple):
    """One of several tensors put together along an axis.

    Attributes:
        length: along the axis.
        root: `Node.root`.
        events: `Node.events`.
        plain: whether its numbers are those of its root alone.
    """

    length: int
    root: int
    events: int = 0
    plain: bool = True


Pieces = tuple[Piece, ...]

Dim = tuple[tuple[int, Line], ...]
"""An axis of a tensor, which may hold several folded into one: sizes and lines, the outer first."""

Layout = tuple[tuple[int, int, Line], ...]
"""Axes of a storage: size, stride in bytes and line."""

_RANK = {
    Origin.OUTSIDE: 2,
    Origin.FEATURES: 2,
    Origin.MIXTURES: 2,
    Origin.JOINED: 2,
    Origin.COPIES: 0,
    Origin.UNKNOWN: 1,
}
_STRIDE = itemgetter(1)
_DEEPEST = 60
"""The most operations resolved in one recursion, because Python's stack is limited."""


class Axes:
    """The axes of one storage, computed on demand."""

    __slots__ = ("_layout", "_make", "depth")

    def __init__(self, make: Callable[[], Layout], depth: int = 0) -> None:
        self._make: Callable[[], Layout] | None = make
        self._layout: Layout = ()
        self.depth = depth
        if depth > _DEEPEST:
            _ = self.layout

    @property
    def layout(self) -> Layout:
        """Sizes, strides and lines, the largest stride first."""
        if self._make is not None:
            self._layout, self._make, self.depth = self._make(), None, 0
        return self._layout


class View(NamedTuple):
    """A tensor's shape and steps in elements, in a storage whose axes are known."""

    shape: tuple[int, ...]
    steps: tuple[int, ...]
    itemsize: int
    axes: Axes

    @classmethod
    def of(cls, x: Tensor, axes: Axes) -> View:
        """The current layout of a view."""
        return cls(x.shape, x.stride(), x.itemsize, axes)

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes."""
        return tuple([self.itemsize * each for each in self.steps])

    def alike(self, x: Tensor) -> bool:
        """Whether a tensor lies in its own storage as this does in its storage."""
        return (self.shape, self.steps, self.itemsize) == (x.shape, x.stride(), x.itemsize)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The tensor's axes."""
        layout = self.axes.layout
        return tuple(
            [
                _dim(size, stride * self.itemsize, layout)
                for size, stride in zip(self.shape, self.steps, strict=True)
            ]
        )


def _dim(size: int, stride: int, layout: Layout) -> Dim:
    if size == 1:
        return ()
    if stride == 0:
        return ((size, Line(Origin.COPIES)),)
    parts: list[tuple[int, Line]] = []
    left = size
    while left > 1:
        for axis in layout:
            if axis[1] <= stride:
                break
        else:
            return unknown(size)
        length, inner, line = axis
        step, rest = divmod(stride, inner)
        if rest or step >= length:
            return unknown(size)
        if (left - 1) * step < length:
            parts.append((left, line))
            break
        if length % step or left % (length // step):
            return unknown(size)
        parts.append((length // step, line))
        left //= length // step
        stride = inner * length
    return tuple(reversed(parts))


def unknown(size: int) -> Dim:
    """An axis of unknown origin."""
    return ((size, Line(Origin.UNKNOWN)),) if size > 1 else ()


def made(x: Tensor, make: Callable[[], Iterable[Dim]], read: Iterable[View]) -> Axes:
    """The axes of an operation's output, by a function of its inputs' axes; `read`: the inputs."""
    view = View.of(x, _NONE)
    depth = 1 + max([each.axes.depth for each in read], default=0)
    return Axes(lambda: _layout(view, tuple(make())), depth)


def outside(x: Tensor) -> Axes:
    """The axes of a tensor that no observed operation made."""
    address = x.untyped_storage()._cdata
    view = View.of(x, _NONE)
    return Axes(lambda: _layout(view, [((n, Line(Origin.OUTSIDE, address)),) for n in view.shape]))


def _layout(view: View, dims: Sequence[Dim]) -> Layout:
    layout: list[tuple[int, int, Line]] = []
    for dim, size, whole in zip(dims, view.shape, view.strides, strict=True):
        stride = whole
        if stride == 0 or size <= 1:
            continue
        if prod([each for each, _ in dim]) != size:
            dim = unknown(size)
        for length, line in reversed(dim):
            layout.append((length, stride, line))
            stride *= length
    layout.sort(key=_STRIDE, reverse=True)
    return tuple(layout)


_NONE = Axes(tuple)


def same(out: Tensor, read: Sequence[View]) -> Axes:
    """The axes of a pointwise function, aligned at the last as torch broadcasts.

    Where each operand lacks an axis that the other has, these are told apart as those of a product
    are: every query meets every key.
    """
    if read and all(v.axes is read[0].axes and v.alike(out) for v in read):
        return read[0].axes
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        sides = len(read) == 2 and all(each.shape != shape and each.shape for each in read)
        known = [each.dims for each in read]
        for axis, size in enumerate(shape):
            candidates: list[tuple[int, Dim]] = []
            for number, (view, own) in enumerate(zip(read, known, strict=True)):
                at = axis - len(shape) + len(view.shape)
                if at >= 0 and view.shape[at] == size and size > 1 and own[at]:
                    candidates.append((number, own[at]))
            if not candidates:
                yield unknown(size)
                continue
            number, best = max(candidates, key=lambda each: _rank(each[1]))
            yield tagged(best, number) if sides and len(candidates) == 1 else best

    return made(out, dims, read)


def _rank(dim: Dim) -> int:
    # A product's rows and columns are known best, and heads better than what a bias has for each.
    return min(
        (
            _RANK[line.origin]
            + (line.side is not None)
            + (line.origin is Origin.FEATURES and not line.mapped)
            for _, line in dim
        ),
        default=0,
    )


def tagged(dim: Dim, side: int) -> Dim:
    """An axis as rows (0) or columns (1) of future scores."""
    return tuple(
        (size, Line(line.origin, line.storage, line.mapped, line, side)) for size, line in dim
    )


def resized(out: Tensor, x: View) -> Axes:
    """The same axes, some with another length: after pooling, padding or slicing."""
    if x.alike(out):
        return x.axes
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        if len(shape) != len(x.shape):
            return [unknown(size) for size in shape]
        return [resize(dim, old, new) for dim, old, new in zip(x.dims, x.shape, shape, strict=True)]

    return made(out, dims, [x])


def resize(dim: Dim, old: int, new: int) -> Dim:
    """An axis with another length."""
    if old == new:
        return dim
    return ((new, dim[-1][1]),) if dim and new > 1 else unknown(new)


def reduced(out: Tensor, x: View, axes: Sequence[int]) -> Axes:
    """The axes without those that were summed."""
    gone = {axis % max(len(x.shape), 1) for axis in axes} or set(range(len(x.shape)))

    def dims() -> Iterable[Dim]:
        kept = out.dim() == len(x.shape)
        own = [() if at in gone else dim for at, dim in enumerate(x.dims) if kept or at not in gone]
        return own if len(own) == out.dim() else [unknown(size) for size in out.shape]

    return made(out, dims, [x])


def parts_of(dim: Dim) -> Pieces:
    """The tensors that were put together along an axis; empty if there was one."""
    line: Line | None = dim[0][1] if dim else None
    while line is not None and line.parts is None:
        line = line.base
    parts = () if line is None or line.parts is None else line.parts
    return parts if sum(part.length for part in parts) == prod(n for n, _ in dim) else ()


def joined(out: Tensor, parts: Sequence[View], axis: int, of_what: Sequence[Piece]) -> Axes:
    """Tensors side by side along one axis; `of_what` says what each is, but for its length."""
    axis %= out.dim()
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        same_rank = [part for part in parts if len(part.shape) == len(shape)]
        longest = max(same_rank, key=lambda part: part.shape[axis])
        known = [part.dims for part in same_rank]
        own = [max((each[at] for each in known), key=_rank) for at in range(len(shape))]
        own[axis] = longest.dims[axis]
        size = longest.shape[axis]
        if len(same_rank) > 1 and all(part.shape[axis] == size for part in same_rank):
            own[axis] = ((len(same_rank), Line(Origin.JOINED)), *own[axis])
        else:
            own[axis] = resize(own[axis], size, shape[axis])
        pieces: list[Piece] = []
        for part, what in zip(parts, of_what, strict=True):
            if len(part.shape) == len(shape) and part.shape[axis]:
                pieces += parts_of(part.dims[axis]) or (what._replace(length=part.shape[axis]),)
        if len(pieces) > 1:
            (n, line), *inner = own[axis]
            first = replace(line, base=line, parts=tuple(pieces))
            own[axis] = ((n, first), *inner)
        return own

    return made(out, dims, parts)


def projected(out: Tensor, x: View) -> Axes:
    """A linear map along the last axis."""
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        *leading, last = x.dims
        return [*map(positions, leading), of_map(shape[-1], last, leading)]

    return made(out, dims, [x])


def positions(dim: Dim) -> Dim:
    """An axis along which a linear map acts everywhere alike."""
    if parts_of(dim):
        (size, line), *inner = dim
        dim = ((size, replace(line, base=line, parts=())), *inner)
    return tuple((size, _mapped(line)) for size, line in dim)


def _mapped(line: Line) -> Line:
    if line.origin is Origin.FEATURES and not line.mapped:
        return Line(Origin.FEATURES, line.storage, True, line)
    if line.side is not None and line.base is not None:
        return _mapped(line.base)
    if line.origin in (Origin.JOINED, Origin.UNKNOWN, Origin.COPIES):
        return Line(Origin.OUTSIDE, None, True, line)
    return line


def of_map(size: int, read: Dim, others: Iterable[Dim]) -> Dim:
    """The output axis of a parameter matrix; `read` is the axis it sums over."""
    features = any(
        line.origin is Origin.FEATURES and not line.mapped for dim in others for _, line in dim
    )
    mixes = features and all(line.origin is not Origin.FEATURES or line.mapped for _, line in read)
    return ((size, Line(Origin.MIXTURES if mixes else Origin.FEATURES)),) if size > 1 else ()


def looked_up(out: Tensor, ids: View) -> Axes:
    """Rows of a table."""
    width = out.shape[-1]
    return made(out, lambda: [*ids.dims, ((width, Line(Origin.FEATURES)),)], [ids])


def repeated(out: Tensor, x: View) -> Axes:
    """The axes of a repeated tensor."""
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        for size, old, dim in zip(
            shape,
            (*[1] * (len(shape) - len(x.shape)), *x.shape),
            (*[()] * (len(shape) - len(x.shape)), *x.dims),
            strict=True,
        ):
            yield ((size // old, Line(Origin.COPIES)), *dim) if size != old else dim

    return made(out, dims, [x])


def convolved(out: Tensor, x: View, groups: int) -> Axes:
    """(batch, channel, place, …): places stay; channels are new, unless processed separately."""
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        if len(x.shape) != len(shape):
            return [unknown(size) for size in shape]
        batch, channels, *places = x.dims
        alone = groups == shape[1] == x.shape[1]
        return [
            positions(batch),
            channels if alone else ((shape[1], Line(Origin.FEATURES)),),
            *(
                positions(resize(dim, old, new))
                for dim, old, new in zip(places, x.shape[2:], shape[2:], strict=True)
            ),
        ]

    return made(out, dims, [x])


def together(one: Dim, other: Dim) -> Dim:
    """One axis that two tensors share, in the finest parts of both, by the line known better."""
    shared: list[tuple[int, Line]] = []
    mine, theirs = list(one), list(other)
    if not mine or not theirs or prod(n for n, _ in mine) != prod(n for n, _ in theirs):
        return one or other
    while mine and theirs:
        (n, line), (m, known) = mine.pop(), theirs.pop()
        size = min(n, m)
        if max(n, m) % size:
            return max(one, other, key=_rank)
        if n > size:
            mine.append((n // size, line))
        if m > size:
            theirs.append((m // size, known))
        shared.append((size, max(line, known, key=lambda each: _RANK[each.origin])))
    return tuple(reversed(shared))


def axes_met(
    factors: tuple[View, View], matrix: int | None, is_parameter: Callable[[int | None], bool]
) -> tuple[Dim, Dim, Dim]:
    """Batch, rows and columns of a product of two matrices, or of batches of them.

    `matrix` is the factor, 0 or 1, that is known to be no tensor of the pass; None if neither is.
    """
    left, right = (each.dims for each in factors)
    rows, columns = left[-2], right[-1]
    batch = together(left[0], right[0]) if len(left) == len(right) == 3 else ()

    def of_parameters(dim: Dim) -> bool:
        return all(line.origin is Origin.OUTSIDE and is_parameter(line.storage) for _, line in dim)

    if matrix is None and columns and of_parameters(columns) and of_parameters(right[-2]):
        matrix = 1
    if matrix == 1:
        made_of_map = of_map(factors[1].shape[-1], left[-1], left[:-1])
        return positions(batch), positions(rows), made_of_map
    if matrix == 0:
        made_of_map = of_map(factors[0].shape[-2], right[-2], right[-1:])
        if any(line.origin is Origin.MIXTURES for _, line in made_of_map):
            return batch, made_of_map, columns
    return batch, tagged(rows, 0), tagged(columns, 1)


def regrouped(out: Tensor, x: View) -> Axes:
    """The axes of the same numbers, in the same order, under another shape."""
    shape = tuple(out.shape)

    def dims() -> Iterable[Dim]:
        parts = [part for dim in x.dims for part in dim]
        layout, stride = [], 1
        for size, line in reversed(parts):
            layout.append((size, stride, line))
            stride *= size
        known, strides, stride = tuple(reversed(layout)), [], 1
        for size in reversed(shape):
            strides.append(stride)
            stride *= size
        return [
            _dim(size, each, known) for size, each in zip(shape, reversed(strides), strict=True)
        ]

    return made(out, dims, [x])
