"""Sharing what is shown: a link to exactly this view, and its QR code."""

import os
import socket
from urllib.parse import urlsplit

import streamlit as st

from viz.browser.kept import Kept
from viz.registry.pages import CHECKPOINT, HOME
from viz.service.model_menu import DROPPED
from viz.shell import address, hall, share, speaker_view
from viz.shell.copy_link import copy_link
from viz.shell.fragments import fragment
from viz.shell.share import Code
from viz.shell.speaker_view import SHARE
from viz.site.static import PAGES as SITE_PAGES

WIDTH = 340
"""Pixels; the popover would else be as wide as the page leaves it."""

EVERYWHERE = ("", "0.0.0.0", "::")
"""Server addresses that other machines can reach."""

DOCUMENTATION = ("192.0.2.1", 9)
"""An address that belongs to nobody (RFC 5737), used to look up the route to others."""

HERE_ALONE = (
    "This link opens only on this machine, so it has no QR code. Start the app with “make run "
    "ADDRESS=0.0.0.0” to let others on the same network reach it."
)
NO_NETWORK = (
    "This link opens only on this machine, which is not connected to a network. Connect it, then "
    "reload this page."
)
SAME_NETWORK = "Anyone on the same network as this machine can open it."
FINE_CODE = "This long link makes a dense code: phones in the back row may have to zoom."


ON_PHONE = "Let the phone run the model"
PHONE_NOTE = "The phone loads the model once, and then works without a server."

FOLLOWED_NOTE = "The phone loads the model once its owner asks something of their own."

FOLLOW = "Let phones follow what I show"
FOLLOW_HELP = (
    "Phones that open this link turn to what you show, until their owner taps something else. "
    "It lasts until you switch it off or close this page."
)

_TURNED = Kept(SHARE("turned"), bool)
"""Whether the switch was just turned."""

NOT_THEIRS = "The link does not include the trace that you dropped here."


@fragment
def show_share() -> None:
    """A button that opens the link to this view.

    As a fragment, it opens without a run of the page.
    """
    if _TURNED.take():
        # The whole page tells this window what to keep for its next session.
        st.rerun()
    panel = st.popover("Share", icon=":material/share:", key=SHARE("button"), on_change="rerun")
    if not panel.open:
        return
    with panel:
        shared = st.container(width=WIDTH)
        base, notes = _base(), []
        page, query = address.current()
        # Who opens a link is there.
        query.pop("kiosk", None)
        on_site = (page or HOME) in SITE_PAGES and speaker_view.is_on_site()
        if on_site:
            # Opened again, the panel shows that phones follow.
            st.session_state.setdefault(speaker_view.ON_SITE, bool(speaker_view.code()))
        if on_site and st.toggle(
            ON_PHONE, st.session_state[speaker_view.ON_SITE], key=speaker_view.ON_SITE
        ):
            base = share.site_of(base, page)
            _, query = speaker_view.site_view()
            followed = {} if os.environ.get(share.SITE_VARIABLE) else _followed()
            query |= followed
            notes.append(FOLLOWED_NOTE if followed else PHONE_NOTE)
        link = share.link(base, query)
        if address.now(CHECKPOINT) == DROPPED:
            notes.insert(0, NOT_THEIRS)
        with shared:
            code, said = _code(link)
            copy_link(link, code, [*said, *notes])


def _code(link: str) -> tuple[Code | None, list[str]]:
    """The code of a link that phones can open, with notes on who can; else what to do instead."""
    if share.is_local(link):
        return None, [NO_NETWORK if _is_open() else HERE_ALONE]
    notes = [SAME_NETWORK] if urlsplit(link).hostname == own_address() else []
    try:
        code = share.qr_code(link)
    except ValueError as error:
        return None, [*notes, str(error)]
    return code, [*notes, FINE_CODE] if code.is_fine else notes


def _followed() -> dict[str, str]:
    """A switch for phones to follow this session, and what the link then says of it."""
    on = bool(speaker_view.code())
    st.toggle(
        FOLLOW,
        value=on,
        key=SHARE("follow"),
        on_change=_turn,
        args=(not on,),
        help=FOLLOW_HELP,
    )
    if answered := hall.answered():
        st.caption(answered)
    return {"follow": speaker_view.code()} if on else {}


def _turn(on: bool) -> None:
    speaker_view.turn(on)
    _TURNED.value = True


def _base() -> str:
    """The address of this page, for others where the server lets them in."""
    url = st.context.url or f"http://localhost:{st.get_option('server.port')}"
    own = own_address() if share.is_local(url) and _is_open() else None
    return url if own is None else share.with_host(url, own)


def _is_open() -> bool:
    """Whether the server listens to other machines."""
    return (st.get_option("server.address") or "") in EVERYWHERE


def own_address() -> str | None:
    """This machine's address in its network; None if it is in none.

    Nothing is sent: connecting a datagram socket only looks up its own end.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(DOCUMENTATION)
        except OSError:
            return None
        own = str(asked.getsockname()[0])
    return None if share.is_local(f"//{own}") else own
