"""What new visitors are offered: a talk to read, and a glossary."""

from __future__ import annotations

import streamlit as st

from viz.about import glossary
from viz.browser.messages import message_of
from viz.browser.welcome import LINES, welcome
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown, visible
from viz.heads.view import VIEW as HEADS
from viz.links.parameters import View
from viz.registry.pages import HOME
from viz.shell import stage
from viz.talk import talk_files
from viz.talk.own_talks import is_reading, read_ready_talk
from viz.talk.ready import ready_talk

WELCOME = Keys("welcome")


def show_welcome(view: View) -> None:
    """The two lines, each until it is dismissed, where people come in; call it once a run.

    Within a container that is always there, since what comes and goes moves all that follows, and
    has it drawn anew.
    """
    if view.name not in (HOME, HEADS.name) or stage.is_on() or is_reading():
        return
    folder = talk_files.folder()
    welcome(
        key=WELCOME("lines"),
        talk=visible(ready_talk().title),
        question=glossary.TITLE,
        terms=glossary.TERMS,
        dismissed=talk_files.dismissed(folder, LINES) if folder else None,
        on_read=read_ready_talk,
        on_dismissed=_on_dismissed,
    )


def show_glossary() -> None:
    """A button that opens the glossary, also for people who dismissed the line."""
    with st.popover(
        "Glossary", icon=":material/help:", key=Keys("glossary")("button"), help="Glossary"
    ):
        st.markdown(glossary_text())


def glossary_text() -> str:
    """The terms and their sentences as Markdown."""
    return "\n\n".join(
        f"**{term}.** {escape_markdown(sentence)}" for term, sentence in glossary.TERMS.items()
    )


def _on_dismissed() -> None:
    """Remember it for the desktop window, which loses its own storage when it closes."""
    name = message_of(WELCOME("lines"), "dismissed")
    if name in LINES and (folder := talk_files.folder()):
        talk_files.dismiss(folder, name)
