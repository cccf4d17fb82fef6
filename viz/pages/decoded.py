"""A sentence decoded as the address asks: its search, forced words, and changes to the model."""

from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from model.paper.search import DecodingError, Search
from viz.browser.kept import Kept, nothing
from viz.decoding.view import DecodingView
from viz.draw.keys import Keys
from viz.links.searches import SearchView
from viz.pages.decoding_forced_words import show_changes, show_forced
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.results import Decoded
from viz.shell import address

KEYS = Keys("decoded")
"""Of what the pages with searches share."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A decoding as the parts of its page show it."""

    question: ModelQuestion
    view: DecodingView
    search: Search
    decoded: Decoded


Asked = tuple[Path, str, str]

_ASKED: Kept[Asked | None] = Kept(KEYS("asked"), nothing)


def asked_of(question: ModelQuestion) -> Asked:
    """What is decoded, whatever the search: folder, sentence and target."""
    return question.folder, question.sentence, question.target


def forget_forced(question: ModelQuestion) -> None:
    """Drop forced words of another sentence or model, or that a new target does not begin with."""
    before, now = _ASKED.value, asked_of(question)
    if before is not None and before != now and not address.is_followed():
        is_other = now[:2] != before[:2]
        if is_other or not begins_as_forced(question, address.read(SearchView)):
            address.change(taken="")
    _ASKED.value = now


def begins_as_forced(question: ModelQuestion, view: SearchView) -> bool:
    """Whether the target sentence begins with the forced words, or there is none."""
    if not question.target:
        return True
    return begun(question, free_search(question, view)).prefix[: len(view.prefix)] == view.prefix


def keep_fitting(question: ModelQuestion, view: SearchView) -> None:
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


def free_search(question: ModelQuestion, view: SearchView) -> Search:
    """The search that the settings ask of the model, without forced words."""
    return view.settings.search(own=session.translator(question.checkpoint).search)


def begun(question: ModelQuestion, search: Search) -> Search:
    """The search; a typed translation leaves it nothing to write."""
    if not question.target:
        return search
    model = session.translator(question.checkpoint)
    return replace(search, prefix=(*model.prefix(question.target), model.model.config.eos_id))


def decode(question: ModelQuestion) -> tuple[Search, Decoded]:
    """How the sentence is translated; forced words that are not possible are left out."""
    view = address.read(SearchView)
    # Forced words either continue a target sentence that they leave, or are part of it.
    is_in_target = question.target and begins_as_forced(question, view)
    free = free_search(question, view)
    forced = view.taken and not is_in_target
    search = replace(free, prefix=view.prefix) if forced else begun(question, free)
    try:
        return search, session.ask(question.decode(search, view.changes.under))
    except DecodingError as error:
        if not view.taken:
            raise
        address.change(taken="")
        address.note("taken", f"{error} The forced words are ignored.")
        return decode(question)


def show_differences(question: ModelQuestion, view: SearchView, decoded: Decoded) -> None:
    """The translation with and without changes to the model, and with and without forced words."""
    # Always there, so that what follows keeps its place and its state.
    with st.container(key=KEYS("words")):
        free = begun(question, free_search(question, view))
        before = decoded
        if view.taken:
            before = session.ask(question.decode(free, view.changes.under))
        if view.changes:
            whole = session.ask(question.decode(free))
            show_changes(view.changes, whole, before)
        if view.taken:
            show_forced(before, decoded)
