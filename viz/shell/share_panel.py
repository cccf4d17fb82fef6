"""Sharing what is shown: a link to exactly this view, and its QR code."""

from __future__ import annotations

import socket

import streamlit as st

from viz.service.model_menu import DROPPED
from viz.shell import address, share
from viz.shell.copy_link import copy_link
from viz.shell.fragments import fragment

WIDTH = 340
"""Pixels; the popover would else be as wide as the page leaves it."""

EVERYWHERE = ("", "0.0.0.0", "::")
"""What a server listens to that other machines reach under whatever name they know."""

DOCUMENTATION = ("192.0.2.1", 9)
"""An address that belongs to nobody (RFC 5737), for asking which way out there would be."""

HERE_ALONE = (
    "This link opens on this machine alone, so phones cannot follow it. Start the app with “make "
    "run ADDRESS=0.0.0.0” to let others in the same network reach it."
)
NO_NETWORK = "This link opens on this machine alone, which is part of no network now."
SAME_NETWORK = "Whoever is in the same network as this machine can open it."
FINE_CODE = "So long a link makes a fine code: from the back row, phones may have to zoom."


NOT_THEIRS = "The trace that you dropped here is open on this page alone, and not behind the link."
"""Of a file that is in one person's session."""


@fragment
def show_share() -> None:
    """A button that opens the link to this view.

    A fragment, so that opening it costs no run of the page.
    """
    panel = st.popover("Share", icon=":material/share:", key="share", on_change="rerun")
    if not panel.open:
        return
    with panel:
        base, notes = _base()
        if st.session_state.get("checkpoint") == DROPPED:
            notes.append(NOT_THEIRS)
        link = share.link(base, address.current()[1])
        code = None
        try:
            code = share.qr_code(link)
        except ValueError as error:
            notes.append(str(error))
        else:
            if code.is_fine:
                notes.append(FINE_CODE)
        with st.container(width=WIDTH):
            copy_link(link, code, notes)


def _base() -> tuple[str, list[str]]:
    """The address of this page for others, and what has to be said of it."""
    url = st.context.url or f"http://localhost:{st.get_option('server.port')}"
    if not share.is_local(url):
        return url, []
    if (st.get_option("server.address") or "") not in EVERYWHERE:
        return url, [HERE_ALONE]
    own = own_address()
    if own is None:
        return url, [NO_NETWORK]
    return share.with_host(url, own), [SAME_NETWORK]


def own_address() -> str | None:
    """This machine's address in the network it is part of; None if it is in none.

    Nothing is sent: a datagram socket that is told its peer only looks up its own end.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(DOCUMENTATION)
        except OSError:
            return None
        found = str(asked.getsockname()[0])
    return None if share.is_local(f"//{found}") else found
