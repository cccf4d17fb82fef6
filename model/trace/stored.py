"""Arrays that stay in a file, or in fewer bits, and are read when they are asked for."""

from __future__ import annotations

import math
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.trace.array_values import TraceError
from model.trace.rounded_weights import Bits, restored

MOST_BYTES = 1 << 30
"""The most bytes of numbers that are read at once."""


class StoredFile:
    """An open file, read at any place by any thread, and closed with this value."""

    def __init__(self, file: FileIO) -> None:
        """Takes over an open file."""
        self._file = file
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)

    def read(self, offset: int, array: NDArray[Any]) -> None:
        """Fill an array with the bytes from an offset on; TraceError if the file ends before."""
        view = array.reshape(-1).view(np.uint8).data
        while len(view):
            n = self._read_into(view, offset)
            if n == 0:
                raise TraceError("The file became shorter after it was opened; open it again.")
            view, offset = view[n:], offset + n

    def _read_into(self, view: memoryview, offset: int) -> int:
        # Where it exists: processes that were forked share one place in the file.
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], offset)
        with self._lock:
            self._file.seek(offset)
            return self._file.readinto(view) or 0


class FileArray:
    """An array in a file, in the order of C.

    Attributes:
        dtype: of its numbers.
        shape: at least one axis.
    """

    def __init__(
        self, file: StoredFile, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None:
        self._file, self._offset = file, offset
        self.dtype, self.shape = dtype, shape
        self.nbytes = 0
        """Of memory."""

    def __getitem__(self, number: int) -> NDArray[Any]:
        """One part along the first axis."""
        shape = self.shape[1:]
        size = math.prod(shape) * self.dtype.itemsize
        return self._read(self._offset + number * size, shape)

    def read(self) -> NDArray[Any]:
        """All of it."""
        return self._read(self._offset, self.shape)

    def _read(self, offset: int, shape: tuple[int, ...]) -> NDArray[Any]:
        array = np.empty(shape, self.dtype)
        self._file.read(offset, array)
        return array


class OnDemand(ABC):
    """What a field of `read_on_demand` may hold in place of an array."""

    shape: tuple[int, ...]

    @abstractmethod
    def read(self) -> Any:
        """The array."""


class Stored(OnDemand):
    """An array of an AttentionMap that is read, and turned into its usual numbers, on demand.

    Attributes:
        shape: (head, …), or (query, key) of a mask that heads share.
        bits: those of a weight.
        checks: whether it checks its numbers when it is read, or has done so.
    """

    def __init__(
        self,
        raw: FileArray | NDArray[Any],
        *,
        kind: type[np.generic] = np.float32,
        scales: NDArray[np.float32] | None = None,
        check: Callable[[NDArray[Any], int], None] | None = None,
        part: tuple[slice, Any] | None = None,
    ) -> None:
        """Describe an array; nothing is read.

        Args:
            raw: the numbers as they are stored.
            kind: what they become, float32 or bool.
            scales: of steps of 8 bits (model/trace/rounded_weights.py), (head, query).
            check: called with what was read of weights, (head, query, key), and the number of the
                first head; raises an error.
            part: the queries and keys to take, by slice or index; None for all.
        """
        self.raw, self.scales = raw, scales
        self._kind, self._check, self._part = kind, check, part
        self.checks = check is not None
        self._read: Callable[[], NDArray[Any] | None] = lambda: None
        self.shape = raw.shape
        if part is not None:
            some = np.broadcast_to(np.True_, raw.shape[1:])[part[0]][:, part[1]]
            self.shape = (raw.shape[0], *some.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the numbers that it becomes."""
        return np.dtype(self._kind)

    @property
    def nbytes(self) -> int:
        """The bytes of memory that it holds."""
        return self.raw.nbytes + (0 if self.scales is None else self.scales.nbytes)

    @property
    def bits(self) -> Bits:
        """The bits of a number."""
        if self.scales is not None:
            return 8
        return 16 if self.raw.dtype == np.float16 else 32

    def __getitem__(self, number: int) -> NDArray[Any]:
        """One head; errors as of `read`."""
        self._require_room(self.shape[1:])
        steps, scales = self.raw_head(number)
        return self._checked(self._numbers(steps, scales)[None], number)[0]

    def read(self) -> NDArray[Any]:
        """All of it.

        Raises TraceError if it is more than `MOST_BYTES`, or the file became shorter; or what
        `check` raises.
        """
        known = self._read()
        if known is not None:
            return known
        self._require_room(self.shape)
        if self.scales is None and self._part is None:
            raw = self.raw.read() if isinstance(self.raw, FileArray) else self.raw
            array = self._numbers(raw, None)
        else:
            # Head by head, because steps, squares and weights would need memory side by side.
            array = np.empty(self.shape, self._kind)
            for number in range(self.shape[0]):
                array[number] = self._numbers(*self.raw_head(number))
        array = self._checked(array, 0)
        # The file is open, and read a second time it is the same.
        self._check = None
        array.setflags(write=False)
        self._read = weakref.ref(array)
        # Whoever takes one head after another from the same array reads it once.
        _latest[:] = [array]
        return array

    def raw_head(self, number: int) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
        """One head as it is stored, and its scales."""
        steps = self.raw[number]
        if self._part is not None:
            steps = steps[self._part[0]][:, self._part[1]]
        return steps, self.raw_head_scales(number)

    def raw_head_scales(self, number: int) -> NDArray[np.float32] | None:
        """The scales of one head."""
        if self.scales is None:
            return None
        scales = self.scales[number]
        return scales if self._part is None else scales[self._part[0]]

    def raw_heads(self) -> Iterator[NDArray[Any]]:
        """Every head as it is stored, one after another."""
        return (self.raw_head(number)[0] for number in range(self.shape[0]))

    def _numbers(self, raw: NDArray[Any], scales: NDArray[np.float32] | None) -> NDArray[Any]:
        return raw.astype(self._kind) if scales is None else restored(raw, scales)

    def _checked(self, array: NDArray[Any], first: int) -> NDArray[Any]:
        if self._check is not None:
            self._check(array, first)
        return array

    def _require_room(self, shape: tuple[int, ...]) -> None:
        size = math.prod(shape) * np.dtype(self._kind).itemsize
        if size > MOST_BYTES:
            raise TraceError(
                f"These are {size / (1 << 30):.1f} GiB at once, and at most {MOST_BYTES >> 30} GiB "
                "are read; take single heads with head()."
            )


_latest: list[NDArray[Any]] = []
"""The array that was read last."""


C = TypeVar("C")


def read_on_demand(*names: str) -> Callable[[type[C]], type[C]]:
    """Lets fields of a dataclass hold an `OnDemand` each, whose array is read at every access."""

    def decorate(kind: type[C]) -> type[C]:
        for name in names:
            setattr(kind, name, _OnDemand(name))
        return kind

    return decorate


class _OnDemand:
    """A field; what it holds stands under its name in `vars`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        value = vars(owner)[self._name]
        return value.read() if isinstance(value, OnDemand) else value

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self._name] = value


def read_only(name: str, value: Any, kind: type[np.generic]) -> NDArray[Any]:
    """A read-only array of this type; a view if the value already has the type.

    A `Stored` one stays what it is. Raises TraceError if it contains text, objects, or numbers in
    place of booleans.
    """
    array: Any = value.raw if isinstance(value, Stored) else np.asarray(value)
    # Casting text or objects would fail in numpy's words; casting floats to bool would not fail.
    if array.dtype.kind not in ("b" if kind is np.bool_ else "bfiu"):
        raise TraceError(f"{name} must be an array of {kind.__name__}, not of {array.dtype}.")
    if isinstance(value, Stored):
        return value  # type: ignore[return-value]
    view: NDArray[Any] = array.astype(kind, copy=False).view()
    view.setflags(write=False)
    return view
