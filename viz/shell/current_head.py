"""The head that a person looks at, handed from one page to the next.

Two pages keep `layer` and `head` in the address, and each names the kind of attention differently.
So each notes which heads it shows (`note`) and asks on arrival which to show (`brought`).
"""

from collections.abc import Sequence

from model.trace.head import Head
from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.links.head_refs import USUAL
from viz.shell import address

Heads = tuple[Head, ...]
"""One head; in the joint picture, one of each kind of attention."""

KEYS = Keys("head")

_SELECTED: Kept[Heads] = Kept(KEYS("selected"), tuple)
_SHOWN: Kept[dict[str, Heads]] = Kept(KEYS("shown"), dict)
_OPENING: Kept[dict[str, Heads]] = Kept(KEYS("opening"), dict)
_LAST: Kept[str | None] = Kept(KEYS("page"), nothing)
"""The heads a person selected last; those each page showed last and opened with; the last page."""


def brought(page: str) -> Heads:
    """The heads that a page shows to somebody who comes from another page.

    If nobody selected any and the page has none to return to, it shows those it opens with.

    Returns:
        No heads if the page goes on with those it has: it is shown already, its address says what
        to show, or it opens anew.
    """
    if address.is_followed() or _LAST.value in (None, page):
        return ()
    heads = _SELECTED.value or _SHOWN.value.get(page, ())
    if not heads:
        address.bring(layer=USUAL, head=USUAL)
    return heads


def selected_since(page: str) -> Heads | None:
    """The heads a person selected since a page last asked; None if there is nothing to show."""
    selected, shown = _SELECTED.value, _SHOWN.value
    if selected == shown.get(page, ()):
        return None
    shown[page] = selected
    return None if address.is_followed() else selected


def open_with(page: str, heads: Sequence[Head]) -> None:
    """Note the heads that a page opens with by itself."""
    _OPENING.value[page] = tuple(heads)


def shown_on(page: str) -> Heads:
    """The heads that a page showed last."""
    return _SHOWN.value.get(page, ())


def note(page: str, heads: Sequence[Head]) -> None:
    """Note the heads that a page shows; a person selected all but those of `open_with`."""
    heads, shown = tuple(heads), _SHOWN.value
    _LAST.value = page
    if heads == shown.get(page):
        return
    shown[page] = heads
    if _SELECTED.value or heads != _OPENING.value.get(page):
        _SELECTED.value = heads
