"""The branch of a search's tree that is pointed at, with what it looked at."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined

_branches = st.components.v2.component(
    "headscope_branches",
    html='<div class="headscope decoding-steps branches" aria-busy="true"></div>',
    css=joined("branches/branches.css"),
    js=joined("branches/branches.js"),
)


def branches(payload: bytes, *, key: str) -> None:
    """Mount the branch below its tree; nothing that is pointed at is told to the server.

    Args:
        payload: of viz.decoding.payload.pack_branches.
    """
    _branches(key=key, data=payload)
