"""A person's talks as files, for the desktop window, whose own storage goes when it is closed.

One JSON file each, in the folder that the environment names: the very file that the app downloads
and opens, so it can be edited by hand. Beside them, an empty file for what was dismissed for good.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from model.files import write_whole

FOLDER = "HEADSCOPE_TALKS"
"""The environment variable that names the folder; without it, browsers keep the talks."""

_DISMISSED = "dismissed-"
_NAME = re.compile(r"([0-9a-f]{8})\.json")


def folder() -> Path | None:
    """Where talks are kept as files; None if they are not."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else None


def read(folder: Path, count: int, size: int) -> list[tuple[str, bytes]]:
    """The talks that were changed last, the latest at the end.

    Args:
        folder: where they are; it need not be there.
        count: so many of them at most.
        size: so many bytes of each, and one more if there are more.

    Returns:
        Each one's mark and the beginning of its file; what cannot be read is empty.
    """
    found = []
    try:
        for file in folder.iterdir():
            if match := _NAME.fullmatch(file.name):
                found.append((file.stat().st_mtime_ns, match[1], file))
    except OSError:
        return []
    return [(mark, _beginning(file, size + 1)) for _, mark, file in sorted(found)[-count:]]


def store(folder: Path, mark: str, text: str | None) -> None:
    """Write a talk, or remove it if there is no text.

    Args:
        folder: where; it is made if it is not there.
        mark: eight hexadecimal digits.
        text: of the file.

    Raises:
        ValueError: if the mark is none.
        OSError: if the file cannot be written or removed; the old one is then still there.
    """
    name = f"{mark}.json"
    if not _NAME.fullmatch(name):
        raise ValueError(f"{mark!r} is not the mark of a talk, which has eight hexadecimal digits")
    if text is None:
        (folder / name).unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / name, text.encode())


def dismissed(folder: Path, names: Iterable[str]) -> list[str]:
    """Which of these were dismissed for good."""
    return [name for name in names if (folder / f"{_DISMISSED}{name}").exists()]


def dismiss(folder: Path, name: str) -> None:
    """Remember that something was dismissed for good; where that fails, it comes again.

    Args:
        folder: where; it is made if it is not there.
        name: one that the app knows, and never a person's text.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{_DISMISSED}{name}").touch()


def _beginning(file: Path, size: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError:
        return b""
