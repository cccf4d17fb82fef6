"""Words in a row that a person drags into another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import message_of

_word_order = st.components.v2.component(
    "headscope_word_order",
    html='<div class="headscope word-order" aria-busy="true"></div>',
    css=joined("word_order/word_order.css"),
    js=joined("word_order/word_order.js"),
)


def word_order(
    texts: Sequence[str], order: Sequence[int], *, key: str, on_order: Callable[[], None]
) -> None:
    """Mount the words.

    Args:
        texts: the words as they stood at first, as plain text.
        order: for each place, which of them stands there now.
        on_order: called when a word was moved, for `dragged_order` to read.
    """
    turn = _message(key).get("turn", 0)
    _word_order(
        key=key,
        data={"texts": list(texts), "order": list(order), "turn": turn},
        on_order_change=on_order,
    )


def dragged_order(key: str, n_words: int) -> tuple[int, ...] | None:
    """The order into which the words were dragged; None for nothing, or no order of so many."""
    places = _message(key).get("places")
    if not isinstance(places, list) or not all(type(place) is int for place in places):
        return None
    return tuple(places) if sorted(places) == list(range(n_words)) else None


def _message(key: str) -> Mapping[str, Any]:
    """What the browser said last: the places, and how many moves led to them."""
    message = message_of(key, "order")
    return message if isinstance(message, Mapping) else {}
