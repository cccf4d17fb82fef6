"""Tasks with obvious solutions, for tiny models with readable heads.

No torch here: a toy's inputs and outputs are known without a model.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Any

LETTERS = "abcdefghijkl"
SHORTEST, LONGEST = 2, 8
"""Letters in a toy's text."""

_DIGITS = "0123456789"
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_FIRST_DAY, _DAYS = date(1900, 1, 1), 73_049
"""The dates of two centuries, 1900 to 2099."""


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a toy.

    Attributes:
        does: the end of "This toy …".
        reads: the end of "It reads …".
        pattern: a regular expression that its sources match in full.
        look: what to look for in its heads, in a sentence or two.
        shows: gives a sentence on what one source shows.
        words: the words of its texts; each is a token.
        spaced: whether every token is a word between spaces.
        beyond: gives a random source longer than any in training.
        look_alone: `look` for an encoder or a decoder alone, which has no cross-attention.
    """

    title: str
    does: str
    reads: str
    pattern: str
    draw: Callable[[Random], str]
    solve: Callable[[str], str]
    look: str
    shows: Callable[[str], str]
    words: tuple[str, ...]
    n_pieces: int
    spaced: bool
    beyond: Callable[[Random], str]
    look_alone: str = ""

    def can_read(self, text: str) -> bool:
        """Whether the toy learned to read texts like this one."""
        return re.fullmatch(self.pattern, " ".join(text.split())) is not None


def number_in_words(digits: str) -> str:
    """A whole number below a million in English words, without "and"."""
    number = int(digits)
    if number < 20:
        return _ONES[number]
    for size, name in ((1000, "thousand"), (100, "hundred")):
        if number >= size:
            head, rest = f"{number_in_words(str(number // size))} {name}", number % size
            return f"{head} {number_in_words(str(rest))}" if rest else head
    tens, ones = _TENS[number // 10 - 2], number % 10
    return f"{tens} {_ONES[ones]}" if ones else tens


def written_date(iso: str) -> str:
    """A date such as 2026-11-23 in the form 23 November 2026."""
    year, month, day = iso.split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"


def letter_counts(text: str) -> str:
    """The letters of a text in the order of the alphabet, each with its count."""
    letters = text.split()
    return " ".join(f"{letter} {letters.count(letter)}" for letter in sorted(set(letters)))


def _letters(letters: str, shortest: int, longest: int) -> Callable[[Random], str]:
    return lambda random: " ".join(random.choices(letters, k=random.randint(shortest, longest)))


def _of_letters(
    title: str,
    does: str,
    solve: Callable[[str], str],
    look: str,
    shows: Callable[[list[str]], str],
    *,
    letters: str = LETTERS,
    numbers: int = 0,
    look_alone: str = "",
) -> Task:
    return Task(
        title=title,
        does=does,
        reads=f"{SHORTEST} to {LONGEST} letters from {letters[0]} to {letters[-1]} with spaces "
        f"between them, such as “{' '.join(letters[index] for index in (1, 0, 3, 2))}”",
        pattern=f"[{letters}](?: [{letters}]){{{SHORTEST - 1},{LONGEST - 1}}}",
        draw=_letters(letters, SHORTEST, LONGEST),
        solve=solve,
        look=look,
        shows=lambda text: shows(text.split()),
        words=(*letters, *map(str, range(1, numbers + 1))),
        n_pieces=len(letters) + numbers,
        spaced=True,
        beyond=_letters(letters, LONGEST + 2, LONGEST + 4),
        look_alone=look_alone,
    )


def _day(random: Random) -> str:
    return (_FIRST_DAY + timedelta(random.randrange(_DAYS))).isoformat()


TASKS: dict[str, Task] = {
    "reverse": _of_letters(
        "letters in reverse",
        "writes its letters in reverse",
        lambda text: " ".join(reversed(text.split())),
        "Look at cross-attention: a line from one corner to the opposite one, because the first "
        "letter it writes is the last it read.",
        lambda letters: f"“{letters[0]}” is read first and written last.",
        look_alone="Look at the last layer: in one head or more, a line runs back through the "
        "letters, because the first letter it writes is the last it read.",
    ),
    "copy": _of_letters(
        "letters copied",
        "copies its letters",
        lambda text: text,
        "Look at cross-attention: the diagonal, because each letter keeps its place.",
        lambda letters: f"“{letters[0]}” is read first and written first, “{letters[-1]}” last.",
    ),
    "sort": _of_letters(
        "letters sorted",
        "writes its letters in the order of the alphabet",
        lambda text: " ".join(sorted(text.split())),
        "Look at cross-attention: every head gives the next letter more weight than an even spread "
        "would, about a quarter to a half.",
        lambda letters: (
            f"“{(first := min(letters))}” is written first; it is first read at place "
            f"{letters.index(first) + 1} of {len(letters)}."
        ),
    ),
    "count": _of_letters(
        "letters counted",
        "counts how often each letter occurs in its text",
        letter_counts,
        "Look at layer 1 of cross-attention: before a letter is written, head 2 looks mostly at "
        "the places of that letter; before its number, head 1 gives them about half of its weight.",
        lambda letters: (
            f"{(count := letters.count(most := max(letters, key=letters.count)))} of the "
            f"{len(letters)} letters {'is' if count == 1 else 'are'} “{most}”."
        ),
        letters=LETTERS[:6],
        numbers=LONGEST,
    ),
    "numbers": Task(
        title="numbers to words",
        does="writes numbers in words",
        reads="whole numbers from 0 to 9999 in digits, such as “307”",
        pattern="0|[1-9][0-9]{0,3}",
        draw=lambda random: str(random.randrange(10 ** random.randint(3, 4))),
        solve=number_in_words,
        look="Look at layer 1 of cross-attention: before a word that has a digit, at least three "
        "heads look mostly at that digit; before “hundred” and “thousand”, which have none, heads "
        "1 and 2 look mostly at the end.",
        shows=lambda digits: (
            f"Digits become words: {len(digits)} are read, {len(number_in_words(digits).split())} "
            "are written."
        ),
        words=(*_DIGITS, *_ONES, *_TENS, "hundred", "thousand"),
        # The parts from which BPE merges the words, too.
        n_pieces=130,
        spaced=False,
        beyond=lambda random: str(random.randrange(10_000, 1_000_000)),
    ),
    "dates": Task(
        title="dates with month names",
        does="writes dates with the name of the month",
        reads="dates from 1900 to 2099 as year, month and day, such as “2026-11-23”",
        pattern="(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])",
        draw=_day,
        solve=written_date,
        look="Look at cross-attention: one head or more looks mostly at the digits of the day "
        "before it is written, at those of the month before its name, and at those of the year "
        "before the year.",
        shows=lambda iso: (
            f"“{iso[5:7]}” is read for “{_MONTHS[int(iso[5:7]) - 1]}”; the year, read first, is "
            "written last."
        ),
        words=(*_DIGITS, "-", *_MONTHS),
        n_pieces=110,
        spaced=False,
        beyond=lambda random: f"{random.randrange(21, 99)}{_day(random)[2:]}",
    ),
}
"""Every task by its name."""


def task_of(metrics: Mapping[str, Any]) -> Task | None:
    """The task of a toy, by its checkpoint's metrics; None for any other model."""
    name = metrics.get("task")
    return TASKS.get(name) if isinstance(name, str) else None
