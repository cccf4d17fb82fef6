"""The head that a person looks at, handed from one page to the next.

Two pages keep `layer` and `head` in the address, and each names the kind of attention differently.
So each notes which heads it shows (`note`) and asks on arrival which to show (`brought`).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from model.trace.head import Head
from viz.shell import address

_SELECTED, _SHOWN, _OPENING, _LAST = "_head_selected", "_head_shown", "_head_opening", "_head_page"
"""The heads a person selected last; those each page showed last and opened with; the last page."""

Heads = tuple[Head, ...]
"""One head; in the joint picture, one of each kind of attention."""


def brought(page: str) -> Heads | None:
    """The heads that a page shows to somebody who comes from another page.

    Args:
        page: its name.

    Returns:
        None if the page is shown already, or if its address says what to show; no heads if nobody
        selected any and the page has none to return to.
    """
    state = st.session_state
    if address.is_followed() or state.get(_LAST) in (None, page):
        return None
    return state.get(_SELECTED) or state[_SHOWN].get(page, ())


def selected_since(page: str) -> Heads | None:
    """The heads a person selected since a page last asked; None if there is nothing to show."""
    state = st.session_state
    selected: Heads = state.get(_SELECTED, ())
    shown: dict[str, Heads] = state.setdefault(_SHOWN, {})
    if selected == shown.get(page, ()):
        return None
    shown[page] = selected
    return None if address.is_followed() else selected


def open_with(page: str, heads: Sequence[Head]) -> None:
    """Note the heads that a page opens with by itself."""
    st.session_state.setdefault(_OPENING, {})[page] = tuple(heads)


def note(page: str, heads: Sequence[Head]) -> None:
    """Note the heads that a page shows; a person selected all but those of `open_with`."""
    state, heads = st.session_state, tuple(heads)
    shown: dict[str, Heads] = state.setdefault(_SHOWN, {})
    state[_LAST] = page
    if heads == shown.get(page):
        return
    shown[page] = heads
    if state.get(_SELECTED) or heads != state.get(_OPENING, {}).get(page):
        state[_SELECTED] = heads
