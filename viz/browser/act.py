"""An act of viz.acts: drawn and played in the browser."""

import streamlit as st

from viz.browser.files import fetched

_act = st.components.v2.component(
    "headscope_act",
    html='<div class="headscope act" aria-busy="true"></div>',
    js=fetched("act/act.js"),
)


def act(payload: bytes, *, key: str) -> None:
    """Mount an act, of viz.acts.act.Act.pack."""
    _act(key=key, data=payload)
