"""The page's width, and a new run when figures need another layout."""

import streamlit as st

from viz.browser.files import joined
from viz.browser.kept import Kept, nothing
from viz.browser.messages import message_of
from viz.draw import style
from viz.draw.keys import Keys

GAP = 64
"""Pixels between columns with Streamlit's large gap."""

KEYS = Keys("width")

_ABREAST: Kept[int | None] = Kept(KEYS("abreast"), nothing)

_watcher = st.components.v2.component(
    "headscope_width",
    html='<div aria-hidden="true" aria-busy="true"></div>',
    css=joined("width.css"),
    js=joined("width.js"),
)


def watch_width(columns: int = 1) -> None:
    """Run the page again when another number of figures fits; mount it once a page, after them.

    Args:
        columns: the most figures that the page places beside each other.
    """
    _watcher(
        key=KEYS(),
        height=1,
        data={"abreast": _abreast(), "columns": columns, "room": style.NARROW, "gap": GAP},
        on_abreast_change=_on_message,
    )


def is_narrow(columns: int = 1) -> bool:
    """Whether a figure is less than `style.NARROW` pixels wide.

    Args:
        columns: how many of them stand beside each other, with a large gap.
    """
    return _abreast() < columns


def _abreast() -> int:
    """How many figures of `style.NARROW` pixels fit beside each other."""
    if _ABREAST.value is not None:
        return _ABREAST.value
    # Before the page has reported: most others are laptops.
    return 0 if is_phone() else 1


def is_phone() -> bool:
    """Whether the browser says that it runs on a phone."""
    return "Mobi" in (st.context.headers.get("User-Agent") or "")


def _on_message() -> None:
    abreast = message_of(KEYS(), "abreast")
    if type(abreast) is int and abreast >= 0:
        _ABREAST.value = abreast
