"""The field for questions, and the answer above the page that it led to."""

from collections.abc import Sequence
from contextlib import suppress

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from model.serving.queue import ServiceError
from model.trace.attention_map import Tokens
from viz.browser.inquiries import Words, asked, inquiries
from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.draw.labels import escape_html, visible
from viz.inquiries.inquiry import Answer, Inquiry, Subject
from viz.inquiries.registry import find, offered
from viz.links.parameters import View
from viz.model_page.arcs import words_of
from viz.registry.pages import ASKED
from viz.service import session
from viz.service.questions import Question
from viz.shell import address, stage

KEYS, ANSWER = Keys("ask"), Keys("answer")

Offered = tuple[list[Inquiry], Words]
"""What can be asked, and the words that can be named."""

_WANTED: Kept[str | None] = Kept(KEYS("wanted"), nothing)
_ANSWERED: Kept[tuple[str, Question | None, Answer | None]] = Kept(
    KEYS("answered"), lambda: ("", None, None)
)
_OFFERED: Kept[tuple[Question | None, Offered | None]] = Kept(KEYS("offered"), lambda: (None, None))
"""The key that was chosen last and has no answer yet; the last answer with its key and what it is
about; what is offered, with what for."""

_PLACE: Kept[DeltaGenerator | None] = Kept(KEYS("place"), nothing)

_TURN = Kept(KEYS("turn"), int)
"""How many were chosen."""


def begin() -> None:
    """Draw the place of the field here, once a run."""
    _PLACE.value = st.container(width="content", key=KEYS())


def show_field(question: Question | None) -> None:
    """The field, in its place; after the page, which it must not keep waiting."""
    listed: Sequence[tuple[str, str, str, str]] = ()
    words: Words = {}
    about = ""
    if question is not None:
        subject = Subject(question)
        offers, words = _offered(question, subject)
        listed = entries(offers, subject)
        about = f"About “{visible(' '.join(question.sentence.split()))}”"
    assert _PLACE.value is not None, "every page has a place for it"
    with _PLACE.value:
        inquiries(listed, words=words, about=about, turn=_TURN.value, on_asked=_on_asked)


def _offered(question: Question, subject: Subject) -> Offered:
    of, kept = _OFFERED.value
    if of != question or kept is None:
        kept = [], {}
        # The page says what was refused; the field offers nothing until it is answered.
        with suppress(ServiceError, *session.REFUSED):
            trace = subject.trace
            sides = {"written": trace.predictions, "read": trace.source}
            words = {side: named_words(tokens) for side, tokens in sides.items()}
            kept = offered(subject), words if subject.is_model else {}
            _OFFERED.value = question, kept
    return kept


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
        _TURN.value += 1
        _WANTED.value = key


def show_answer(question: Question | None, view: View) -> None:
    """Lead to the page that answers what was chosen, or show the answer above that page.

    Call it before the page.
    """
    address.open_address([ASKED])
    if question is None:
        return
    subject = Subject(question)
    if wanted := _WANTED.value:
        with session.refusals():
            answer = _answer(wanted, subject)
            if answer is not None:
                address.open_view(answer.page, answer.view, **{ASKED.name: wanted})
        # Only now: a newer run may have ended this one while it waited.
        _WANTED.value = None
        if address.is_navigating():
            st.rerun()
    key = address.now(ASKED)
    if not key:
        return
    of = _ANSWERED.value[:2]
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
    *of, kept = _ANSWERED.value
    if of == [key, subject.question]:
        return kept
    asked_of = find(key, subject)
    if asked_of is None:
        return None
    inquiry, about = asked_of
    answer = inquiry.answer(about)
    _ANSWERED.value = key, subject.question, answer
    return answer


def _show_line(text: str, sentence: str) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=ANSWER("line")
    ):
        st.html(
            f'<p role="status"><b>{escape_html(visible(text))}</b> '
            f"{escape_html(visible(sentence))}</p>"
        )
        st.button(
            "Dismiss the answer",
            key=ANSWER("dismiss"),
            icon=":material/close:",
            type="tertiary",
            on_click=address.change,
            kwargs={ASKED.name: ""},
        )
