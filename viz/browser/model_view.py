"""Figure 1 with a sentence running through it: drawn and played in the browser."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import fetched

HTML = '<div class="headscope model-view" aria-busy="true"></div>'
HEADS_HTML = '<div class="headscope heads-view" aria-busy="true"></div>'
"""The layout in which all heads of a kind stand beside the picture."""

_SCRIPT = "model_view/component.js"

_model_view = st.components.v2.component("headscope_model_view", html=HTML, js=fetched(_SCRIPT))
_heads_view = st.components.v2.component(
    "headscope_heads_view", html=HEADS_HTML, js=fetched(_SCRIPT)
)


def model_view(
    payload: bytes,
    *,
    key: str,
    on_open: Callable[[], None],
    on_rested: Callable[[], None],
    on_example: Callable[[], None],
) -> None:
    """Mount the figure.

    Args:
        payload: of viz.model_page.payload.pack.
        key: of the mounted component.
        on_open: called when a block was opened; st.session_state[key] then holds, unchecked, under
            "open" the block's page and what is selected there.
        on_rested: called when it has come to rest, at the step under "rested", unchecked.
        on_example: called when it wants another example, as in a kiosk.
    """
    _model_view(
        key=key,
        data=payload,
        on_open_change=on_open,
        on_rested_change=on_rested,
        on_example_change=on_example,
    )


def heads_view(
    payload: bytes,
    *,
    key: str,
    on_open: Callable[[], None],
    on_rested: Callable[[], None],
    on_corpus: Callable[[], None],
    on_model: Callable[[], None],
) -> None:
    """Mount the figure at the place of a head, beside all heads of its kind.

    Args:
        payload: of viz.model_page.payload.pack.
        key: of the mounted component.
        on_open: as of `model_view`.
        on_rested: called when another head, view or cell was selected; st.session_state[key]
            then holds the new selection under "rested", unchecked, with the epoch of the
            payload that it was made on.
        on_corpus: called when the selected head is asked for on other sentences.
        on_model: called when it is asked for in the picture of the model; the message "model" then
            holds its place there, unchecked.
    """
    _heads_view(
        key=key,
        data=payload,
        on_open_change=on_open,
        on_rested_change=on_rested,
        on_corpus_change=on_corpus,
        on_model_change=on_model,
    )
