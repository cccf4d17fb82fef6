"""Somebody at the running app without a browser: Streamlit's own protocol, over its WebSocket."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

GIVEN_UP = 60.0
"""Seconds after which a person counts a question as lost."""

KEPT_RUNS = 2
"""For how many runs a browser keeps a message that it may be referred to (Streamlit 1.67)."""


class Lost(RuntimeError):
    """A question that was not answered; the message says how."""


@dataclass
class Answer:
    """What one run of the page took."""

    seconds: float
    nbytes: int


@dataclass
class Person:
    """One browser session, as far as the server can tell.

    Attributes:
        socket: to the server.
        page: the name in the address; "" for the first one.
        query: of the address, as the server last wrote it.
        input_id: of the field for the sentence, once it is there.
        sentence: what stands in it.
        kept: the messages that may be referred to, by their hash, and the run that used them last.
    """

    socket: websockets.ClientConnection
    page: str = ""
    query: str = ""
    input_id: str = ""
    sentence: str = ""
    kept: dict[str, int] = field(default_factory=dict)
    runs: int = 0

    async def open(self) -> Answer:
        """The first page."""
        return await self._run()

    async def ask(self, sentence: str) -> Answer:
        """Another sentence, typed."""
        self.sentence = sentence
        return await self._run()

    async def _run(self) -> Answer:
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string, asked.page_name = self.query, self.page
        if self.sentence:
            widget = asked.widget_states.widgets.add()
            widget.id, widget.string_value = self.input_id, self.sentence
        asked.cached_message_hashes.extend(self.kept)
        began = time.perf_counter()
        try:
            await self.socket.send(message.SerializeToString())
            nbytes = await asyncio.wait_for(self._answer(), GIVEN_UP)
        except TimeoutError:
            raise Lost(f"no answer within {GIVEN_UP:g} s") from None
        except websockets.ConnectionClosed as error:
            raise Lost(f"the connection was closed: {error}") from None
        return Answer(time.perf_counter() - began, nbytes)

    async def _answer(self) -> int:
        """Wait until the page stands with its answer; gives the bytes that came."""
        nbytes, answered = 0, False
        while True:
            raw = await self.socket.recv(decode=False)
            nbytes += len(raw)
            message = ForwardMsg.FromString(raw)
            if message.metadata.cacheable or message.ref_hash:
                self.kept[message.ref_hash or message.hash] = self.runs
            match message.WhichOneof("type"):
                case "delta":
                    answered |= self._take(message)
                case "page_info_changed":
                    self.query = message.page_info_changed.query_string
                # A run that was overtaken by the page itself ends in another way.
                case "script_finished" if message.script_finished == 0 and answered:
                    self.runs += 1
                    self.kept = {
                        each: run for each, run in self.kept.items() if run + KEPT_RUNS > self.runs
                    }
                    return nbytes

    def _take(self, message: ForwardMsg) -> bool:
        """Look at an element; True if it is the translation."""
        element = message.delta.new_element
        match element.WhichOneof("type"):
            case "exception":
                raise Lost(f"an exception on the page: {element.exception.message[:200]}")
            case "text_input" if element.text_input.label.endswith("sentence"):
                self.input_id = self.input_id or element.text_input.id
            case "html":
                return 'class="answer"' in element.html.body
        return False


@asynccontextmanager
async def person(url: str, page: str = "") -> AsyncIterator[Person]:
    """Someone whose browser has connected and shows nothing yet."""
    address = url.replace("http", "ws", 1) + "/_stcore/stream"
    async with websockets.connect(
        address,
        max_size=None,
        subprotocols=[websockets.Subprotocol("streamlit")],
        open_timeout=GIVEN_UP,
        proxy=None,
    ) as socket:
        yield Person(socket, page)
