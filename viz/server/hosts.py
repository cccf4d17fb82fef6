"""The host names that the server answers to: no other site can read it.

A stranger's site can point its own name at this machine (DNS rebinding). The browser then treats
the app as a part of that site, but still sends the stranger's name in the Host header.
"""

import ipaddress
import os
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

VARIABLE = "HEADSCOPE_HOSTS"
"""Holds further names, separated by commas; *.example.org admits all names below it."""

HOSTED = ("*.streamlit.app", "*.hf.space")
"""The names that hosting platforms give to apps."""


def known_names() -> frozenset[str]:
    """The names of this machine, those of the settings, and those of `HOSTED`."""
    own = socket.gethostname()
    settings = (st.get_option("server.address"), st.get_option("browser.serverAddress"))
    given = os.environ.get(VARIABLE, "").split(",")
    names = ("localhost", "*.localhost", own, f"{own}.local", *HOSTED, *settings, *given)
    return frozenset(_plain(name.strip()) for name in names if name and name.strip())


class KnownHosts:
    """Answers requests for known names and for IP addresses, and refuses all others."""

    def __init__(self, app: ASGIApp, names: Iterable[str] | None = None) -> None:
        self.app = app
        self.names = known_names() if names is None else frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        if scope["type"] in ("http", "websocket"):
            host = Headers(scope=scope).get("host")
            # Browsers always send it; health checks of proxies may not.
            if host and not self.knows(host):
                await PlainTextResponse(_refusal(host), 403)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def knows(self, host: str) -> bool:
        """Whether a Host header has an IP address or a known name, with any port."""
        try:
            name = _plain(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return False
        if _is_ip_address(name) or name in self.names or "*" in self.names:
            return True
        return any(each.startswith("*.") and name.endswith(each[1:]) for each in self.names)


def _plain(name: str) -> str:
    return name.lower().rstrip(".")


def _is_ip_address(name: str) -> bool:
    # Nobody can point a numeric address elsewhere.
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(host: str) -> str:
    return (
        f"This Headscope server does not answer to the name {host[:253]}. Open it by its IP "
        f"address, or start it with the name in the environment variable {VARIABLE}."
    )
