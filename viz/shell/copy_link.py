"""A link to copy, and its QR code for a phone."""

from collections.abc import Sequence

import streamlit as st

from viz.browser.files import joined
from viz.shell.share import Code
from viz.shell.speaker_view import SHARE

_copy_link = st.components.v2.component(
    "headscope_copy_link",
    html='<div class="headscope copy-link" aria-busy="true"></div>',
    css=joined("copy_link/copy_link.css"),
    js=joined("copy_link/copy_link.js"),
)


def copy_link(link: str, code: Code | None, notes: Sequence[str] = ()) -> None:
    """Mount a link; the script runs again when the browser's address has changed since.

    Args:
        link: the address, as plain text.
        code: its QR code; None shows none.
        notes: sentences of plain text about them.
    """
    drawn = {"size": code.size, "path": code.path} if code else None
    # Streamlit keeps a trigger only with a callback; the new run is all that is needed.
    _copy_link(
        key=SHARE("copy"),
        data={"link": link, "code": drawn, "notes": list(notes)},
        on_moved_change=lambda: None,
    )
