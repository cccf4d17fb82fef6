"""A translation as it is written, step by step: played, and gone on from with another word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz.browser.files import joined

_steps = st.components.v2.component(
    "headscope_steps",
    html='<div class="headscope decoding-steps" aria-busy="true"></div>',
    css=joined("steps/steps.css"),
    js=joined("steps/steps.js"),
)


def steps(
    payload: bytes, *, key: str, on_shown: Callable[[], None], on_taken: Callable[[], None]
) -> None:
    """Mount the steps.

    Args:
        payload: of viz.decoding.payload.pack.
        key: of the mounted component.
        on_shown: called when another step has come to rest, for `shown` to read.
        on_taken: called when another token was taken, for `taken` to read.
    """
    _steps(key=key, data=payload, on_shown_change=on_shown, on_taken_change=on_taken)


def shown(key: str, name: str, count: int) -> int | None:
    """The step that is shown, from 0; None if none was told of the decoding of that name.

    Args:
        key: of the mounted component.
        name: of the decoding, as it was packed.
        count: of its steps.
    """
    message = _told(key, "shown", name)
    return _place(message.get("step"), count)


def taken(key: str, name: str, counts: list[int]) -> tuple[int, int] | None:
    """The step and the place of the token that was taken there, from 0; None as in `shown`.

    Args:
        key: of the mounted component.
        name: as in `shown`.
        counts: of what may be taken at each step.
    """
    message = _told(key, "taken", name)
    step = _place(message.get("step"), len(counts))
    place = None if step is None else _place(message.get("place"), counts[step])
    return None if step is None or place is None else (step, place)


def _told(key: str, about: str, name: str) -> Mapping[str, Any]:
    message = (st.session_state.get(key) or {}).get(about)
    return message if isinstance(message, Mapping) and message.get("name") == name else {}


def _place(number: object, count: int) -> int | None:
    return number if type(number) is int and 0 <= number < count else None
