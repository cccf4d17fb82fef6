"""What every class of picture has."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import viz
from viz.save.picture import Picture

for wing in Path(viz.__file__).parent.glob("*/pictures.py"):
    import_module(f"viz.{wing.parent.name}.pictures")


def kinds_of(picture: type[Picture]) -> Iterator[type[Picture]]:
    for kind in picture.__subclasses__():
        yield kind
        yield from kinds_of(kind)


DRAWN = {
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in kinds_of(Picture)
    if kind.has("figure") and not kind.__name__.startswith("_")
}


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_what_is_drawn_is_said_in_a_caption_and_in_words(name: str) -> None:
    assert DRAWN[name].has("caption")
    assert DRAWN[name].has("alt")
