"""Move keyboard focus to a new widget."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined
from viz.browser.kept import Kept
from viz.draw.keys import Keys

_KEYS = Keys("focus")
_WANTED = Kept(_KEYS("wanted"), lambda: ("", 0))

_bringer = st.components.v2.component(
    "headscope_focus",
    html='<span aria-hidden="true" aria-busy="true"></span>',
    js=joined("focus.js"),
)


def focus_on(key: str) -> None:
    """Let the widget of this key have the focus once it is shown; call it in a callback."""
    _, turn = _WANTED.value
    _WANTED.value = key, turn + 1


def bring_focus() -> None:
    """Mount what brings it; once a run, beside the widgets."""
    key, turn = _WANTED.value
    if turn:
        _bringer(key=_KEYS(), data={"key": key, "turn": turn}, height=1)
