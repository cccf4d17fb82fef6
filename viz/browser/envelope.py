"""Numbers and texts for a component of ours as one run of bytes, which envelope.js reads.

"HSX1", 16 hexadecimal digits that name the content, the header's length as 4 bytes
(little-endian), the header as JSON, then the body: arrays one after another. What a header holds
is described in `canvas/payloads.json`, by which Python and the browser both pack and read; "..."
names a payload whose values another one has as well. An array's place in it is [first byte, count,
bytes a number].

cells     32-bit floats, or bytes
number    a 64-bit float, which languages spell differently in JSON
numbers   64-bit floats; not a number where there is none
mask      bytes, 1 where a query may attend; null where it may everywhere; each is sent once
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _described() -> dict[str, Any]:
    """Each payload's description, with the values of the one that it holds, named by "..."."""
    path = Path(__file__).parent / "canvas" / "payloads.json"
    given: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    held = {name: given.get(kind.pop("...", ""), {}) for name, kind in given.items()}
    return {name: held[name] | kind for name, kind in given.items()}


PAYLOADS = _described()
MAGIC = b"HSX1"
ID = slice(len(MAGIC), len(MAGIC) + 16)
"""Where the digits that name the content stand."""


def seal(values: Mapping[str, Any]) -> bytes:
    """The envelope of values.

    Args:
        values: those that payloads.json describes under their "payload"; arrays of several layers
            may be given as a list.

    Raises:
        ValueError: if they are others.
    """
    body = _Body()
    header = _placed(PAYLOADS[values["payload"]], values, body)
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    content: list[bytes | memoryview] = [len(written).to_bytes(4, "little"), written, *body.parts]
    digest = hashlib.blake2b(digest_size=8)
    for part in content:
        digest.update(part)
    return b"".join([MAGIC, digest.hexdigest().encode(), *content])


def content_id(envelope: bytes) -> str:
    """The digits that name the content of an envelope."""
    return envelope[ID].decode()


def steps_of(shares: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Shares from 0 to 1 as one byte each, to half a step of 1/255."""
    # Half a step is added and the rest cut off, which rounds, and needs no second array.
    return (shares * 255 + 0.5).astype(np.uint8)


def _placed(kind: Any, value: Any, body: _Body) -> Any:
    if value is None:
        return None
    if isinstance(kind, list):
        return [_placed(kind[0], each, body) for each in value]
    if isinstance(kind, str):
        return body.placed(kind.split()[0].rstrip(":,"), value)
    if other := kind.keys() ^ value.keys():
        raise ValueError(f"A payload lacks these, or has no room for them: {', '.join(other)}.")
    return {name: _placed(each, value[name], body) for name, each in kind.items()}


class _Body:
    """Arrays one after another, and where each lies."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.length = 0
        self._masks: dict[bytes, list[int]] = {}

    def placed(self, kind: str, value: Any) -> Any:
        """What stands in the header for a value."""
        match kind:
            case "cells":
                arrays = value if isinstance(value, list) else [value]
                floats = arrays[0].dtype.kind == "f"
                return self._add(arrays, "<f4" if floats else "u1")
            case "number" | "numbers":
                return self._add([value], "<f8")
            case "mask":
                return self._mask(np.asarray(value))
        return value

    def _add(self, arrays: Sequence[Any], number: str) -> list[int]:
        start, count = self.length, 0
        for each in arrays:
            array = np.ascontiguousarray(each, number)
            self.parts.append(array.reshape(-1).view(np.uint8).data)
            self.length += array.nbytes
            count += array.size
        return [start, count, np.dtype(number).itemsize]

    def _mask(self, allowed: NDArray[np.bool_]) -> Any:
        if allowed.ndim == 3:
            places = [self._mask(each) for each in allowed]
            return places if any(each != places[0] for each in places) else places[0]
        if allowed.all():
            return None
        content = allowed.tobytes()
        if content not in self._masks:
            self._masks[content] = self._add([allowed], "u1")
        return self._masks[content]
