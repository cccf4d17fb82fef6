"""The batch: which of its sentences is shown, its tokens with their padding, and its sentences."""

import streamlit as st

from viz.masks.batch_masks import token_grid
from viz.masks.tables import grid_html
from viz.masks.view import KEYS, MOST_SENTENCES, MasksView
from viz.pages.masks_selection import Selection, show_caption
from viz.shell import address
from viz.shell.theme import is_dark
from viz.shell.widgets import menu


def show_batch_menu(selection: Selection | None) -> None:
    """The button behind which the batch stands; without a selection, its sentences alone."""
    view = address.read(MasksView)
    count = view.n_sentences
    with st.popover(
        f"Sentence {view.number} of a batch of {count}, padded to the longest"
        if count > 1
        else "One sentence needs no padding",
        type="tertiary",
        key=KEYS("batch-menu"),
    ):
        show_batch(selection)


def show_batch(selection: Selection | None) -> None:
    """Which sentence is shown, the tokens of all of them, and a field for the further ones."""
    view = address.read(MasksView)
    if view.n_sentences > 1:
        sentences = {number: f"Sentence {number}" for number in range(1, view.n_sentences + 1)}
        menu("Sentence", sentences, key=KEYS("number"), hides_label=True, width=136)
    if selection is not None:
        padded = selection.batch.padded
        sides = {
            "Source": token_grid(padded, "source"),
            "Target, as the decoder reads it": token_grid(padded, "target"),
        }
        st.html(grid_html(sides, selection.number, dark=is_dark()))
    st.text_area(
        "Further sentences in the batch, one per line",
        view.batch,
        key=KEYS("batch"),
        height=110,
        width=440,
        placeholder="None: a batch of one sentence has no padding",
    )
    show_caption(
        f"At most {MOST_SENTENCES}, including the one above, padded to the same length. "
        "Press Ctrl+Enter to apply."
    )


def warn_of_left_out(view: MasksView) -> None:
    """Say how many sentences the batch has no room for."""
    if len(view.further) >= MOST_SENTENCES:
        st.warning(
            f"A batch holds at most {MOST_SENTENCES} sentences, including the one above; the last "
            f"{len(view.further) - MOST_SENTENCES + 1} are left out.",
            icon=":material/content_cut:",
        )
