"""When garbage is collected: while nobody waits.

Streamlit would collect after every run (`runner.postScriptGC`, off in .streamlit/config.toml), and
Python in the middle of one. Either looks at all that every session keeps and holds everybody up
meanwhile: with fifty sessions, for longer than all pages together take.
"""

from __future__ import annotations

import gc
import threading
import time

LOOK_SECONDS = 0.25
"""How often it is looked whether somebody waits."""

IDLE = 0.2
"""The share of a core up to which nobody does."""

LATEST_SECONDS = 30.0
"""How long garbage may lie at most, however busy the server is."""

_NEVER = 1_000_000
"""Of the young generations that Python may collect before it takes the old one by itself."""


def collect_when_idle() -> threading.Event:
    """Take garbage collection into one's own hands, from a thread; set the event to end it.

    What was loaded so far is set aside for good: half a million objects that never go away.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    ended = threading.Event()
    threading.Thread(target=_collect, args=(ended,), name="garbage", daemon=True).start()
    return ended


def _collect(ended: threading.Event) -> None:
    since, used = time.monotonic(), time.process_time()
    while not ended.wait(LOOK_SECONDS):
        busy = (time.process_time() - used) / LOOK_SECONDS
        if is_due(busy, time.monotonic() - since, gc.get_count()[-1]):
            gc.collect()
            since = time.monotonic()
        used = time.process_time()


def is_due(busy: float, seconds: float, young: int) -> bool:
    """Whether to collect now.

    Args:
        busy: the share of a core that the process has just used.
        seconds: since it was collected last.
        young: how often Python has collected the younger objects since; what survived is old.
    """
    return young > 0 and (busy <= IDLE or seconds >= LATEST_SECONDS)
