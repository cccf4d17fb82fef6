"""The state of a view in its address, both ways: what a link opens, and what a click writes.

One module owns the address. Widgets bound to it one by one (`bind="query-params"`) leave
`st.query_params` behind what the browser shows, and two writers overwrite each other.

A run of the app goes: `begin_run` in the router, `open_address` for what the sentence bar and then
the page keep in the address, each before its widgets, and `write_address` at the end. A fragment
ends with `write_address` as well, since it runs without its page.

Streamlit makes every change of the query an entry of the browser's history, and Back a new run with
the older query; so Back undoes, and nothing may be written that says no more than the address says.
A message that the browser sent before it heard of an address brings an older query as well, and may
undo nothing; `_Visit.unheard` tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.draw.labels import escape_markdown
from viz.links.parameters import Parameter, parse, renamed, write

V = TypeVar("V")

_VISIT, _NAVIGATING = "_visit", "_going"
"""Keys in Streamlit's session state; no parameter is called that."""


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
        unheard: the queries that the browser may still send, until it sends the last one written.
        before: the values that it may still send until then, by parameter.
        blanks: what an address without a query stood for when its page was come to, by page.
        notices: what is to be said of the values that are shown, by parameter.
        script: Streamlit's mark of the page.
    """

    page: str
    query: dict[str, str]
    reading: bool = True
    opened: set[str] = field(default_factory=set)
    parameters: dict[str, Parameter[Any]] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] | None = None
    unheard: list[dict[str, str]] = field(default_factory=list)
    before: dict[str, list[Any]] = field(default_factory=dict)
    blanks: dict[str, dict[str, Any]] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    script: str = ""

    def values(self) -> dict[str, Any]:
        """The session's value of every parameter at hand."""
        return {
            name: st.session_state.get(name, self.kept.get(name, parameter.default))
            for name, parameter in self.parameters.items()
        }

    def is_following(self) -> bool:
        """Whether no run has come to its end yet since the address was another."""
        return self.reading and self.shown is None

    def follow(self, page: str, query: dict[str, str], *, reads: bool = True) -> None:
        """Go where an address leads, by `query` or, unless `reads`, with what the session has."""
        for name, value in self.kept.items():
            self.before.setdefault(name, []).append(value)
        self.page, self.query, self.reading, self.shown = page, query, reads, None
        self.opened.clear()

    def write(self, query: dict[str, str]) -> None:
        """Let the browser show another query."""
        st.query_params.from_dict(query)
        self.unheard.append(self.query)
        self.query = query

    def hear(self, query: dict[str, str]) -> None:
        """Take note of what the browser says of its address."""
        if query == self.query and not self.is_following():
            self.unheard.clear()
            self.before.clear()

    def is_stale(self, page: str, query: dict[str, str]) -> bool:
        """Whether the browser said this before it heard of the address, and not to go back."""
        context = get_script_run_ctx()
        goes_back = context is not None and context.is_history_navigation
        # A slow browser says the new query before it says its page.
        is_half_heard = page != self.page and query == self.query and bool(self.unheard)
        return (is_half_heard or query in self.unheard) and not goes_back

    def restore(self) -> None:
        """Say again what the address says where the browser has not heard of it.

        With every run the browser sends the values of all widgets. Until it has heard of the run
        that followed an address, those are still the values from before.
        """
        for name in self.parameters:
            if st.session_state.get(name) in self.before.get(name, ()):
                st.session_state[name] = self.kept[name]

    def is_touched(self) -> bool:
        """Whether a widget changed a value since the address was last looked after."""
        return any(self.kept.get(name, value) != value for name, value in self.values().items())


def begin_run(page: str, pages: Sequence[Any] = ()) -> None:
    """Find out whether this run follows the address or the widgets; the router calls it first.

    Args:
        page: the page's path, which tells pages apart.
        pages: every st.Page, among which `navigate` leads.
    """
    visit: _Visit | None = st.session_state.get(_VISIT)
    target: tuple[str, dict[str, str]] | None = st.session_state.get(_NAVIGATING)
    if target is not None and visit is not None:
        _follow(visit, page, target, pages)
        return
    query = st.query_params.to_dict()
    if visit is None:
        st.session_state[_VISIT] = _Visit(page, query, script=_script())
        return
    if page != visit.page and query and visit.is_stale(page, query):
        # Sent from the page that was left. Without a query it would be a click on a page's name.
        st.switch_page(_page_of(visit.page, pages), query_params=visit.query)
    visit.script = _script()
    visit.hear(query)
    if visit.is_following() or query in visit.unheard:
        visit.restore()
    leads = query != visit.query and not visit.is_stale(page, query)
    if page != visit.page or leads or visit.is_touched():
        visit.notices.clear()
    if page != visit.page:
        if not query:
            visit.blanks[page] = dict(visit.kept)
        visit.parameters.clear()
        # A click on a page's name brings an address without a query, and means: the same, there.
        visit.follow(page, query, reads=bool(query))
    elif leads:
        # Else not visit.reading = False: a run that was interrupted leaves the rest to be read.
        visit.follow(page, query)


