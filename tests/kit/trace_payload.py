"""What a component receives, read by the description of its envelope alone."""

import json
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import BoolArray
from model.trace.rounded_weights import restored
from viz.browser.envelope import PAYLOADS


class Decoded:
    """One payload.

    Attributes:
        id: the digits that name its content.
        header: its values, as payloads.json names them; arrays are flat.
        sent: the header as JSON, with the places of arrays.
        body: all arrays as they were sent.
    """

    def __init__(self, payload: bytes) -> None:
        assert payload[:4] == b"HSX1"
        self.id = payload[4:20].decode("ascii")
        length = int.from_bytes(payload[20:24], "little")
        self.sent = json.loads(payload[24 : 24 + length].decode("utf-8"), parse_constant=refuse)
        self.body = payload[24 + length :]
        self.header: dict[str, Any] = self._read(PAYLOADS[self.sent["payload"]], self.sent)

    def _read(self, kind: Any, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(kind, list):
            return [self._read(kind[0], each) for each in value]
        if isinstance(kind, dict):
            assert kind.keys() == value.keys()
            return {name: self._read(each, value[name]) for name, each in kind.items()}
        match kind.replace(":", " ").replace(",", " ").split()[0]:
            case "mask" if not isinstance(value[0], int):
                return [self._read("mask", each) for each in value]
            case "cells" | "mask":
                return self._array(value)
            case "numbers":
                return [None if np.isnan(each) else float(each) for each in self._array(value)]
            case "number":
                return float(self._array(value)[0])
        return value

    def _array(self, place: list[int]) -> NDArray[Any]:
        start, count, width = place
        return np.frombuffer(self.body, {1: "u1", 4: "<f4", 8: "<f8"}[width], count, start)

    def kind(self, name: str) -> dict[str, Any]:
        return next(kind for kind in self.header["kinds"] if kind["kind"] == name)

    def shape(self, name: str) -> tuple[int, int, int, int]:
        """(layer, head, query, key)."""
        kind = self.kind(name)
        queries, keys = (len(self.header["axes"][kind[axis]]) for axis in ("queries", "keys"))
        return len(kind["layers"]), kind["heads"], queries, keys

    def weights(self, name: str) -> NDArray[Any]:
        """(layer, head, query, key), as the browser makes them of what was sent."""
        kind = self.kind(name)
        found: NDArray[Any] = kind["weights"].reshape(self.shape(name))
        if kind["scales"] is None:
            return found
        return restored(found, kind["scales"].reshape(self.shape(name)[:-1]))

    def allowed(self, name: str) -> BoolArray:
        whole = np.ones(self.shape(name), dtype=np.bool_)
        for layer, masks in zip(whole, self.kind(name)["allowed"], strict=True):
            masks = masks if isinstance(masks, list) else [masks] * len(layer)
            for head, mask in zip(layer, masks, strict=True):
                if mask is not None:
                    head[:] = mask.reshape(head.shape)
        return whole

    def axis(self, name: str, axis: str) -> list[str] | None:
        place = self.kind(name)[axis]
        return None if place is None else self.header["axes"][place]


def refuse(constant: str) -> NoReturn:
    raise AssertionError(f"{constant} is no JSON, and a browser does not read it")
