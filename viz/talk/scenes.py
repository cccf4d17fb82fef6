"""Talks made of scenes, and their files. A scene is a view with a title and a note.

A talk's file is JSON that people may write by hand:

    {
      "format": "headscope-talk",
      "version": 1,
      "title": "Attention in twelve scenes",
      "scenes": [
        {
          "title": "One word back",
          "note": "What the speaker says.",
          "page": "heads",
          "view": {"sentence": "Hello.", "attention": "encoder", "layer": "1", "head": "3"}
        }
      ]
    }

`view` is the query of an address; the page that reads it checks its values.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NoReturn

from viz.draw.labels import visible
from viz.links.parameters import renamed
from viz.registry.pages import FORMERLY, MOST_SCENES, VIEWS, names, present

FORMAT, VERSION = "headscope-talk", 1

MAX_BYTES = 1_000_000
"""The largest file: a hundred scenes with painted masks take less."""

MAX_TITLE, MAX_NOTE = 200, 5_000
"""Characters."""

MAX_VALUE = 60_000
"""Characters of one value of a view; the longest are painted masks."""

QUOTED = 40
"""Error messages repeat at most this many characters of an unknown name."""


class TalkError(ValueError):
    """A file is no talk; the message names the first wrong field in one sentence."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One view of a talk.

    Attributes:
        title: one line; the audience sees it.
        note: what the speaker says; the audience never sees it.
        page: one of VIEWS.
        view: the query of its address, by name; missing values have their defaults.
    """

    title: str
    note: str
    page: str
    view: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "view", MappingProxyType(dict(self.view)))


@dataclass(frozen=True, slots=True)
class Talk:
    """Scenes in order, numbered from 1; a change gives a new talk."""

    title: str
    scenes: tuple[Scene, ...] = ()

    def scene(self, number: int) -> Scene | None:
        """The scene with this number; None if there is none."""
        return self.scenes[number - 1] if 1 <= number <= len(self.scenes) else None

    def added(self, scene: Scene) -> Talk:
        """The talk with one more scene at its end."""
        return replace(self, scenes=(*self.scenes, scene))

    def without(self, number: int) -> Talk:
        """The talk without one scene."""
        return replace(self, scenes=self.scenes[: number - 1] + self.scenes[number:])

    def moved(self, number: int, to: int) -> Talk:
        """The talk with one scene moved."""
        rest = list(self.without(number).scenes)
        rest.insert(to - 1, self.scenes[number - 1])
        return replace(self, scenes=tuple(rest))

    def with_scene(self, number: int, scene: Scene) -> Talk:
        """The talk with one scene replaced."""
        return replace(self, scenes=(*self.scenes[: number - 1], scene, *self.scenes[number:]))

    def with_text(self, number: int, title: str, note: str) -> Talk:
        """The talk with another title and note for one scene."""
        return self.with_scene(number, replace(self.scenes[number - 1], title=title, note=note))


def write(talk: Talk) -> str:
    """The text of a talk's file; `parse` reads it back."""
    data = {
        "format": FORMAT,
        "version": VERSION,
        "title": talk.title,
        "scenes": [
            {
                "title": scene.title,
                "note": scene.note,
                "page": scene.page,
                "view": dict(scene.view),
            }
            for scene in talk.scenes
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


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


def apart(title: str, taken: Container[str]) -> str:
    """A title, with a number after it if it is taken."""
    numbered = title
    for number in itertools.count(2):
        if numbered not in taken:
            break
        behind = f" ({number})"
        numbered = title[: MAX_TITLE - len(behind)] + behind
    return numbered


def is_same(one: Talk, other: Talk) -> bool:
    """Whether talks have the same scenes and, except for a number of `apart`, the same title."""
    bare = [re.sub(r" \(\d+\)$", "", talk.title) for talk in (one, other)]
    return one.scenes == other.scenes and bare[0] == bare[1]


def file_name(talk: Talk) -> str:
    """The name of a talk's file."""
    plain = unicodedata.normalize("NFKD", talk.title.lower())
    words = re.findall(r"[a-z0-9]+", "".join(c for c in plain if not unicodedata.combining(c)))
    return f"{'-'.join(words)[:60].strip('-') or 'talk'}.json"


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
