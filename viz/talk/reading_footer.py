"""A talk as a reading: the ordinary page, and at its foot the scene's title and note.

The address holds which scene of which talk is read, so a link and the browser's Back lead there.
"""

from __future__ import annotations

import streamlit as st

from viz.browser.reader import reader
from viz.draw.labels import visible
from viz.shell import stage
from viz.talk.scene_panel import is_reading, leave_reading, shown_talk


def show_reading() -> None:
    """The text of the scene that is read; call it after the page, where `title_scene` was called.

    Nothing on stage, where the notes are the speaker's.
    """
    talk = shown_talk()
    if not is_reading() or talk is None:
        return
    number = st.session_state["scene"]
    scene = talk.scene(number)
    reader(
        {
            "talk": visible(talk.title),
            "count": len(talk.scenes),
            "number": number if scene else 0,
            "title": visible(scene.title) if scene else "",
            "note": scene.note if scene else "",
            "views": stage.scene_views() if scene else None,
        },
        key="reader-text",
        on_leave=leave_reading,
    )
