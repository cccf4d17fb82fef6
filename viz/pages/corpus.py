"""What each head does over many sentences, and how well a rule says it."""

import streamlit as st

from model.checkpoints.shipped import CheckpointError
from model.survey.corpus_survey import CorpusSurvey
from model.survey.survey_file import SURVEY
from viz.corpus.sentences import no_survey
from viz.corpus.view import KEYS, SHOWN
from viz.draw.labels import escape_markdown
from viz.pages import corpus_all as every
from viz.pages import corpus_find as find
from viz.pages import corpus_head as head
from viz.pages import corpus_rules as rules
from viz.pages.corpus_parts import Asked, show_all_on_stage
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.shell.parts import Part, show_parts
from viz.shell.widgets import hint
from viz.shell.width import watch_width

OF_CORPUS = {
    "all": Part(every.show_all, show_all_on_stage, options=every.choose_axes),
    "head": Part(head.show_head, head.show_head_on_stage),
    "find": Part(find.show_search, find.show_search_on_stage),
    "draw": Part(find.show_drawing, find.show_drawing_on_stage),
    "rules": Part(rules.show_rules, rules.show_rules_on_stage),
}


def surveyed(question: ModelQuestion) -> CorpusSurvey | None:
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


def show(question: ModelQuestion) -> None:
    survey = surveyed(question)
    if survey is not None:
        show_parts(SHOWN, OF_CORPUS, Asked(question, survey), KEYS, "over")
    watch_width(3)
