"""Parts of one sentence's run that a person drags into another sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import handle_once, last_handled

_exchange = st.components.v2.component(
    "headscope_exchange",
    html='<div class="headscope exchange" aria-busy="true"></div>',
    css=joined("exchange/exchange.css"),
    js=joined("exchange/exchange.js"),
)


def exchange(parts: Mapping[str, Any], *, key: str, on_moves: Callable[[], None]) -> None:
    """Mount the parts of the second sentence, and the first sentence into which they are dragged.

    Args:
        parts: of viz.compare.parts.parts_of.
        key: of the mounted component.
        on_moves: called when a part was put in or taken out, for `handle_moves`.
    """
    _exchange(key=key, data={**parts, "heard": last_handled(key)}, on_moves_change=on_moves)


def handle_moves(key: str, handle: Callable[..., None]) -> None:
    """Handle the moves that were not handled yet, each with the part as the browser names it."""
    handle_once(key, "moves", handle)
