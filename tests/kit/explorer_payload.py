"""What the explorer was sent, read back by the description of its envelope alone."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import BoolArray


class Decoded:
    """One payload.

    Attributes:
        id: the digits that name its content.
        header: what is not numbers, as JSON gives it.
        body: the numbers.
    """

    def __init__(self, payload: bytes) -> None:
        assert payload[:4] == b"HSX1"
        self.id = payload[4:20].decode("ascii")
        length = int.from_bytes(payload[20:24], "little")
        self.header: dict[str, Any] = json.loads(
            payload[24 : 24 + length].decode("utf-8"), parse_constant=refuse
        )
        self.body = payload[24 + length :]

    def kind(self, name: str) -> dict[str, Any]:
        return next(kind for kind in self.header["kinds"] if kind["kind"] == name)

    def shape(self, name: str) -> tuple[int, int, int, int]:
        """(layer, head, query, key)."""
        kind = self.kind(name)
        queries, keys = (len(self.header["axes"][kind[axis]]) for axis in ("queries", "keys"))
        return len(kind["layers"]), kind["heads"], queries, keys

    def weights(self, name: str) -> NDArray[Any]:
        kind, shape = self.kind(name), self.shape(name)
        number = np.dtype("<f4" if kind["exact"] else "u1")
        count = int(np.prod(shape))
        return np.frombuffer(self.body, number, count, kind["weights"]).reshape(shape)

    def allowed(self, name: str) -> BoolArray:
        kind = self.kind(name)
        layers, heads, queries, keys = self.shape(name)
        whole = np.ones((layers, heads, queries, keys), dtype=np.bool_)
        for layer, places in enumerate(kind["allowed"]):
            for head in range(heads):
                start = places[head] if isinstance(places, list) else places
                if start is not None:
                    mask = np.frombuffer(self.body, np.bool_, queries * keys, start)
                    whole[layer, head] = mask.reshape(queries, keys)
        return whole

    def axis(self, name: str, axis: str) -> list[str] | None:
        place = self.kind(name)[axis]
        return None if place is None else self.header["axes"][place]


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON, and a browser does not read it")
