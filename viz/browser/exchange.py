"""Two runs in the browser: all heads, one of them large, and parts that a person drags across."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import fetched
from viz.browser.messages import handle_once

_exchange = st.components.v2.component(
    "headscope_exchange",
    html='<div class="headscope exchange" aria-busy="true"></div>',
    js=fetched("exchange/exchange.js"),
)


def exchange(payload: bytes, *, key: str, on_moves: Callable[[], None]) -> None:
    """Mount two runs.

    Args:
        payload: of viz.compare.payload.pack_pair.
        on_moves: called when a head was chosen, or a part put in or taken out, for `handle_moves`.
    """
    _exchange(key=key, data=payload, on_moves_change=on_moves, height="content")


def handle_moves(key: str, handle: Callable[..., None]) -> None:
    """Handle the moves that were not handled yet.

    Args:
        handle: called with "show" and a head, or with "put" and a part, as the browser names them;
            or with anything else, since anyone may send it.
    """
    handle_once(key, "moves", handle)
