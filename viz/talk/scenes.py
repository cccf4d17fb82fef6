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
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

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
