"""Redirects addresses of the first page from when it showed heads, and the name it goes by."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.url_util import make_url_path

from viz.heads.view import VIEW as HEADS
from viz.registry.pages import HOME, VIEWS

OF_HEADS = {each.name for each in HEADS.parameters} - {each.name for each in VIEWS[HOME].parameters}
"""Parameters that only the heads page uses."""


class OldAddresses:
    """Redirects the first page under its name, or asked for a head; passes on all others."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.first = make_url_path(st.get_option("server.baseUrlPath"), "").rstrip("/") + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        if scope["type"] == "http" and scope["path"] in (self.first, self.first + HOME):
            query = scope["query_string"].decode("latin-1")
            asks_for_head = any(
                name in OF_HEADS for name, _ in parse_qsl(query, keep_blank_values=True)
            )
            if asks_for_head or scope["path"] != self.first:
                page = HEADS.name if asks_for_head else ""
                answer = RedirectResponse(f"{self.first}{page}{'?' if query else ''}{query}")
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)
