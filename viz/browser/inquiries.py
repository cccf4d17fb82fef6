"""The field for questions: a button that opens a list, in which the browser finds what is typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import streamlit as st

from viz.browser.files import fetched
from viz.browser.messages import message_of
from viz.draw.keys import Keys

_KEY = Keys("inquiries")()

_STATIC = Path(st.__file__).parent / "static"

CHARTS = tuple(
    path.relative_to(_STATIC).as_posix()
    for name in ("PlotlyChart", "DataFrame")
    for path in _STATIC.glob(f"static/js/{name}.*.js")
)
"""Streamlit's code for charts and tables: megabytes that would otherwise load with the first."""

_inquiries = st.components.v2.component(
    "headscope_inquiries",
    html='<div class="headscope inquiries" aria-busy="true"></div>',
    js=fetched("inquiries/inquiries.js"),
)


Words = Mapping[str, Sequence[tuple[str, int]]]


def inquiries(
    questions: Sequence[tuple[str, str, str, str]],
    *,
    words: Words,
    about: str,
    turn: int,
    on_asked: Callable[[], None],
) -> None:
    """Mount the field, once a run.

    Args:
        questions: each a key, its text, its text before words were put in, and its text where a
            person names words; all plain text.
        words: that were "written" and "read", each with the place of its first token from 1.
        about: what they are about, as plain text.
        turn: how many were answered, by which the browser knows that it waits no more.
        on_asked: called when one was chosen, for `asked` to read.
    """
    data = {
        "questions": [list(each) for each in questions],
        "words": {side: [list(each) for each in listed] for side, listed in words.items()},
        "about": about,
        "turn": turn,
        "charts": list(CHARTS),
    }
    _inquiries(key=_KEY, data=data, on_asked_change=on_asked)


def asked() -> str:
    """The key of the question that was chosen last, from a browser and so from anyone."""
    key = message_of(_KEY, "asked")
    return key if isinstance(key, str) else ""
