"""A view's state in its address, both ways: what a link opens, and what a click writes.

One module owns the address. With widgets bound to it one by one (`bind="query-params"`),
`st.query_params` lags behind what the browser shows, and two writers overwrite each other.

A run of the app goes: `begin_run` in the router, `open_address` for what the sentence bar and then
the page keep in the address, each before its widgets, and `write_address` at the end. A fragment
ends with `write_address` as well, since it runs without its page.

Streamlit makes every change of the query an entry of the browser's history, and Back a new run with
the older query. So Back undoes, and nothing may be written that adds nothing to the address. A
message that the browser sent before it received an address brings an older query too, and must not
undo anything; `_Visit.unheard` tells the two apart.

Pages share a value only where they share the class that declares it (`Parameter.owner`). The
session state has the values of the open page, by their widgets; `_Visit.kept` has those of every
page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz.browser.kept import Kept, nothing
from viz.draw.keys import Keys
from viz.draw.labels import escape_markdown
from viz.links.parameters import Key, Parameter, View, kept_in, parse, renamed, write
from viz.registry.pages import HOME, VIEWS

T = TypeVar("T")
V = TypeVar("V")

KEYS = Keys("address")


@dataclass(slots=True)
class _Visit:
    """What a session knows about its address.

    Attributes:
        query: what the browser shows, as far as is known.
        reading: whether values come from the address instead of the session.
        opened: the parameters already read from this address.
        parameters: those of the sentence bar and of the page, by name.
        kept: the last value of every parameter of every page.
        shown: the values that the address stands for; None if it has yet to be written.
        unheard: the queries that the browser may still send, until it sends the last one written.
        before: the values that it may still send until then.
        blanks: the values of an address without a query when its page was opened, by page.
        notices: notices about the values that are shown, by parameter's name.
    """

    page: str
    query: dict[str, str]
    reading: bool = True
    opened: set[str] = field(default_factory=set)
    parameters: dict[str, Parameter[Any]] = field(default_factory=dict)
    kept: dict[Key, Any] = field(default_factory=dict)
    shown: dict[str, Any] | None = None
    unheard: list[dict[str, str]] = field(default_factory=list)
    before: dict[Key, list[Any]] = field(default_factory=dict)
    blanks: dict[str, dict[Key, Any]] = field(default_factory=dict)
    notices: dict[str, str] = field(default_factory=dict)
    script: str = ""

    def values(self) -> dict[str, Any]:
        """The session's value of every open parameter."""
        return {name: self._value(parameter) for name, parameter in self.parameters.items()}

    def _value(self, parameter: Parameter[Any]) -> Any:
        kept = self.kept.get(parameter.key, parameter.default)
        return st.session_state.get(parameter.widget, kept)

    def by_key(self, values: Mapping[str, Any]) -> dict[Key, Any]:
        """Values of open parameters by their keys instead of their names."""
        return {self.parameters[name].key: value for name, value in values.items()}

    def leave(self) -> None:
        """Keep the values of the page; a run that was cut short has not."""
        self.kept |= self.by_key(self.values())
        self.parameters.clear()

    def is_following(self) -> bool:
        """Whether no run has ended yet since the address changed."""
        return self.reading and self.shown is None

    def follow(self, page: str, query: dict[str, str], *, reads: bool = True) -> None:
        """Open an address with the values of `query`, or the session's own unless `reads`."""
        for key, value in self.kept.items():
            self.before.setdefault(key, []).append(value)
        self.page, self.query, self.reading, self.shown = page, query, reads, None
        self.opened.clear()

    def write(self, query: dict[str, str]) -> None:
        """Write another query."""
        st.query_params.from_dict(query)
        self.unheard.append(self.query)
        self.query = query

    def hear(self, query: dict[str, str]) -> None:
        """Note the query that the browser sends."""
        if query == self.query and not self.is_following():
            self.unheard.clear()
            self.before.clear()

    def is_stale(self, page: str, query: dict[str, str]) -> bool:
        """Whether the browser sent this before it received the address, and not to go back."""
        context = get_script_run_ctx()
        goes_back = context is not None and context.is_history_navigation
        # A slow browser sends the new query before the new page.
        is_half_heard = page != self.page and query == self.query and bool(self.unheard)
        return (is_half_heard or query in self.unheard) and not goes_back

    def restore(self) -> None:
        """Put back the values of the address where the browser has not received them.

        The browser sends the values of all widgets with every run. Until it receives the run that
        followed an address, these are still the values from before.
        """
        for each in self.parameters.values():
            if st.session_state.get(each.widget) in self.before.get(each.key, ()):
                st.session_state[each.widget] = self.kept[each.key]

    def is_touched(self) -> bool:
        """Whether a widget changed a value since the last run ended."""
        now = self.by_key(self.values())
        return any(self.kept.get(key, value) != value for key, value in now.items())


