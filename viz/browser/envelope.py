"""Numbers and texts for a component of ours as one run of bytes, which envelope.js reads.

"HSX1", 16 hexadecimal digits that name the content, the header's length as 4 bytes
(little-endian), the header as JSON, then the body: arrays one after another, at the places that
the header names.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"HSX1"
ID = slice(len(MAGIC), len(MAGIC) + 16)
"""Where the digits that name the content stand."""


class Body:
    """Arrays one after another, and where each begins."""

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.length = 0
        self._masks: dict[bytes, int] = {}

    def add(self, array: NDArray[Any]) -> int:
        """Where an array begins."""
        start = self.length
        part = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self.parts.append(part)
        self.length += part.nbytes
        return start

    def add_mask(self, allowed: NDArray[np.bool_]) -> int | None:
        """Where a mask begins; None where everything is allowed. Each is sent once."""
        if allowed.all():
            return None
        content = allowed.tobytes()
        if content not in self._masks:
            self._masks[content] = self.add(allowed)
        return self._masks[content]


def seal(header: dict[str, Any], body: Body) -> bytes:
    """The envelope of a header and a body."""
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    content: list[bytes | memoryview] = [len(written).to_bytes(4, "little"), written, *body.parts]
    digest = hashlib.blake2b(digest_size=8)
    for part in content:
        digest.update(part)
    return b"".join([MAGIC, digest.hexdigest().encode(), *content])


def content_id(envelope: bytes) -> str:
    """The digits that name the content of an envelope."""
    return envelope[ID].decode()
