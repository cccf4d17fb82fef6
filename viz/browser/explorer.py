"""Every head of a trace in the browser: overview, one head large, lines."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.browser.files import FOLDER, joined

SCRIPTS = (
    *("canvas/envelope.js", "canvas/paint.js", "canvas/controls.js", "canvas/matrix.js"),
    "canvas/mount.js",
    *("explorer/payload.js", "explorer/overview.js", "explorer/lines.js", "explorer/explorer.js"),
)

HTML = '<div class="headscope explorer" aria-busy="true"></div>'
CSS = joined(FOLDER, ("canvas/canvas.css", "explorer/explorer.css"))
SCRIPT = joined(FOLDER, SCRIPTS)
"""All that the browser runs, as one module."""

_explorer = st.components.v2.component("headscope_explorer", html=HTML, css=CSS, js=SCRIPT)


def explorer(payload: bytes, *, on_selection: Callable[[], None], key: str = "explorer") -> None:
    """Mount the explorer.

    Args:
        payload: of viz.heads.payload.pack.
        on_selection: called when another head, view or cell was selected; st.session_state[key]
            then holds the new selection under "selection", unchecked.
        key: of the mounted component.
    """
    _explorer(key=key, data=payload, on_selection_change=on_selection)
