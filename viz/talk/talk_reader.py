"""Reads a talk from its file, and says where it is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from viz.draw.labels import visible
from viz.links.parameters import renamed
from viz.registry.pages import FORMERLY, MOST_SCENES, VIEWS, names, present
from viz.talk.scenes import (
    FORMAT,
    MAX_BYTES,
    MAX_NOTE,
    MAX_TITLE,
    MAX_VALUE,
    QUOTED,
    VERSION,
    Scene,
    Talk,
    TalkError,
    write,
)


def checked(talk: Talk) -> Talk:
    """The talk, if its file can be opened again.

    Raises:
        TalkError: as `parse`.
    """
    # A title may hold a lone surrogate, which has no bytes.
    return parse(write(talk).encode("utf-8", "surrogatepass"))


def parse(data: bytes) -> Talk:
    """The talk in a file; numbers, true and false in a view become text.

    Args:
        data: the whole file, from anyone.

    Raises:
        TalkError: if it is too large or not JSON in UTF-8, or a field is missing, unknown, given
            twice or of a wrong kind; the message names the first such field.
    """
    if len(data) > MAX_BYTES:
        raise TalkError(
            f"The file has {len(data):,} bytes; a talk may have at most {MAX_BYTES:,}. Open a file "
            "that was downloaded here."
        )
    try:
        data = json.loads(
            data.decode("utf-8-sig"), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except TalkError:
        raise
    except UnicodeDecodeError as error:
        raise TalkError(
            "The file is not text in UTF-8, which a talk must be; save it again as UTF-8."
        ) from error
    except RecursionError as error:
        raise TalkError(
            "The file nests lists or objects far too deeply for a talk; open one that was "
            "downloaded here."
        ) from error
    except json.JSONDecodeError as error:
        raise TalkError(
            f"The file is not JSON: in line {error.lineno}, column {error.colno}, something else "
            "was expected; check the commas, quotes and brackets there."
        ) from error
    except ValueError as error:
        # Python refuses numbers of thousands of digits.
        raise TalkError("The file holds a number that is too long; shorten it.") from error
    return _talk(data)


def _talk(data: Any) -> Talk:
    if not isinstance(data, dict):
        raise TalkError(f"The file must hold one object in braces; it holds {_kind(data)}.")
    if data.get("format") != FORMAT:
        raise TalkError(
            f'format must be "{FORMAT}", which marks the file as a talk of this app; it is '
            f"{_seen(data, 'format')}."
        )
    # True equals 1.
    if data.get("version") != VERSION or data.get("version") is True:
        raise TalkError(
            f"version must be {VERSION}, the only one there is; it is {_seen(data, 'version')}."
        )
    fields = _fields(
        data,
        "",
        {"format": _anything, "version": _anything, "title": _line, "scenes": _scenes},
    )
    return Talk(fields["title"], fields["scenes"])


def _scenes(data: Any, path: str) -> tuple[Scene, ...]:
    if not isinstance(data, list):
        raise TalkError(f"{path} must be a list in square brackets; it is {_kind(data)}.")
    if len(data) > MOST_SCENES:
        raise TalkError(
            f"{path} has {len(data):,} entries; a talk may have at most {MOST_SCENES}. Make two "
            "talks of it."
        )
    return tuple(_scene(scene, f"{path}[{place}]") for place, scene in enumerate(data))


def _scene(data: Any, path: str) -> Scene:
    if not isinstance(data, dict):
        raise TalkError(f"{path} must be a scene in braces; it is {_kind(data)}.")
    named = data.get("page")
    page = FORMERLY.get(named, named) if isinstance(named, str) else named

    def view(data: Any, path: str) -> dict[str, str]:
        # A view depends on its page, which may come after it.
        return _view(data, path, page) if isinstance(page, str) and page in VIEWS else {}

    fields = _fields(data, path, {"title": _line, "note": _note, "page": _page, "view": view})
    page, shown = present(fields["page"], fields["view"])
    return Scene(**fields | {"page": page, "view": shown})


def _view(data: Any, path: str, page: str) -> dict[str, str]:
    if not isinstance(data, dict):
        raise TalkError(f"{path} must be an object in braces; it is {_kind(data)}.")
    view = {}
    for name, value in renamed(data, VIEWS[page].parameters).items():
        if name not in names(page):
            raise TalkError(
                f"{_place(path, name)} is unknown: the page {page} takes "
                f"{_listed(names(page)) or 'nothing there'}."
            )
        view[name] = _value(value, _place(path, name))
    return view


def _value(data: Any, path: str) -> str:
    if isinstance(data, bool):
        return "1" if data else "0"
    if isinstance(data, int):
        data = str(data)
    if not isinstance(data, str):
        raise TalkError(
            f'{path} must be text such as "3", a whole number, true or false; it is {_kind(data)}.'
        )
    return _text(data, path, MAX_VALUE)


def _page(data: Any, path: str) -> str:
    named = _text(data, path, MAX_TITLE)
    page = FORMERLY.get(named, named)
    if page not in VIEWS:
        raise TalkError(f"{path} must be one of {', '.join(VIEWS)}; it is “{_quoted(page)}”.")
    return page


def _line(data: Any, path: str) -> str:
    line = _text(data, path, MAX_TITLE)
    if not line.strip():
        raise TalkError(f"{path} must not be empty; write a few words.")
    if line.splitlines() != [line]:
        raise TalkError(f"{path} must be one line; remove its line breaks.")
    return line


def _note(data: Any, path: str) -> str:
    return _text(data, path, MAX_NOTE)


def _anything(data: Any, path: str) -> Any:
    return data


def _text(data: Any, path: str, most: int) -> str:
    if not isinstance(data, str):
        raise TalkError(f"{path} must be text in quotes; it is {_kind(data)}.")
    if len(data) > most:
        raise TalkError(
            f"{path} has {len(data):,} characters; at most {most:,} are allowed. Shorten it."
        )
    if any("\ud800" <= character <= "\udfff" for character in data):
        raise TalkError(f"{path} holds half a character (\\ud800 to \\udfff alone); write it anew.")
    return data


def _fields(
    data: dict[str, Any], path: str, known: Mapping[str, Callable[[Any, str], Any]]
) -> dict[str, Any]:
    """The values of all fields, read in the order of the file, so the first wrong one is named."""
    values = {}
    for name, value in data.items():
        if name not in known:
            raise TalkError(
                f"{_place(path, name)} is unknown: {f'{path} takes' if path else 'a talk has'} "
                f"{_listed(known)}."
            )
        values[name] = known[name](value, _place(path, name))
    for name in known:
        if name not in values:
            raise TalkError(f"{_place(path, name)} is missing; add it.")
    return values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise TalkError(
                f"The field “{_quoted(name)}” appears twice in the same braces; remove one."
            )
        made[name] = value
    return made


def _refuse_constant(constant: str) -> NoReturn:
    raise TalkError(f"The file holds {constant}, which is not a number in JSON; write a number.")


def _place(path: str, name: str) -> str:
    shown = _quoted(name) if re.fullmatch(r"\w+", name) else f"“{_quoted(name)}”"
    return f"{path}.{shown}" if path else shown


def _quoted(text: str) -> str:
    return f"{visible(text[:QUOTED])}{'…' if len(text) > QUOTED else ''}"


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))


def _seen(data: dict[str, Any], name: str) -> str:
    if name not in data:
        return "missing"
    value = data[name]
    if isinstance(value, str):
        return f"“{_quoted(value)}”"
    is_short = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**6
    return str(value) if is_short else _kind(value)


def _kind(data: Any) -> str:
    match data:
        case None:
            return "null"
        case bool():
            return "true" if data else "false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"
