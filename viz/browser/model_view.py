"""Figure 1 with a sentence running through it: drawn and played in the browser."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import fetched

HTML = '<div class="headscope model-view" aria-busy="true"></div>'

_model_view = st.components.v2.component(
    "headscope_model_view",
    html=HTML,
    js=fetched("model_view/component.js"),
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
