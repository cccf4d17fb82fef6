"""The field for questions, and the answer above the page that it led to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st

from model.serving.queue import ServiceError
from model.trace.attention_map import Tokens
from viz.browser.inquiries import Words, asked, inquiries
from viz.door.arcs import words_of
from viz.draw.labels import escape_html, visible
from viz.inquiries.inquiry import Answer, Inquiry, Subject
from viz.inquiries.registry import find, offered
from viz.links.parameters import View
from viz.registry.pages import ASKED
from viz.service import session
from viz.service.questions import Question
from viz.shell import address, stage

_WANTED, _ANSWERED, _OFFERED = "_inquiry_wanted", "_inquiry_answered", "_inquiries_offered"
"""The key that was chosen last and has no answer yet; the last answer with its key and what it is
about; what is offered, with what for."""

_TURN = "_inquiries_turn"
"""How many were chosen."""


def show_field(question: Question | None) -> None:
    """The field; after the page, which it must not keep waiting."""
    listed: Sequence[tuple[str, str, str, str]] = ()
    words: Words = {}
    about = ""
    if question is not None:
        subject = Subject(question)
        offers, words = _offered(question, subject)
        listed = entries(offers, subject)
        about = f"About “{visible(' '.join(question.sentence.split()))}”"
    turn = st.session_state.get(_TURN, 0)
    inquiries(listed, words=words, about=about, turn=turn, on_asked=_on_asked)


def _offered(question: Question, subject: Subject) -> tuple[list[Inquiry], Words]:
    """What can be asked, and the words that can be named."""
    of, kept = st.session_state.get(_OFFERED, (None, None))
    if of != question or kept is None:
        kept = [], {}
        # The page says what was refused; the field offers nothing until it is answered.
        with suppress(ServiceError, *session.REFUSED):
            trace = subject.trace
            sides = {"written": trace.predictions, "read": trace.source}
            words = {side: named_words(tokens) for side, tokens in sides.items()}
            kept = offered(subject), words if subject.is_model else {}
            st.session_state[_OFFERED] = question, kept
    found: tuple[list[Inquiry], Words] = kept
    return found


def entries(offers: Sequence[Inquiry], subject: Subject) -> list[tuple[str, str, str, str]]:
    """Questions as the browser takes them."""
    return [(each.key, visible(each.text_for(subject)), each.text, each.named) for each in offers]


def named_words(tokens: Tokens) -> list[tuple[str, int]]:
    """Words as people type them, each with the place of its first token from 1."""
    return [(visible(each.text), each.first + 1) for each in words_of(tokens) if not each.special]


def _on_asked() -> None:
    try:
        key = ASKED.parse(asked())
    except ValueError:
        return
    if key and not address.is_followed():
        st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
        st.session_state[_WANTED] = key


def show_answer(question: Question | None, view: View) -> None:
    """Lead to the page that answers what was chosen, or show the answer above that page.

    Call it before the page.
    """
    address.open_address([ASKED])
    if question is None:
        return
    subject = Subject(question)
    if wanted := st.session_state.get(_WANTED):
        with session.refusals():
            answer = _answer(wanted, subject)
            if answer is not None:
                address.open_view(answer.page, answer.view, **{ASKED.name: wanted})
        # Only now: a newer run may have ended this one while it waited.
        del st.session_state[_WANTED]
        if address.is_navigating():
            st.rerun()
    key = st.session_state[ASKED.name]
    if not key:
        return
    of = st.session_state.get(_ANSWERED, ("", None, None))[:2]
    is_old = of[1] is not None and of != (key, question) and not address.is_followed()
    found = None
    if not is_old:
        with session.refusals():
            found = _answer(key, subject)
    if found is None or found.page.name != view.name:
        # It is of the sentence or of the page that was left.
        address.change(asked="")
    elif not stage.is_on():
        asked_of = find(key, subject)
        assert asked_of is not None, "it has an answer"
        inquiry, about = asked_of
        _show_line(inquiry.text_for(about), found.sentence)


def _answer(key: str, subject: Subject) -> Answer | None:
    """The answer to an inquiry, computed once; None where it has none."""
    kept_key, of, kept = st.session_state.get(_ANSWERED, ("", None, None))
    if (kept_key, of) == (key, subject.question):
        found: Answer = kept
        return found
    asked_of = find(key, subject)
    if asked_of is None:
        return None
    inquiry, about = asked_of
    answer = inquiry.answer(about)
    st.session_state[_ANSWERED] = key, subject.question, answer
    return answer


def _show_line(text: str, sentence: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="answer-line"):
        st.html(
            f'<p role="status"><b>{escape_html(visible(text))}</b> '
            f"{escape_html(visible(sentence))}</p>"
        )
        st.button(
            "Dismiss the answer",
            key="dismiss-answer",
            icon=":material/close:",
            type="tertiary",
            on_click=address.change,
            kwargs={ASKED.name: ""},
        )
