"""The JavaScript and CSS of our browser components."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent


def joined(folder: Path, names: Iterable[str]) -> str:
    """Several files as one.

    A component's script is one module that cannot import its neighbours, and there is no build
    step; so files that belong together are put one after another.
    """
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
