"""A question to the hall, over the picture on stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz.browser.files import fetched
from viz.draw import themes

_hall = st.components.v2.component(
    "headscope_hall",
    html='<div class="headscope hall" aria-busy="true"></div>',
    js=fetched("hall/hall.js"),
)


def hall_question(
    about: str | None,
    poll: Mapping[str, Any] | None,
    named: str,
    address: str,
    *,
    key: str,
    on_press: Callable[[], None],
) -> None:
    """Mount the button, and the question if one is open or was closed.

    Args:
        about: what can be asked, "key" or "word"; None for nothing.
        poll: the question, as phones are told it.
        named: the head or the sentence that it is about, as plain text.
        address: of the number of its guesses, relative to the page.
        key: of the mounted component.
        on_press: called when the button was pressed; st.session_state[key] then holds under
            "pressed", unchecked, the name of the question that it was pressed at, "" for none, and
            how often it has been pressed.
    """
    _hall(
        key=key,
        data={
            "about": about,
            "poll": poll,
            "named": named,
            "address": address,
            "themes": themes.STAGE_THEMES,
        },
        on_pressed_change=on_press,
        height=1,
    )