_VISIT: Kept[_Visit | None] = Kept(KEYS("visit"), nothing)
_TARGET: Kept[tuple[str, dict[str, str]] | None] = Kept(KEYS("target"), nothing)
"""The page and the query that `navigate` asked for."""


def _visit() -> _Visit:
    visit = _VISIT.value
    assert visit is not None, "begin_run comes first"
    return visit


def begin_run(page: str, pages: Sequence[Any] = ()) -> None:
    """Decide whether this run follows the address or the widgets; the router calls it first.

    Args:
        page: the page's path, which tells pages apart.
        pages: every st.Page, as targets of `navigate`.
    """
    visit, target = _VISIT.value, _TARGET.value
    if target is not None and visit is not None:
        _follow(visit, page, target, pages)
        return
    query = st.query_params.to_dict()
    if visit is None:
        _VISIT.value = _Visit(page, query, script=_script())
        return
    if page != visit.page and query and visit.is_stale(page, query):
        # Sent from the page that was left; a click on a page's name comes without a query.
        st.switch_page(_page_of(visit.page, pages), query_params=visit.query)
    visit.script = _script()
    visit.hear(query)
    if visit.is_following() or query in visit.unheard:
        visit.restore()
    leads = query != visit.query and not visit.is_stale(page, query)
    if page != visit.page or leads or visit.is_touched():
        visit.notices.clear()
    if page != visit.page:
        visit.leave()
        if not query:
            visit.blanks[page] = dict(visit.kept)
        # A click on a page's name brings no query, and means: the same values, there.
        visit.follow(page, query, reads=bool(query))
    elif leads:
        # Otherwise visit.reading stays: an interrupted run leaves the rest to be read.
        visit.follow(page, query)


def _follow(
    visit: _Visit, page: str, target: tuple[str, dict[str, str]], pages: Sequence[Any]
) -> None:
    """Let this run show what `navigate` asked for, whatever query the browser sends."""
    other, query = target
    if other != page:
        st.switch_page(_page_of(other, pages), query_params=query)
    visit.script = _script()
    # A newer run may have ended this one further below.
    if not visit.is_following() or (page, query) != (visit.page, visit.query):
        visit.write(query)
        if page != visit.page:
            visit.leave()
        visit.notices.clear()
        visit.follow(page, query)
    # Only now, and only on that page: a message that the browser sent from the page before may
    # overtake its run.
    _TARGET.value = None


def _page_of(path: str, pages: Sequence[Any]) -> Any:
    return next(each for each in pages if each.url_path == path)


def begin_fragment() -> None:
    """Call it first in a part of a page that runs by itself."""
    visit = _visit()
    query = st.query_params.to_dict()
    visit.hear(query)
    if query in visit.unheard:
        visit.restore()


def navigate(page: str, query: Mapping[str, str]) -> None:
    """Let the next run show another view; call it in a callback.

    Args:
        query: everything in its address; what is missing has its default.
    """
    # The first page has no name in an address.
    _TARGET.value = "" if page == HOME else page, dict(query)


