"""What commands write: never over what they read, nor over another kind of file."""

import argparse
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from model.checkpoints.shipped import checkpoint_folder
from model.files import replaces
from viz.save.formats import FORMATS

TEXT = ("txt", "tsv", "csv", "json", "jsonl", "md")
"""Suffixes of text; every suffix that names no other kind may be text too."""

_NO_TEXT = {*FORMATS, *("bin", "gz", "pt", "safetensors", "spm", "xz", "zip")} - {*TEXT}


class OutputError(ValueError):
    """A file that a command may not write; the message says why and what to do."""


def add_output(
    parser: argparse._ActionsContainer, name: str, *, kinds: Sequence[str] = (), **options: Any
) -> None:
    """Add the argument that names a file, or a folder, to write.

    Args:
        kinds: the suffixes that the file may have, without a dot; none for a folder.
        options: as of `add_argument`.
    """
    action = parser.add_argument(name, type=Path, **options)
    outputs = parser.get_default("outputs") or {}
    parser.set_defaults(outputs={**outputs, action.dest: tuple(kinds)})


def require_outputs(arguments: argparse.Namespace) -> None:
    """Raises OutputError for an output that is no such file, or is an input or another output."""
    kinds: dict[str, tuple[str, ...]] = getattr(arguments, "outputs", {})
    read = [*_read(arguments, kinds)]
    for name, suffixes in kinds.items():
        path: Path | None = getattr(arguments, name)
        if path is None:
            continue
        # Nothing is replaced in a pipe or a device; only its suffix says which of many kinds it is.
        is_stream = path.exists() and not path.is_file()
        if suffixes and not (is_stream and (len(suffixes) == 1 or suffixes == TEXT)):
            for each in (path, Path(os.path.realpath(path))):
                _require_kind(each, suffixes)
        if replaces(path, read):
            raise OutputError(
                f"Writing {path} would replace what this command reads; name another file or "
                "folder."
            )


def _require_kind(path: Path, kinds: tuple[str, ...]) -> None:
    suffix = path.suffix.lower().removeprefix(".")
    if suffix in kinds or (kinds == TEXT and suffix not in _NO_TEXT):
        return
    raise OutputError(
        f"The name of the file says what to write, and {path.name} does not; end it in "
        f"{'one of ' if len(kinds) > 1 else ''}{' '.join(f'.{each}' for each in kinds)}."
    )


def _read(arguments: argparse.Namespace, outputs: dict[str, tuple[str, ...]]) -> Iterator[Path]:
    """Every file and folder that a command reads."""
    for name, value in vars(arguments).items():
        if name not in outputs:
            values = value if isinstance(value, list) else [value]
            yield from (each for each in values if isinstance(each, Path))
    if other := getattr(arguments, "other_model", ""):
        yield checkpoint_folder(other.partition("@")[0])
    try:
        redirected = os.fstat(sys.stdin.fileno())
    except (AttributeError, OSError, ValueError):
        return
    if stat.S_ISREG(redirected.st_mode):
        yield Path("/dev/stdin")
