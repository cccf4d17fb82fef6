"""The state of a view in its address, both ways: what a link opens, and what a click writes.

One module owns the address. Widgets bound to it one by one (`bind="query-params"`) leave
`st.query_params` behind what the browser shows, and two writers overwrite each other.

A run of the app goes: `arrive` in the router, `open_address` for what the sentence bar and then the
page keep in the address, each before its widgets, and `write_address` at the end. A fragment ends
with `write_address` as well, since it runs without its page.

Streamlit makes every change of the query an entry of the browser's history, and Back a new run with
the older query; so Back undoes, and nothing may be written that says no more than the address says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import streamlit as st

from viz.draw.labels import escape_markdown, visible

T = TypeVar("T")

QUOTED_CHARACTERS = 40
"""So much of an illegal value is repeated in a notice."""

LISTED_OPTIONS = 8
"""So many options are named to someone whose address asks for another."""

_VISIT, _GOING, _REMAINING = "_visit", "_going", "_remaining"
"""Keys in Streamlit's session state; no parameter is called that."""


@dataclass(frozen=True, slots=True)
class Parameter(Generic[T]):
    """One value that the address holds, under the name that it has in the session state too.

    Attributes:
        name: in the address and in the session state.
        default: what an address without it stands for.
        parse: text to value; raises ValueError with the end of the sentence "The address asks for
            NAME “TEXT”, …", such as "which is not 0 or 1".
        write: value to text; `parse` reads it back.
        instead: the end of the same sentence where the default's text says little, such as "the
            first one is shown".
    """

    name: str
    default: T
    parse: Callable[[str], T]
    write: Callable[[T], str] = str
    instead: str = ""


def text(name: str, default: str = "", *, most: int) -> Parameter[str]:
    """Any text of at most so many characters."""

    def parse_text(written: str) -> str:
        if len(written) > most:
            raise ValueError(f"which has {len(written):,} characters where {most:,} are taken")
        return written

    return Parameter(name, default, parse_text)


def choice(name: str, default: T, options: Iterable[T]) -> Parameter[T]:
    """One of several options, written as `str` writes it."""
    known = {str(option): option for option in options}

    def parse_choice(written: str) -> T:
        if written in known:
            return known[written]
        listed = ", ".join(list(filter(None, known))[:LISTED_OPTIONS])
        more = ", …" if len(known) > LISTED_OPTIONS else ""
        raise ValueError(f"which is none of {listed}{more}")

    return Parameter(name, default, parse_choice)


def integer(name: str, default: int, *, low: int, high: int) -> Parameter[int]:
    """A whole number from low to high, both included."""

    def parse_integer(written: str) -> int:
        # int() alone would take spaces, underscores and the digits of every script.
        if re.fullmatch(r"-?[0-9]{1,9}", written) and low <= int(written) <= high:
            return int(written)
        raise ValueError(f"which is not a whole number from {low} to {high}")

    return Parameter(name, default, parse_integer)


def pattern(name: str, form: str, described: str) -> Parameter[str]:
    """A text of a fixed form, or none.

    Args:
        name: as in Parameter.
        form: a regular expression for the whole text.
        described: the form in words, with an example.
    """

    def parse_pattern(written: str) -> str:
        if written and not re.fullmatch(form, written):
            raise ValueError(f"and that is not {described}")
        return written

    return Parameter(name, "", parse_pattern)


def flag(name: str, default: bool = False) -> Parameter[bool]:
    """Yes or no, written 1 or 0."""

    def parse_flag(written: str) -> bool:
        if written in ("0", "1"):
            return written == "1"
        raise ValueError("which is not 0 or 1")

    return Parameter(name, default, parse_flag, lambda value: "1" if value else "0")


