"""Garbage is collected while nobody waits, and at last whether or not."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from model.serving import idle_gc
from model.serving.idle_gc import IDLE, LATEST_SECONDS, is_due


class Knot:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collecting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The app's way of collecting, looking often; after it, Python's own again."""
    monkeypatch.setattr(idle_gc, "LOOK_SECONDS", 0.01)
    thresholds = gc.get_threshold()
    ended = idle_gc.collect_when_idle()
    yield
    ended.set()
    gc.set_threshold(*thresholds)
    gc.unfreeze()


@pytest.mark.usefixtures("collecting")
def test_a_cycle_is_freed_once_nobody_waits() -> None:
    freed = threading.Event()
    weakref.finalize(Knot(), freed.set)
    # Young objects are many after every run of a page.
    young = [[] for _ in range(20_000)]
    assert freed.wait(60), f"lies beside {len(young)} objects"


def test_python_itself_leaves_old_objects_alone(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    # The thread, which collects in any moment in which the machine has no time for this test.
    monkeypatch.setattr(idle_gc, "is_due", lambda *_: False)
    request.getfixturevalue("collecting")
    gc.collect()
    before = gc.get_stats()[-1]["collections"]
    # Lives on, so that it grows old; enough for Python to look at all that is old by itself.
    kept = [[] for _ in range(500_000)]
    thresholds = gc.get_threshold()
    assert gc.get_stats()[-1]["collections"] == before, (len(kept), thresholds)


@pytest.mark.parametrize(
    ("busy", "seconds", "young", "due"),
    [
        (0.0, 1.0, 1, True),
        (IDLE, 1.0, 1, True),
        # Somebody waits.
        (0.9, 1.0, 1, False),
        (0.9, LATEST_SECONDS - 0.1, 50, False),
        # There is always somebody.
        (0.9, LATEST_SECONDS, 1, True),
        # Nothing was made since.
        (0.0, 1.0, 0, False),
        (0.0, LATEST_SECONDS, 0, False),
    ],
)
def test_when_it_is_due(busy: float, seconds: float, young: int, due: bool) -> None:
    assert is_due(busy, seconds, young) is due
