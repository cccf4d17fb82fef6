"""What the views of the corpus page share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import streamlit as st

from model.explain.measures import EFFECT
from model.survey.corpus_survey import CorpusSurvey
from model.trace.head import Head
from model.trace.trace import Trace
from viz.corpus.all_heads import AllHeads
from viz.corpus.quantities import ranked
from viz.corpus.sentences import all_sentence
from viz.corpus.small_map import small_map
from viz.corpus.view import KEYS, CorpusView
from viz.draw.labels import escape_markdown
from viz.heads.view import VIEW as HEADS
from viz.heads.view import HeadsView
from viz.registry.pages import ASKED
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.theme import is_dark
from viz.shell.width import is_narrow

T = TypeVar("T")

CHART = KEYS("heads")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a model that has a survey."""

    question: ModelQuestion
    survey: CorpusSurvey

    @property
    def view(self) -> CorpusView:
        return address.read(CorpusView)


def open_head(place: Head) -> None:
    address.change(over="head", one=(place,))


def first_by(survey: CorpusSurvey, key: str) -> Head:
    """The head with the largest value; the model's first where none has one."""
    return next(iter(ranked(survey, key)), (survey.places[0], 0.0))[0]


def place_of(asked: Asked, by: str = EFFECT.key) -> Head:
    """The head that is shown: the one asked for, or the one with the largest value by a measure."""
    survey, view = asked.survey, asked.view
    usual = first_by(survey, by)
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


def all_heads(asked: Asked) -> AllHeads:
    return AllHeads(asked.survey, asked.question.model_name, asked.view.across, asked.view.up)


def show_all_on_stage(asked: Asked) -> None:
    with stage.picture():
        stage.say(all_sentence(asked.survey, asked.view.across, asked.view.up))
        stage.show((all_heads(asked), CHART), narrow=is_narrow())


def choose_head(survey: CorpusSurvey, place: Head) -> None:
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
