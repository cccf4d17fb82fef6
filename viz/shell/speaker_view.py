"""The view that phones in a hall follow: what a speaker's page shows, by a code.

Nothing comes back from the phones: they ask for the view again and again, and the server answers
from memory (viz/server/site_from_memory.py).
"""

import hashlib
import json
import os
import re
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.registry.pages import AROUND, CHECKPOINT, HOME, SENTENCE
from viz.service.model_menu import checkpoints_if_any
from viz.shell import address, share
from viz.site.keys import spelled

FOLDER = "speaker"
"""Of the views, on the site."""

MOST_SPEAKERS = 500
LONGEST = 16_000
"""Bytes of a view; only a painted mask of a long sentence is larger."""

SHARE = Keys("share")

_SECRET: Kept[str | None] = Kept(SHARE("secret"), nothing)
"""A text that the speaker's window keeps; the code is made from it, so that it outlives the session
and the server, and nobody who knows the code can speak in the speaker's place."""

ON_SITE = SHARE("site")
"""The key of the switch in the Share panel for a link to the site, above the follow switch."""

_AROUND = frozenset(each.name for each in AROUND)
_FILE = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})\.json")

ELSEWHERE = (
    "Phones still follow another window of yours and not this one. Close that window and reload "
    "this page, or start anew under Share."
)


@dataclass(frozen=True, slots=True)
class _Speaker:
    view: bytes
    session: str

    @property
    def is_there(self) -> bool:
        """Whether the page is open."""
        return not runtime.exists() or runtime.get_instance().is_active_session(self.session)


class _Views:
    """The last view of each speaker; the oldest make room."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[str, _Speaker] = OrderedDict()

    def put(self, code: str, view: bytes, session: str) -> None:
        with self._lock:
            self._kept[code] = _Speaker(view, session)
            self._kept.move_to_end(code)
            while len(self._kept) > MOST_SPEAKERS:
                self._kept.popitem(last=False)

    def of(self, code: str) -> _Speaker | None:
        with self._lock:
            speaker = self._kept.get(code)
        return speaker if speaker and speaker.is_there else None

    def drop(self, code: str) -> None:
        with self._lock:
            self._kept.pop(code, None)


VIEWS = _Views()


def secret() -> str | None:
    """What the speaker's window is to keep; "" once nobody follows, None until that is decided."""
    return _SECRET.value


def code() -> str:
    """The code under which this session's views are followed; empty if they are not."""
    return _code_of(secret() or "")


def _code_of(secret: str) -> str:
    return hashlib.blake2b(secret.encode(), digest_size=8).hexdigest() if secret else ""


def turn(on: bool) -> None:
    """Let phones follow this session's views, or no longer."""
    if on and not code():
        _SECRET.value = secrets.token_hex(16)
    elif not on and code():
        VIEWS.drop(code())
        _SECRET.value = ""


def resume(kept: Any) -> None:
    """Let phones follow this session as they followed the one before in the same window.

    Args:
        kept: the secret, from a browser and so from anyone.
    """
    if secret() is not None or not (isinstance(kept, str) and re.fullmatch("[0-9a-f]{32}", kept)):
        return
    if VIEWS.of(_code_of(kept)):
        # A window that was opened from the speaker's has a copy of what that keeps.
        address.note("follow", ELSEWHERE)
        return
    _SECRET.value = kept
    # The panel, which may be open already, shows that they do.
    st.session_state[ON_SITE] = True


def tell() -> None:
    """Tell the phones what is shown now; call it at the end of a run."""
    if not code():
        return
    page, query = site_view()
    if not _has_first():
        query |= {CHECKPOINT.name: str(address.now(CHECKPOINT))}
    text = json.dumps({"page": page, "query": query}).encode()
    if len(text) > LONGEST:
        text = json.dumps({"page": page, "query": None}).encode()
    context = get_script_run_ctx()
    VIEWS.put(code(), text, context.session_id if context else "")


def view_at(path: str) -> bytes | None:
    """The view at a path of the site, as JSON; None if no such speaker's page is open."""
    named = _FILE.fullmatch(path)
    speaker = VIEWS.of(named[1]) if named else None
    return speaker.view if speaker else None


def site_view() -> tuple[str, dict[str, str]]:
    """This view as the site's address has it: the name of its page, and its query."""
    page, query = address.current()
    kept = {name: value for name, value in query.items() if name not in _AROUND}
    # The site opens with a sentence of its own.
    sentence = address.now(SENTENCE)
    return page or HOME, spelled(page or HOME, {SENTENCE.name: sentence} if sentence else {}) | kept


def is_on_site() -> bool:
    """Whether a site has the model: the app's own has the first one, one elsewhere its choice."""
    return bool(os.environ.get(share.SITE_VARIABLE)) or _has_first()


def _has_first() -> bool:
    return address.now(CHECKPOINT) in list(checkpoints_if_any())[:1]
