"""Decoding: how the translation is written, step by step, and what else could be."""

from dataclasses import replace

import streamlit as st

from model.paper.search import DecodingError, Search
from viz.decoding.view import SEARCHES, SECTIONS, STEP_KINDS, VIEW, DecodingView
from viz.draw.style import count_of
from viz.links.head_refs import written_heads
from viz.pages.decoding_beams import show_beams
from viz.pages.decoding_certainty import show_certainty
from viz.pages.decoding_forced_words import show_changes, show_taken
from viz.pages.decoding_layers import show_layers
from viz.pages.decoding_search import show_comparison, show_settings, show_widths
from viz.pages.decoding_steps import show_steps
from viz.service import session
from viz.service.jobs import Decoded
from viz.shell import address, current_head, stage
from viz.shell.head_picker import keep_known
from viz.shell.width import watch_width

_ASKED = "_decoding_of"


def forget_taken(question: session.Question) -> None:
    """Let go of words taken for another sentence or model, or that another target lacks."""
    before = st.session_state.get(_ASKED)
    now = (question.folder, question.sentence, question.target)
    if before not in (None, now) and not address.is_followed():
        if now[:2] != before[:2] or not begins_as_taken(question, address.read(DecodingView)):
            address.change(taken="")
        address.change(at=1)
    st.session_state[_ASKED] = now


def bring_head() -> None:
    """Show the attention of the head that was chosen on another page, if the steps can."""
    chosen = current_head.chosen_since(VIEW.name) or ()
    if heads := [each for each in chosen if each[0].kind in STEP_KINDS]:
        address.bring(heads=written_heads(heads))


def begins_as_taken(question: session.Question, view: DecodingView) -> bool:
    """Whether nothing that was taken speaks against the target sentence, or there is none."""
    if not question.target:
        return True
    return begun(question, view.free).prefix[: len(view.prefix)] == view.prefix


def keep_fitting(question: session.Question, view: DecodingView) -> None:
    """Take a mask that is for another sentence or model out of the address, and say so."""
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


def begun(question: session.Question, search: Search) -> Search:
    """The search, which a translation of one's own leaves nothing to write."""
    if not question.target:
        return search
    model = session.translator(question.checkpoint)
    return replace(search, prefix=(*model.prefix(question.target), model.model.config.eos_id))


def decode(question: session.Question) -> tuple[Search, Decoded]:
    """How the sentence is translated; words that cannot have been taken are left out."""
    view = address.read(DecodingView)
    # What was taken goes on from the target sentence where it differs, and is in it elsewhere.
    is_in_target = question.target and begins_as_taken(question, view)
    search = view.search if view.taken and not is_in_target else begun(question, view.free)
    try:
        return search, session.decode(
            question.checkpoint, question.sentence, search, view.changes.under
        )
    except DecodingError as error:
        if not view.taken:
            raise
        address.change(taken="")
        address.note("taken", f"{error} The words taken are left out.")
        return decode(question)


def clamp_step(found: Decoded) -> DecodingView:
    """The view, with a step that there is."""
    view = address.read(DecodingView)
    count = len(found.decoding.steps)
    if view.at > count:
        address.change(at=count)
        address.note(
            "at",
            f"This translation has {count_of(count, 'step')} and no step {view.at}; the last is "
            "shown.",
        )
    return address.read(DecodingView)


def show(question: session.Question) -> None:
    """Everything, for a question that has an answer."""
    forget_taken(question)
    bring_head()
    model, view = session.translator(question.checkpoint), address.read(DecodingView)
    keep_known("off", view.off, model, "the heads that it has stay switched off.")
    keep_fitting(question, view)
    keep_known("heads", view.heads, model, "the attention of those that it has is shown.")
    # A translation of one's own leaves nothing to search for.
    searches = address.read(DecodingView).section in SEARCHES
    asked = replace(question, target="") if searches else question
    search, found = decode(asked)
    view = clamp_step(found)
    if not stage.is_on():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.segmented_control(
                "What is shown",
                SECTIONS,
                default=view.section,
                key="section",
                required=True,
                format_func=SECTIONS.__getitem__,
                label_visibility="collapsed",
            )
            show_settings(view, model)
    elif view.changes:
        # The foot would name what the model writes as it is.
        stage.name(question.sentence, "")
    with stage.picture():
        # Always there, so that what follows keeps its place and its state.
        with st.container(key="taken-words"):
            free = begun(asked, view.free)
            before = found
            if view.taken:
                before = session.decode(
                    question.checkpoint, question.sentence, free, view.changes.under
                )
            if view.changes:
                whole = session.decode(question.checkpoint, question.sentence, free)
                show_changes(view.changes, whole, before)
            if view.taken:
                show_taken(before, found)
        match view.section:
            case "beams":
                show_beams(question, view, search, found)
            case "certainty":
                show_certainty(view, search, found)
            case "compare":
                show_comparison(question, view, search, found.decoding)
            case "widths":
                show_widths(question, view, search)
            case "layers":
                show_layers(question, view, search)
            case _:
                show_steps(question, view, search, found)
    watch_width()
