"""Parts of a page that run by themselves: none lies within another.

Streamlit drops the containers of an outer one whose run is overtaken before it was sent, and sends
what an inner one put into them all the same; the browser then throws and shows nothing.
"""

from playwright.sync_api import Page, WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg


class Fragments:
    """Whose every place of a page is, as the server sends them; `owners` can be emptied."""

    def __init__(self, page: Page) -> None:
        self.owners: dict[tuple[int, ...], str] = {}
        page.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._note)

    def _note(self, frame: str | bytes) -> None:
        if isinstance(frame, str):
            return
        message = ForwardMsg.FromString(frame)
        if message.WhichOneof("type") == "delta":
            self.owners[tuple(message.metadata.delta_path)] = message.delta.fragment_id

    def nested(self) -> list[tuple[int, ...]]:
        """The places that lie in another fragment's."""
        return [
            place
            for place, owner in self.owners.items()
            if any(self.owners.get(place[:end], "") not in ("", owner) for end in range(len(place)))
        ]
