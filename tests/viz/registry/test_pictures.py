"""What every class of picture has."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import viz
from viz.save.picture import Picture

WINGS = ("heads", "corpus", "effects", "decoding", "masks", "positions")
for wing in WINGS:
    for file in (Path(viz.__file__).parent / wing).glob("*.py"):
        import_module(f"viz.{wing}.{file.stem}")


def kinds_of(picture: type[Picture]) -> Iterator[type[Picture]]:
    """The classes that nothing is derived from."""
    for kind in picture.__subclasses__():
        yield from kinds_of(kind) if kind.__subclasses__() else [kind]


DRAWN = {
    f"{kind.__module__}.{kind.__name__}": kind
    for kind in kinds_of(Picture)
    if kind.has("figure") and sys.modules[kind.__module__].__dict__[kind.__name__] is kind
}
"""By name; a class with slots has a twin without, which its module forgot."""


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_what_is_drawn_is_said_in_a_caption_and_in_words(name: str) -> None:
    assert DRAWN[name].has("caption")
    assert DRAWN[name].has("alt")
