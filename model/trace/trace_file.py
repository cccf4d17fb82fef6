"""Traces on disk: one .npz, read without pickle; damaged files are refused in one sentence."""

from __future__ import annotations

import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from reprlib import repr as shortened
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from model.files import whole_file
from model.trace.attention_map import (
    ARRAYS,
    AXES,
    MOST_BYTES,
    NO_ID,
    SEQUENCES,
    TEXTS,
    AttentionMap,
    Site,
    Tokens,
    TraceError,
    known_kind,
)

FORMAT = "headscope-trace-2"
"""The entry "format" of a saved trace; docs/traces.md describes it."""

READ = ("headscope-trace-1", FORMAT)
"""The readable formats: the first is the second with nothing left out."""

ROUNDING = 0.02
"""How far from 1 the sum of a row may be; numbers of 16 bits need it."""

_DIGITS = 6
"""The most digits of a layer's number."""

_Entry = TypeVar("_Entry")


def write_fields(fields: Mapping[str, Any], file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write the fields of a `Trace`; errors as in `Trace.save`."""
    arrays: dict[str, Any] = {"format": np.array(FORMAT)}
    for name in TEXTS:
        if fields[name]:
            arrays[name] = _strings(name, fields[name])
    for name in SEQUENCES:
        if fields[name]:
            arrays |= _token_arrays(name, fields[name])
    if fields["log_probs"] is not None:
        arrays["log_probs"] = fields["log_probs"]
    for site, attention in fields["maps"].items():
        require_shares(attention)
        arrays |= {
            f"{site}.{name}": getattr(attention, name)
            for name in ARRAYS
            if getattr(attention, name) is not None
        }
        # Most axes are the trace's own; only other axes have entries.
        usual_axes = site.kind.axes(fields["source"], fields["target"], Tokens())
        for axis, usual in zip(AXES, usual_axes, strict=True):
            if getattr(attention, axis) != usual:
                arrays |= _token_arrays(f"{site}.{axis}", getattr(attention, axis))
    # A zip file with a damaged directory may silently lose entries.
    arrays["contents"] = np.array(sorted(arrays))
    if isinstance(file, str | os.PathLike):
        with whole_file(file) as opened:
            np.savez(opened, allow_pickle=False, **arrays)
    else:
        np.savez(file, allow_pickle=False, **arrays)


def read_fields(
    file: str | os.PathLike[str] | BinaryIO, most_bytes: int = MOST_BYTES
) -> dict[str, Any]:
    """The fields of a saved `Trace`; arguments and errors as in `Trace.load`."""
    entries = _read_arrays(file, most_bytes)
    if _take(entries, "format", _string) not in READ:
        raise TraceError("This version of Headscope cannot read the file's format of traces.")
    lost = set(_take(entries, "contents", _words)) - {*entries, "format"}
    if lost:
        raise TraceError(f"The file is damaged: it lacks {_named(min(lost))}.")
    text, source_text = (_take(entries, name, _string) if name in entries else "" for name in TEXTS)
    source, target, predictions = (_take_tokens(entries, name) for name in SEQUENCES)
    log_probs = entries.pop("log_probs", None)
    maps = {}
    for site in _sites(entries):
        usual = site.kind.axes(source, target, Tokens())
        queries, keys = (
            _take_tokens(entries, f"{site}.{axis}") or tokens
            for axis, tokens in zip(AXES, usual, strict=True)
        )
        arrays: dict[str, Any] = {name: entries.pop(f"{site}.{name}", None) for name in ARRAYS}
        if arrays["weights"] is None:
            raise TraceError(f"The trace lacks {site}.weights.")
        if arrays["allowed"] is None:
            arrays["allowed"] = np.ones(arrays["weights"].shape[1:], dtype=np.bool_)
        maps[site] = AttentionMap(site, queries=queries, keys=keys, **arrays)
        require_shares(maps[site])
    if entries:
        raise TraceError(f"The trace contains an unknown entry, {_named(min(entries))}.")
    return {
        "source": source,
        "target": target,
        "predictions": predictions,
        "text": text,
        "source_text": source_text,
        "maps": maps,
        "log_probs": log_probs,
    }


def require_shares(attention: AttentionMap) -> None:
    """Raises TraceError for weights that no softmax gives.

    Up to rounding, each weight must be from 0 to 1, and each row must sum to 1, or to 0 for a query
    that attends to nothing.
    """
    name, weights = f"The weights of {attention.site}", attention.weights
    if not np.isfinite(weights).all():
        head, query = np.argwhere(~np.isfinite(weights))[0, :2].tolist()
        raise TraceError(
            f"{name} contain NaN or infinity, first in head {head} and query {query}. A query "
            "without keys needs zeros there; where it has keys, the model's own numbers overflow."
        )
    if weights.min(initial=0) < 0 or weights.max(initial=0) > 1 + ROUNDING:
        raise TraceError(f"{name} must lie from 0 to 1: store them after the softmax.")
    sums = weights.sum(axis=-1)
    wrong = np.argwhere((abs(sums - 1) > ROUNDING) & (sums != 0))
    if len(wrong):
        head, query = wrong[0].tolist()
        raise TraceError(
            f"{name} must add up to 1 over the keys, and those of head {head} and query {query} "
            f"add up to {sums[head, query]:.3g}."
        )


def _strings(name: str, value: str | tuple[str, ...]) -> NDArray[np.str_]:
    array = np.array(value, dtype=np.str_)
    if array.tolist() != (value if isinstance(value, str) else list(value)):
        raise TraceError(f"{name} ends in a NUL character, which an .npz file cannot hold.")
    return array


def _token_arrays(name: str, tokens: Tokens) -> dict[str, NDArray[Any]]:
    return {
        f"{name}.tokens": _strings(f"A token of {name}", tokens.tokens),
        f"{name}.ids": np.array(tokens.ids, dtype=np.int64),
    }


_ZIPPED = b"PK"
"""The beginning of every .npz file."""

_NO_TRACE = "The file is damaged or is no saved trace."

UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,  # a flipped bit makes an entry look encrypted or compressed by unknown means
    ValueError,
)
"""Errors of numpy and zipfile for unreadable files."""


def _read_arrays(
    file: str | os.PathLike[str] | BinaryIO, most_bytes: int
) -> dict[str, NDArray[Any]]:
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            return _read_arrays(opened, most_bytes)
    start = file.read(len(npy.MAGIC_PREFIX))
    if start == npy.MAGIC_PREFIX:
        raise TraceError("The file holds one array and is no saved trace.")
    if not start.startswith(_ZIPPED):
        # Here, and not by zipfile, which would read a device such as /dev/zero to its end.
        raise TraceError(_NO_TRACE)
    if not file.seekable():
        rest = file.read(most_bytes)
        if len(rest) == most_bytes:
            raise _too_large(most_bytes)
        file = io.BytesIO(start + rest)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > most_bytes:
                raise _too_large(most_bytes)
            arrays: dict[str, NDArray[Any]] = {}
            for entry in entries:
                name = entry.filename.removesuffix(".npy")
                if name in arrays:
                    raise TraceError(
                        f"The file holds {_named(name)} twice, and nothing says which one counts; "
                        "write it once."
                    )
                arrays[name] = _array(name, archive.read(entry))
            return arrays
    except TraceError:
        raise
    except UNREADABLE as error:
        raise TraceError(_NO_TRACE) from error


def _too_large(most_bytes: int) -> TraceError:
    most = f"{most_bytes >> 30} GiB" if most_bytes >= 1 << 30 else f"{most_bytes >> 20} MiB"
    return TraceError(
        f"The trace is too large: its arrays hold more than {most}; record a shorter text, or "
        "leave out scores, q, k and v."
    )


def _array(name: str, content: bytes) -> NDArray[Any]:
    """One array of an archive, without a copy; never of objects, never larger than its content."""
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError
    shape, is_fortran, dtype = npy.read_array_header_1_0(stream)
    start = stream.tell()
    if dtype.hasobject:
        raise TraceError(
            f"{_named(name)} in the file holds Python objects, which are never opened because they "
            f"can run code; save it as {_saved_as(name)}."
        )
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError
    return np.ndarray(shape, dtype, content, start, order="F" if is_fortran else "C")


def _saved_as(name: str) -> str:
    if name.endswith(".ids"):
        return "whole numbers: np.array(ids, dtype=np.int64)"
    is_text = name.endswith(".tokens") or name in {"format", "contents", *TEXTS}
    return "text: np.array(texts, dtype=np.str_)" if is_text else "numbers of one shape"


def _named(entry: str) -> str:
    """An entry's name, from an untrusted file, in one line of readable length."""
    return entry if re.fullmatch(r"[\w.]{1,80}", entry) else shortened(entry)


def _sites(entries: Mapping[str, Any]) -> list[Site]:
    sites = set()
    for name in entries:
        kind, _, rest = name.partition(".")
        layer, _, field = rest.partition(".")
        if not (layer.isdecimal() and layer.isascii() and len(layer) <= _DIGITS and field):
            raise TraceError(f"The trace contains an unknown entry, {_named(name)}.")
        sites.add(Site(known_kind(kind), int(layer)))
    return sorted(sites)


def _take(
    entries: dict[str, NDArray[Any]], name: str, read: Callable[[str, NDArray[Any]], _Entry]
) -> _Entry:
    if name not in entries:
        raise TraceError(f"The file is no saved trace, or lacks its {name}.")
    return read(name, entries.pop(name))


def _take_tokens(entries: dict[str, NDArray[Any]], name: str) -> Tokens:
    """The tokens of that name, with NO_ID for missing ids; empty if there are none."""
    if f"{name}.tokens" not in entries:
        return Tokens()
    tokens = _take(entries, f"{name}.tokens", _words)
    if f"{name}.ids" not in entries:
        return Tokens(tokens, (NO_ID,) * len(tokens))
    return Tokens(tokens, _take(entries, f"{name}.ids", _ids))


def _string(name: str, array: NDArray[Any]) -> str:
    if array.dtype.kind != "U" or array.ndim != 0:
        raise TraceError(f"{name} in the file must be one string.")
    return _readable(name, array)


def _words(name: str, array: NDArray[Any]) -> tuple[str, ...]:
    if array.dtype.kind != "U" or array.ndim != 1:
        raise TraceError(f"{name} in the file must be a list of strings.")
    return tuple(_readable(name, array))


def _readable(name: str, array: NDArray[Any]) -> Any:
    """The texts of an array as Python strings."""
    try:
        return array.tolist()
    except ValueError:
        raise TraceError(f"{name} in the file contains an invalid character.") from None


def _ids(name: str, array: NDArray[Any]) -> tuple[int, ...]:
    if array.dtype.kind != "i" or array.ndim != 1:
        raise TraceError(f"{name} in the file must be a list of whole numbers.")
    return tuple(array.tolist())
