"""Pages take turns: building them concurrently delays all of them.

Python runs one thread at a time. Pages built together give way to each other with every message to
a browser, hundreds of times, so none is complete before nearly all are. In turns, the first page is
complete before the second one begins.
"""

import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager

MOST_SECONDS = 1.0
"""After so long the next page begins although this one is still being built: it is very large, or
waits for something other than the model."""


class _Turn:
    """A thread that waits for its turn, or has it."""

    def __init__(self) -> None:
        self.let_in = threading.Event()
        self.since = 0.0


class Turns:
    """Turns that threads take in the order in which they came; safe to share among threads.

    One turn keeps the others waiting for `most_seconds` at the longest.
    """

    def __init__(self, most_seconds: float = MOST_SECONDS) -> None:
        self._most_seconds = most_seconds
        self._guard = threading.Lock()
        self._current: _Turn | None = None
        self._waiting: deque[_Turn] = deque()
        self._own = threading.local()

    @property
    def n_waiting(self) -> int:
        """How many threads wait for their turn."""
        return len(self._waiting)

    @contextmanager
    def turn(self) -> Generator[None]:
        """Wait for this thread's turn and hold it; within a turn, does nothing."""
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
        """Let others in while this thread waits for something; outside a turn, does nothing."""
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
        while not mine.let_in.wait(self._most_seconds):
            with self._guard:
                self._let_in()

    def _give(self) -> None:
        with self._guard:
            # Another thread may have been let in long ago.
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
            self._current.let_in.set()


BUILDING = Turns()
"""The turns of all pages of the server."""
