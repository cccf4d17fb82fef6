"""Files written whole or not at all, with a sentence for errors."""

import errno
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from reprlib import Repr
from typing import BinaryIO

_NAMES = Repr()
_NAMES.maxstring = _NAMES.maxother = 200


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which replaces the old one when the block ends without an error.

    An OSError has `path` as its filename.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe, such as /dev/stdout, cannot be replaced.
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
        # On a full disk the error has no name, or that of the temporary file.
        error.filename, error.filename2 = str(path), None
        raise


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole, or keep the old one; errors as `whole_file`."""
    with whole_file(path) as opened:
        opened.write(content)


def write_folder(path: str | os.PathLike[str], files: Mapping[str, bytes]) -> None:
    """Write files into a new or an empty folder, in their order, or keep it unchanged.

    An OSError is as of `whole_file`; a folder with files is one.
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


def replaces(written: Path, read: Iterable[Path]) -> bool:
    """Whether writing a file or a folder would replace something that is read.

    It would if it is the same file or folder, by any name, or a file in a folder that is read.
    """
    whole = Path(os.path.realpath(written))
    if whole.exists() and not whole.is_file() and not whole.is_dir():
        # What is written to a terminal or a pipe replaces nothing.
        return False
    for each in read:
        source = Path(os.path.realpath(each))
        if whole == source or (whole.exists() and source.exists() and whole.samefile(source)):
            return True
        if whole.is_file() and source in whole.parents:
            return True
    return False


def unwritten(error: OSError) -> str:
    """A sentence on a file that cannot be written; standard output has no name."""
    name = "The output" if error.filename is None else _NAMES.repr(error.filename)
    return f"{name} cannot be written: {reason(error)}."


def unread(path: str | os.PathLike[str], error: OSError) -> str:
    """A sentence on a file that cannot be read."""
    return f"{path} cannot be read: {reason(error)}."


def reason(error: OSError) -> str:
    """Why a file cannot be read or written; not every error has the system's words for it."""
    return error.strerror or str(error) or type(error).__name__
