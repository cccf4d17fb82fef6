"""Sentences that people type first, each with patterns for a right translation."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parent

CHOOSING, FINAL = 1, 2
"""Part 1 is for choosing data and weights; part 2 is for one final test."""


@dataclass(frozen=True, slots=True)
class FirstSentence:
    """One row of a list.

    Attributes:
        kind: what makes it hard, such as "negation".
        part: CHOOSING or FINAL.
        source: the sentence to translate.
        must: patterns that a right translation matches, every one of them.
        must_not: a pattern that no right translation matches, or None.
        reference: a right translation, which the patterns accept.
        wrong: a typical wrong one, which they reject.
    """

    kind: str
    part: int
    source: str
    must: tuple[re.Pattern[str], ...]
    must_not: re.Pattern[str] | None
    reference: str
    wrong: str

    def accepts(self, translation: str) -> bool:
        """Whether the translation matches every required pattern and not the excluded one."""
        excluded = self.must_not is not None and self.must_not.search(translation)
        return not excluded and all(pattern.search(translation) for pattern in self.must)


def read_list(name: str) -> list[FirstSentence]:
    """The list of this name, such as "en-de".

    Patterns match whole words, case ignored; " & " separates those that all must match.

    Raises:
        FileNotFoundError: if there is no such list.
    """
    with (LISTS / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        FirstSentence(
            kind=row["kind"],
            part=int(row["part"]),
            source=row["source"],
            must=tuple(_words(pattern) for pattern in row["must"].split(" & ")),
            must_not=_words(row["must_not"]) if row["must_not"] else None,
            reference=row["reference"],
            wrong=row["wrong"],
        )
        for row in rows
    ]


def list_names() -> list[str]:
    """The names of all lists: a language pair, then what it holds if it has more than one."""
    return sorted(file.stem for file in LISTS.glob("*.tsv"))


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)
