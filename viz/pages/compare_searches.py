"""Two searches side by side: the part of the comparing page that varies how a text is written."""

import functools
from dataclasses import replace

import streamlit as st

from model.trace.trace import Trace
from viz.compare.paired import PairedTraces
from viz.compare.view import KEYS, CompareView
from viz.decoding.search_results import ComparedSearches
from viz.draw.labels import escape_markdown
from viz.links.searches import SearchView, search_name
from viz.pages.compare_heads import show_heads
from viz.pages.decoded import decode, forget_forced, keep_fitting, show_differences
from viz.pages.decoding_search import show_list, show_second_settings, show_settings
from viz.service import session
from viz.service.jobs.running import record
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.head_picker import keep_known
from viz.shell.save_menu import captioned

MARKED = "Words that differ from the first are marked."


def settle(question: ModelQuestion) -> ModelQuestion:
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


def choose_searches(question: ModelQuestion) -> None:
    question = settle(question)
    view = address.read(SearchView)
    show_settings(view, session.translator(question.checkpoint), "A: ")
    show_second_settings(view)


def picture_of(question: ModelQuestion) -> ComparedSearches:
    """Both results."""
    search, decoded = decode(question)
    view = address.read(SearchView)
    other = view.second.search(search.prefix)
    found = decoded.decoding, session.ask(question.decode(other, view.changes.under)).decoding
    return ComparedSearches(found, (search, other), view.changes)


def show_list_of(question: ModelQuestion, picture: ComparedSearches) -> None:
    show_differences(question, address.read(SearchView), decode(question)[1])
    show_list(picture.results)


def show_searches(question: ModelQuestion) -> None:
    """What differs inside between the results of one search and of another, and both results."""
    question = replace(question, target="")
    picture = picture_of(question)
    show_heads_of(question, picture)
    show_list_of(question, picture)
    words = escape_markdown(picture.words)
    is_same = len({each.text for each in picture.results}) == 1
    captioned(words if is_same else f"{words} {MARKED}", [picture], KEYS("searches"))


def show_heads_of(question: ModelQuestion, picture: ComparedSearches) -> None:
    """The heads while each search's best text is read, if the texts differ and the model runs."""
    view = address.read(CompareView)
    one, other = (each.translation.text for each in picture.decodings)
    # A trace is of the model as it is, of a text that has words.
    if one == other or not one.strip() or not other.strip() or view.changes:
        return
    runs = [session.ask(record(question.version, question.sentence, each)) for each in (one, other)]
    a, b = (
        f"{mark}: {search_name(each)}" for mark, each in zip("AB", picture.searches, strict=True)
    )
    show_heads(searched(*runs), view, lines=[("A → B", one, other)], names=(a, b))


@functools.lru_cache(maxsize=8)
def searched(first: Trace, second: Trace) -> PairedTraces:
    """Both texts' traces with their tokens aligned."""
    return PairedTraces(first, second, "search")


def show_searches_on_stage(question: ModelQuestion) -> None:
    question = settle(question)
    stage.say(f"Two searches{address.read(SearchView).changes.name}")
    picture = picture_of(question)
    with stage.picture():
        show_list_of(question, picture)
        st.markdown(escape_markdown(picture.words))
