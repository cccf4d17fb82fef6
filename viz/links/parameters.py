"""The declaration of a page: name, icon and address parameters."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from inspect import get_annotations
from typing import Any, Generic, TypeVar

from viz.draw.keys import Keys
from viz.draw.labels import visible

T = TypeVar("T")
V = TypeVar("V")

MOST_CHARACTERS = 5000
"""The limit for a sentence, for a translation, and for all other sentences of a batch together."""

QUOTED_CHARACTERS = 40
"""The most characters of an illegal value that a notice repeats."""

Key = tuple[str, str]
"""The owner and the name of a parameter."""

LISTED_OPTIONS = 8
"""The most options that a notice lists."""


@dataclass(frozen=True, slots=True)
class Parameter(Generic[T]):
    """One value that the address holds.

    Attributes:
        default: what an address without it stands for.
        parse: text to value; raises ValueError with the end of the sentence "The address asks for
            NAME “TEXT”, …", such as "which is not 0 or 1".
        write: value to text; `parse` reads it back.
        instead: the end of the same sentence where the default's text says little, such as "the
            first one is shown".
        meaning: what it is, for a table of parameters.
        values: what it may be, in Markdown, for the same table.
        was: its name in older links, which are still read.
        owner: the class that declares it. Pages that list it share its value, and no other page has
            it, even under the same name; "" for what all pages share.
        page: the name of the page that shows it; "" for what all pages share.
    """

    name: str
    default: T
    parse: Callable[[str], T]
    write: Callable[[T], str] = str
    instead: str = ""
    meaning: str = ""
    values: str = ""
    was: str = ""
    owner: str = ""
    page: str = ""

    @property
    def key(self) -> Key:
        """What tells its value from those of all other parameters."""
        return self.owner, self.name

    @property
    def widget(self) -> str:
        """The key of its widget, under which the session has its value while its page is open."""
        return Keys(self.page)(self.name) if self.page else self.name


def kept(make: Callable[..., Parameter[T]], *given: Any, was: str = "", **options: Any) -> T:
    """A field of a page's dataclass that is kept in the address, under the field's name.

    Args:
        make: what makes its parameter of a name and the other arguments.
        was: its name in older links.
    """

    def named(name: str) -> Parameter[T]:
        return replace(make(name, *given, **options), was=was)

    value: T = field(default=named("").default, metadata={"named": named})
    return value


def kept_in(view: type) -> tuple[Parameter[Any], ...]:
    """The parameters of a page's dataclass, its own before those that other pages have too."""
    owners = {name: each for each in view.__mro__[::-1] for name in get_annotations(each)}
    listed = sorted(fields(view), key=lambda each: owners[each.name] is not view)
    return tuple(
        replace(each.metadata["named"](each.name), owner=owners[each.name].__qualname__)
        for each in listed
    )


def renamed(query: Mapping[str, V], parameters: Iterable[Parameter[Any]]) -> dict[str, V]:
    """A query with current parameter names instead of older ones."""
    names = {each.was: each.name for each in parameters if each.was}
    return {names.get(name, name): value for name, value in query.items()}


def text(
    name: str, default: str = "", *, most: int, meaning: str = "", values: str = ""
) -> Parameter[str]:
    """Any text of limited length."""

    def parse_text(written: str) -> str:
        if len(written) > most:
            raise ValueError(f"which has {len(written):,} characters, and at most {most:,} fit")
        return written

    values = values or f"text, at most {most:,} characters"
    return Parameter(name, default, parse_text, meaning=meaning, values=values)


def choice(
    name: str,
    default: T,
    options: Iterable[T],
    meaning: str = "",
    *,
    before: Mapping[str, T] | None = None,
) -> Parameter[T]:
    """One of several options, written as `str` writes it.

    Args:
        name: as in Parameter.
        default: as in Parameter.
        meaning: as in Parameter.
        before: what the values of older links stand for that are no options any more.
    """
    known = {str(option): option for option in options}
    readable = {**(before or {}), **known}

    def parse_choice(written: str) -> T:
        if written in readable:
            return readable[written]
        listed = ", ".join(list(filter(None, known))[:LISTED_OPTIONS])
        more = ", …" if len(known) > LISTED_OPTIONS else ""
        raise ValueError(f"which is none of {listed}{more}")

    values = ", ".join(
        f"`{text}` (default)" if option == default else f"`{text}`"
        for text, option in known.items()
        if text
    )
    return Parameter(name, default, parse_choice, meaning=meaning, values=values)


