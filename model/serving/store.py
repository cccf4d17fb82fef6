"""Results that are kept, bounded by their bytes and by their number."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any


class ResultStore:
    """What was computed last, small results and large ones apart; safe to share among threads.

    A large result knows its size, `nbytes`, like a trace; one of these may be as large as a
    thousand others. Small ones are bounded by their number alone.

    Args:
        most_small: how many small results there may be.
        most_large: how many large ones, however few bytes they hold.
        most_bytes: what all large ones may hold together; a single larger one is kept alone.
    """

    def __init__(self, most_small: int, most_large: int, most_bytes: int) -> None:
        self._most_small, self._most_large, self._most_bytes = most_small, most_large, most_bytes
        self._small: OrderedDict[Hashable, Any] = OrderedDict()
        self._large: OrderedDict[Hashable, Any] = OrderedDict()
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._small) + len(self._large)

    @property
    def nbytes(self) -> int:
        """What all large results hold, in bytes."""
        with self._guard:
            return self._held()

    def find(self, key: Hashable) -> Any:
        """What is kept under a key, which then stays longest; None for nothing."""
        with self._guard:
            for kept in (self._small, self._large):
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
        return None

    def keep(self, results: Mapping[Any, Any]) -> None:
        """Keep results by key, and let go of what was not asked for longest."""
        with self._guard:
            for key, result in results.items():
                kept = self._large if hasattr(result, "nbytes") else self._small
                kept[key] = result
                kept.move_to_end(key)
            while len(self._small) > self._most_small:
                self._small.popitem(last=False)
            while len(self._large) > 1 and (
                len(self._large) > self._most_large or self._held() > self._most_bytes
            ):
                self._large.popitem(last=False)

    def _held(self) -> int:
        return sum(int(result.nbytes) for result in self._large.values())
