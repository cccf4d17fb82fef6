"""Parts of a page that run by themselves, never one within another."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec

import streamlit as st

from viz.service import session
from viz.service.page_turns import BUILDING
from viz.shell import address, speaker_view

P = ParamSpec("P")

_RUNNING: ContextVar[bool] = ContextVar("fragment_running", default=False)
_WITH_PAGE: ContextVar[bool] = ContextVar("fragment_with_page", default=False)


def fragment(part: Callable[P, None]) -> Callable[P, None]:
    """A function whose widgets rerun only it; called within another such part, it belongs to that.

    Streamlit allows fragments within fragments. But if a run of the outer one is overtaken before
    all of it was sent, Streamlit 1.67 drops the outer one's containers and still sends what the
    inner one put into them: the browser then shows nothing at all.
    """

    @wraps(part)
    def marked(*args: P.args, **kwargs: P.kwargs) -> None:
        token = _RUNNING.set(True)
        try:
            if not _WITH_PAGE.get():
                address.begin_fragment()
            with BUILDING.turn(), session.refusals():
                part(*args, **kwargs)
            if not _WITH_PAGE.get():
                speaker_view.tell()
        finally:
            _RUNNING.reset(token)

    alone = st.fragment(marked)

    @wraps(part)
    def called(*args: P.args, **kwargs: P.kwargs) -> None:
        if _RUNNING.get():
            part(*args, **kwargs)
            return
        token = _WITH_PAGE.set(True)
        try:
            alone(*args, **kwargs)
        finally:
            _WITH_PAGE.reset(token)

    return called


def is_running() -> bool:
    """Whether such a part runs now, with its page or by itself."""
    return _RUNNING.get()


def is_alone() -> bool:
    """Whether a part runs by itself now, and not with its page."""
    return _RUNNING.get() and not _WITH_PAGE.get()
