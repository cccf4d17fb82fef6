"""Files that are written whole or not at all, and what is said where they cannot be."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import BinaryIO

_NAMES = Repr()
_NAMES.maxstring = _NAMES.maxother = 200


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which takes its place once all is written; until then the old one stands.

    Raises:
        OSError: if it cannot be written, with the path that was meant as its filename.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe, such as /dev/stdout, has no other file put in its place.
            with target.open("wb") as opened:
                yield opened
            return
        fresh = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}")
        with fresh.open("xb") as opened:
            try:
                yield opened
                opened.flush()
                fresh.replace(target)
            except BaseException:
                fresh.unlink()
                raise
    except OSError as error:
        # A full disk is noticed by a write, which knows no name, and the temporary one is no news.
        error.filename, error.filename2 = str(path), None
        raise


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, or leave the old one as it is; errors as of `whole_file`."""
    with whole_file(path) as opened:
        opened.write(content)


def write_folder(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write files into a new or an empty folder, in their order, or leave it as it was.

    Raises:
        OSError: if it cannot be written, as of `whole_file`, or holds anything.
    """
    folder = Path(path)
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()):
        raise OSError(errno.ENOTEMPTY, "it is not empty; name a new folder", str(path))
    try:
        for name, content in files.items():
            write_whole(folder / name, content)
    except BaseException:
        for name in files:
            (folder / name).unlink(missing_ok=True)
        if is_new:
            folder.rmdir()
        raise


def unwritten(error: OSError) -> str:
    """One sentence for the person whose file could not be written."""
    return f"{_NAMES.repr(error.filename)} cannot be written: {error.strerror or error}."
