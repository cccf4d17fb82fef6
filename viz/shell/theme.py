"""Whether the page is light or dark, and a new run when that or the server changes."""

import streamlit as st

from viz.browser.files import joined
from viz.draw.keys import Keys

_watcher = st.components.v2.component(
    "headscope_theme",
    html='<span aria-hidden="true" aria-busy="true"></span>',
    css=joined("theme.css"),
    js=joined("theme.js"),
)


def watch_theme() -> None:
    """Run the page again when its reader changes the theme or is reconnected.

    Mount it once a page.
    """
    _watcher(key=Keys("theme")(), height=1, on_changed_change=lambda: None)


def is_dark() -> bool:
    """Whether the reader's page is dark."""
    return st.context.theme.type == "dark"
