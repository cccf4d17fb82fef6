"""What holds within a `with` block: in its thread, in its asyncio task, and no longer than it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


class CaptureError(RuntimeError):
    """Attention that did not run, or cannot be recorded or edited; the message says what to do."""


@dataclass(eq=False)
class _Held(Generic[T]):
    """One block: its value, the block around it, and what became of it."""

    value: T
    outer: _Held[T] | None
    thread: int = field(default_factory=threading.get_ident)
    ended: bool = False
    crossed: bool = False


class Scope(Generic[T]):
    """The value of the innermost open block of the running thread and asyncio task.

    Threads and tasks do not see each other's blocks. A task or thread that asyncio starts within a
    block (`create_task`, `to_thread`) is in it too, until it ends.

    Args:
        block: the name of what opens a block, for error messages.
    """

    def __init__(self, block: str) -> None:
        self._block = block
        self._innermost: ContextVar[_Held[T] | None] = ContextVar(block, default=None)

    def get(self) -> T | None:
        """The value; None outside of any block."""
        held = self._innermost.get()
        # A task that was started within a block may outlive it.
        while held is not None and held.ended:
            held = held.outer
        return None if held is None else held.value

    @contextmanager
    def holding(self, value: T) -> Generator[None, None, None]:
        """Hold a value until the block ends; a block inside another replaces its value.

        Raises CaptureError when the block ends, if it did so in another thread or task than the one
        it began in, or if it overlapped with another block that did not lie within it.
        """
        held = _Held(value, self._innermost.get())
        self._innermost.set(held)
        try:
            yield
        finally:
            problem = self._left(held)
        # An error of the block's own comes first.
        if problem:
            raise CaptureError(problem)

    def _left(self, held: _Held[T]) -> str | None:
        """End a block, and say what was wrong about its end."""
        held.ended = True
        chain = list(_chain(self._innermost.get()))
        if held not in chain or held.thread != threading.get_ident():
            return (
                f"This block of {self._block} was left by another thread or asyncio task than the "
                "one that entered it, so that some of what ran may be missing from it; enter and "
                "leave it in one task."
            )
        for later in chain[: chain.index(held)]:
            later.crossed = later.crossed or not later.ended
            held.crossed = held.crossed or not later.ended
        self._innermost.set(next((each for each in chain if not each.ended), None))
        if not held.crossed:
            return None
        return (
            f"Two blocks of {self._block} overlapped in one thread, as those of generators that "
            "are advanced in turn do, so that nothing shows what belongs to which; leave the block "
            "that was entered last first, or give each a thread or asyncio task of its own."
        )


def _chain(held: _Held[T] | None) -> Iterator[_Held[T]]:
    while held is not None:
        yield held
        held = held.outer
