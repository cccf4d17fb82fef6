"""The choice of a word of the translation, and of another to hold against it."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.contrast.pairs import least_certain, spelled
from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from viz.browser.kept import Kept
from viz.draw.labels import escape_markdown, token_text
from viz.effects.contrasted import probability, quoted
from viz.effects.view import AGAINST, KEYS, MOST_WORD, EffectsView
from viz.pages.effects_asked import Asked
from viz.service import session
from viz.service.jobs.contrasting import (
    list_rivals,
)
from viz.service.questions import ModelQuestion
from viz.shell import address
from viz.shell.widgets import menu, row

FIELD = KEYS("other-word")
"""The key of the field for the other word; the address has it as a text."""

WHY_NOT = "Why not another word?"
"""The field's label, and what it shows without another word."""

_ANEW = Kept(KEYS("anew"), bool)
"""Whether a target token waits for another word of its own."""


def open_pair(question: ModelQuestion, view: EffectsView, trace: Trace) -> EffectsView:
    """The view with both words: where one is missing, the least certain, or the next likeliest."""
    anew = _ANEW.take()
    if not view.is_against and not anew:
        return view
    if not view.token:
        address.change(token=least_certain(trace) + 1)
    if view.show not in AGAINST:
        address.change(show="probability")
    if not view.instead:
        place = address.read(EffectsView).place
        address.change(instead=others(question, place, trace.predictions)[0][0])
    return address.read(EffectsView)


def others(
    question: ModelQuestion, place: int | None, predictions: Tokens
) -> list[tuple[str, str]]:
    """The likeliest other tokens in one place: as the address spells them, and for people."""
    assert place is not None, "the view has a target token"
    found = session.ask(list_rivals(question.record, place))
    listed = {
        spelled(piece): f"{token_text(piece)} {probability(float(np.log(share)))}"
        for piece, token, share in reversed(
            list(zip(found.tokens.tokens, found.tokens.ids, found.probabilities, strict=True))
        )
        if token != predictions.ids[place]
    }
    return list(listed.items())[::-1]


@contextmanager
def above_words(asked: Asked) -> Iterator[DeltaGenerator]:
    """Show a picture within, above the choice of words; gives the place beside that choice."""
    above = st.container()
    # These come first: what is typed may be no word, and is then to be changed.
    with row():
        with st.popover(_chosen(asked), icon=":material/compare_arrows:", key=KEYS("words-of")):
            choose_token(asked)
            if asked.view.token:
                choose_other(asked)
            else:
                st.button(WHY_NOT, key=KEYS("why-not"), on_click=ask_why_not)
        beside = st.container()
    with above:
        yield beside


def _chosen(asked: Asked) -> str:
    """The words of the picture, as its button has them."""
    view = asked.view
    if not view.token:
        return "Choose a word"
    word = escape_markdown(quoted(asked.token_names[view.token]))
    return f"{word}, not {escape_markdown(quoted(view.instead))}" if view.instead else word


def choose_token(asked: Asked) -> None:
    menu(
        "Target token",
        enumerate(asked.token_names),
        key=KEYS("token"),
        hides_label=True,
        width=230,
        on_change=change_token,
    )


def choose_other(asked: Asked) -> None:
    """The field for the other word: one of the likeliest, or typed."""
    view = asked.view
    # With an empty choice, a slow browser could send it for a word that it has not heard of.
    names = {"": WHY_NOT} | dict(others(asked.question, view.place, asked.trace.predictions))
    names.setdefault(view.instead, view.instead)
    st.session_state[FIELD] = view.instead
    st.selectbox(
        WHY_NOT,
        list(names),
        list(names).index(view.instead),
        key=FIELD,
        format_func=lambda word: names.get(word, word),
        label_visibility="collapsed",
        accept_new_options=True,
        on_change=_keep_other,
        width=290,
    )


def _keep_other() -> None:
    word = st.session_state[FIELD].strip()[:MOST_WORD]
    address.change(instead=word)
    if not word and address.read(EffectsView).is_against:
        address.change(show="probability")


def ask_why_not() -> None:
    """Compare the word that the model was least sure of with the next likeliest."""
    _ANEW.value = True


def change_token() -> None:
    """Let another target token be held against its own next likeliest."""
    if address.read(EffectsView).instead:
        address.change(instead="")
        _ANEW.value = bool(address.read(EffectsView).token)
