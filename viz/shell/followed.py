"""The view that phones in a hall follow: what a speaker's page shows, by a code.

Nothing comes back from the phones: they ask for the view again and again, and the server answers
from memory (viz/server/hall.py).
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections import OrderedDict
from threading import Lock

import streamlit as st

from viz.registry.pages import AROUND, CHECKPOINT, HOME, SENTENCE
from viz.service.model_menu import checkpoints_if_any
from viz.shell import address, share
from viz.site.keys import spelled

FOLDER = "speaker"
"""Of the views, on the site."""

MOST_SPEAKERS = 500
LONGEST = 16_000
"""Bytes of a view; only a painted mask of a long sentence is larger."""

_CODE = "_followed"
_AROUND = frozenset(each.name for each in AROUND)
_FILE = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})\.json")


class _Views:
    """The last view of each speaker; the oldest make room."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def put(self, code: str, view: bytes) -> None:
        with self._lock:
            self._kept[code] = view
            self._kept.move_to_end(code)
            while len(self._kept) > MOST_SPEAKERS:
                self._kept.popitem(last=False)

    def of(self, code: str) -> bytes | None:
        with self._lock:
            return self._kept.get(code)

    def drop(self, code: str) -> None:
        with self._lock:
            self._kept.pop(code, None)


VIEWS = _Views()


def code() -> str:
    """The code under which this session's views are followed; empty if they are not."""
    found: str = st.session_state.get(_CODE, "")
    return found


def turn(on: bool) -> None:
    """Let phones follow this session's views, or no longer."""
    if on and not code():
        st.session_state[_CODE] = secrets.token_hex(8)
    elif not on and code():
        VIEWS.drop(st.session_state.pop(_CODE))


def tell() -> None:
    """Tell the phones what is shown now; call it at the end of a run."""
    if not code():
        return
    page, query = site_view()
    if not _has_first():
        query |= {CHECKPOINT.name: str(st.session_state.get(CHECKPOINT.name))}
    text = json.dumps({"page": page, "query": query}).encode()
    if len(text) > LONGEST:
        text = json.dumps({"page": page, "query": None}).encode()
    VIEWS.put(code(), text)


def view_at(path: str) -> bytes | None:
    """The view at a path of the site, as JSON; None if there is no such speaker."""
    named = _FILE.fullmatch(path)
    return VIEWS.of(named[1]) if named else None


def site_view() -> tuple[str, dict[str, str]]:
    """This view as the site's address has it: the name of its page, and its query."""
    page, query = address.current()
    kept = {name: value for name, value in query.items() if name not in _AROUND}
    # The site opens with a sentence of its own.
    sentence = st.session_state.get(SENTENCE.name)
    return page or HOME, spelled(page or HOME, {SENTENCE.name: sentence} if sentence else {}) | kept


def is_on_site() -> bool:
    """Whether a site has the model: the app's own has the first one, one elsewhere its choice."""
    return bool(os.environ.get(share.SITE_VARIABLE)) or _has_first()


def _has_first() -> bool:
    return st.session_state.get(CHECKPOINT.name) in list(checkpoints_if_any())[:1]
