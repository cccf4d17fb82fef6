"""Words in a row that a person drags into another order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from viz.components.files import joined

_FOLDER = Path(__file__).parent

_word_order = st.components.v2.component(
    "headscope_word_order",
    html='<div class="headscope word-order"></div>',
    css=joined(_FOLDER, ("canvas/canvas.css", "word_order/word_order.css")),
    js=joined(_FOLDER, ("word_order/word_order.js",)),
)


def word_order(
    texts: Sequence[str], order: Sequence[int], *, key: str, on_order: Callable[[], None]
) -> None:
    """Mount the words.

    Args:
        texts: the words as they stood at first, as plain text.
        order: for each place, which of them stands there now.
        key: of the mounted component.
        on_order: called when a word was moved, for `chosen_order` to read.
    """
    _word_order(
        key=key, data={"texts": list(texts), "order": list(order)}, on_order_change=on_order
    )


def chosen_order(key: str, n_words: int) -> tuple[int, ...] | None:
    """The order that was chosen; None if none was, or it is none of so many words."""
    state = st.session_state.get(key)
    told = state.get("order") if state is not None else None
    if not isinstance(told, list) or not all(type(place) is int for place in told):
        return None
    return tuple(told) if sorted(told) == list(range(n_words)) else None
