"""Move keyboard focus to a new widget."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined

_KEY, _WANTED = "focus-bringer", "_focus_wanted"

_bringer = st.components.v2.component(
    "headscope_focus",
    html='<span aria-hidden="true" aria-busy="true"></span>',
    js=joined("focus.js"),
)


def focus_on(key: str) -> None:
    """Let the widget of this key have the focus once it is shown; call it in a callback."""
    _, turn = st.session_state.get(_WANTED, ("", 0))
    st.session_state[_WANTED] = (key, turn + 1)


def bring_focus() -> None:
    """Mount what brings it; once a run, beside the widgets."""
    if wanted := st.session_state.get(_WANTED):
        key, turn = wanted
        _bringer(key=_KEY, data={"key": key, "turn": turn}, height=1)
