"""How wide the page is, and a new run when figures have to be laid out in another way."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined
from viz.browser.messages import told
from viz.draw import style

GAP = 64
"""Pixels between columns with Streamlit's large gap."""

_KEY, _KEPT = "width", "_abreast"

_teller = st.components.v2.component(
    "headscope_width",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    css=joined("width.css"),
    js=joined("width.js"),
)


def watch_width(columns: int = 1) -> None:
    """Run the page again whenever other figures fit it; mount it once a page, after them.

    Args:
        columns: the most in which the page sets figures beside each other.
    """
    _teller(
        key=_KEY,
        height=1,
        data={"abreast": _abreast(), "columns": columns, "room": style.NARROW, "gap": GAP},
        on_abreast_change=_on_message,
    )


def is_narrow(columns: int = 1) -> bool:
    """Whether a figure has fewer than `style.NARROW` pixels across.

    Args:
        columns: how many of them stand beside each other, with a large gap.
    """
    return _abreast() < columns


def _abreast() -> int:
    """How many figures of `style.NARROW` pixels have room beside each other."""
    if _KEPT in st.session_state:
        abreast: int = st.session_state[_KEPT]
        return abreast
    # Before the page has told: most others are laptops.
    return 0 if is_phone() else 1


def is_phone() -> bool:
    """Whether the browser says that it is a phone's."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def _on_message() -> None:
    abreast = told(_KEY, "abreast")
    if type(abreast) is int and abreast >= 0:
        st.session_state[_KEPT] = abreast
