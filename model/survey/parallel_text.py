"""Parallel text from tab-separated files."""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple


class CorpusError(ValueError):
    """A file without usable parallel text; the message says which and where."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


def read_pairs(paths: Sequence[Path], *, reverse: bool = False) -> list[Pair]:
    """The pairs of .tsv or .tsv.xz files, in order.

    The last two columns are source and target, or in reverse target and source; the columns before
    them, a pair's origin, are ignored. Raises CorpusError if a file cannot be read, has no pairs,
    or a line has fewer columns.
    """
    return [Pair(*(columns[:-3:-1] if reverse else columns[-2:])) for columns in columns_of(paths)]


def columns_of(paths: Sequence[Path]) -> Iterator[list[str]]:
    """The columns of every line of .tsv or .tsv.xz files, at least two; errors as `read_pairs`."""
    for path in paths:
        empty = True
        try:
            with (
                lzma.open(path, "rt", encoding="utf-8")
                if path.suffix == ".xz"
                else path.open(encoding="utf-8") as lines
            ):
                for number, line in enumerate(lines, start=1):
                    columns = line.rstrip("\n").split("\t")
                    if len(columns) < 2:
                        raise CorpusError(
                            f"Line {number} of {path} has no tab; each line needs a source and "
                            "a target sentence."
                        )
                    empty = False
                    yield columns
        except OSError as error:
            raise CorpusError(f"The data file {path} cannot be read.") from error
        except (lzma.LZMAError, UnicodeDecodeError, EOFError) as error:
            raise CorpusError(f"The data file {path} is damaged or not UTF-8 text.") from error
        if empty:
            raise CorpusError(f"The data file {path} is empty.")


def key(sentence: str) -> str:
    """The letters and digits of a sentence, case ignored; equal sentences have equal keys."""
    return "".join(letter for letter in sentence.casefold() if letter.isalnum())


def keys_in(files: Sequence[Path]) -> set[str]:
    """The keys of all columns of .tsv files; CorpusError if a file cannot be read."""
    return {key(column) for column in chain.from_iterable(columns_of(files)) if key(column)}
