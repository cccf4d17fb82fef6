"""The large scripts of our components, served from memory at addresses that name their content."""

from __future__ import annotations

import streamlit as st
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from viz.browser.files import ADDRESS, LARGE, code
from viz.server.static_files import answer, takes_all

SCRIPT = "text/javascript"


class ComponentCode:
    """Answers requests below `ADDRESS`; all others are passed on.

    An unknown name gets a 404 that browsers do not cache, instead of Streamlit's page: another
    version of the app, running in parallel for a while, may know that name.
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
