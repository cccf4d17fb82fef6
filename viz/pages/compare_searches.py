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
from viz.shell.widgets import row

MARKED = "Words that differ from the first are marked."


def show_searches(question: OfModel) -> None:
    """The results of one search and of another."""
    forget_forced(question)
    question = replace(question, target="")
    model, view = session.translator(question.checkpoint), address.read(SearchView)
    keep_known("off", view.off, model, "the others stay switched off.")
    keep_fitting(question, view)
    search, decoded = decode(question)
    view = address.read(SearchView)
    if not stage.is_on():
        with row():
            show_settings(view, model, "A: ")
            show_second_settings(view)
    stage.say(f"Two searches{view.changes.name}")
    other = view.second.search(search.prefix)
    with stage.picture():
        show_differences(question, view, decoded)
        found = decoded.decoding, session.ask(question.decode(other, view.changes.under)).decoding
        picture = ComparedSearches(found, (search, other), view.changes)
        show_list(picture.results)
        words = escape_markdown(picture.words)
        if stage.is_on():
            st.markdown(words)
        else:
            is_same = len({each.text for each in picture.results}) == 1
            captioned(words if is_same else f"{words} {MARKED}", [picture], KEYS("searches"))
