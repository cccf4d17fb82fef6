"""What holds of every picture: its Python makes the same figure, and its files hold its numbers."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from viz.save.notebook import code
from viz.save.picture import Layout, Picture

LAYOUTS = (Layout(), Layout(narrow=True, dark=True), Layout(slide=True))
"""Layouts of panels; other figures know no slide of their own."""


def made(picture: Picture, layout: Layout, checkpoint: Path) -> Any:
    """What the Python of a picture makes."""
    model = {"checkpoint": str(checkpoint)} if picture.needs_model else {}
    *lines, last = code(picture.python(layout), **model).strip().splitlines()
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    return eval(last, space)


def partly(kind: type[Picture], **attributes: Any) -> Picture:
    """A picture of which only some attributes are known."""
    made = type(kind.__name__, (kind,), {"name": "", **attributes})
    return made.__new__(made)


def drawing(kind: Callable[..., Picture]) -> Callable[..., Any]:
    """A function that draws pictures of a class, with its fields as arguments."""

    def draw(*fields: Any, narrow: bool = False, dark: bool = False, **named: Any) -> Any:
        return kind(*fields, **named).figure(Layout(narrow=narrow, dark=dark))

    return draw


def require_same(picture: Picture, checkpoint: Path, layouts: Sequence[Layout] = LAYOUTS) -> None:
    """Its Python makes its figure, whatever the layout, and its files hold its numbers."""
    for layout in layouts:
        assert made(picture, layout, checkpoint).to_json() == picture.figure(layout).to_json()
    require_files(picture)


def require_files(picture: Picture) -> None:
    """Its files hold its numbers, and have names that hold nothing of a sentence."""
    assert picture.name.replace("-", "").isalnum(), picture.name
    assert picture.name.isascii(), picture.name
    numbers = picture.numbers()
    assert numbers.size
    assert numbers.encode("csv").count(b"\n") > 1
    assert set(json.loads(numbers.encode("json"))["arrays"]) == set(numbers.arrays)
    with np.load(io.BytesIO(numbers.encode("npz")), allow_pickle=False) as arrays:
        for name, (_, values) in numbers.arrays.items():
            np.testing.assert_array_equal(arrays[name], values)


def values(picture: Picture, name: str) -> Any:
    """One array of its numbers."""
    return picture.numbers().arrays[name][1]
