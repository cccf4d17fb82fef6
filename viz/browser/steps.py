"""A translation as it is written, step by step: played, and gone on from with another word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import fetched

_steps = st.components.v2.component(
    "headscope_steps",
    html='<div class="headscope decoding-steps" aria-busy="true"></div>',
    js=fetched("steps/steps.js"),
)


def steps(
    payload: bytes, *, key: str, on_shown: Callable[[], None], on_taken: Callable[[], None]
) -> None:
    """Mount the steps.

    Args:
        payload: of viz.decoding.payload.pack.
        on_shown: called when another step has come to rest; st.session_state[key] then holds it
            under "shown", for `read_shown`.
        on_taken: called when another token was taken, which is under "taken", for `read_taken`.
    """
    _steps(key=key, data=payload, on_shown_change=on_shown, on_taken_change=on_taken)


def read_shown(data: Any, name: str, count: int) -> int | None:
    """The step that a browser shows, from 0.

    Args:
        data: from a browser, so from anyone.
        name: of the decoding, as it was packed.

    Returns:
        None for anything but a step of the decoding of that name.
    """
    return (
        _place(data, "step", count)
        if isinstance(data, Mapping) and data.get("name") == name
        else None
    )


def read_taken(data: Any, name: str, counts: Sequence[int]) -> tuple[int, int] | None:
    """The step and the place of the token that was taken there, from 0.

    Args:
        data: as in `read_shown`.
        name: likewise.
        counts: how many may be taken at each step.

    Returns:
        None for anything but one of them.
    """
    step = read_shown(data, name, len(counts))
    place = None if step is None else _place(data, "place", counts[step])
    return None if step is None or place is None else (step, place)


def _place(data: Mapping[str, Any], about: str, count: int) -> int | None:
    number = data.get(about)
    return number if type(number) is int and 0 <= number < count else None
