"""Two searches side by side: the part of the comparing page that varies how a text is written."""

from dataclasses import replace

import streamlit as st

from viz.compare.view import KEYS
from viz.decoding.search_results import ComparedSearches
from viz.draw.labels import escape_markdown
from viz.links.searches import SearchView
from viz.pages.decoded import decode, forget_forced, keep_fitting, show_differences
from viz.pages.decoding_search import show_list, show_second_settings, show_settings
from viz.service import session
from viz.service.questions import OfModel
from viz.shell import address, stage
from viz.shell.head_picker import keep_known
from viz.shell.save_menu import captioned

MARKED = "Words that differ from the first are marked."


def settle(question: OfModel) -> OfModel:
    """What is asked here; what of the address does not fit it is dropped, with a notice."""
    forget_forced(question)
    question = replace(question, target="")
    view = address.read(SearchView)
    keep_known(
        "off", view.off, session.translator(question.checkpoint), "the others stay switched off."
    )
    keep_fitting(question, view)
    decode(question)
    return question


def choose_searches(question: OfModel) -> None:
    """The settings of both."""
    question = settle(question)
    view = address.read(SearchView)
    show_settings(view, session.translator(question.checkpoint), "A: ")
    show_second_settings(view)


def picture_of(question: OfModel) -> ComparedSearches:
    """Both results."""
    search, decoded = decode(question)
    view = address.read(SearchView)
    other = view.second.search(search.prefix)
    found = decoded.decoding, session.ask(question.decode(other, view.changes.under)).decoding
    return ComparedSearches(found, (search, other), view.changes)


def show_list_of(question: OfModel) -> ComparedSearches:
    """The results of one search and of another, and what changes to the model do to the first."""
    show_differences(question, address.read(SearchView), decode(question)[1])
    picture = picture_of(question)
    show_list(picture.results)
    return picture


def show_searches(question: OfModel) -> None:
    """The results of one search and of another."""
    question = replace(question, target="")
    picture = show_list_of(question)
    words = escape_markdown(picture.words)
    is_same = len({each.text for each in picture.results}) == 1
    captioned(words if is_same else f"{words} {MARKED}", [picture], KEYS("searches"))


def show_searches_on_stage(question: OfModel) -> None:
    """The same."""
    question = settle(question)
    stage.say(f"Two searches{address.read(SearchView).changes.name}")
    with stage.picture():
        st.markdown(escape_markdown(show_list_of(question).words))
