"""Reads sentences/*.txt and words/sorts.txt; model/training/README.md has their format."""

import re
from itertools import zip_longest
from typing import NamedTuple

_STEP = re.compile(
    r"(?:if (?P<guard>.+?): )?"
    r"(?:instead (?P<instead>\S+)|(?P<names>[\w-][\w; -]*?)(?P<sign>:| =) +(?P<options>.+))"
)
_HEADER = re.compile(r"\[(?P<kind>\w+) (?P<weight>\d+)(?: (?P<name>[\w-]+))?\] .+")


class Condition(NamedTuple):
    """Whether a word is one of some words, or is none of them."""

    word: str
    wanted: bool
    items: tuple[str, ...]


class Step(NamedTuple):
    """A line that gives words their names.

    Attributes:
        conditions: all must hold, or the step is left out.
        sorts: sorts of words, one of which is drawn and then a word of it.
        texts: or each name with its English and German text; one of these is drawn.
        share: how often the first of two is drawn; None if all are equally frequent.
        instead: the name of the template that writes the sentence, or "".
    """

    conditions: tuple[Condition, ...]
    names: tuple[str, ...] = ()
    sorts: tuple[str, ...] = ()
    texts: tuple[tuple[tuple[str, str, str], ...], ...] = ()
    share: float | None = None
    instead: str = ""


class Block(NamedTuple):
    """A template as it stands in its file.

    Attributes:
        kind: the rule it teaches.
        weight: its share of the pairs, relative to the others.
        name: what other templates call it.
        before: steps, then
        sentences: English and German, one of which is drawn, then
        after: more steps.
    """

    kind: str
    weight: int
    name: str
    before: list[Step]
    sentences: list[tuple[str, str]]
    after: list[Step]


def blocks(text: str) -> list[Block]:
    """The templates of a file. Raises ValueError with the line that cannot be read."""
    found: list[Block] = []
    for line in _joined(text, 4):
        header = _HEADER.fullmatch(line)
        if header:
            kind, weight, name = header.groups("")
            found.append(Block(kind, int(weight), name, [], [], []))
        elif not found:
            raise ValueError(f"“{line}” stands before the first template.")
        elif line.startswith(" "):
            steps = found[-1].after if found[-1].sentences else found[-1].before
            steps.append(_step(line.strip()))
        else:
            found[-1].sentences.append(_pair(line))
    return found


def steps_of(text: str) -> list[Step]:
    """The steps of a file without templates. Raises ValueError with the line that is none."""
    return list(map(_step, _joined(text, 0)))


def _joined(text: str, indent: int) -> list[str]:
    """The lines, each with those below it that stand deeper: its options, one a line."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" " * (indent + 4)):
            lines[-1] += (" " if lines[-1].endswith("=") else " / ") + line.strip()
        elif line and not line.startswith("#"):
            lines.append(line)
    return lines


def _pair(line: str) -> tuple[str, str]:
    english, bar, german = line.partition(" | ")
    return english, german if bar else english


def _step(line: str) -> Step:
    match = _STEP.fullmatch(line)
    if match is None:
        raise ValueError(f"“{line}” is neither “name: sort” nor “name = English | German”.")
    conditions = tuple(map(_condition, match["guard"].split(" and "))) if match["guard"] else ()
    if match["instead"]:
        return Step(conditions, instead=match["instead"])
    names, options, share = tuple(match["names"].split("; ")), match["options"], None
    percent = re.match(r"(\d+)% ", options)
    if percent:
        options, share = options[percent.end() :], int(percent[1]) / 100
    each = tuple(options.split(" / "))
    if match["sign"] == ":":
        return Step(conditions, names, sorts=each, share=share)
    texts = tuple(
        tuple(zip_longest(names, *map(_columns, _pair(option)), fillvalue="")) for option in each
    )
    if any(len(option) > len(names) for option in texts):
        raise ValueError(f"“{line}” has more texts than names.")
    return Step(conditions, names, texts=texts, share=share)


def _columns(side: str) -> list[str]:
    """The texts of one language, "-" being none."""
    return ["" if text == "-" else text for text in side.split("; ")]


def _condition(text: str) -> Condition:
    word, _, items = text.partition(" is ")
    wanted = not items.startswith("not ")
    return Condition(word, wanted, tuple(items.removeprefix("not ").split(", ")))