def _follow(
    visit: _Visit, page: str, target: tuple[str, dict[str, str]], pages: Sequence[Any]
) -> None:
    """Let this run show what `navigate` asked for, whatever the browser says of its address."""
    other, query = target
    if other != page:
        st.switch_page(_page_of(other, pages), query_params=query)
    visit.script = _script()
    # A newer run may have ended this one below.
    if not visit.is_following() or (page, query) != (visit.page, visit.query):
        visit.write(query)
        if page != visit.page:
            visit.parameters.clear()
        visit.notices.clear()
        visit.follow(page, query)
    # Only now, and only there: a message that the browser sent from here may overtake the other
    # page's run.
    del st.session_state[_NAVIGATING]


def _page_of(path: str, pages: Sequence[Any]) -> Any:
    return next(each for each in pages if each.url_path == path)


def begin_fragment() -> None:
    """Call it first where a part of a page runs by itself."""
    visit: _Visit = st.session_state[_VISIT]
    query = st.query_params.to_dict()
    visit.hear(query)
    if query in visit.unheard:
        visit.restore()


def navigate(page: str, query: Mapping[str, str]) -> None:
    """Let the next run of the app show another view; call it in a callback.

    Args:
        page: the page's path.
        query: all that its address is to hold; what is missing has its default.
    """
    st.session_state[_NAVIGATING] = (page, dict(query))


def is_navigating() -> bool:
    """Whether `navigate` was called and the app has not run since, as in a fragment."""
    return _NAVIGATING in st.session_state


def is_followed() -> bool:
    """Whether this run shows what its address asks for, and not what a widget changed.

    In a callback: whether the last run was to do so, and was cut short; or whether this was told
    on a page that was left since.
    """
    visit: _Visit = st.session_state[_VISIT]
    return visit.is_following() or _script() != visit.script


def _script() -> str:
    """Streamlit's mark of the page that the browser shows, as far as the browser said."""
    context = get_script_run_ctx()
    return context.page_script_hash if context else ""


def current() -> tuple[str, dict[str, str]]:
    """The page's path, and the query that opens it as it is now, without the defaults."""
    visit: _Visit = st.session_state[_VISIT]
    return visit.page, write(visit.values(), visit.parameters.values())


def asked() -> dict[str, str]:
    """The query that the browser shows, by the names of today."""
    visit: _Visit = st.session_state[_VISIT]
    return renamed(visit.query, visit.parameters.values())


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
    # First of all, since a newer run may end this one wherever it uses the session state, and then
    # restores what is kept.
    visit.kept |= values
    visit.opened |= values.keys()
    visit.notices |= notices
    for name, value in values.items():
        st.session_state[name] = value
    for parameter in parameters:
        if parameter.name not in st.session_state:
            st.session_state[parameter.name] = visit.kept.get(parameter.name, parameter.default)
        visit.kept.setdefault(parameter.name, st.session_state[parameter.name])


def read(view: type[V]) -> V:
    """What the page's parameters are now, as one value.

    Read it when all was opened, and again after `change`; a fragment and a callback read it anew,
    since they run without their page. Its values are the defaults of widgets, as of `value_of`.

    Args:
        view: a dataclass with a field for each, by name, and their defaults.
    """
    visit: _Visit = st.session_state[_VISIT]
    # A callback may be one of a page that was left, or that was come to and not run so far.
    return _view(view, visit.kept | visit.values())


def last(view: type[V]) -> V:
    """What a page's parameters were when it was last shown; before that, what it opens with.

    Args:
        view: a dataclass with a field for each, by name, and their defaults.
    """
    visit: _Visit = st.session_state[_VISIT]
    return _view(view, visit.kept)


def _view(view: type[V], values: Mapping[str, Any]) -> V:
    names = [each.name for each in fields(view) if each.name in values]  # type: ignore[arg-type]
    return view(**{name: values[name] for name in names})


def change(**values: Any) -> None:
    """Give parameters other values, by name; of those whose widgets stand already, in callbacks."""
    st.session_state.update(values)


def bring(**values: Any) -> None:
    """Give parameters of the page that is just come to values from another page, by name.

    As `change`; and Back, from what is then written, leads to them too.
    """
    visit: _Visit = st.session_state[_VISIT]
    change(**values)
    if visit.page in visit.blanks:
        visit.blanks[visit.page] |= values


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
    visit.write(write(values, visit.parameters.values()))
    visit.shown = values


def value_of(name: str) -> Any:
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
    if visit.is_following():
        visit.shown = values
    if values == visit.shown:
        return
    query = write(values, visit.parameters.values())
    if query != visit.query:
        visit.write(query)
    # Only now: a newer run may have interrupted the writing.
    visit.shown = values
