"""The views that speakers show, kept in the server for the phones that follow them."""

import asyncio
import contextlib
import itertools
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from streamlit import runtime

from viz.service.job import Job

MOST_SPEAKERS = 500

A_SECOND = 800
"""Phones that are woken; between them, the server answers others."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """What a speaker shows.

    Attributes:
        view: as JSON.
        mark: tells it from the view before.
        name: of the answers of a model about it; empty without any.
        whole: the view with these answers, compressed by gzip.
        found: these answers.
        asked: the question whose answers they are.
    """

    view: bytes
    mark: str
    session: str
    name: str = ""
    whole: bytes = b""
    found: bytes = b""
    asked: Job[bytes] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the page is open."""
        return not runtime.exists() or runtime.get_instance().is_active_session(self.session)


class _Views:
    """The last view of each speaker; the oldest make room."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, tuple[int, Speaker | None]] = OrderedDict()
        self._waiting: set[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self.numbers = itertools.count(1)
        """Of views, in the order in which they are shown."""

    def put(self, code: str, speaker: Speaker | None, number: int) -> None:
        """Show a view, or None, unless a later one is shown by now."""
        with self._lock:
            last, before = self._kept.get(code, (0, None))
            if number < last:
                return
            self._kept[code] = number, speaker
            self._kept.move_to_end(code)
            while len(self._kept) > MOST_SPEAKERS:
                self._kept.popitem(last=False)
        if before is None or speaker is None or before.mark != speaker.mark:
            self._wake(code)

    def of(self, code: str) -> Speaker | None:
        """What a speaker shows; None if their page is not open."""
        with self._lock:
            _, speaker = self._kept.get(code, (0, None))
        return speaker if speaker and speaker.is_there else None

    def drop(self, code: str) -> None:
        """Show nothing any more, not even a view whose answers are on their way."""
        self.put(code, None, next(self.numbers))

    async def after(self, code: str, mark: str, seconds: float) -> Speaker | None:
        """What a speaker shows once it is no longer the view with this mark, or after a time."""
        waiter = code, asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._waiting.add(waiter)
        try:
            # Looked up once the phone waits, so that no view comes unseen in between.
            speaker = self.of(code)
            if speaker is not None and speaker.mark == mark:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waiter[2].wait(), seconds)
                speaker = self.of(code)
            return speaker
        finally:
            with self._lock:
                self._waiting.discard(waiter)

    def _wake(self, code: str) -> None:
        with self._lock:
            waiters = [each for each in self._waiting if each[0] == code]
        for place, (_, loop, changed) in enumerate(waiters):
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.call_later, place / A_SECOND, changed.set)


VIEWS = _Views()
