"""Decoding: how the translation is written, step by step, and what else it could be."""

from dataclasses import fields, replace

import streamlit as st

from viz.browser.kept import Kept, nothing
from viz.compare.view import VIEW as COMPARE
from viz.compare.view import CompareView
from viz.decoding.view import KEYS, SEARCHES, SECTIONS, STEP_KINDS, VIEW, DecodingView
from viz.draw.style import count_of
from viz.links.searches import SearchView
from viz.pages.decoded import Asked, asked_of, decode, forget_forced, keep_fitting, show_differences
from viz.pages.decoding_beams import show_beams
from viz.pages.decoding_certainty import show_certainty
from viz.pages.decoding_layers import show_layers
from viz.pages.decoding_search import show_settings, show_widths
from viz.pages.decoding_steps import show_steps
from viz.service import session
from viz.service.questions import OfModel
from viz.service.results import Decoded
from viz.shell import address, current_head, stage
from viz.shell.head_picker import keep_known
from viz.shell.widgets import row, segments
from viz.shell.width import watch_width

_STEP_OF: Kept[Asked | None] = Kept(KEYS("step-of"), nothing)


def bring_head() -> None:
    """Show the attention of the head selected on another page, if the steps can."""
    selected = current_head.selected_since(VIEW.name) or ()
    if heads := [each for each in selected if each[0].kind in STEP_KINDS]:
        address.bring(heads=tuple(heads))


def forget_step(question: OfModel) -> None:
    """Show another translation from its first step."""
    before, now = _STEP_OF.value, asked_of(question)
    if before not in (None, now) and not address.is_followed():
        address.change(at=1)
    _STEP_OF.value = now


def clamp_step(decoded: Decoded) -> DecodingView:
    """The view, with its step brought into the range of the steps."""
    view = address.read(DecodingView)
    count = len(decoded.decoding.steps)
    if view.at > count:
        address.change(at=count)
        address.note(
            "at",
            f"This translation has {count_of(count, 'step')} and no step {view.at}; the last one "
            "is shown.",
        )
    return address.read(DecodingView)


def open_comparison() -> None:
    """Open this search beside another one; call it in a callback."""
    view = address.read(DecodingView)
    search = {each.name: getattr(view, each.name) for each in fields(SearchView)}
    address.open_view(COMPARE, CompareView(**search, versus="search"))


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    forget_forced(question)
    forget_step(question)
    bring_head()
    model, view = session.translator(question.checkpoint), address.read(DecodingView)
    keep_known("off", view.off, model, "the others stay switched off.")
    keep_fitting(question, view)
    keep_known("heads", view.heads, model, "the attention of the others is shown.")
    # A typed translation leaves nothing to search for.
    searches = address.read(DecodingView).section in SEARCHES
    asked = replace(question, target="") if searches else question
    search, decoded = decode(asked)
    view = clamp_step(decoded)
    if not stage.is_on():
        with row():
            segments("View", SECTIONS, key=KEYS("section"))
            with show_settings(view, model):
                st.button(
                    "Compare with another search",
                    icon=":material/compare:",
                    key=KEYS("to-compare"),
                    on_click=open_comparison,
                )
    elif view.changes:
        # The foot would name what the model writes as it is.
        stage.name(question.sentence, "")
    with stage.picture():
        show_differences(asked, view, decoded)
        match view.section:
            case "beams":
                show_beams(question, view, search, decoded)
            case "certainty":
                show_certainty(view, search, decoded)
            case "widths":
                show_widths(question, view, search)
            case "layers":
                show_layers(question, view, search)
            case _:
                show_steps(question, view, search, decoded)
    watch_width()
