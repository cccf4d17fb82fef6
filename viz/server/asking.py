"""Answers what the picture of the model asks, beside the pages: one address, for this site alone.

A request is a POST with a small JSON body: a model by its name in the menu, a sentence and a
question (viz/service/answers.py). It goes through the queue, the store and the limits of the pages.
An answer is an envelope of viz/browser/envelope.py; a refusal is {"error": a sentence}. Nothing is
kept between two requests, so any replica can answer. Only the heads of a long text
(viz/browser/coarse_heads.py) come from the replica whose page shows it.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import CheckpointError
from model.paper.search import DecodingError
from model.serving.queue import ServiceError
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from viz.browser.asking import ADDRESS
from viz.browser.coarse_heads import GoneError, asked_heads
from viz.browser.envelope import seal
from viz.draw.style import count_of
from viz.links.parameters import MOST_CHARACTERS
from viz.service.answers import MissingError, QuestionError, answer
from viz.service.model_menu import checkpoints
from viz.service.questions import ModelQuestion
from viz.service.session import VISITOR, Visitor
from viz.service.versions import snapshot_of

MOST_AT_ONCE = 16
"""The most questions that wait for an answer; each takes a thread."""

MOST_BYTES = 2 * 12 * MOST_CHARACTERS + (16 << 10)
"""Of a body: two texts whose characters JSON escapes as surrogates, and a list of heads."""

READ_SECONDS = 10.0
"""For how long a body may take to arrive."""

NOT_KEPT = {"Cache-Control": "no-store"}

_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that gets no answer: its status, and a sentence that says why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Asking:
    """Answers requests at `ADDRESS`; all others are passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.path = make_url_path(st.get_option("server.baseUrlPath"), ADDRESS)
        self.threads = ThreadPoolExecutor(MOST_AT_ONCE, "asking")
        self.n_waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        if scope["type"] != "http" or scope.get("path", "") != self.path:
            await self.app(scope, receive, send)
            return
        with contextlib.suppress(ClientDisconnect):
            try:
                require_own(scope)
                sent = await body_of(Request(scope, receive), MOST_BYTES)
                content = await self._answered(sent, receive)
                response = Response(content, media_type="application/octet-stream")
            except RefusedError as refusal:
                response = JSONResponse({"error": str(refusal)}, refusal.status)
            response.headers.update(NOT_KEPT)
            await response(scope, receive, send)

    async def _answered(self, sent: Mapping[str, Any], receive: Receive) -> bytes:
        """The answer, computed in a thread that gives up as soon as the visitor has left."""
        if self.n_waiting >= MOST_AT_ONCE:
            raise RefusedError(
                503, "Too many questions are being answered; please try again in a moment."
            )
        visitor = Visitor()
        context = copy_context()
        context.run(VISITOR.set, visitor)
        self.n_waiting += 1
        loop = asyncio.get_running_loop()
        computed = loop.run_in_executor(self.threads, context.run, _answer, sent)
        computed.add_done_callback(self._done)
        # After the body, nothing comes but that the visitor leaves.
        left = asyncio.ensure_future(receive())
        try:
            either: set[asyncio.Future[Any]] = {computed, left}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not computed.done():
                raise ClientDisconnect
            return computed.result()
        finally:
            visitor.left.set()
            left.cancel()

    def _done(self, computed: asyncio.Future[bytes]) -> None:
        self.n_waiting -= 1
        # Nobody asks for it where the visitor has left.
        if not computed.cancelled():
            computed.exception()


def require_own(scope: Scope) -> None:
    """Raises RefusedError unless a page of this site asks with a POST of JSON.

    Browsers send both headers by themselves. Sec-Fetch-Site is absent without TLS; then the origin
    has to be the host that was asked.
    """
    headers = Headers(scope=scope)
    site, origin = headers.get("sec-fetch-site"), headers.get("origin", "")
    host = headers.get("host", "").lower()
    is_own = bool(host) and origin.lower() in (f"http://{host}", f"https://{host}")
    if not (is_own if site is None else site == "same-origin"):
        raise RefusedError(403, "Only pages of this site may ask here.")
    if scope["method"] != "POST":
        raise RefusedError(404, "Questions are asked here with POST; there is nothing to read.")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(400, "A question is JSON; send it with the type application/json.")


async def body_of(request: Request, most_bytes: int) -> Mapping[str, Any]:
    """The body's values; RefusedError if it is too large, too slow, or no JSON object."""
    too_large = RefusedError(413, f"A question has at most {most_bytes:,} bytes; shorten it.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and (len(length) > 9 or int(length) > most_bytes):
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > most_bytes:
                    raise too_large
        values = json.loads(body)
    except TimeoutError:
        raise RefusedError(400, "The question did not arrive in time; ask again.") from None
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise RefusedError(400, "A question is a JSON object; this is none.")
    return values


def _answer(sent: Mapping[str, Any]) -> bytes:
    """The envelope of an answer; RefusedError in place of every other exception."""
    try:
        if "trace" in sent:
            return seal(asked_heads(sent))
        return seal(answer(_question(sent), sent))
    except RefusedError:
        raise
    except (GoneError, MissingError) as error:
        raise RefusedError(404, str(error)) from None
    except (QuestionError, TextError, DecodingError) as error:
        raise RefusedError(400, str(error)) from None
    except ServiceError as error:
        raise RefusedError(503, str(error)) from None
    except (CheckpointError, DeviceError):
        # Their sentences name files of the server.
        raise RefusedError(503, "This model cannot be used; its page says what is wrong.") from None
    except Exception:
        _log.exception("A question of the model's picture failed.")
        raise RefusedError(503, "This could not be computed; please try again.") from None


def _question(sent: Mapping[str, Any]) -> ModelQuestion:
    """What is asked about; a model is known by its name alone, which never becomes a path."""
    sentence, target = (_text(sent, name) for name in ("sentence", "target"))
    name, number = sent.get("model"), sent.get("snapshot")
    folder = checkpoints().get(name) if isinstance(name, str) else None
    if folder is None:
        raise RefusedError(404, "There is no such model here; choose one of the menu.")
    if number is None:
        return ModelQuestion(folder, sentence, target)
    steps = snapshots(folder)
    if type(number) is not int:
        raise RefusedError(400, "A snapshot must be a whole number from 0.")
    if not 0 <= number < len(steps):
        raise RefusedError(
            404, f"This model has {count_of(len(steps), 'snapshot')}, counted from 0."
        )
    return ModelQuestion(snapshot_of(folder, steps[number]), sentence, target, number)


def _text(sent: Mapping[str, Any], name: str) -> str:
    text = sent.get(name, "")
    if not isinstance(text, str):
        raise RefusedError(400, f"The {name} must be a text.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RefusedError(400, f"The {name} holds half a character; type it anew.") from None
    return text
