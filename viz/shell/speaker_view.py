"""The view that phones in a hall follow: what a speaker's page shows, by a code.

Phones ask for the view, and the server answers from memory, as soon as it is another one
(viz/server/site_from_memory.py). With the view comes what a model says of its sentence, so that a
phone needs none, and what the speaker asks the hall (viz/shell/polls.py): only to that does a phone
send anything, the number of a choice.
"""

import base64
import contextlib
import gzip
import hashlib
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from model.checkpoints.shipped import CheckpointError
from model.paper.search import DecodingError
from model.record.head_edits import HeadError
from model.serving.queue import ServiceError
from model.translate.sentences import TextError
from viz.browser.envelope import content_id
from viz.browser.kept import Kept, nothing
from viz.decoding.view import VIEW as DECODING
from viz.draw.keys import Keys
from viz.effects.view import VIEW as EFFECTS
from viz.heads.view import VIEW as HEADS
from viz.links.head_refs import read_heads
from viz.masks.view import VIEW as MASKS
from viz.registry.pages import AROUND, CHECKPOINT, HOME, SENTENCE
from viz.service import session
from viz.service.job import Job
from viz.service.jobs.following import answer_phones
from viz.service.model_menu import checkpoints_if_any
from viz.service.questions import ModelQuestion, Question
from viz.shell import address, current_head, share
from viz.shell.polls import POLLS, Poll
from viz.shell.shown_views import VIEWS, Speaker
from viz.site.keys import spelled

FOLDER = "speaker"
"""Of the views, on the site."""

LONGEST = 16_000
"""Bytes of a view; only a painted mask of a long sentence is larger."""

SHARE = Keys("share")

WAIT_SECONDS = 25
"""For how long a phone's question waits for another view; proxies end those of a minute."""

ANSWERED = (HOME, HEADS.name, EFFECTS.name, DECODING.name, MASKS.name)
"""The pages whose pictures a phone draws from answers."""

_ANSWERING = ThreadPoolExecutor(2, "answering")

_QUESTION: Kept[Question | None] = Kept(SHARE("question"), nothing)

_SECRET: Kept[str | None] = Kept(SHARE("secret"), nothing)
"""A text that the speaker's window keeps; the code is made from it, so that it outlives the session
and the server, and nobody who knows the code can speak in the speaker's place."""

ON_SITE = SHARE("site")
"""The key of the switch in the Share panel for a link to the site, above the follow switch."""

_AROUND = frozenset(each.name for each in AROUND)
_VIEW = re.compile(rf"{FOLDER}/([0-9a-f]{{16}})\.json")

ELSEWHERE = (
    "Phones still follow another window of yours and not this one. Close that window and reload "
    "this page, or start anew under Share."
)


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
        POLLS.end(code())
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


def tell(question: Question | None = None) -> None:
    """Tell the phones what is shown now; call it at the end of a run.

    Args:
        question: what the page shows; without it, what it showed last.
    """
    if question is not None:
        _QUESTION.value = question
    if not code():
        return
    page, query = place = site_view()
    poll = POLLS.at(code(), place)
    if not _has_first():
        query = query | {CHECKPOINT.name: str(address.value_of(CHECKPOINT.widget))}
    context = get_script_run_ctx()
    told = partial(_told, page, query, poll, context.session_id if context else "")
    of, number = code(), next(VIEWS.numbers)
    job = _job(page, query)
    before = VIEWS.of(of)
    if job is None:
        VIEWS.put(of, told(), number)
    elif before is not None and before.asked == job:
        VIEWS.put(of, told(job, before.found), number)
    else:
        # The speaker's page does not wait for it.
        _ANSWERING.submit(_answer, of, number, job, told)


def _answer(of: str, number: int, job: Job[bytes], told: Callable[..., Speaker]) -> None:
    """Show a view with the answers of a model, or without any if it has none."""
    found = b""
    try:
        with contextlib.suppress(
            CheckpointError, DecodingError, HeadError, ServiceError, TextError
        ):
            found = session.ask(job)
    finally:
        # Whatever becomes of the answers, the phones turn to the view.
        VIEWS.put(of, told(job, found), number)


def _told(
    page: str,
    query: Mapping[str, str],
    poll: Poll | None,
    session_id: str,
    job: Job[bytes] | None = None,
    found: bytes = b"",
) -> Speaker:
    name = content_id(found) if found else ""
    view: dict[str, Any] = {
        "page": page,
        "query": query,
        "found": name,
        "poll": poll.view if poll else None,
    }
    text = json.dumps(view).encode()
    if len(text) > LONGEST:
        text = json.dumps(view | {"query": None}).encode()
    mark = hashlib.blake2b(text, digest_size=8).hexdigest()
    marked = json.loads(text) | {"mark": mark}
    whole = b""
    if found:
        answers = base64.b64encode(zlib.compress(found)).decode()
        whole = gzip.compress(json.dumps(marked | {"answers": answers}).encode(), mtime=0)
    return Speaker(json.dumps(marked).encode(), mark, session_id, name, whole, found, job)


def _job(page: str, query: Mapping[str, str]) -> Job[bytes] | None:
    """What a model is asked for the phones; None where the site has no such picture or model."""
    question = _QUESTION.value
    if not isinstance(question, ModelQuestion) or page not in ANSWERED or not _has_first():
        return None
    try:
        off = read_heads(query.get("off", ""))
        heads = read_heads(".".join(query.get("place", "").split(".")[:3]))
    except ValueError:
        return None
    if page == HEADS.name:
        heads = current_head.shown_on(HEADS.name)
    return answer_phones(
        question.version,
        question.sentence,
        question.target,
        off,
        heads[0] if heads else None,
        page == EFFECTS.name,
    )


async def view_after(path: str, seen: str) -> Speaker | None:
    """The view at a path of the site, once it is another one than was seen.

    Returns:
        What was seen, if it is still that after `WAIT_SECONDS`; None if no such page is open.
    """
    named = _VIEW.fullmatch(path)
    return await VIEWS.after(named[1], seen, WAIT_SECONDS) if named else None


def site_view() -> tuple[str, dict[str, str]]:
    """This view as the site's address has it: the name of its page, and its query."""
    page, query = address.current()
    kept = {name: value for name, value in query.items() if name not in _AROUND}
    # The site opens with a sentence of its own.
    sentence = address.value_of(SENTENCE.widget)
    return page or HOME, spelled(page or HOME, {SENTENCE.name: sentence} if sentence else {}) | kept


def poll_address(poll: Poll) -> str:
    """Where this session's phones answer, relative to the app's pages."""
    return f"{share.SITE}/{FOLDER}/{code()}/{poll.name}.json"


def is_on_site() -> bool:
    """Whether a site has the model: the app's own has the first one, one elsewhere its choice."""
    return bool(os.environ.get(share.SITE_VARIABLE)) or _has_first()


def _has_first() -> bool:
    return address.value_of(CHECKPOINT.widget) in list(checkpoints_if_any())[:1]
