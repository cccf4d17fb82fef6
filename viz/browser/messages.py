"""What components tell.

A newer message from the browser ends a run, and a callback with it, wherever that next uses the
session state; and the newer run may call back before the older one has ended. So a component that
tells of deeds numbers them and tells each of them again until it was done: see `do_told`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

_DONE = "_told_done"


@dataclass(slots=True)
class _Done:
    """The number of the last deed that was done, by the key of the component that told of it."""

    numbers: dict[str, int] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)


def told(key: str, name: str) -> Any:
    """What a component told last, from a browser and so from anyone.

    Streamlit forgets a component with its page, and still calls it back for what the browser sent
    from there.

    Args:
        key: of the mounted component.
        name: of a state or of a trigger.

    Returns:
        None where nothing was told, or where it is forgotten.
    """
    return (st.session_state.get(key) or {}).get(name)


def do_told(key: str, name: str, do: Callable[..., None]) -> None:
    """Do what a component told in a list of deeds, each a list of its number and what it is.

    Each is done once, in the order of their numbers; what is no such list is left out.

    Args:
        key: of the mounted component.
        name: of a state.
        do: called with what follows the number. A deed that is cut short is done again by the
            newer run, so what it changes in the session it has to change last, and in one.
    """
    message = told(key, name)
    deeds = [
        deed
        for deed in (message if isinstance(message, list) else ())
        if isinstance(deed, list) and deed and type(deed[0]) is int
    ]
    done = _done()
    with done.guard:
        for number, *what in sorted(deeds, key=lambda deed: deed[0]):
            if number > done.numbers.get(key, 0):
                do(*what)
                # Nothing may end the run between the two, so this is not in the session state.
                done.numbers[key] = number


def last_done(key: str) -> int:
    """The number of the last deed of a component that was done; 0 before the first."""
    return _done().numbers.get(key, 0)


def _done() -> _Done:
    done: _Done = st.session_state.setdefault(_DONE, _Done())
    return done
