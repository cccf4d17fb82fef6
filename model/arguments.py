"""Arguments of public functions, checked by their annotations, and names that are nearly right."""

import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import (
    IO,
    Any,
    BinaryIO,
    Literal,
    ParamSpec,
    SupportsFloat,
    SupportsIndex,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

NAMED: dict[type, tuple[Callable[[Any], Any], str]] = {}
"""Classes whose values a caller may name: what reads the name, and how names are described.

The classes enter themselves; `checked` then hands the value on.
"""

_MOST_LISTED = 40
"""Names in a sentence; of more, the nearest are listed."""

_NAMES: Mapping[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    os.PathLike: "a path",
    BinaryIO: "an open file",
    Mapping: "a dictionary",
    Sequence: "a list",
    Iterable: "a list",
    Callable: "a function",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which names an argument of a wrong type before it does anything.

    Where a class of NAMED is wanted, its names do as well.

    Annotations of other kinds than classes, their unions and lists of them are not checked.

    Raises:
        TypeError: in a sentence, on such an argument.
    """
    signature = inspect.signature(function)
    several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD

    @functools.cache
    def hints() -> Mapping[str, Any]:
        names = inspect.unwrap(function).__globals__
        found = {}
        for name, parameter in signature.parameters.items():
            hint = parameter.annotation
            # Those that are imported for type checkers alone are not there.
            with suppress(NameError):
                hint = eval(hint, names) if isinstance(hint, str) else hint
                if get_origin(hint) is Unpack:
                    found[name] = get_type_hints(*get_args(hint))
                elif parameter.kind not in several and hint is not parameter.empty:
                    found[name] = hint
        return found

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{function.__name__}: {error}.") from None
        arguments = bound.arguments
        for name, hint in hints().items():
            if isinstance(hint, dict):
                for key, value in arguments.get(name, {}).items():
                    if key not in hint:
                        own = [each for each in signature.parameters if each != name]
                        raise TypeError(str(unknown("argument", key, [*own, *hint])))
                    require(key, value, hint[key])
            elif name in arguments:
                arguments[name] = _meant(arguments[name], hint)
                require(name, arguments[name], hint)
        return function(*bound.args, **bound.kwargs)

    return call


def checked_methods(kind: C) -> C:
    """A class whose public methods are `checked`."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(method):
            setattr(kind, name, checked(method))
        elif isinstance(method, staticmethod):
            setattr(kind, name, staticmethod(checked(method.__func__)))
    return kind


def require(name: str, value: object, hint: Any) -> None:
    """Raises TypeError if a value is not of an annotation's type; the message names both."""
    if _fits(value, hint):
        return
    said = f"{name} must be {_described(hint)}, not {_of(value)}"
    lists = [each for each in (hint, *get_args(hint)) if get_origin(each) is Sequence]
    if lists and isinstance(value, list | tuple):
        (of,) = get_args(lists[0])
        wrong = next(each for each in value if not _fits(each, of))
        said += f" with {_of(wrong)} in it"
    if hint is str and isinstance(value, list | tuple) and all(isinstance(x, str) for x in value):
        said += "; give one at a time"
    raise TypeError(f"{said}.")


def _meant(value: Any, hint: Any) -> Any:
    """The value that a name stands for, where a class of NAMED is wanted; else the argument."""
    for kind in get_args(hint) or (hint,):
        if isinstance(kind, type) and kind in NAMED and not _fits(value, hint):
            try:
                return NAMED[kind][0](value)
            except (TypeError, ValueError):
                return value
    return value


class ByName(dict[Any, Any]):
    """A dictionary whose keys, of a class of NAMED, may be named; an unknown one lists those."""

    def __missing__(self, key: Any) -> Any:
        kind = type(next(iter(self), None))
        meant = _meant(key, kind)
        if meant in self:
            return self[meant]
        raise unknown(kind.__name__.lower(), key, self)


class UnknownNameError(KeyError, ValueError):
    """A name that is not there; the message says which are."""

    # That of a KeyError is in quotation marks.
    __str__ = Exception.__str__


def unknown(what: str, name: object, names: Iterable[object]) -> UnknownNameError:
    """The error for a name that is not there, which lists those that are.

    Args:
        what: a noun for the names, such as "preset".
    """
    there = [str(each) for each in names]
    near = nearest(str(name), there)
    if len(there) > _MOST_LISTED:
        count = f"; there are {len(there)}"
        near, there = "", get_close_matches(str(name), there, 6, 0)
    else:
        count = ""
    listed = ", ".join(there) or "none, as there is none"
    return UnknownNameError(
        f"There is no {what} {str(name)!r}.{near} Choose one of {listed}{count}."
    )


def nearest(name: str, names: Collection[str]) -> str:
    """A question after the nearest of some names, with a space before it; empty if none is near."""
    near = get_close_matches(name.casefold(), names, 1)
    return f" Did you mean {near[0]}?" if near else ""


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if origin is Literal:
        # Those who know more than the type say which others there are.
        return any(_fits(value, type(each)) for each in get_args(hint))
    if hint is None or hint is NoneType:
        return value is None
    if hint in NAMED:
        # A head is a tuple, and no other tuple is one.
        return isinstance(value, hint)
    if hint in (int, float):
        # An array of several numbers says that it is one.
        is_one = not isinstance(value, bool) and getattr(value, "shape", ()) == ()
        return is_one and isinstance(value, SupportsIndex if hint is int else SupportsFloat)
    if not isinstance(origin, type) or origin is Any:
        return True
    if issubclass(origin, IO):
        return hasattr(value, "read") or hasattr(value, "write")
    if hasattr(origin, "__array__"):
        return hasattr(value, "__array__")
    if issubclass(origin, Sequence) and not issubclass(origin, str | bytes):
        # An array and a column of a table are as good as a list.
        is_list = hasattr(value, "__len__") and hasattr(value, "__getitem__")
        if not is_list or isinstance(value, str | bytes | Mapping):
            return False
        of = next(iter(get_args(hint)), None)
        # Arrays hold numbers of their own kinds.
        of_class = isinstance(get_origin(of) or of, type) and of not in (int, float)
        return not of_class or all(_fits(each, of) for each in value)
    return isinstance(value, origin)


def _described(hint: Any) -> str:
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        *others, last = dict.fromkeys(_described(each) for each in get_args(hint))
        return f"{', '.join(others)} or {last}" if others else last
    if origin is Literal:
        return " or ".join(map(repr, get_args(hint)))
    if origin is Sequence and get_args(hint) == (str,):
        return "a list of strings"
    if hint is None:
        return "None"
    if hasattr(origin, "__array__"):
        return "an array"
    if origin in NAMED:
        return NAMED[origin][1]
    if origin in _NAMES:
        return _NAMES[origin]
    return _with_article(getattr(origin, "__name__", str(origin)))


def _of(value: object) -> str:
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return f"{value[:40]!r}"
    if getattr(value, "shape", ()):
        return f"an array of the shape {value.shape}"  # type: ignore[attr-defined]
    return "bytes" if isinstance(value, bytes) else _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