def parse(
    query: Mapping[str, str], parameters: Iterable[Parameter[Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What an address says: a legal value for every parameter, and a notice for each illegal one.

    Args:
        query: the texts by name, as they stand in the address; those of no parameter are ignored.
        parameters: what may stand there.

    Returns:
        The values by name, the default where the address has none or an illegal one, and by name
        one sentence of plain text for each illegal one; escape it before it is shown.
    """
    values: dict[str, Any] = {}
    notices: dict[str, str] = {}
    for parameter in parameters:
        values[parameter.name] = parameter.default
        if parameter.name not in query:
            continue
        written = query[parameter.name]
        try:
            values[parameter.name] = parameter.parse(written)
        except ValueError as reason:
            usual = parameter.write(parameter.default)
            shown = parameter.instead or (
                f"shown instead: {_quoted(usual)}" if usual else "it is left out"
            )
            notices[parameter.name] = (
                f"The address asks for {parameter.name} {_quoted(written)}, {reason}; {shown}."
            )
    return values, notices


def write(values: Mapping[str, Any], parameters: Iterable[Parameter[Any]]) -> dict[str, str]:
    """The query of an address that `parse` reads as these values, without the defaults.

    A value that its own parser refuses, such as a pasted book, is left out: a link to it would open
    nothing.

    Args:
        values: by name; what is missing counts as the default.
        parameters: what may stand in the address.
    """
    query = {}
    for parameter in parameters:
        value = values.get(parameter.name, parameter.default)
        if value == parameter.default:
            continue
        written = parameter.write(value)
        try:
            parameter.parse(written)
        except ValueError:
            continue
        query[parameter.name] = written
    return query


@dataclass(slots=True)
class _Visit:
    """What one session knows about its address.

    Attributes:
        page: where it is.
        query: what the browser shows, as far as is known.
        reading: whether values come from the address, and not from the session.
        opened: the parameters that were read from this address already.
        parameters: those of the sentence bar and of the page, by name.
        kept: the last value of every parameter of every page.
        shown: the values that the address stands for; None if it has yet to be written.
        blanks: what an address without a query stood for when its page was come to, by page.
        notices: what is to be said of the values that are shown, by parameter.
    """

    page: str
    query: dict[str, str]
    reading: bool = True
    opened: set[str] = field(default_factory=set)
    parameters: dict[str, Parameter[Any]] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] | None = None
    blanks: dict[str, dict[str, Any]] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        """The session's value of every parameter at hand."""
        return {
            name: st.session_state.get(name, self.kept.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }

    def is_touched(self) -> bool:
        """Whether a widget changed a value since the address was last looked after."""
        return any(self.kept.get(name, value) != value for name, value in self.values().items())


def arrive(page: str, pages: Sequence[Any] = ()) -> None:
    """Find out whether this run follows the address or the widgets; the router calls it first.

    Args:
        page: the page's path, which tells pages apart.
        pages: every st.Page, among which `go` leads.
    """
    visit: _Visit | None = st.session_state.get(_VISIT)
    going: tuple[str, dict[str, str]] | None = st.session_state.pop(_GOING, None)
    if going is not None and visit is not None:
        _follow(visit, page, going, pages)
        return
    query = st.query_params.to_dict()
    remains = st.session_state.pop(_REMAINING, False)
    if visit is None:
        st.session_state[_VISIT] = _Visit(page, query)
        return
    if page != visit.page or query != visit.query or visit.is_touched():
        visit.notices.clear()
    if page != visit.page:
        # A click on a page's name brings an address without a query, and means: the same, there.
        visit.reading = bool(query)
        if not query:
            visit.blanks[page] = dict(visit.kept)
        visit.parameters.clear()
    elif query == visit.query:
        # Not visit.reading = False: a run that was interrupted leaves the rest to be read.
        return
    elif visit.is_touched() or remains:
        # Sent before the browser heard what the run before had written: not the Back button.
        return
    else:
        visit.reading = True
    visit.page, visit.query, visit.shown = page, query, None
    visit.opened.clear()


def _follow(
    visit: _Visit, page: str, going: tuple[str, dict[str, str]], pages: Sequence[Any]
) -> None:
    """Let this run show what `go` asked for, whatever the browser says of its address."""
    other, query = going
    if other != page:
        found = next(each for each in pages if each.url_path == other)
        st.switch_page(found, query_params=query)
    if page != visit.page:
        visit.parameters.clear()
    visit.notices.clear()
    st.query_params.from_dict(query)
    visit.page, visit.query, visit.reading, visit.shown = page, query, True, None
    visit.opened.clear()


def go(page: str, query: Mapping[str, str]) -> None:
    """Let the next run of the app show another view; call it in a callback.

    Args:
        page: the page's path.
        query: all that its address is to hold; what is missing has its default.
    """
    st.session_state[_GOING] = (page, dict(query))


def remain() -> None:
    """Let the next run keep its view, as what runs it is no Back button; call it in a callback.

    For what the page itself reports, such as another width, and what changes no parameter.
    """
    st.session_state[_REMAINING] = True


def is_going() -> bool:
    """Whether `go` was called and the app has not run since, as in a fragment."""
    return _GOING in st.session_state


def is_followed() -> bool:
    """Whether this run shows what its address asks for, and not what a widget changed."""
    visit: _Visit = st.session_state[_VISIT]
    return visit.reading and visit.shown is None


def current() -> tuple[str, dict[str, str]]:
    """The page's path, and the query that opens it as it is now, without the defaults."""
    visit: _Visit = st.session_state[_VISIT]
    return visit.page, write(visit.values(), visit.parameters.values())


def asked() -> dict[str, str]:
    """The query that the browser shows."""
    visit: _Visit = st.session_state[_VISIT]
    return dict(visit.query)


def plain(query: Mapping[str, str]) -> dict[str, str]:
    """A query of this page without the defaults in it, and without what the page does not know."""
    visit: _Visit = st.session_state[_VISIT]
    values, _ = parse(query, visit.parameters.values())
    return write(values, visit.parameters.values())


def open_address(parameters: Iterable[Parameter[Any]]) -> None:
    """Put a value for every parameter into the session state; call it before their widgets.

    The values are those of the address when a session begins, and again when the address is another
    than the one last written (Back, a link). Else the session's own values stay, also those of
    widgets that another page did not show, which Streamlit forgets.

    What is illegal in the address is noted for `show_notices`.
    """
    visit: _Visit = st.session_state[_VISIT]
    parameters = tuple(parameters)
    visit.parameters |= {parameter.name: parameter for parameter in parameters}
    unread = [
        parameter
        for parameter in parameters
        if visit.reading and parameter.name not in visit.opened
    ]
    values, notices = parse(visit.query, unread)
    if not visit.query:
        blank = visit.blanks.get(visit.page, {})
        values |= {name: blank[name] for name in values if name in blank}
    for name, value in values.items():
        st.session_state[name] = value
        visit.opened.add(name)
    for parameter in parameters:
        if parameter.name not in st.session_state:
            st.session_state[parameter.name] = visit.kept.get(parameter.name, parameter.default)
        visit.kept.setdefault(parameter.name, st.session_state[parameter.name])
    visit.kept |= values
    visit.notices |= notices


def note(name: str, notice: str) -> None:
    """Let `show_notices` say a sentence of plain text about a parameter, as if of its address."""
    visit: _Visit = st.session_state[_VISIT]
    visit.notices[name] = notice


def show_notices() -> None:
    """Show what an address got wrong, and what else was noted, with a button that puts it right.

    Both stay until the visitor changes something. Call it once a run, when all was opened.
    """
    visit: _Visit = st.session_state[_VISIT]
    notices = [escape_markdown(notice) for notice in visit.notices.values()]
    if not notices:
        return
    with st.container(horizontal=True, gap="small"):
        if len(notices) == 1:
            st.warning(notices[0], icon=":material/link_off:")
        else:
            # Folded, since a list would push the picture off the first screen.
            with st.expander(
                f"{len(notices)} parts of this address could not be shown as asked",
                icon=":material/link_off:",
            ):
                for notice in notices:
                    st.markdown(f"- {notice}")
        st.button(
            "Clean the address",
            key="clean-address",
            icon=":material/mop:",
            on_click=clean,
        )


def clean() -> None:
    """Let the address say what is shown and nothing else; call it in a callback."""
    visit: _Visit = st.session_state[_VISIT]
    visit.notices.clear()
    values = visit.values()
    query = write(values, visit.parameters.values())
    st.query_params.from_dict(query)
    visit.query, visit.shown = query, values


def held(name: str) -> Any:
    """What the session holds under a name: the default to give to the widget of that name.

    Streamlit tells the browser of a value that the script set in the run that set it, and only of
    the default in later ones. A widget whose code is still being loaded when the second run comes,
    as on a slow line, hears nothing but that default, begins with it and sends it back as chosen.
    """
    return st.session_state[name]


def write_address() -> None:
    """Let the address say what is shown now: what the sentence bar and this page keep there.

    Writes nothing while the address already stands for it. The values of other pages leave the
    address and stay with the session.
    """
    visit: _Visit = st.session_state[_VISIT]
    values = visit.values()
    visit.kept |= values
    if visit.reading and visit.shown is None:
        visit.shown = values
    if values == visit.shown:
        return
    query = write(values, visit.parameters.values())
    if query != visit.query:
        st.query_params.from_dict(query)
    # Only now: a newer run may have interrupted the writing.
    visit.query, visit.shown = query, values


def _quoted(written: str) -> str:
    shown = visible(written)
    return f"“{shown[:QUOTED_CHARACTERS]}{'…' if len(shown) > QUOTED_CHARACTERS else ''}”"
