"""What every page offers in its upper right corner: the stage, scenes, a link, the glossary."""

from __future__ import annotations

import streamlit as st

from viz.shell import stage
from viz.shell.share_panel import show_share
from viz.talk.scene_panel import show_scenes, show_talk
from viz.talk.welcome import show_glossary


def show_tools() -> None:
    """The row of tools; call it once a run, after the stage has begun."""
    show_talk()
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="tools"):
        stage.show_button()
        show_scenes()
        show_share()
        show_glossary()
