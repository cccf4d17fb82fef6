"""What the views of the corpus page share."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from model.explain.measures import EFFECT
from model.survey.corpus_survey import CorpusSurvey
from model.trace.head import Head
from model.trace.trace import Trace
from viz.corpus.quantities import ranked
from viz.corpus.small_map import small_map
from viz.corpus.view import KEYS, CorpusView
from viz.draw.labels import escape_markdown
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.registry.pages import ASKED
from viz.shell import address
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow

T = TypeVar("T")


def open_head(place: Head) -> None:
    """Show one head of the model."""
    address.change(over="head", one=(place,))


def place_of(survey: CorpusSurvey, view: CorpusView) -> Head:
    """The head that is shown: the one asked for, or the one with the largest effect."""
    usual = next(iter(ranked(survey, EFFECT.key)), (survey.places[0], 0.0))[0]
    if not view.one:
        return usual
    place = view.one[0]
    if place in survey.places:
        return place
    address.note(
        "one",
        f"This model has no {place.site.kind} head {place.site.layer}.{place.number}; shown "
        f"instead: {usual.name}.",
    )
    return usual


def choose_head(survey: CorpusSurvey, place: Head) -> None:
    """A menu of all heads."""
    names = {each: each.short_name for each in survey.places}
    key = KEYS("place")
    st.session_state[key] = place
    st.selectbox(
        "Head",
        list(names),
        list(names).index(place),
        key=key,
        format_func=names.__getitem__,
        width=200,
        on_change=lambda: address.change(one=(st.session_state[key],)),
    )


def in_columns(items: Sequence[T], show: Callable[[T], None]) -> None:
    """Items three abreast; on a phone, one below another."""
    per_row = 1 if is_narrow() else 3
    for start in range(0, len(items), per_row):
        for column, item in zip(
            st.columns(per_row, gap="medium"), items[start : start + per_row], strict=False
        ):
            with column:
                show(item)


def show_map(trace: Trace, place: Head, key: str) -> None:
    """A head's small map of a sentence, which opens on the heads page."""
    site, head = place
    st.html(small_map(trace.maps[site], head, dark=is_dark()))
    st.button(
        escape_markdown(trace.source_text),
        key=key,
        icon=":material/open_in_full:",
        type="tertiary",
        width="stretch",
        help="Open it on the heads page.",
        on_click=address.open_view,
        args=(HEADS, HeadsView(attention=str(site.kind), layer=site.layer, head=head)),
        kwargs={"sentence": trace.source_text, "target": "", ASKED.name: ""},
    )
