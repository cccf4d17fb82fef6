"""The large scripts of our components, served from memory at addresses that name their content.

Beside them is the page of the speaker's notes, at an address that stays.
"""

import streamlit as st
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from viz.browser import notes_page
from viz.browser.files import ADDRESS, LARGE, code
from viz.server.static_files import FRESH, KEPT, answer, fitting

SCRIPT, PAGE = "text/javascript", "text/html"


class ComponentCode:
    """Answers requests below `ADDRESS`; all others are passed on.

    An unknown name gets a 404 that browsers do not cache, instead of Streamlit's page: another
    version of the app, running in parallel for a while, may know that name.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.below = make_url_path(st.get_option("server.baseUrlPath"), ADDRESS) + "/"
        scripts = {name: (text, SCRIPT, KEPT) for name, text in map(code, LARGE)}
        files = scripts | {notes_page.NAME: (notes_page.PAGE, PAGE, FRESH)}
        self.files = {self.below + name: _answer(*file) for name, file in files.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        path = scope.get("path", "")
        if scope["type"] != "http" or not path.startswith(self.below):
            await self.app(scope, receive, send)
            return
        if path in self.files and scope["method"] in ("GET", "HEAD"):
            await fitting(scope, self.files[path])(scope, receive, send)
        else:
            nothing = PlainTextResponse("Not found", 404, headers={"Cache-Control": "no-store"})
            await nothing(scope, receive, send)


def _answer(text: str, kind: str, kept: str) -> Response:
    made = answer(text.encode(), kind)
    made.headers["Cache-Control"] = kept
    return made
