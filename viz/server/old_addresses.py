"""Redirects addresses from when a view was on another page, and names that people type."""

from urllib.parse import parse_qsl, urlencode

import streamlit as st
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from viz.registry.pages import FORMERLY, HOME, VIEWS, present

TITLES = {view.title.lower(): view.name for view in VIEWS.values()} | FORMERLY
"""Pages by their names in the menu, and by those of before."""


class OldAddresses:
    """Redirects a page asked for what another page shows today; passes on all other requests."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.first = make_url_path(st.get_option("server.baseUrlPath"), "").rstrip("/") + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        below, _, asked = scope.get("path", "").partition(self.first)
        named = TITLES.get(asked.lower(), asked or HOME)
        if scope["type"] == "http" and not below and named in VIEWS:
            text = scope["query_string"].decode("latin-1")
            query = dict(parse_qsl(text, keep_blank_values=True))
            page, now = present(named, query)
            path = "" if page == HOME else page
            if path != asked:
                led = f"{self.first}{path}{'?' if now else ''}{urlencode(now)}"
                await RedirectResponse(led)(scope, receive, send)
                return
        await self.app(scope, receive, send)
