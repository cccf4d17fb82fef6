"""One page is built at a time: building pages concurrently delays all of them.

Python runs one thread at a time. Of several pages that are built at once, each gives way to the
others hundreds of times, with every message to its browser, and none stands before nearly all do.
In turn, the first one stands while the others have not begun.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

MOST_SECONDS = 1.0
"""After so long the next one begins beside a page that is still being built: a very large one, or
one that waits for something else than the model."""


class _Turn:
    """A thread that waits to be let in, or is."""

    def __init__(self) -> None:
        self.come = threading.Event()
        self.since = 0.0


class Turns:
    """Turns that threads take, in the order in which they came; safe to share among threads.

    Args:
        most_seconds: how long a turn keeps the others waiting at most.
    """

    def __init__(self, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._guard = threading.Lock()
        self._current: _Turn | None = None
        self._waiting: deque[_Turn] = deque()
        self._own = threading.local()

    @contextmanager
    def turn(self) -> Generator[None]:
        """A turn of this thread's; within one, nothing more."""
        if self._mine is not None:
            yield
            return
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def pause(self) -> Generator[None]:
        """Lets others in while this thread waits for something; nothing outside of a turn."""
        if self._mine is None:
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    @property
    def _mine(self) -> _Turn | None:
        return getattr(self._own, "turn", None)

    def _take(self) -> None:
        mine = self._own.turn = _Turn()
        with self._guard:
            self._waiting.append(mine)
            self._let_in()
        while not mine.come.wait(self._most_seconds):
            with self._guard:
                self._let_in()

    def _give(self) -> None:
        with self._guard:
            # Another may have begun long since.
            if self._current is self._mine:
                self._current = None
            self._let_in()
        self._own.turn = None

    def _let_in(self) -> None:
        now = time.monotonic()
        current = self._current
        if self._waiting and (current is None or now - current.since >= self._most_seconds):
            self._current = self._waiting.popleft()
            self._current.since = now
            self._current.come.set()


BUILDING = Turns()
"""The turns of all pages of the server."""