def integer(name: str, default: int, *, low: int, high: int, meaning: str = "") -> Parameter[int]:
    """A whole number from low to high, both included."""

    def parse_integer(written: str) -> int:
        # int() alone would accept spaces, underscores and the digits of every script.
        if re.fullmatch(r"-?[0-9]{1,9}", written) and low <= int(written) <= high:
            return int(written)
        raise ValueError(f"which is not a whole number from {low} to {high}")

    values = f"{low:,} to {high:,}; default: {default:,}"
    return Parameter(name, default, parse_integer, meaning=meaning, values=values)


def pattern(name: str, form: str, described: str, meaning: str = "") -> Parameter[str]:
    """A text of a given form, or empty.

    Args:
        name: as in Parameter.
        form: a regular expression for the whole text.
        described: the form in words, with an example.
        meaning: as in Parameter.
    """

    def parse_pattern(written: str) -> str:
        if written and not re.fullmatch(form, written):
            raise ValueError(f"and that is not {described}")
        return written

    return Parameter(name, "", parse_pattern, meaning=meaning, values=described)


def flag(name: str, default: bool = False, meaning: str = "") -> Parameter[bool]:
    """Yes or no, written 1 or 0."""

    def parse_flag(written: str) -> bool:
        if written in ("0", "1"):
            return written == "1"
        raise ValueError("which is not 0 or 1")

    values = "0, 1 (default)" if default else "0 (default), 1"
    return Parameter(
        name,
        default,
        parse_flag,
        lambda value: "1" if value else "0",
        meaning=meaning,
        values=values,
    )


def parse(
    query: Mapping[str, str], parameters: Iterable[Parameter[Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Read an address: a legal value for every parameter, and a notice for each illegal one.

    Args:
        query: the texts by name, as they stand in the address; those of no parameter are ignored.

    Returns:
        The values by name, the default where the address has none or an illegal one, and by name
        one sentence of plain text for each illegal one; escape it before it is shown.
    """
    values: dict[str, Any] = {}
    notices: dict[str, str] = {}
    parameters = tuple(parameters)
    query = renamed(query, parameters)
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


@dataclass(frozen=True, slots=True)
class View:
    """A page of the app; it can be read without running the page.

    Attributes:
        name: of its folder, of its module in viz/pages, and in its address.
        icon: the same.
        asks: whether the sentence bar stands above it.
        without_model: what cannot be shown without one, as the subject of a sentence; empty for a
            page that shows traces as well.
    """

    name: str
    title: str
    icon: str
    parameters: tuple[Parameter[Any], ...] = ()
    asks: bool = True
    without_model: str = ""

    def __post_init__(self) -> None:
        own = tuple(replace(each, page=self.name) for each in self.parameters)
        object.__setattr__(self, "parameters", own)

    @property
    def keys(self) -> Keys:
        """The keys of what the page shows; a parameter's widget has that of its name."""
        return Keys(self.name)

    def parameter(self, name: str) -> Parameter[Any]:
        """The parameter of a name."""
        return next(each for each in self.parameters if each.name == name)


def table(parameters: Iterable[Parameter[Any]]) -> str:
    """Parameters as a table in Markdown."""
    rows = [f"| `{each.name}` | {each.meaning} | {each.values} |" for each in parameters]
    return "\n".join(["| parameter | what | values |", "|---|---|---|", *rows])


def _quoted(written: str) -> str:
    shown = visible(written)
    return f"“{shown[:QUOTED_CHARACTERS]}{'…' if len(shown) > QUOTED_CHARACTERS else ''}”"
