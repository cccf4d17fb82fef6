"""A link to copy, and its QR code to hold a phone against."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from viz.browser.files import joined
from viz.shell.share import Code

_copy_link = st.components.v2.component(
    "headscope_copy_link",
    html='<div class="headscope copy-link" aria-busy="true"></div>',
    css=joined("copy_link/copy_link.css"),
    js=joined("copy_link/copy_link.js"),
)


def copy_link(link: str, code: Code | None, notes: Sequence[str] = ()) -> None:
    """Mount a link; the script runs again when the browser has gone to another address since.

    Args:
        link: the address, as plain text.
        code: its QR code; None shows none.
        notes: what is to be said of them, in sentences of plain text.
    """
    drawn = {"size": code.size, "path": code.path} if code else None
    # A callback is what makes Streamlit keep the trigger; the new run is all that is wanted of it.
    _copy_link(
        key="copy-link",
        data={"link": link, "code": drawn, "notes": list(notes)},
        on_moved_change=lambda: None,
    )
