"""A visitor who leaves while something is sent leaves no traceback behind."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketDisconnected

from viz.server.visitors_gone import VisitorsGone

SCOPE = {"type": "websocket", "path": "/_stcore/stream", "headers": [], "query_string": b""}


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    """What Streamlit does with a connection."""
    socket = WebSocket(scope, receive, send)
    await socket.accept()
    with pytest.raises(WebSocketDisconnect):
        await socket.send_bytes(b"a page")
    try:
        await socket.receive_bytes()
    except RuntimeError:
        await socket.close()


async def receive() -> Message:
    return {"type": "websocket.connect"}


async def send(message: Message) -> None:
    if message["type"] == "websocket.send":
        raise OSError("the visitor has left")


def test_what_streamlit_does_fails_by_itself() -> None:
    with pytest.raises(WebSocketDisconnected):
        asyncio.run(stream(dict(SCOPE), receive, send))


def test_a_visitor_may_leave_at_any_time() -> None:
    asyncio.run(VisitorsGone(stream)(dict(SCOPE), receive, send))


def test_other_errors_are_said() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        asyncio.run(VisitorsGone(broken)(dict(SCOPE), receive, send))
