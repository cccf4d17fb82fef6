"""One head from its scores to its output, with the mask and without it."""

import numpy as np
import streamlit as st

from model.record.intervention import Intervention
from model.trace.trace import Trace
from viz.browser.matrices import matrices
from viz.draw.labels import axis_texts, escape_markdown
from viz.masks.head_steps import HeadSteps, RowLesson
from viz.masks.steps import Steps, fill_lesson, head_steps
from viz.masks.tables import lesson_html
from viz.masks.view import KEYS, PARTS
from viz.masks.window import OpeningWindow
from viz.pages.masks_selection import NO_SCORES, Selection, largest_score, offer_head_keys
from viz.service import session
from viz.shell import stage
from viz.shell.save_menu import captioned, save_button
from viz.shell.theme import is_dark
from viz.shell.widgets import brief, hint


def show_inside(selection: Selection) -> None:
    """From scores to output, with the mask and without it."""
    attention, head = selection.attention, selection.head
    if attention.scores is None or attention.v is None:
        hint(NO_SCORES)
        return
    with_mask = head_steps(attention, head)
    without = head_steps(attention, head, np.ones_like(with_mask.allowed))

    def run(under: Intervention) -> Trace:
        return session.run(selection.question, under).forced

    limit = largest_score(selection, with_mask)
    longest = max(float(without.contributions.max()), float(with_mask.contributions.max()), 1e-6)
    cell = hidden_most(selection, with_mask, without)
    for name, inside in (("with-mask", with_mask), ("without-mask", without)):
        picture = HeadSteps(
            selection.at, attention, inside, limit, longest, hatched=inside is with_mask
        )
        if inside is without:
            st.subheader("The same head without the mask", anchor=False)
        shown = f"{selection.painted}.{head}"
        matrices(picture.panels, key=KEYS(name), name=shown, example=cell)
        windows = [OpeningWindow(attention, head, run)] if inside is with_mask else []
        save_button([picture, *windows], KEYS(name))
    brief(
        [
            "The mask removes scores before the softmax, so other weights grow.",
            "The last picture shows the length of weight times value: how much each key adds to "
            "this head's output, before W_O.",
            "Without the mask, only this head is recomputed.",
        ],
        KEYS("inside"),
    )
    show_lesson(selection, with_mask)


def hidden_most(selection: Selection, inside: Steps, without: Steps) -> tuple[int, int, int]:
    """The first panel, and the cell of a word in it from which the mask takes most weight."""
    n_queries, _ = selection.lengths
    lost = np.where(inside.allowed, 0, without.weights)[:n_queries]
    query, key = np.unravel_index(lost.argmax(), lost.shape)
    return 0, int(query), int(key)


def show_lesson(selection: Selection, inside: Steps) -> None:
    """A row whose keys are all forbidden, for each value that may replace its scores."""
    st.subheader("A row with nothing to look at", anchor=False)
    queries, keys = (
        axis_texts(axis) for axis in (selection.attention.queries, selection.attention.keys)
    )
    row = selection.lengths[0] - 1
    lesson = fill_lesson(inside.scores[row], np.zeros(len(keys), dtype=np.bool_))
    st.html(lesson_html(lesson, keys, dark=is_dark()))
    captioned(
        escape_markdown(
            f"All keys of the query {queries[row]} ({row}) are forbidden, in three ways."
        ),
        [RowLesson(selection.at, lesson, selection.attention.keys)],
        KEYS("lesson"),
        further=lesson.explanation,
    )


def show_inside_on_stage(selection: Selection) -> None:
    """From scores to output, with the mask."""
    offer_head_keys(selection, PARTS["inside"])
    attention = selection.attention
    if attention.scores is None or attention.v is None:
        hint(NO_SCORES)
        return
    inside = head_steps(attention, selection.head)
    limit, longest = largest_score(selection, inside), max(float(inside.contributions.max()), 1e-6)
    picture = HeadSteps(selection.at, attention, inside, limit, longest, hatched=True)
    with stage.picture():
        without = head_steps(attention, selection.head, np.ones_like(inside.allowed))
        cell = hidden_most(selection, inside, without)
        matrices(picture.panels, key=KEYS("with-mask"), stage=True, example=cell)
