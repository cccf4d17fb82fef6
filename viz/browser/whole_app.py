"""The link from an embedded page to the whole app, in place of its menu and its tools."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined
from viz.draw.keys import Keys

_link = st.components.v2.component(
    "headscope_whole_app",
    html='<a class="whole-app" target="_blank" rel="noopener" aria-busy="true">'
    "Open in Headscope ↗</a>",
    css=joined("whole_app.css"),
    js=joined("whole_app.js"),
)


def is_embedded() -> bool:
    """Whether the address says that the page stands in another one, with `embed=true`."""
    return bool(st.context.is_embedded)


def show_link() -> None:
    """Link to this view in the whole app."""
    _link(key=Keys("whole-app")())
