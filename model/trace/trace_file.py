"""Traces on disk: one .npz, read without pickle; damaged files are refused in one sentence."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.files import whole_file
from model.trace.array_archive import ArchiveWriter, named, read_arrays
from model.trace.attention_map import (
    ARRAYS,
    AXES,
    NO_ID,
    SEQUENCES,
    TEXTS,
    AttentionMap,
    FloatArray,
    Site,
    Tokens,
    TraceError,
    known_kind,
)
from model.trace.provenance import Provenance
from model.trace.rounded_weights import Bits, require_bits
from model.trace.stored import FileArray, Stored

FORMAT = "headscope-trace-2"
"""The entry "format" of a saved trace; docs/traces.md describes it."""

ROUNDED = "headscope-trace-3"
"""The same where weights of 8 bits have scales."""

READ = ("headscope-trace-1", FORMAT, ROUNDED)
"""The readable formats: the first is the second with nothing left out."""

_PROVENANCE = "provenance."

ROUNDING = 0.02
"""How far from 1 the sum of a row may be; numbers of 16 bits need it."""

_DIGITS = 6
"""The most digits of a layer's number."""

_Entry = TypeVar("_Entry")


def write_fields(
    fields: Mapping[str, Any], file: str | os.PathLike[str] | BinaryIO, bits: Bits | None = None
) -> None:
    """Write the fields of a `Trace`; arguments and errors as of `Trace.save`."""
    if bits is not None:
        require_bits(bits)
    if isinstance(file, str | os.PathLike):
        with whole_file(file) as opened:
            write_fields(fields, opened, bits)
        return
    with ArchiveWriter(file) as archive:
        kept = {bits or each.bits for each in fields["maps"].values()}
        archive.add("format", np.array(ROUNDED if 8 in kept else FORMAT))
        for name in TEXTS:
            if fields[name]:
                archive.add(name, _strings(name, fields[name]))
        for name, text in fields["provenance"].texts.items():
            archive.add(_PROVENANCE + name, _strings(name, text))
        for name in SEQUENCES:
            if fields[name]:
                _write_tokens(archive, name, fields[name])
        if fields["log_probs"] is not None:
            archive.add("log_probs", fields["log_probs"])
        for site, attention in fields["maps"].items():
            _write_weights(archive, attention, bits or attention.bits)
            for name in ARRAYS[1:] if bits is None else ("allowed",):
                if attention.stored(name) is not None:
                    archive.add(f"{site}.{name}", getattr(attention, name))
            # Most axes are the trace's own; only other axes have entries.
            usual_axes = site.kind.axes(fields["source"], fields["target"], Tokens())
            for axis, usual in zip(AXES, usual_axes, strict=True):
                if getattr(attention, axis) != usual:
                    _write_tokens(archive, f"{site}.{axis}", getattr(attention, axis))
        # A zip file with a damaged directory may silently lose entries.
        archive.add("contents", np.array(sorted(archive.names)))


def _write_weights(archive: ArchiveWriter, attention: AttentionMap, bits: Bits) -> None:
    """Write the weights of a site, one head after another."""
    name = f"{attention.site}.weights"
    if bits != 8:
        archive.add_parts(name, np.dtype(f"f{bits // 8}"), attention.shape, _heads(attention))
        return
    scales = []

    def steps() -> Iterator[NDArray[np.uint8]]:
        for head, scale in attention.in_steps(functools.partial(require_shares_of, attention.site)):
            scales.append(scale)
            yield head

    archive.add_parts(name, np.dtype(np.uint8), attention.shape, steps())
    shape = attention.shape[:2]
    archive.add(f"{attention.site}.scales", np.array(scales, np.float32).reshape(shape))


def _heads(attention: AttentionMap) -> Iterator[FloatArray]:
    """The weights of every head, checked."""
    for number in range(attention.n_heads):
        weights = attention.stored("weights")[number]
        require_shares_of(attention.site, weights[None], number)
        yield weights


def read_fields(
    file: str | os.PathLike[str] | BinaryIO, most_bytes: int | None = None
) -> dict[str, Any]:
    """The fields of a saved `Trace`; arguments and errors as in `Trace.load`."""
    found = read_arrays(file, most_bytes, lambda name: name.rpartition(".")[2] in ARRAYS)
    entries: dict[str, Any] = dict(found)
    if _take(entries, "format", _string) not in READ:
        raise TraceError("This version of Headscope cannot read the file's format of traces.")
    lost = set(_take(entries, "contents", _words)) - {*entries, "format"}
    if lost:
        raise TraceError(f"The file is damaged: it lacks {named(min(lost))}.")
    text, source_text = (_take(entries, name, _string) if name in entries else "" for name in TEXTS)
    source, target, predictions = (_take_tokens(entries, name) for name in SEQUENCES)
    log_probs = entries.pop("log_probs", None)
    known = {
        each.name: _take(entries, name, _string)
        for each in dataclasses.fields(Provenance)
        if (name := _PROVENANCE + each.name) in entries
    }
    maps = {}
    for site in _sites(entries):
        usual = site.kind.axes(source, target, Tokens())
        queries, keys = (
            _take_tokens(entries, f"{site}.{axis}") or tokens
            for axis, tokens in zip(AXES, usual, strict=True)
        )
        maps[site] = AttentionMap(site, queries=queries, keys=keys, **_take_maps(entries, site))
        if not isinstance(maps[site].stored("weights"), Stored):
            require_shares(maps[site])
    if entries:
        raise TraceError(f"The trace contains an unknown entry, {named(min(entries))}.")
    return {
        "source": source,
        "target": target,
        "predictions": predictions,
        "text": text,
        "source_text": source_text,
        "maps": maps,
        "log_probs": log_probs,
        "provenance": Provenance(**known),
    }


