"""The server around the app: what it loads before it opens, and its response headers.

`streamlit run app.py` finds an `App` in app.py and serves it with what is here.
"""

import asyncio
import re
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import net_util, runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.session_manager import SessionClient
from streamlit.starlette import App
from streamlit.url_util import make_url_path
from streamlit.web.server import server_util

from model.serving import idle_gc
from viz.browser import notes_page
from viz.save.document import policy_hash
from viz.server import site_from_memory
from viz.server.asking import Asking
from viz.server.component_code import ComponentCode
from viz.server.hosts import KnownHosts
from viz.server.old_addresses import OldAddresses
from viz.server.site_from_memory import Hall
from viz.server.static_files import StaticFiles
from viz.server.visitors_gone import VisitorsGone
from viz.service import session
from viz.shell.share import SITE
from viz.shell.uploaded_trace import MOST_MEGABYTES

EVERYBODY = ("0.0.0.0", "::")
"""Addresses that stand for all networks of this machine."""

FRAMES = ("'self'", "https://*.streamlit.app", "https://huggingface.co")
"""Sites that may show the app in a frame: itself, and hosts that run apps in frames."""


@asynccontextmanager
async def lifespan(_: App) -> AsyncIterator[None]:
    """Load everything before the server accepts connections; until then they wait."""
    # Uploaded files stay in memory: Starlette would spool large ones to disk.
    MultiPartParser.spool_max_size = (MOST_MEGABYTES + 1) << 20
    # The model's process starts while this one is loading.
    await asyncio.gather(asyncio.to_thread(session.warm_up), visit())
    ended = idle_gc.collect_when_idle()
    announce()
    yield
    ended.set()


async def visit() -> None:
    """Visit the first page, so that no visitor waits for its imports.

    Torch, the model and its labels are loaded after it. If something is wrong, such as a damaged
    checkpoint, the page says so to everyone who comes.
    """
    server = runtime.get_instance()
    visitor = _Visitor()
    name = server.connect_session(visitor, {})
    message = BackMsg()
    message.rerun_script.query_string = ""
    server.handle_backmsg(name, message)
    await visitor.answered.wait()
    server.close_session(name)


class _Visitor(SessionClient):
    """A browser without a display that detects when the page is complete."""

    def __init__(self) -> None:
        self.answered = asyncio.Event()

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Take a message of the server."""
        if msg.WhichOneof("type") == "script_finished":
            self.answered.set()


def announce() -> None:
    """Print the app's addresses, and open it in the browser if there is a display."""
    address = st.get_option("server.address")
    own = server_util.get_url("localhost" if address in EVERYBODY else address)
    lines = [f"Headscope is ready: {own}"]
    if address in EVERYBODY and (here := net_util.get_internal_ip()):
        lines.append(f"For others in this network: {server_util.get_url(here)}")
    print("\n", *(f"  {line}\n" for line in lines), sep="", flush=True)
    if not st.get_option("server.headless"):
        webbrowser.open(own)


def headers() -> dict[str, str]:
    """The security headers of every response."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    inline = [
        policy_hash(script)
        for text in (page, notes_page.PAGE)
        for script in re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    ]
    policy = {
        "default-src": ["'self'"],
        # Streamlit turns components' code into modules with blob addresses, and reads numbers of 64
        # bits with WebAssembly.
        "script-src": ["'self'", "blob:", *inline, "'wasm-unsafe-eval'"],
        # Streamlit, Plotly and the components write styles into the page.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'", "data:"],
        "worker-src": ["'self'", "blob:"],
        "connect-src": ["'self'", "data:", "blob:"],
        "object-src": ["'none'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": FRAMES,
    }
    return {
        "Content-Security-Policy": "; ".join(
            f"{name} {' '.join(values)}" for name, values in policy.items()
        ),
        "X-Content-Type-Options": "nosniff",
        # An address holds the sentence, which is private.
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }


class SecurityHeaders:
    """Puts `headers` on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = headers()
        frames = f"frame-ancestors {' '.join(FRAMES)}"
        policy = f"{site_from_memory.policy()}; {frames}"
        self.of_site = self.headers | {"Content-Security-Policy": policy}
        self.site = make_url_path(st.get_option("server.baseUrlPath"), SITE) + "/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        of_site = scope.get("path", "").startswith(self.site)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.of_site if of_site else self.headers)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


MIDDLEWARE = (
    Middleware(SecurityHeaders),
    Middleware(KnownHosts),
    Middleware(OldAddresses),
    Middleware(ComponentCode),
    Middleware(Asking),
    Middleware(Hall),
    Middleware(StaticFiles),
    Middleware(VisitorsGone),
)
