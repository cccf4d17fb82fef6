"""The navigation of a narrow page, which lies over it: closed as soon as a page is chosen."""

from __future__ import annotations

import streamlit as st

from viz.browser.files import joined
from viz.draw.keys import Keys

_closer = st.components.v2.component(
    "headscope_drawer",
    html='<span hidden aria-busy="true"></span>',
    js=joined("drawer.js"),
)


def close_drawer() -> None:
    """Let a chosen page be seen where the navigation covers it; mount it once a page."""
    _closer(key=Keys("drawer")(), height=1)
