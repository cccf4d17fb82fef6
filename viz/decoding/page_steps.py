"""The steps of a decoding, one after another."""

import streamlit as st

from viz.decoding.pictures import OneStep
from viz.decoding.view import DecodingView
from viz.shell import stage
from viz.shell.jobs import Decoded
from viz.shell.save_menu import show
from viz.shell.width import is_narrow


def show_steps(view: DecodingView, found: Decoded) -> None:
    """The step that is chosen."""
    count = len(found.decoding.steps)
    if count > 1:
        st.slider("Step", 1, count, view.at, key="at")
    show(OneStep(found.decoding, view.search, view.step), "step")


def show_steps_on_stage(view: DecodingView, found: Decoded) -> None:
    """The same, alone."""
    count = len(found.decoding.steps)
    stage.say(f"Step {view.at} of {count}")
    stage.offer("Left and right: step", across=stage.Step("at", range(1, count + 1), view.at))
    with stage.picture():
        stage.show((OneStep(found.decoding, view.search, view.step), "step"), narrow=is_narrow())
