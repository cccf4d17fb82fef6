"""A person's talks as files, for the desktop window, which loses its own storage when it closes.

One JSON file each, in a folder named by the environment: the same file that the app downloads and
opens, so people can edit it.
"""

import os
import re
from pathlib import Path

from model.files import write_whole

FOLDER = "HEADSCOPE_TALKS"
"""The environment variable with the folder; without it, browsers keep the talks."""

_NAME = re.compile(r"([0-9a-f]{8})\.json")


def folder() -> Path | None:
    """The folder of talks; None if browsers keep them."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else None


def read(folder: Path, count: int, size: int) -> list[tuple[str, bytes]]:
    """The most recently changed talks, the latest last.

    Args:
        folder: of the talks; it may be missing.
        size: bytes of each to read, and one more if there are more.

    Returns:
        the mark and the beginning of each file; empty for a file that cannot be read.
    """
    files = []
    try:
        for file in folder.iterdir():
            if match := _NAME.fullmatch(file.name):
                files.append((file.stat().st_mtime_ns, match[1], file))
    except OSError:
        return []
    return [(mark, _beginning(file, size + 1)) for _, mark, file in sorted(files)[-count:]]


def store(folder: Path, mark: str, text: str | None) -> None:
    """Write a talk, or remove it if there is no text.

    Args:
        folder: of the talks; created if missing.
        mark: eight hexadecimal digits.

    Raises:
        ValueError: if the mark is not one.
        OSError: if the file cannot be written or removed; the old one is then unchanged.
    """
    name = f"{mark}.json"
    if not _NAME.fullmatch(name):
        raise ValueError(f"{mark!r} is not the mark of a talk, which has eight hexadecimal digits")
    if text is None:
        (folder / name).unlink(missing_ok=True)
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / name, text.encode())


def _beginning(file: Path, size: int) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(size)
    except OSError:
        return b""
