"""What each head does over many sentences, and how well a rule says it."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.explain.measures import EFFECT
from model.survey.corpus_survey import CorpusSurvey
from model.survey.survey_file import SURVEY
from model.trace.head import Head
from viz.browser.clicks import clicks, handle_clicks
from viz.corpus.all_heads import AllHeads
from viz.corpus.quantities import QUANTITIES, known, ranked, value_of, written
from viz.corpus.rule_curve import RulesCurve
from viz.corpus.sentences import all_sentence, does, no_survey, rules_sentence, sample_sentence
from viz.corpus.spread import HeadSpread, short_name
from viz.corpus.view import KEYS, SHOWN, VIEW, CorpusView
from viz.draw.labels import escape_markdown
from viz.pages.corpus_find import asks, drawn_picture, present_found, show_drawing, show_search
from viz.pages.corpus_head import show_head
from viz.pages.corpus_parts import open_head, place_of
from viz.pages.corpus_rules import show_rules
from viz.registry.pages import ASKED
from viz.service import session
from viz.service.questions import OfModel
from viz.shell import address, stage
from viz.shell.save_menu import show_picture
from viz.shell.widgets import hint, menu, row, segments
from viz.shell.width import is_narrow, watch_width

TOP = 10
"""Heads in the list."""

CHART = KEYS("heads")

ONE_PARAMETER = VIEW.parameter("one")


def surveyed(question: OfModel) -> CorpusSurvey | None:
    """The model's survey; None, with the reason shown, without one."""
    try:
        survey = session.corpus_survey(question.checkpoint)
    except CheckpointError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
        return None
    if survey is None:
        is_snapshot = (question.folder / SURVEY).exists()
        hint(escape_markdown(no_survey(question.model_name, is_snapshot=is_snapshot)))
    return survey


def open_clicked(*clicked: Any) -> None:
    """Show the head of a clicked point; `clicked` comes from a browser."""
    try:
        (one,) = ONE_PARAMETER.parse(str(clicked[0]))
    except (IndexError, ValueError):
        return
    open_head(one)


def show_all(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """Every head as a point, and the top of them in a list."""
    names = known(survey)
    for name in ("across", "up"):
        if getattr(view, name) not in names:
            address.change(**{name: next(iter(names))})
            view = address.read(CorpusView)
    with row(at="bottom"):
        menu("Across", names, key=KEYS("across"), width=300)
        menu("Up", names, key=KEYS("up"), width=300)
    if not address.now(ASKED):
        # Else the answer above the page says it.
        st.markdown(escape_markdown(all_sentence(survey, view.across, view.up)))
    picture = AllHeads(survey, question.model_name, view.across, view.up)
    left, right = st.container(key=KEYS("beside")).columns([3, 2], gap="large")
    with left:
        show_picture(
            picture, CHART, after=" Click one to see all about it.", further=sample_sentence(survey)
        )
        clicks(CHART, on_clicks=partial(handle_clicks, CHART, open_clicked))
    with right:
        segments(
            "Ranked by",
            {name: QUANTITIES[getattr(view, name)].name for name in ("across", "up")},
            key=KEYS("top"),
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
                label.text if (label := survey.label(place)) and label.earned else ""
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
    """Show the head whose row was clicked."""
    rows = st.session_state[key].selection.rows
    if rows and rows[0] < len(places):
        open_head(places[rows[0]])


def show_on_stage(question: OfModel, survey: CorpusSurvey, view: CorpusView) -> None:
    """One picture."""
    folder = question.model_name
    drawn = drawn_picture(question, view) if view.over == "draw" else None
    with stage.picture():
        match view.over:
            case "head":
                place = place_of(survey, view)
                stage.say(does(survey, place))
                stage.show((HeadSpread(survey, folder, *place), KEYS("spread")), narrow=is_narrow())
            case "find" if asks(view):
                present_found(question, survey, view)
            case "draw" if drawn is not None:
                stage.say(drawn.caption)
                stage.show((drawn, KEYS("pattern")), narrow=is_narrow())
            case "rules" if survey.rules is not None:
                stage.say(rules_sentence(survey))
                stage.show((RulesCurve(survey, folder, "bleu"), KEYS("curve")), narrow=is_narrow())
            case _:
                stage.say(all_sentence(survey, view.across, view.up))
                stage.show(
                    (AllHeads(survey, folder, view.across, view.up), CHART), narrow=is_narrow()
                )


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    survey = surveyed(question)
    if survey is not None:
        if stage.is_on():
            show_on_stage(question, survey, address.read(CorpusView))
        else:
            segments("View", SHOWN, key=KEYS("over"))
            view = address.read(CorpusView)
            match view.over:
                case "head":
                    show_head(question, survey, view)
                case "find":
                    show_search(question, survey, view)
                case "draw":
                    show_drawing(question, survey, view)
                case "rules":
                    show_rules(question, survey, view)
                case _:
                    show_all(question, survey, view)
    watch_width(3)
