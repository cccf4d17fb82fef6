"""Decoding: how the translation is written, step by step, and what else it could be."""

from dataclasses import replace

import streamlit as st

from model.paper.search import DecodingError, Search
from viz.decoding.view import SEARCHES, SECTIONS, STEP_KINDS, VIEW, DecodingView
from viz.draw.style import count_of
from viz.pages.decoding_beams import show_beams
from viz.pages.decoding_certainty import show_certainty
from viz.pages.decoding_forced_words import show_changes, show_forced
from viz.pages.decoding_layers import show_layers
from viz.pages.decoding_search import show_comparison, show_settings, show_widths
from viz.pages.decoding_steps import show_steps
from viz.service import session
from viz.service.questions import OfModel
from viz.service.results import Decoded
from viz.shell import address, current_head, opening, stage
from viz.shell.head_picker import keep_known
from viz.shell.widgets import row, segments
from viz.shell.width import watch_width

_ASKED = "_decoding_of"


def forget_forced(question: OfModel) -> None:
    """Drop forced words of another sentence or model, or that a new target does not begin with."""
    before = st.session_state.get(_ASKED)
    now = (question.folder, question.sentence, question.target)
    if before not in (None, now) and not address.is_followed():
        if now[:2] != before[:2] or not begins_as_forced(question, address.read(DecodingView)):
            address.change(taken="")
        address.change(at=1)
    st.session_state[_ASKED] = now


def bring_head() -> None:
    """Show the attention of the head selected on another page, if the steps can."""
    selected = current_head.selected_since(VIEW.name) or ()
    if heads := [each for each in selected if each[0].kind in STEP_KINDS]:
        address.bring(heads=tuple(heads))


def begins_as_forced(question: OfModel, view: DecodingView) -> bool:
    """Whether the target sentence begins with the forced words, or there is none."""
    if not question.target:
        return True
    return begun(question, view.free).prefix[: len(view.prefix)] == view.prefix


def keep_fitting(question: OfModel, view: DecodingView) -> None:
    """Drop a mask that is for another sentence or model from the address, with a notice."""
    if not view.mask:
        return
    model = session.translator(question.checkpoint)
    model.require_room(question.sentence)
    n_source = len(model.tokenizer.encode(question.sentence)) + 1
    try:
        view.changes.require_fitting(n_source, model.sites)
    except ValueError as error:
        address.change(mask="")
        address.note("mask", f"{error} The model's own masks are used.")


def begun(question: OfModel, search: Search) -> Search:
    """The search; a typed translation leaves it nothing to write."""
    if not question.target:
        return search
    model = session.translator(question.checkpoint)
    return replace(search, prefix=(*model.prefix(question.target), model.model.config.eos_id))


def decode(question: OfModel) -> tuple[Search, Decoded]:
    """How the sentence is translated; forced words that are not possible are left out."""
    view = address.read(DecodingView)
    # Forced words either continue a target sentence that they leave, or are part of it.
    is_in_target = question.target and begins_as_forced(question, view)
    search = view.search if view.taken and not is_in_target else begun(question, view.free)
    try:
        return search, session.ask(question.decode(search, view.changes.under))
    except DecodingError as error:
        if not view.taken:
            raise
        address.change(taken="")
        address.note("taken", f"{error} The forced words are ignored.")
        return decode(question)


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


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    opening.leave("off", ())
    forget_forced(question)
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
            segments("View", SECTIONS, key="section")
            show_settings(view, model)
    elif view.changes:
        # The foot would name what the model writes as it is.
        stage.name(question.sentence, "")
    with stage.picture():
        # Always there, so that what follows keeps its place and its state.
        with st.container(key="taken-words"):
            free = begun(asked, view.free)
            before = decoded
            if view.taken:
                before = session.ask(question.decode(free, view.changes.under))
            if view.changes:
                whole = session.ask(question.decode(free))
                show_changes(view.changes, whole, before)
            if view.taken:
                show_forced(before, decoded)
        match view.section:
            case "beams":
                show_beams(question, view, search, decoded)
            case "certainty":
                show_certainty(view, search, decoded)
            case "compare":
                show_comparison(question, view, search, decoded.decoding)
            case "widths":
                show_widths(question, view, search)
            case "layers":
                show_layers(question, view, search)
            case _:
                show_steps(question, view, search, decoded)
    watch_width()
