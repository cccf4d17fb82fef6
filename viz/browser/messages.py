"""Messages of components.

A newer message from the browser ends a run, and a callback with it, wherever that next uses the
session state; and the newer run may call back before the older one has ended. So a component
numbers its events and sends each of them again until it was handled: see `handle_once`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from viz.browser.kept import Kept
from viz.draw.keys import Keys


@dataclass(slots=True)
class _Handled:
    """The number of the last event that was handled, by the key of its component."""

    numbers: dict[str, int] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)


_HANDLED = Kept(Keys("events")("handled"), _Handled)


def message_of(key: str, name: str) -> Any:
    """What a component said last, from a browser and so from anyone.

    Streamlit forgets a component with its page, and still calls it back for what the browser sent
    from there.

    Returns:
        None where nothing was said, or where it is forgotten.
    """
    return (st.session_state.get(key) or {}).get(name)


def handle_once(key: str, name: str, handle: Callable[..., None]) -> None:
    """Handle the events that a component sent, a list of lists of a number and more.

    Each is handled once, in the order of their numbers; anything else is left out.

    Args:
        handle: called with what follows the number. An event that is cut short is handled again by
            the newer run, so it has to change the session last, and all at once.
    """
    message = message_of(key, name)
    events = [
        event
        for event in (message if isinstance(message, list) else ())
        if isinstance(event, list) and event and type(event[0]) is int
    ]
    handled = _HANDLED.value
    with handled.guard:
        for number, *values in sorted(events, key=lambda event: event[0]):
            if number > handled.numbers.get(key, 0):
                handle(*values)
                # Nothing may end the run between the two, so this is not in the session state.
                handled.numbers[key] = number


def last_handled(key: str) -> int:
    """The number of a component's last event that was handled; 0 before the first."""
    return _HANDLED.value.numbers.get(key, 0)