def open_view(view: View, values: Any, **shared: str) -> None:
    """Let the next run show another page, with what the address holds besides the page it leaves.

    Call it in a callback.

    Args:
        values: what it shows, as a value of its dataclass.
        shared: other texts for what the sentence bar keeps; "" for its default.
    """
    page, query = current()
    left = {each.name for each in VIEWS[page or HOME].parameters} | shared.keys()
    around = {name: text for name, text in query.items() if name not in left}
    around |= {name: text for name, text in shared.items() if text}
    shown = {each.name: getattr(values, each.name) for each in view.parameters}
    opened = write(shown, view.parameters)
    navigate(view.name, around | opened)


def is_navigating() -> bool:
    """Whether `navigate` was called and the whole app has not run since, as in a fragment."""
    return _TARGET.value is not None


def is_followed() -> bool:
    """Whether this run shows what its address asks for, not what a widget changed.

    In a callback: whether the last run should have done so and was cut short, or whether the
    message comes from a page that was left since.
    """
    visit = _visit()
    return visit.is_following() or _script() != visit.script


def is_plain() -> bool:
    """Whether this run opens a page by its name alone, so that nobody asked for any view of it."""
    visit = _visit()
    return visit.shown is None and not visit.query


def _script() -> str:
    """Streamlit's mark of the page that the browser says it shows."""
    context = get_script_run_ctx()
    return context.page_script_hash if context else ""


def current() -> tuple[str, dict[str, str]]:
    """The page's path, and the query that reopens it, without defaults."""
    visit = _visit()
    return visit.page, write(visit.values(), visit.parameters.values())


def query() -> dict[str, str]:
    """The query that the browser shows."""
    visit = _visit()
    return renamed(visit.query, visit.parameters.values())


def plain(query: Mapping[str, str]) -> dict[str, str]:
    """A query of this page without defaults and without unknown parameters."""
    visit = _visit()
    values, _ = parse(query, visit.parameters.values())
    return write(values, visit.parameters.values())


def open_address(parameters: Iterable[Parameter[Any]]) -> None:
    """Put a value for every parameter into the session state; call it before their widgets.

    The values come from the address when a session begins, and again when the address is not the
    one last written (Back, a link). Otherwise the session keeps its values, also those of widgets
    that another page did not show, which Streamlit forgets.

    Illegal values in the address are noted for `show_notices`.
    """
    visit = _visit()
    parameters = tuple(parameters)
    # Of one that is not open yet, the session state may have the value of an earlier visit.
    absent = [
        parameter
        for parameter in parameters
        if not (parameter.name in visit.parameters and parameter.widget in st.session_state)
    ]
    visit.parameters |= {parameter.name: parameter for parameter in parameters}
    unread = [
        parameter
        for parameter in parameters
        if visit.reading and parameter.name not in visit.opened
    ]
    values, notices = parse(visit.query, unread)
    if not visit.query:
        blank = visit.blanks.get(visit.page, {})
        values |= {each.name: blank[each.key] for each in unread if each.key in blank}
    # First, since a newer run may end this one wherever it uses the session state; that run then
    # restores what is kept.
    visit.kept |= visit.by_key(values)
    visit.opened |= values.keys()
    visit.notices |= notices
    for parameter in unread:
        st.session_state[parameter.widget] = values[parameter.name]
    for parameter in absent:
        value = visit.kept.setdefault(parameter.key, parameter.default)
        st.session_state[parameter.widget] = value


def read(view: type[V]) -> V:
    """The page's parameters as one value.

    Read it once all parameters are open, and again after `change`. Fragments and callbacks read it
    again, since they run without their page. Widgets take its values as defaults, as of `value_of`.

    Args:
        view: a dataclass of fields that are `kept`.
    """
    visit = _visit()
    # The callback's page may have been left, or not run yet.
    return _view(view, visit.kept | visit.by_key(visit.values()))


