"""The head that a person looks at, which one page hands on to the next.

Two pages keep `layer` and `head` in the address, and each names the kind of attention in its own
way. So each says which heads it shows (`note`), and asks on arrival which it is to show
(`brought`).
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz.links.head_refs import Head
from viz.shell import address

_CHOSEN, _SEEN, _OPENING, _LAST = "_head_chosen", "_head_seen", "_head_opening", "_head_page"
"""The heads a person chose last; what each page showed last, and opened with; the last page."""

Heads = tuple[Head, ...]
"""One head; in the joint picture, one of each kind of attention."""


def brought(page: str) -> Heads | None:
    """The heads that a page shows to somebody who comes from another one.

    Args:
        page: its name.

    Returns:
        None where the page is there already, or its address says what to show; no heads where
        nobody chose any and the page has none to return to.
    """
    state = st.session_state
    if address.is_followed() or state.get(_LAST) in (None, page):
        return None
    return state.get(_CHOSEN) or state[_SEEN].get(page, ())


def chosen_since(page: str) -> Heads | None:
    """The heads that a person chose since a page last asked; None if it is not to show them."""
    state = st.session_state
    chosen: Heads = state.get(_CHOSEN, ())
    seen: dict[str, Heads] = state.setdefault(_SEEN, {})
    if chosen == seen.get(page, ()):
        return None
    seen[page] = chosen
    return None if address.is_followed() else chosen


def open_with(page: str, heads: Sequence[Head]) -> None:
    """Remember the heads that a page chose by itself."""
    st.session_state.setdefault(_OPENING, {})[page] = tuple(heads)


def note(page: str, heads: Sequence[Head]) -> None:
    """Say which heads a page shows; all but those that it chose by itself were chosen."""
    state, heads = st.session_state, tuple(heads)
    seen: dict[str, Heads] = state.setdefault(_SEEN, {})
    state[_LAST] = page
    if heads == seen.get(page):
        return
    seen[page] = heads
    if state.get(_CHOSEN) or heads != state.get(_OPENING, {}).get(page):
        state[_CHOSEN] = heads
