"""The talk that comes with Headscope, and its titles and notes in other languages."""

import functools
import json
from pathlib import Path
from typing import Any

from viz.talk.scenes import Talk
from viz.talk.talk_reader import parse

TALKS = Path(__file__).with_name("talks")

READY = TALKS / "attention-in-twelve-scenes.json"


@functools.cache
def ready_talk() -> Talk:
    """The talk that comes with the app."""
    return parse(READY.read_bytes())


def texts_of(talk: Talk) -> dict[str, Any]:
    """The title, titles and notes of a talk by language, as far as they are those of the ready one.

    Returns:
        for each language `title` and, for each scene, `title` and `note`; None where the person has
        written another text.
    """
    ready = ready_talk()
    known = [(scene.title, scene.note) for scene in ready.scenes]
    places = [
        known.index(text) if (text := (scene.title, scene.note)) in known else None
        for scene in talk.scenes
    ]
    if set(places) <= {None}:
        return {}
    found = {}
    for file in sorted((TALKS / "texts").glob("*.json")):
        texts = json.loads(file.read_text(encoding="utf-8"))
        found[file.stem] = {
            "title": texts["title"] if talk.title == ready.title else None,
            "scenes": [None if place is None else texts["scenes"][place] for place in places],
        }
    return found
