"""Links and their QR codes."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit

import segno

QUIET_ZONE = 4
"""Light modules around a code (ISO/IEC 18004, section 6.3.8)."""

FINE = 77
"""Modules across, without the quiet zone; larger codes are hard to read from the back row."""

SITE = "site"
"""The path below which the server has the site that runs in the browser."""

SITE_VARIABLE = "HEADSCOPE_SITE"
"""Names the address of that site elsewhere, such as on GitHub Pages."""

_UNSAFE_ENDS = "-._~+"


@dataclass(frozen=True, slots=True)
class Code:
    """A QR code.

    Attributes:
        size: modules across and down, with the quiet zone.
        path: its dark modules as an SVG path, in modules; only numbers and letters.
    """

    size: int
    path: str

    @property
    def is_fine(self) -> bool:
        """Whether its modules are too small for the back row."""
        return self.size - 2 * QUIET_ZONE > FINE


def link(base: str, query: Mapping[str, str]) -> str:
    """An address with a query that every browser reads back unchanged.

    Args:
        base: the address of a page, without a query.
        query: the texts by name, as in the address.
    """
    parts = urlsplit(base)
    page = urlunsplit(parts._replace(path=parts.path or "/"))
    if not query:
        return page
    written = f"{page}?{urlencode(query)}"
    # Programs that make links from text leave out a full stop or a space at the end.
    if written[-1] in _UNSAFE_ENDS:
        end = unquote_plus(written[-1])
        return f"{written[:-1]}%{ord(end):02X}"
    return written


def site_of(url: str, page: str) -> str:
    """The address of a page on the site that runs in the browser.

    Args:
        url: of the page in the app, without a query.
        page: its path; empty for the first one.
    """
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    own = urlunsplit(
        parts._replace(path=f"{path.removesuffix(f'/{page}') if page else path}/{SITE}")
    )
    root = os.environ.get(SITE_VARIABLE, "").strip() or own
    return f"{root.rstrip('/')}/{f'{page}/' if page else ''}"


def qr_code(link: str) -> Code:
    """The code of a link: as coarse as possible, and as error-tolerant as that allows.

    Raises:
        ValueError: if the link has more than the 2,953 bytes of the largest QR code.
    """
    try:
        made = segno.make_qr(link, error="l", boost_error=True)
    except segno.DataOverflowError:
        raise ValueError(
            f"This link has {len(link.encode()):,} characters, more than the 2,953 of the largest "
            "QR code: copy it instead."
        ) from None
    rows = [bytes(row) for row in made.matrix]
    path = "".join(
        f"M{QUIET_ZONE + x} {QUIET_ZONE + y}h{width}v1h-{width}z"
        for y, row in enumerate(rows)
        for x, width in _dark_runs(row)
    )
    return Code(len(rows) + 2 * QUIET_ZONE, path)


def _dark_runs(row: bytes) -> list[tuple[int, int]]:
    """The starts and lengths of runs of dark modules."""
    runs: list[tuple[int, int]] = []
    for x, is_dark in enumerate(row):
        if not is_dark:
            continue
        if runs and sum(runs[-1]) == x:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((x, 1))
    return runs


def is_local(url: str) -> bool:
    """Whether an address means the machine on which it is opened."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def with_host(url: str, host: str) -> str:
    """An address with another host and the same port."""
    parts = urlsplit(url)
    shown = f"[{host}]" if ":" in host else host
    place = shown if parts.port is None else f"{shown}:{parts.port}"
    return urlunsplit(parts._replace(netloc=place))
