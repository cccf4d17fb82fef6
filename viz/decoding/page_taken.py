"""Other words than the model's: what was taken, what it costs, and the way back."""

import numpy as np
import streamlit as st

from model.search import DecodingError
from model.translation import Translation
from model.translator import TextError
from viz.decoding.view import DecodingView
from viz.draw import style
from viz.draw.labels import escape_markdown
from viz.masks.panels import translations_html
from viz.shell import address, session, stage
from viz.shell.jobs import Decoded
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


def show_removed(whole: Decoded, found: Decoded) -> None:
    """The translation without the heads that are switched off, beside the one with all heads."""
    one, other = whole.decoding.translation, found.decoding.translation
    st.html(translations_html(one.text, other.text, ("With", "Without"), dark=is_dark()))
    if not stage.is_on():
        st.markdown(escape_markdown(removed_words(one, other)))


def removed_words(whole: Translation, found: Translation) -> str:
    """How probable the model finds what it writes with all heads, and without some."""
    one, other = (style.number(float(np.sum(each.log_probs))) for each in (whole, found))
    same = "the same translation" if whole.token_ids == found.token_ids else "another translation"
    return (
        f"With all heads, the model gives its translation a log-probability of {one}; without "
        f"those switched off it writes {same} and gives it {other}."
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
