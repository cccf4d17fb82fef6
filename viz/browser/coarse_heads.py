"""The heads of a long text coarsely, and each of them whole once a browser asks for it.

Millions of weights take a browser seconds. Where a server stands behind the page, it is first sent
the largest weight of each patch of a head, in which no bright cell is lost, and asks for the head
that it shows close up (viz/browser/canvas/heads_to_come.js).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from model.explain.reading import ReadTrace
from model.side_by_side import side_by_side
from model.trace.attention_map import AttentionKind, AttentionMap, Site, weights_in
from model.trace.rounded_weights import restored
from viz.browser.asking import ADDRESS

FEW = 4_000_000
"""Up to so many weights, a trace is sent whole."""

SIDE, CELLS = 128, 4_000_000
"""A head has at most so many coarse rows and columns, and all heads so many coarse cells."""

MOST_CELLS = 16_000_000
"""Of one answer."""


class GoneError(ValueError):
    """A trace, or a head of it, that is not here; the message says what to do."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CoarseHeads:
    """The heads of one reading of a trace.

    Attributes:
        token: by which the browser asks for more; nobody can guess it.
        grain: rows and columns of a patch, by kind of attention.
        cells: the largest weight of each patch, (layer, head, row, column), as the square root of
            it in steps of 1/255.
    """

    token: str
    grain: Mapping[AttentionKind, tuple[int, int]]
    cells: Mapping[AttentionKind, list[NDArray[np.uint8]]]

    @property
    def asks(self) -> dict[str, str]:
        """Where the browser asks for a head."""
        return {"url": ADDRESS, "trace": self.token}


_MADE: WeakKeyDictionary[ReadTrace, CoarseHeads] = WeakKeyDictionary()
_SHOWN: WeakValueDictionary[str, ReadTrace] = WeakValueDictionary()
"""What can be asked about: as long as somebody's page shows it."""


def coarse_heads(seen: ReadTrace) -> CoarseHeads | None:
    """The heads of a trace coarsely; None for one that is sent whole."""
    if weights_in(seen.maps.values()) <= FEW:
        return None
    if seen not in _MADE:
        n_heads = sum(each.n_heads for each in seen.maps.values())
        side = min(SIDE, int((CELLS / n_heads) ** 0.5))
        grain: dict[AttentionKind, tuple[int, int]] = {}
        cells: dict[AttentionKind, list[NDArray[np.uint8]]] = {}
        for each in seen.maps.values():
            rows, columns = (-(-size // side) for size in each.shape[1:])
            grain[each.site.kind] = rows, columns
        found = side_by_side(lambda each: _coarse(each, *grain[each.site.kind]), seen.maps.values())
        for site, patches in zip(seen.maps, found, strict=True):
            cells.setdefault(site.kind, []).append(patches)
        made = CoarseHeads(secrets.token_urlsafe(16), grain, cells)
        _MADE[seen] = made
        _SHOWN[made.token] = seen
    return _MADE[seen]


def asked_heads(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Heads of one layer as they are sent, the "heads" of payloads.json.

    Args:
        asked: unchecked; the "trace" by its token, "kind", "layer" by its number, and the first
            and the last of the "heads".

    Raises:
        GoneError: if there is no such trace or head.
    """
    seen = _SHOWN.get(str(asked.get("trace")))
    if seen is None:
        raise GoneError("This trace is no longer open on the server; reload the page.")
    try:
        site = Site(AttentionKind(str(asked.get("kind"))), int(str(asked.get("layer"))))
        first, last = (int(str(each)) for each in asked["heads"])
        attention = seen.maps[site]
    except (KeyError, TypeError, ValueError):
        raise GoneError("This trace has no such heads; reload the page.") from None
    size = attention.shape[1] * attention.shape[2]
    if not 0 <= first <= last < attention.n_heads or (last + 1 - first) * size > MOST_CELLS:
        raise GoneError("This trace has no such heads, or too many to send; reload the page.")
    heads = list(attention.in_steps(heads=range(first, last + 1)))
    return {
        "payload": "heads",
        "weights": [steps for steps, _ in heads],
        "scales": [scales for _, scales in heads],
    }


def _coarse(attention: AttentionMap, rows: int, columns: int) -> NDArray[np.uint8]:
    """The largest weight of each patch, (head, row, column)."""
    found = []
    for steps, scales in attention.in_steps():
        weights = restored(steps, scales)
        largest = np.maximum.reduceat(weights, np.arange(0, len(weights), rows), axis=0)
        places = np.arange(0, weights.shape[1], columns)
        found.append(np.maximum.reduceat(largest, places, axis=1))
    return (np.sqrt(np.minimum(found, 1)) * 255).round().astype(np.uint8)
