"""Traces on disk: one .npz that numpy reads without pickle, refused in a sentence if damaged."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from reprlib import repr as shortened
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.files import whole_file
from model.trace import (
    ARRAYS,
    AXES,
    SEQUENCES,
    TEXTS,
    AttentionMap,
    Site,
    Tokens,
    Trace,
    TraceError,
    known_kind,
)

FORMAT = "headscope-trace-1"
"""What a saved trace says it is, under the name "format"."""

_Part = TypeVar("_Part")


def save_trace(trace: Trace, file: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a trace; arguments and errors as in `Trace.save`."""
    arrays: dict[str, Any] = {"format": np.array(FORMAT)}
    for name in TEXTS:
        arrays[name] = _strings(name, getattr(trace, name))
    for name in SEQUENCES:
        arrays |= _token_arrays(name, getattr(trace, name))
    if trace.log_probs is not None:
        arrays["log_probs"] = trace.log_probs
    for site, seen in trace.maps.items():
        arrays |= {
            f"{site}.{name}": getattr(seen, name)
            for name in ARRAYS
            if getattr(seen, name) is not None
        }
        # Most axes are the trace's own; only others are worth their own entries.
        usual_axes = site.kind.axes(trace.source, trace.target, Tokens())
        for axis, usual in zip(AXES, usual_axes, strict=True):
            if getattr(seen, axis) != usual:
                arrays |= _token_arrays(f"{site}.{axis}", getattr(seen, axis))
    # A zip file whose directory is damaged may lose entries without a word.
    arrays["contents"] = np.array(sorted(arrays))
    if isinstance(file, str | os.PathLike):
        with whole_file(file) as opened:
            np.savez(opened, allow_pickle=False, **arrays)
    else:
        np.savez(file, allow_pickle=False, **arrays)


def load_trace(file: str | os.PathLike[str] | BinaryIO) -> Trace:
    """Read a trace; errors as in `Trace.load`."""
    entries = _read_arrays(file)
    if _take(entries, "format", _string) != FORMAT:
        raise TraceError("The file is no trace that this version of Headscope can read.")
    lost = set(_take(entries, "contents", _words)) - {*entries, "format"}
    if lost:
        raise TraceError(f"The file is damaged: it lacks {_named(min(lost))}.")
    text, source_text = (_take(entries, name, _string) for name in TEXTS)
    source, target, predictions = (_take_tokens(entries, name) for name in SEQUENCES)
    log_probs = entries.pop("log_probs", None)
    maps = {}
    for site in _sites(entries):
        usual = site.kind.axes(source, target, Tokens())
        queries, keys = (
            _take_tokens(entries, f"{site}.{axis}")
            if f"{site}.{axis}.tokens" in entries
            else tokens
            for axis, tokens in zip(AXES, usual, strict=True)
        )
        arrays: dict[str, Any] = {name: entries.pop(f"{site}.{name}", None) for name in ARRAYS}
        for name in ("weights", "allowed"):
            if arrays[name] is None:
                raise TraceError(f"The trace lacks {site}.{name}.")
        maps[site] = AttentionMap(site, queries=queries, keys=keys, **arrays)
    if entries:
        raise TraceError(f"The trace holds an unknown entry, {_named(min(entries))}.")
    return Trace(
        source=source,
        target=target,
        predictions=predictions,
        text=text,
        source_text=source_text,
        maps=maps,
        log_probs=log_probs,
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


UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    MemoryError,
    RuntimeError,  # a flipped bit makes an entry look encrypted or compressed by unknown means
    ValueError,
)
"""What numpy and zipfile raise for a file they cannot make sense of."""


def _read_arrays(file: str | os.PathLike[str] | BinaryIO) -> dict[str, NDArray[Any]]:
    try:
        opened = np.load(file, allow_pickle=False)
        if isinstance(opened, np.lib.npyio.NpzFile):
            with opened:
                return dict(opened)
    except UNREADABLE as error:
        raise TraceError("The file is damaged or is no saved trace.") from error
    raise TraceError("The file holds one array and is no saved trace.")


def _named(entry: str) -> str:
    """An entry's name, which anybody may have chosen, in one line of readable length."""
    return entry if re.fullmatch(r"[\w.]{1,80}", entry) else shortened(entry)


def _sites(entries: Mapping[str, Any]) -> list[Site]:
    found = set()
    for name in entries:
        kind, _, rest = name.partition(".")
        layer, _, field = rest.partition(".")
        if not (layer.isdecimal() and layer.isascii() and field):
            raise TraceError(f"The trace holds an unknown entry, {_named(name)}.")
        found.add(Site(known_kind(kind), int(layer)))
    return sorted(found)


def _take(
    entries: dict[str, NDArray[Any]], name: str, read: Callable[[str, NDArray[Any]], _Part]
) -> _Part:
    if name not in entries:
        raise TraceError(f"The file is no saved trace, or lacks its {name}.")
    return read(name, entries.pop(name))


def _take_tokens(entries: dict[str, NDArray[Any]], name: str) -> Tokens:
    return Tokens(_take(entries, f"{name}.tokens", _words), _take(entries, f"{name}.ids", _ids))


def _string(name: str, array: NDArray[Any]) -> str:
    if array.dtype.kind != "U" or array.ndim != 0:
        raise TraceError(f"{name} in the file must be one string.")
    return str(array)


def _words(name: str, array: NDArray[Any]) -> tuple[str, ...]:
    if array.dtype.kind != "U" or array.ndim != 1:
        raise TraceError(f"{name} in the file must be a list of strings.")
    return tuple(array.tolist())


def _ids(name: str, array: NDArray[Any]) -> tuple[int, ...]:
    if array.dtype.kind != "i" or array.ndim != 1:
        raise TraceError(f"{name} in the file must be a list of whole numbers.")
    return tuple(array.tolist())
