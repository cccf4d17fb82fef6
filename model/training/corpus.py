"""Parallel text from tab-separated files."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class CorpusError(ValueError):
    """A file that holds no parallel text; the message says which and where."""


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


def read_pairs(paths: Sequence[Path], *, reverse: bool = False) -> list[Pair]:
    """Pairs of one or more .tsv or .tsv.xz files, in order.

    The last two columns are source and target; columns before them (where a pair comes from) are
    passed over.

    Args:
        paths: the files.
        reverse: whether the last column is the source and the one before it the target.

    Raises:
        CorpusError: if a file cannot be read, holds no pairs, or a line has fewer columns.
    """
    pairs: list[Pair] = []
    for path in paths:
        before = len(pairs)
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
                    pairs.append(Pair(*(columns[:-3:-1] if reverse else columns[-2:])))
        except OSError as error:
            raise CorpusError(f"The data file {path} cannot be read.") from error
        except (lzma.LZMAError, UnicodeDecodeError, EOFError) as error:
            raise CorpusError(f"The data file {path} is damaged or not UTF-8 text.") from error
        if len(pairs) == before:
            raise CorpusError(f"The data file {path} is empty.")
    return pairs
