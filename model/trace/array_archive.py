"""Named arrays in one .npz, read without pickle; damaged files are refused in one sentence.

Entries that are not compressed have a place in the file, so one array, or one head of it, can be
read without the rest.
"""

from __future__ import annotations

import io
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from reprlib import repr as shortened
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from model.trace.array_values import TraceError
from model.trace.stored import MOST_BYTES, FileArray, StoredFile

AT_ONCE = 16 << 20
"""The bytes of arrays up to which a file is read whole, and so checked whole."""

Entry = NDArray[Any] | FileArray

_ZIPPED = b"PK"
"""The beginning of every .npz file."""

NO_TRACE = "The file is damaged or is no saved trace."

UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,  # a flipped bit makes an entry look encrypted or compressed by unknown means
    ValueError,
    struct.error,
)
"""Errors of numpy, struct and zipfile for unreadable files."""


class ArchiveWriter:
    """Writes arrays into an .npz one after another, as numpy.savez would."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self.names: list[str] = []

    def __enter__(self) -> ArchiveWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def add(self, name: str, array: Any) -> None:
        """Write an array."""
        self.names.append(name)
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as stream:
            npy.write_array(stream, np.asanyarray(array), allow_pickle=False)

    def add_parts(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], parts: Iterable[NDArray[Any]]
    ) -> None:
        """Write an array whose parts along the first axis come one after another."""
        self.names.append(name)
        header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        with self._zip.open(f"{name}.npy", "w", force_zip64=True) as stream:
            npy.write_array_header_1_0(stream, header)
            for part in parts:
                stream.write(np.ascontiguousarray(part, dtype).reshape(-1).view(np.uint8).data)


def read_arrays(
    file: str | os.PathLike[str] | BinaryIO,
    most_bytes: int | None,
    stays: Callable[[str], bool],
) -> dict[str, Entry]:
    """Every array of a file by name; errors as of `Trace.load`.

    Args:
        file: its path, or the open file.
        most_bytes: of all arrays together that are read now; None for `MOST_BYTES`.
        stays: whether an array of that name may be left in a large file, if the file has a path.
    """
    most = MOST_BYTES if most_bytes is None else most_bytes
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            if os.path.isfile(file):
                same = StoredFile(io.FileIO(os.dup(opened.fileno())))
                return _read_zip(opened, most, same, stays)
            return read_arrays(opened, most, stays)
    if not file.seekable():
        start = file.read(len(npy.MAGIC_PREFIX))
        _require_zip(start)
        rest = file.read(most)
        if len(rest) == most:
            raise _too_large(most)
        file = io.BytesIO(start + rest)
    return _read_zip(file, most, None, stays)


def _require_zip(start: bytes) -> None:
    if start == npy.MAGIC_PREFIX:
        raise TraceError("The file holds one array and is no saved trace.")
    if not start.startswith(_ZIPPED):
        # Here, and not by zipfile, which would read a device such as /dev/zero to its end.
        raise TraceError(NO_TRACE)


def _read_zip(
    file: BinaryIO, most_bytes: int, stored: StoredFile | None, stays: Callable[[str], bool]
) -> dict[str, Entry]:
    file.seek(0)
    _require_zip(file.read(len(npy.MAGIC_PREFIX)))
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            total = sum(entry.file_size for entry in entries)
            if stored is None and total > most_bytes:
                raise _too_large(most_bytes)
            arrays: dict[str, Entry] = {}
            left = most_bytes
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if name in arrays:
                    raise TraceError(
                        f"The file holds {named(name)} twice, and nothing says which one counts; "
                        "write it once."
                    )
                found: Entry | None = None
                if stored is not None and total > AT_ONCE and stays(name):
                    found = _in_file(name, archive, entry, file, stored)
                if found is None:
                    left -= entry.file_size
                    if left < 0:
                        raise _too_large(most_bytes)
                    found = _array(name, archive.read(entry))
                arrays[name] = found
            return arrays
    except TraceError:
        raise
    except UNREADABLE as error:
        raise TraceError(NO_TRACE) from error


def _too_large(most_bytes: int) -> TraceError:
    most = f"{most_bytes >> 30} GiB" if most_bytes >= 1 << 30 else f"{most_bytes >> 20} MiB"
    return TraceError(
        f"The trace is too large: its arrays hold more than {most}; record a shorter text, keep "
        "weights in 8 bits, or leave out scores, q, k and v."
    )


class _Header(NamedTuple):
    """What an array says of itself, and the bytes that it takes to say so."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    length: int


def _header(name: str, stream: Any, size: int) -> _Header:
    """The header of an array of so many bytes; never of objects, never larger than its content."""
    if npy.read_magic(stream) != (1, 0):
        raise ValueError
    shape, is_fortran, dtype = npy.read_array_header_1_0(stream)
    length = stream.tell()
    if dtype.hasobject:
        raise TraceError(
            f"{named(name)} in the file holds Python objects, which are never opened because they "
            f"can run code; save it as {_saved_as(name)}."
        )
    if math.prod(shape) * dtype.itemsize != size - length:
        raise ValueError
    return _Header(shape, is_fortran, dtype, length)


def _array(name: str, content: bytes) -> NDArray[Any]:
    """One array of an archive, without a copy."""
    header = _header(name, io.BytesIO(content), len(content))
    return np.ndarray(
        header.shape,
        header.dtype,
        content,
        header.length,
        order="F" if header.is_fortran else "C",
    )


_LOCAL = struct.Struct("<4s22xHH")
"""The header before an entry: its mark, and the lengths of its name and of what else it says."""


def _in_file(
    name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: BinaryIO, stored: StoredFile
) -> FileArray | None:
    """An array where it lies in the file; None if it can only be read as a whole."""
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        return None
    with archive.open(entry) as stream:
        header = _header(name, stream, entry.file_size)
    if header.is_fortran or not header.shape or 0 in header.shape:
        return None
    file.seek(entry.header_offset)
    mark, n_name, n_extra = _LOCAL.unpack(file.read(_LOCAL.size))
    start = entry.header_offset + _LOCAL.size + n_name + n_extra
    if mark != b"PK\3\4" or start + entry.file_size > file.seek(0, os.SEEK_END):
        raise ValueError
    return FileArray(stored, start + header.length, header.dtype, header.shape)


def _saved_as(name: str) -> str:
    if name.endswith(".ids"):
        return "whole numbers: np.array(ids, dtype=np.int64)"
    texts = {"format", "contents", "text", "source_text"}
    is_text = name.endswith(".tokens") or name in texts
    return "text: np.array(texts, dtype=np.str_)" if is_text else "numbers of one shape"


def named(entry: str) -> str:
    """An entry's name, from an untrusted file, in one line of readable length."""
    return entry if re.fullmatch(r"[\w.]{1,80}", entry) else shortened(entry)
