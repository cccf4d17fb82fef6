"""The large scripts of our components, from memory, each at an address that names its content."""

from __future__ import annotations

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from viz.browser.files import ADDRESS, LARGE, code
from viz.server.static_files import answer, takes_all

SCRIPT = "text/javascript"


class ComponentCode:
    """Answers whatever is asked below `ADDRESS`; all else goes on.

    A name that is not known gets no page, as Streamlit would give it, but a 404 that nobody keeps:
    another version of the app, which stands beside this one for a while, may know it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.below = make_url_path(st.get_option("server.baseUrlPath"), ADDRESS) + "/"
        files = {self.below + name: text.encode() for name, text in map(code, LARGE)}
        self.compressed = {path: answer(whole, SCRIPT) for path, whole in files.items()}
        self.plain = {
            path: answer(whole, SCRIPT, compressing=False) for path, whole in files.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(self.below):
            await self.app(scope, receive, send)
            return
        if path in self.plain and scope["method"] in ("GET", "HEAD"):
            files = self.compressed if takes_all(scope) else self.plain
            await files[path](scope, receive, send)
        else:
            nothing = PlainTextResponse("Not found", 404, headers={"Cache-Control": "no-store"})
            await nothing(scope, receive, send)