def last(view: type[V]) -> V:
    """A page's parameters when it was last shown; before that, the values it opens with.

    Args:
        view: a dataclass of fields that are `kept`.
    """
    visit = _visit()
    return _view(view, visit.kept)


def _view(view: type[V], values: Mapping[Key, Any]) -> V:
    return view(**{each.name: values[each.key] for each in kept_in(view) if each.key in values})


def change(**values: Any) -> None:
    """Give parameters of this page other values; if their widgets exist already, in a callback.

    A value for a parameter of a page that was left since is dropped.
    """
    visit = _visit()
    for name in values.keys() & visit.parameters.keys():
        st.session_state[visit.parameters[name].widget] = values[name]


def bring(**values: Any) -> None:
    """Give parameters of a page that was just opened values of another page, by name.

    As `change`, and Back leads to them too.
    """
    visit = _visit()
    change(**values)
    if visit.page in visit.blanks:
        visit.blanks[visit.page] |= visit.by_key(values)


def key(*parts: object) -> str:
    """A key of the page that is open, for what several pages show."""
    return VIEWS[_visit().page or HOME].keys(*parts)


def note(name: str, notice: str) -> None:
    """Let `show_notices` show a sentence of plain text about a parameter."""
    visit = _visit()
    visit.notices[name] = notice


def show_notices() -> None:
    """Show what was wrong in the address and what else was noted, with a button that corrects it.

    Both stay until the visitor changes something. Call it once a run, after the page.
    """
    visit = _visit()
    notices = [escape_markdown(notice) for notice in visit.notices.values()]
    if not notices:
        return
    with st.container(horizontal=True, gap="small"):
        if len(notices) == 1:
            st.warning(notices[0], icon=":material/link_off:")
        else:
            # Folded, since a list would push the picture off the screen.
            with st.expander(
                f"{len(notices)} parts of this address could not be applied",
                icon=":material/link_off:",
            ):
                for notice in notices:
                    st.markdown(f"- {notice}")
        st.button(
            "Clean the address",
            key=KEYS("clean"),
            icon=":material/mop:",
            on_click=clean,
        )


def clean() -> None:
    """Let the address hold what is shown and nothing else; call it in a callback."""
    visit = _visit()
    visit.notices.clear()
    values = visit.values()
    visit.write(write(values, visit.parameters.values()))
    visit.shown = values


def now(parameter: Parameter[T]) -> T:
    """The session's value of a parameter that all pages share; its default before it was opened."""
    value: T = st.session_state.get(parameter.widget, parameter.default)
    return value


def put(parameter: Parameter[T], value: T) -> None:
    """Give a parameter that all pages share another value; after its widget, in a callback."""
    st.session_state[parameter.widget] = value


def value_of(widget: str) -> Any:
    """The session's value of a widget, by its key: the default to give to it.

    A part that runs by itself while another run ends may find that Streamlit has forgotten the
    widget, as it does with those that a stage leaves out; then it is what was kept of it. None if
    this page has no such widget.

    Streamlit sends the browser a value that the script set only in the run that set it, and only
    the default in later runs. On a slow line, a widget's code may still be loading when the second
    run comes. The widget then begins with that default and sends it back as the person's choice.
    """
    if widget in st.session_state:
        return st.session_state[widget]
    visit = _visit()
    own = (each for each in visit.parameters.values() if each.widget == widget)
    return next(map(visit._value, own), None)


def write_address() -> None:
    """Write what the sentence bar and this page keep in the address.

    Writes nothing if the address stands for it already. The values of other pages leave the address
    and stay in the session.
    """
    visit = _visit()
    values = visit.values()
    visit.kept |= visit.by_key(values)
    if visit.is_following():
        visit.shown = values
    if values == visit.shown:
        return
    query = write(values, visit.parameters.values())
    if query != visit.query:
        visit.write(query)
    # Only now: a newer run may have interrupted the writing.
    visit.shown = values