def _take_maps(entries: dict[str, Any], site: Site) -> dict[str, Any]:
    """The arrays of a site; those in the file, and those of fewer bits, to be read on demand."""
    arrays: dict[str, Any] = {name: entries.pop(f"{site}.{name}", None) for name in ARRAYS}
    scales = entries.pop(f"{site}.scales", None)
    weights = arrays["weights"]
    if weights is None:
        raise TraceError(f"The trace lacks {site}.weights.")
    if scales is not None and not (
        weights.dtype == np.uint8
        and scales.dtype == np.float32
        and len(weights.shape) == 3
        and scales.shape == weights.shape[:2]
    ):
        raise TraceError(
            f"{site}.scales must be 32-bit floats, one for each head and query of {site}.weights "
            "in 8-bit steps."
        )
    if arrays["allowed"] is None:
        arrays["allowed"] = np.broadcast_to(np.True_, weights.shape[1:])
    for name, array in arrays.items():
        if isinstance(array, FileArray):
            kind = np.bool_ if name == "allowed" else np.float32
            arrays[name] = Stored(array, kind=kind)
    if len(weights.shape) == 3 and (scales is not None or not _is_exact(weights)):
        check = functools.partial(require_shares_of, site)
        arrays["weights"] = Stored(weights, scales=scales, check=check)
        if not isinstance(weights, FileArray):
            # Small enough to be checked now.
            arrays["weights"].read()
    return arrays


def _is_exact(weights: NDArray[Any] | FileArray) -> bool:
    return not isinstance(weights, FileArray) and weights.dtype != np.float16


def require_shares(attention: AttentionMap) -> None:
    """Raises TraceError for weights that no softmax gives.

    Up to rounding, each weight must be from 0 to 1, and each row must sum to 1, or to 0 for a query
    that attends to nothing.
    """
    weights = attention.weights
    kept = attention.stored("weights")
    if not (isinstance(kept, Stored) and kept.checks):
        require_shares_of(attention.site, weights, 0)


def require_shares_of(site: Site, weights: FloatArray, first: int) -> None:
    """Check the weights of some heads, (head, query, key); the first one's number is given."""
    name = f"The weights of {site}"
    if not np.isfinite(weights).all():
        head, query = np.argwhere(~np.isfinite(weights))[0, :2].tolist()
        raise TraceError(
            f"{name} contain NaN or infinity, first in head {first + head} and query {query}. A "
            "query without keys needs zeros there; where it has keys, the model's own numbers "
            "overflow."
        )
    if weights.min(initial=0) < 0 or weights.max(initial=0) > 1 + ROUNDING:
        raise TraceError(f"{name} must lie from 0 to 1: store them after the softmax.")
    sums = weights.sum(axis=-1)
    wrong = np.argwhere((abs(sums - 1) > ROUNDING) & (sums != 0))
    if len(wrong):
        head, query = wrong[0].tolist()
        raise TraceError(
            f"{name} must add up to 1 over the keys, and those of head {first + head} and query "
            f"{query} add up to {sums[head, query]:.3g}."
        )


def _strings(name: str, value: str | tuple[str, ...]) -> NDArray[np.str_]:
    array = np.array(value, dtype=np.str_)
    if array.tolist() != (value if isinstance(value, str) else list(value)):
        raise TraceError(f"{name} ends in a NUL character, which an .npz file cannot hold.")
    return array


def _write_tokens(archive: ArchiveWriter, name: str, tokens: Tokens) -> None:
    archive.add(f"{name}.tokens", _strings(f"A token of {name}", tokens.tokens))
    archive.add(f"{name}.ids", np.array(tokens.ids, dtype=np.int64))


def _sites(entries: Mapping[str, Any]) -> list[Site]:
    sites = set()
    for name in entries:
        kind, _, rest = name.partition(".")
        layer, _, field = rest.partition(".")
        if not (layer.isdecimal() and layer.isascii() and len(layer) <= _DIGITS and field):
            raise TraceError(f"The trace contains an unknown entry, {named(name)}.")
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
