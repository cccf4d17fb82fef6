"""Two lines for those who come new, each until it is dismissed; the browser remembers that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from viz.browser.files import joined

LINES = ("reading", "glossary")
"""The names of the lines."""

# Hidden until the browser has looked whether they were dismissed: nothing may flash up.
_welcome = st.components.v2.component(
    "headscope_welcome",
    html='<div class="headscope welcome" aria-busy="true" hidden></div>',
    css=joined("welcome/welcome.css"),
    js=joined("welcome/welcome.js"),
)


def welcome(
    *,
    key: str,
    talk: str,
    question: str,
    terms: Mapping[str, str],
    dismissed: Sequence[str] | None,
    on_read: Callable[[], None],
    on_dismissed: Callable[[], None],
) -> None:
    """Mount the lines, once a run; a page on stage or with a reading mounts none.

    Args:
        key: of the mounted component. st.session_state[key] then holds, unchecked, under
            "dismissed" the name of a line.
        talk: the title of the talk that is offered as a reading; any text.
        question: what stands over the terms.
        terms: words and what they mean, as plain text.
        dismissed: the lines that are known to be dismissed, where browsers forget; None elsewhere.
        on_read: called when the reading is asked for.
        on_dismissed: called when a line was dismissed, unless only the browser has to know.
    """
    _welcome(
        key=key,
        data={
            "talk": talk,
            "question": question,
            "terms": [list(term) for term in terms.items()],
            "dismissed": None if dismissed is None else list(dismissed),
        },
        on_read_change=on_read,
        on_dismissed_change=on_dismissed,
    )
