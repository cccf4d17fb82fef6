"""A talk for one reader: a scene's title and note at the foot of the page that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz.browser.files import joined

_reader = st.components.v2.component(
    "headscope_reader",
    html='<section class="headscope reader" aria-label="Reading" aria-busy="true"></section>',
    css=joined("reader/reader.css"),
    js=joined("reader/reader.js"),
)


def reader(data: Mapping[str, Any], *, key: str, on_leave: Callable[[], None]) -> None:
    """Mount the text and the buttons, which ask `speaker.talk` for another scene.

    Args:
        data: `talk`, its title, and `count`, how many scenes it has; `number` of the scene, 0 for
            none; its `title` and `note` as plain text, and `views`, the queries that show it.
        on_leave: called when the reader has had enough.
    """
    _reader(key=key, data=dict(data), on_leave_change=on_leave)
