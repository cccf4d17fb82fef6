"""Every head of a trace in the browser: overview, one head large, lines."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import fetched, joined

HTML = '<div class="headscope explorer" aria-busy="true"></div>'
CSS = joined("explorer/explorer.css")

_explorer = st.components.v2.component(
    "headscope_explorer", html=HTML, js=fetched("explorer/component.js")
)


def explorer(
    payload: bytes,
    *,
    on_selection: Callable[[], None],
    on_corpus: Callable[[], None],
    on_model: Callable[[], None],
    key: str,
) -> None:
    """Mount the explorer.

    Args:
        payload: of viz.browser.trace_payload.pack.
        on_selection: called when another head, view or cell was selected; st.session_state[key]
            then holds the new selection under "selection", unchecked, with the epoch of the
            payload that it was made on.
        on_corpus: called when the selected head is asked for on other sentences.
        on_model: called when it is asked for in the picture of the model; the message "model" then
            holds its place there, unchecked.
        key: of the mounted component.
    """
    _explorer(
        key=key,
        data=payload,
        on_selection_change=on_selection,
        on_corpus_change=on_corpus,
        on_model_change=on_model,
    )
