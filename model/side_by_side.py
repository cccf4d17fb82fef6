"""Work on the parts of what is large, on the cores that there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(work: Callable[[A], B], parts: Iterable[A], *, large: bool = True) -> Iterator[B]:
    """What `work` gives for each part, in their order; numpy lets other threads run meanwhile.

    Args:
        work: for one part.
        parts: what it is done for.
        large: whether threads are worth what it takes to begin them.
    """
    if not large:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        yield from threads.map(work, parts)
