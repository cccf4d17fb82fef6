"""A store of recent results, bounded by their bytes and their number."""

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any


class ResultStore:
    """The latest results, small and large ones separate. Safe to share among threads.

    A large result has a size, `nbytes`, like a trace; one may be as large as a thousand others.
    Small results are bounded by number only.

    Args:
        most_small: the most small results.
        most_large: the most large results, whatever their size.
        most_bytes: of all large results together; a single larger one is kept alone.
    """

    def __init__(self, most_small: int, most_large: int, most_bytes: int) -> None:
        self._most_small, self._most_large, self._most_bytes = most_small, most_large, most_bytes
        self._small: OrderedDict[Hashable, Any] = OrderedDict()
        # With its bytes, since a trace sums those of all its maps.
        self._large: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._held = 0
        self._guard = threading.Lock()

    def __len__(self) -> int:
        return len(self._small) + len(self._large)

    @property
    def nbytes(self) -> int:
        """The size of all large results in bytes."""
        return self._held

    def find(self, key: Hashable) -> Any:
        """The result for a key, now the most recent one; None if there is none."""
        with self._guard:
            if key in self._small:
                self._small.move_to_end(key)
                return self._small[key]
            if key in self._large:
                self._large.move_to_end(key)
                return self._large[key][0]
        return None

    def keep(self, results: Mapping[Any, Any]) -> None:
        """Keep results by key, and drop the least recently used."""
        with self._guard:
            for key, result in results.items():
                if hasattr(result, "nbytes"):
                    self._keep_large(key, result)
                else:
                    self._small[key] = result
                    self._small.move_to_end(key)
            while len(self._small) > self._most_small:
                self._small.popitem(last=False)
            while len(self._large) > 1 and (
                len(self._large) > self._most_large or self._held > self._most_bytes
            ):
                _, (_, nbytes) = self._large.popitem(last=False)
                self._held -= nbytes

    def _keep_large(self, key: Hashable, result: Any) -> None:
        _, before = self._large.pop(key, (None, 0))
        nbytes = int(result.nbytes)
        self._large[key] = result, nbytes
        self._held += nbytes - before
