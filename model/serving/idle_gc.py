"""Collects garbage while nobody is waiting.

Streamlit would collect after every run (`runner.postScriptGC`, off in .streamlit/config.toml), and
Python in the middle of one. Both scan everything that any session keeps, and everybody waits
meanwhile: with fifty sessions, for longer than all pages together take.
"""

import ctypes
import gc
import sys
import threading
import time

LOOK_SECONDS = 0.25
"""How often to check whether somebody is waiting, in seconds."""

IDLE = 0.2
"""Below this share of a core, nobody is waiting."""

LATEST_SECONDS = 30.0
"""The longest time without a collection, in seconds, however busy the server is."""

_NEVER = 1_000_000
"""The collections of young objects before Python would collect the old ones."""


def collect_when_idle() -> threading.Event:
    """Collect garbage in a thread instead of letting Python do it; set the event to end that.

    Everything loaded so far is exempt for good: half a million objects that are never freed.
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
            _give_back()
            since = time.monotonic()
        used = time.process_time()


def _give_back() -> None:
    """Give memory that was freed back to the system: of many threads, glibc keeps it in pieces."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)


def is_due(busy: float, seconds: float, young: int) -> bool:
    """Whether to collect now.

    Args:
        busy: the share of a core that the process just used.
        young: collections of young objects since then; the survivors are old now.
    """
    return young > 0 and (busy <= IDLE or seconds >= LATEST_SECONDS)
