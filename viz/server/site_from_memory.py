"""The site for a hall of phones: each runs the model itself, and the server sends files.

They are made from the first model when somebody first asks for them, and then sent from memory:
compressed, and kept by browsers for ever where their names change with their content.
"""

import asyncio
import mimetypes
from collections.abc import Mapping
from urllib.parse import parse_qsl

import streamlit as st
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from model.checkpoints.shipped import CheckpointError
from model.translate.sentences import TextError
from viz.server.guesses import of_question
from viz.server.static_files import FRESH, answer, fitting
from viz.service.model_menu import checkpoints
from viz.shell import speaker_view
from viz.shell.share import SITE
from viz.shell.shown_views import Speaker
from viz.site.model import PackError, packed
from viz.site.static import NAMED, POLICY, site_files

MISSING = "No model here runs in a browser. Put a checkpoint such as en-de into checkpoints/."


class Hall:
    """Answers requests below /site; all others are passed on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.below = make_url_path(st.get_option("server.baseUrlPath"), SITE)
        self.files: Mapping[str, Response] | None = None
        self.making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        path = scope.get("path", "")
        is_below = path == self.below or path.startswith(f"{self.below}/")
        if scope["type"] != "http" or not is_below:
            await self.app(scope, receive, send)
            return
        found = await self._response(scope, receive, path.removeprefix(self.below))
        await found(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive, path: str) -> Response:
        query = scope["query_string"].decode("latin-1")
        # Addresses within the files are relative to a folder.
        if not path.rpartition("/")[2].count(".") and not path.endswith("/"):
            return RedirectResponse(f"{self.below}{path}/{query and f'?{query}'}")
        if (guesses := await of_question(path.removeprefix("/"), scope, receive)) is not None:
            return guesses
        asked = dict(parse_qsl(query))
        seen = asked.get("seen", "")
        if (shown := await speaker_view.view_after(path.removeprefix("/"), seen)) is not None:
            return _view(shown, seen, asked.get("found", ""))
        try:
            files = await self._made()
        except (CheckpointError, PackError, TextError):
            return PlainTextResponse(MISSING, 404, headers={"Cache-Control": FRESH})
        name = path.removeprefix("/")
        if name.endswith("/") or not name:
            name += "index.html"
        if name not in files or scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("Not found", 404, headers={"Cache-Control": "no-store"})
        return fitting(scope, files[name])

    async def _made(self) -> Mapping[str, Response]:
        async with self.making:
            if self.files is None:
                self.files = await asyncio.to_thread(_files)
        return self.files


def _view(shown: Speaker, seen: str, found: str) -> Response:
    """What a speaker shows, with the answers of a model unless the phone has these."""
    headers = {"Cache-Control": "no-store"}
    if shown.mark == seen:
        return Response(status_code=204, headers=headers)
    if shown.name in ("", found):
        return Response(shown.view, media_type="application/json", headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(shown.whole, media_type="application/json", headers=headers)


def _files() -> Mapping[str, Response]:
    """The answers by path."""
    files = {}
    for path, content in site_files([packed(next(iter(checkpoints().values())))]):
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        files[path] = answer(content, kind)
        if not path.startswith(NAMED):
            files[path].headers["Cache-Control"] = FRESH
    return files


def policy() -> str:
    """What the pages of the site may do, as a header has it."""
    return "; ".join(f"{name} {' '.join(values)}" for name, values in POLICY.items())
