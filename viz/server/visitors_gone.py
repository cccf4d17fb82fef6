"""Connections whose visitor has left, which are no error."""

from contextlib import suppress

from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnected


class VisitorsGone:
    """Silently ends a connection that Streamlit 1.67 tries to close a second time.

    A visitor may leave while something is sent. The next receive then fails, which Streamlit takes
    for a message of the wrong kind: it closes the connection once more, and that fails too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        with suppress(WebSocketDisconnected):
            await self.app(scope, receive, send)
