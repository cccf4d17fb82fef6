"""Words forced on the model: the translation with them, what they cost, and the way back."""

import numpy as np
import streamlit as st

from model.paper.search import DecodingError
from model.trace.translation import Translation
from model.translate.sentences import TextError
from viz.decoding.view import KEYS
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.draw.word_diff import translations_html
from viz.links.head_refs import ALL_HEADS, named_heads
from viz.links.link_interventions import Changes
from viz.links.searches import SearchView
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.results import Decoded
from viz.shell import address, stage
from viz.shell.theme import is_dark
from viz.shell.widgets import row

BEGINNING = KEYS("beginning")


def price_words(before: Translation, after: Translation) -> str:
    """The cost of the forced words in log-probability."""
    if before.token_ids == after.token_ids:
        return "The model writes these words anyway: nothing changes."
    one, other = (float(np.sum(each.log_probs)) for each in (before, after))
    return f"The log-probability of the translation {style.number_change(one, other)}."


def show_changes(changes: Changes, whole: Decoded, changed: Decoded) -> None:
    one, other = whole.decoding.translation, changed.decoding.translation
    st.html(translations_html(one.text, other.text, names_of(changes), dark=is_dark()))
    if stage.is_on():
        return
    with row():
        st.markdown(escape_markdown(changes_words(changes, one, other)), width="content")
        if changes.mask:
            st.button(
                "Remove mask",
                key=address.key("mask-none"),
                icon=":material/close:",
                on_click=address.change,
                kwargs={"mask": ""},
            )


def names_of(changes: Changes) -> tuple[str, str]:
    """What the translations without changes and with them are called."""
    if not changes.off:
        return "Own masks", "Edited mask"
    heads = named_heads(changes.off)
    if not changes.mask:
        return ALL_HEADS, f"Without {heads}"
    return f"Own masks, {ALL_HEADS.lower()}", f"Edited mask, without {heads}"


def changes_words(changes: Changes, whole: Translation, changed: Translation) -> str:
    """The changes in words, and the log-probability of both translations."""
    one, other = (style.number(float(np.sum(each.log_probs))) for each in (whole, changed))
    same = "the same translation" if whole.token_ids == changed.token_ids else "another translation"
    if not changes.mask:
        return (
            f"With all heads, the translation has a log-probability of {one}; without those "
            f"switched off, the model writes {same} with {other}."
        )
    edits = "; ".join(map(str, changes.edits))
    without = " and without the heads switched off" if changes.off else ""
    left = ", with all heads," if changes.off else ""
    said = (
        f"A mask was edited: {edits}. Under the model's own masks{left} the translation has a "
        f"log-probability of {one}; under the edited mask{without} the model writes {same} with "
        f"{other}."
    )
    return f"{said} {NOT_AHEAD}" if changes.looks_ahead else said


NOT_AHEAD = (
    "Opening later positions to the decoder has no effect here: while the model writes, there are "
    "no later words."
)


def show_forced(before: Decoded, after: Decoded) -> None:
    """The translation with and without the forced words, and their cost."""
    one, other = before.decoding.translation, after.decoding.translation
    st.html(translations_html(one.text, other.text, ("Before", "After"), dark=is_dark()))
    if stage.is_on():
        return
    view = address.read(SearchView)
    with row():
        st.markdown(escape_markdown(price_words(one, other)), width="content")
        st.button(
            "Undo",
            key=address.key("taken-undo"),
            icon=":material/undo:",
            on_click=address.change,
            kwargs={"taken": view.undone},
        )
        st.button(
            "Undo all",
            key=address.key("taken-none"),
            icon=":material/restart_alt:",
            on_click=address.change,
            kwargs={"taken": ""},
        )


def show_beginning(question: ModelQuestion) -> None:
    """A field for the beginning of the translation."""
    st.session_state.setdefault(BEGINNING, "")
    st.text_input(
        "Begin the translation with",
        address.value_of(BEGINNING),
        key=BEGINNING,
        placeholder="such as its first word; the model continues from there",
        help="End with a whole word: your text is cut into tokens as if it ended there.",
        on_change=take_beginning,
        args=(question,),
    )


def take_beginning(question: ModelQuestion) -> None:
    """Let the translation begin with the typed text."""
    text = st.session_state[BEGINNING].strip()
    if not text:
        return
    try:
        ids = session.translator(question.checkpoint).prefix(text)
        taken = address.read(SearchView).and_taken(0, ids, ())
    except (DecodingError, TextError) as error:
        address.note("taken", str(error))
        return
    st.session_state[BEGINNING] = ""
    address.change(taken=taken, at=1)
