"""What new visitors are offered, behind one button: a talk to read, the terms, and the facts."""

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from viz.about import glossary
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown, visible
from viz.talk.own_talks import is_reading, read_ready_talk
from viz.talk.ready import ready_talk

HELP = Keys("help")


def show_help(about: StreamlitPage) -> None:
    """The button, and what opens with it.

    Args:
        about: the page on the model's training and the app.
    """
    with st.popover("Help", icon=":material/help:", key=HELP()):
        if not is_reading():
            st.button(
                escape_markdown(f"Read “{visible(ready_talk().title)}”"),
                key=HELP("read"),
                icon=":material/menu_book:",
                on_click=read_ready_talk,
                width="stretch",
            )
        st.page_link(about, label="About the model and Headscope")
        st.markdown(f"**{glossary.TITLE}**\n\n{glossary_text()}")


def glossary_text() -> str:
    """The terms and their sentences as Markdown."""
    return "\n\n".join(
        f"**{term}.** {escape_markdown(sentence)}" for term, sentence in glossary.TERMS.items()
    )
