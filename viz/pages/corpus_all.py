"""Every head of the corpus as a point, the one that is clicked beside it, and the top in a list."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from model.explain.measures import EFFECT
from model.survey.corpus_survey import CorpusSurvey
from model.trace.head import Head
from viz.browser.clicks import clicks, handle_clicks
from viz.corpus.quantities import QUANTITIES, known, ranked, value_of, written
from viz.corpus.sentences import label_sentence, sample_sentence
from viz.corpus.spread import short_name
from viz.corpus.view import KEYS, VIEW, CorpusView
from viz.draw.labels import escape_markdown
from viz.pages.corpus_head import show_strongest
from viz.pages.corpus_parts import CHART, Asked, all_heads, open_head, place_of
from viz.shell import address, current_head
from viz.shell.save_menu import show_picture
from viz.shell.widgets import menu, segments

TOP = 10
"""Heads in the list."""

ONE_PARAMETER = VIEW.parameter("one")


def show_clicked(*clicked: Any) -> None:
    """Show the head of a clicked point beside all; `clicked` comes from a browser."""
    try:
        (one,) = ONE_PARAMETER.parse(str(clicked[0]))
    except (IndexError, ValueError):
        return
    address.change(one=(one,))


def choose_axes(asked: Asked) -> None:
    """The two measures, and which of them ranks the list."""
    names = known(asked.survey)
    for name, label in (("across", "Across"), ("up", "Up")):
        if getattr(asked.view, name) not in names:
            address.change(**{name: next(iter(names))})
        menu(label, names, key=KEYS(name))
    segments(
        "List ranked by",
        {name: QUANTITIES[getattr(asked.view, name)].name for name in ("across", "up")},
        key=KEYS("top"),
        hides_label=False,
    )


def show_all(asked: Asked) -> None:
    """Show all heads as points, one head beside them, and the top ten in a list."""
    survey, view = asked.survey, asked.view
    place = place_of(asked, view.across)
    current_head.note(VIEW.name, [place])
    picture = all_heads(asked)
    left, right = st.container(key=KEYS("beside")).columns([3, 2], gap="large")
    with left:
        show_picture(
            picture,
            CHART,
            after=" Click one to see it here.",
            further=sample_sentence(survey),
            drawn=replace(picture, marked=place),
            fills=True,
        )
        clicks(CHART, on_clicks=partial(handle_clicks, CHART, show_clicked))
    with right:
        st.markdown(escape_markdown(label_sentence(survey, place, place.short_name)))
        show_strongest(asked, place)
        st.button(
            "All about this head",
            key=KEYS("all-about"),
            on_click=open_head,
            args=(place,),
        )
    show_top(survey, view)


def show_top(survey: CorpusSurvey, view: CorpusView) -> None:
    """The heads with the largest values; a click on a row shows its head."""
    by = view.across if view.top == "across" else view.up
    first = [place for place, _ in ranked(survey, by)][:TOP]
    columns = dict.fromkeys([by, view.across, view.up, EFFECT.key])
    table = pd.DataFrame(
        {
            "Head": [place.short_name for place in first],
            **{
                short_name(QUANTITIES[key].name): [
                    "" if (value := value_of(survey, place, key)) != value else written(key, value)
                    for place in first
                ]
                for key in columns
            },
            "Label": [
                label.text if (label := survey.label(place)) and label.says else ""
                for place in first
            ],
        }
    )
    st.dataframe(
        table,
        key=KEYS("top", by),
        hide_index=True,
        on_select=partial(select_row, KEYS("top", by), first),
        selection_mode="single-row",
    )
    st.caption(f"The top {len(first)}. Click a row’s box to see all about that head.")


def select_row(key: str, places: list[Head]) -> None:
    rows = st.session_state[key].selection.rows
    if rows and rows[0] < len(places):
        open_head(places[rows[0]])
