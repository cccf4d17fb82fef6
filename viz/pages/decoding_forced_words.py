"""Other words than the model's: what was taken, what it costs, and the way back."""

import numpy as np
import streamlit as st

from model.paper.search import DecodingError
from model.trace.translation import Translation
from model.translate.sentences import TextError
from viz.decoding.view import DecodingView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.links.link_interventions import Changes
from viz.masks.panels import translations_html
from viz.service import session
from viz.service.jobs import Decoded
from viz.shell import address, stage
from viz.shell.theme import is_dark

BEGINNING = "beginning"


def price_words(before: Translation, after: Translation) -> str:
    """What the words taken cost, in log-probability."""
    if before.token_ids == after.token_ids:
        return "The words taken are those that are written anyway: nothing changes."
    one, other = (float(np.sum(each.log_probs)) for each in (before, after))
    verb = "falls" if other <= one else "rises"
    return (
        f"The log-probability of the translation {verb} by {style.number(abs(one - other))}, from "
        f"{style.number(one)} to {style.number(other)}."
    )


def show_changes(changes: Changes, whole: Decoded, found: Decoded) -> None:
    """What the model writes under changes, beside what it writes without any."""
    one, other = whole.decoding.translation, found.decoding.translation
    names = ("Own masks", "Edited mask") if changes.mask else ("With", "Without")
    st.html(translations_html(one.text, other.text, names, dark=is_dark()))
    if stage.is_on():
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(escape_markdown(changes_words(changes, one, other)), width="content")
        if changes.mask:
            st.button(
                "Remove mask",
                key="mask-none",
                icon=":material/close:",
                on_click=address.change,
                kwargs={"mask": ""},
            )


def changes_words(changes: Changes, whole: Translation, found: Translation) -> str:
    """What holds, and how probable the model finds what it writes with and without it."""
    one, other = (style.number(float(np.sum(each.log_probs))) for each in (whole, found))
    same = "the same translation" if whole.token_ids == found.token_ids else "another translation"
    if not changes.mask:
        return (
            f"With all heads, the model gives its translation a log-probability of {one}; without "
            f"those switched off it writes {same} and gives it {other}."
        )
    edits = "; ".join(map(str, changes.edits))
    without = " and without the heads switched off" if changes.off else ""
    left = ", with all heads," if changes.off else ""
    said = (
        f"A mask was edited: {edits}. Under its own masks{left} the model gives its translation a "
        f"log-probability of {one}; under the edited mask{without} it writes {same} and gives it "
        f"{other}."
    )
    return f"{said} {NOT_AHEAD}" if changes.looks_ahead else said


NOT_AHEAD = (
    "What the mask opens to the decoder ahead has no part in this: while the model writes, there "
    "are no later words to look at."
)


def show_taken(before: Decoded, after: Decoded) -> None:
    """The translation with the words taken beside the one without, and what they cost."""
    one, other = before.decoding.translation, after.decoding.translation
    st.html(translations_html(one.text, other.text, ("Before", "After"), dark=is_dark()))
    if stage.is_on():
        return
    view = address.read(DecodingView)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(escape_markdown(price_words(one, other)), width="content")
        st.button(
            "Undo",
            key="taken-undo",
            icon=":material/undo:",
            on_click=address.change,
            kwargs={"taken": view.undone},
        )
        st.button(
            "Undo all",
            key="taken-none",
            icon=":material/restart_alt:",
            on_click=address.change,
            kwargs={"taken": ""},
        )


def show_beginning(question: session.Question) -> None:
    """A field for the beginning of the translation."""
    st.session_state.setdefault(BEGINNING, "")
    st.text_input(
        "Begin the translation with",
        address.value_of(BEGINNING),
        key=BEGINNING,
        placeholder="such as its first word; the model writes on from there",
        help="End with a whole word: what you type is cut into tokens as if it ended there.",
        on_change=take_beginning,
        args=(question,),
    )


def take_beginning(question: session.Question) -> None:
    """Write the translation on from what was typed."""
    text = st.session_state[BEGINNING].strip()
    if not text:
        return
    try:
        ids = session.translator(question.checkpoint).prefix(text)
        taken = address.read(DecodingView).and_taken(0, ids, ())
    except (DecodingError, TextError) as error:
        address.note("taken", str(error))
        return
    st.session_state[BEGINNING] = ""
    address.change(taken=taken, at=1)
