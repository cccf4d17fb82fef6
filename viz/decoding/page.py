"""Decoding: how the translation is written, step by step, and what else could be."""

import streamlit as st

from model.checkpoint import CheckpointError
from model.search import DecodingError, Search
from model.translator import DeviceError, TextError
from viz.decoding.page_steps import show_steps, show_steps_on_stage
from viz.decoding.view import SECTIONS, VIEW, DecodingView
from viz.draw.labels import escape_markdown
from viz.shell import address, bar, session, stage
from viz.shell.jobs import Decoded
from viz.shell.width import watch_width


def decoded(question: session.Question, search: Search) -> Decoded:
    """How the sentence is translated."""
    return session.decode(question.checkpoint, question.sentence, search)


def clamp_step(found: Decoded) -> DecodingView:
    """The view, with a step that there is."""
    view = address.read(DecodingView)
    count = len(found.decoding.steps)
    if view.at > count:
        address.change(at=count)
        address.note(
            "at", f"This translation has {count} steps and no step {view.at}; shown is the last."
        )
    return address.read(DecodingView)


def show_page(question: session.Question) -> None:
    """Everything, for a question that has an answer."""
    view = address.read(DecodingView)
    found = decoded(question, view.search)
    view = clamp_step(found)
    if stage.is_on():
        show_steps_on_stage(view, found)
        return
    st.segmented_control(
        "What is shown",
        SECTIONS,
        default=view.section,
        key="section",
        required=True,
        format_func=SECTIONS.__getitem__,
        label_visibility="collapsed",
    )
    show_steps(view, found)


address.open_address(VIEW.parameters)
question = bar.asked()
if question is not None:
    try:
        show_page(question)
    except (CheckpointError, DecodingError, DeviceError, TextError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
watch_width()
