"""The alignment error rate of word alignments against a hand-made gold set.

An annotator links the words of two sentences that translate each other: as sure without doubt, as
possible if words correspond only within a phrase or annotators disagree (Och and Ney 2003, "A
Systematic Comparison of Various Statistical Alignment Models"). Words count from 0; a link is
(source word, target word).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Link = tuple[int, int]

COLUMNS = (
    "line",
    "source",
    "target",
    "source_words",
    "target_words",
    "links",
    "source_null",
    "target_null",
)
"""The columns of a file of aligned pairs, separated by tabs; its first line names them."""

RESAMPLES, CONFIDENCE = 1000, 0.95

_LINK = re.compile(r"(\d+)([-p])(\d+)")


def turned(links: AbstractSet[Link]) -> frozenset[Link]:
    """The links with source and target exchanged."""
    return frozenset((target, source) for source, target in links)


class AlignmentError(ValueError):
    """A malformed file of aligned pairs; the message says where and how."""


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """Two sentences whose words, punctuation apart, were linked by hand.

    The line is that of the original corpus, counted from 1. Possible links include the sure ones.
    """

    line: int
    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]

    def turned(self) -> AlignedPair:
        """The pair with source and target exchanged."""
        return AlignedPair(
            self.line,
            self.target,
            self.source,
            self.target_words,
            self.source_words,
            turned(self.sure),
            turned(self.possible),
        )


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """The alignment error rate, 0 at best, with precision and recall; shares from 0 to 1.

    Precision is the share of predicted links that are possible, recall that of sure links that are
    predicted; nan without any. `low` and `high` end the 95% bootstrap interval of the error rate.
    """

    error: float
    precision: float
    recall: float
    low: float
    high: float


def read_aligned(path: str | Path) -> tuple[AlignedPair, ...]:
    """The pairs of a file of hand-made alignments.

    Its columns are COLUMNS: words are separated by spaces, links are 3-4 (sure) or 3p4 (possible),
    and the last two columns list the numbers of words without links. Raises AlignmentError if the
    file cannot be read or a line is malformed.
    """
    try:
        header, *lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise AlignmentError(f"The file of alignments {path} cannot be read.") from error
    except ValueError:
        raise AlignmentError(f"The file of alignments {path} is empty.") from None
    if tuple(header.split("\t")) != COLUMNS:
        raise AlignmentError(
            f"The first line of {path} must name the columns {', '.join(COLUMNS)}, "
            "separated by tabs."
        )
    return tuple(
        _pair(line, f"Line {number} of {path}") for number, line in enumerate(lines, start=2)
    )


def _pair(line: str, where: str) -> AlignedPair:
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        raise AlignmentError(
            f"{where} has {len(fields)} columns; it needs {len(COLUMNS)}, separated by tabs."
        )
    number, source, target, source_words, target_words, links, *nulls = fields
    sides = source_words.split(), target_words.split()
    sure, possible = _links(links, where)
    if not number.isdecimal():
        raise AlignmentError(f"{where} starts with {number!r}; it must start with a number.")
    names = ("source", "target")
    for side, (name, words, null) in enumerate(zip(names, sides, nulls, strict=True)):
        linked = {link[side] for link in possible}
        if not all(place.isdecimal() for place in null.split()):
            raise AlignmentError(f"{where} names {null!r} as {name} words; give their numbers.")
        unlinked = set(map(int, null.split()))
        if beyond := sorted(each for each in linked | unlinked if each >= len(words)):
            raise AlignmentError(
                f"{where} names the {name} word {beyond[0]}, but there are {len(words)}, "
                "counted from 0."
            )
        if both := sorted(linked & unlinked):
            raise AlignmentError(
                f"{where} links the {name} word {both[0]} ({words[both[0]]}) and names it as one "
                "without links; drop one of the two."
            )
        if missing := sorted(set(range(len(words))) - linked - unlinked):
            raise AlignmentError(
                f"{where} does not mention the {name} word {missing[0]} ({words[missing[0]]}); "
                "link it or name it as one without links."
            )
    return AlignedPair(
        int(number), source, target, tuple(sides[0]), tuple(sides[1]), sure, possible
    )


def _links(text: str, where: str) -> tuple[frozenset[Link], frozenset[Link]]:
    """The sure links, then all links."""
    kinds: dict[Link, str] = {}
    for each in text.split():
        parts = _LINK.fullmatch(each)
        if not parts:
            raise AlignmentError(
                f"{where} has the link {each!r}; write 3-4 for a sure link or 3p4 for a possible "
                "one."
            )
        link = int(parts[1]), int(parts[3])
        if link in kinds:
            raise AlignmentError(f"{where} links {link[0]} and {link[1]} twice; drop one of them.")
        kinds[link] = parts[2]
    return frozenset(link for link, kind in kinds.items() if kind == "-"), frozenset(kinds)


def alignment_error_rate(
    predicted: Sequence[AbstractSet[Link]], gold: Sequence[AlignedPair], *, seed: int = 0
) -> ErrorRate:
    """The alignment error rate with its precision and recall (Och and Ney 2003, section 5).

    With the links made A, the sure ones S and the possible ones P, all sentences together:
    precision = |A ∩ P| / |A|, recall = |A ∩ S| / |S|, and the error rate is 1 - (|A ∩ S| + |A ∩ P|)
    / (|A| + |S|). The seed is of the interval's samples: equally many sentences, drawn with
    replacement (percentile bootstrap; Efron and Tibshirani 1993, chapter 13). Raises ValueError if
    there are not as many sets of links as pairs, or no link at all on both sides.
    """
    if len(predicted) != len(gold):
        raise ValueError(
            f"Each pair needs one set of links: there are {len(gold)} pairs and "
            f"{len(predicted)} sets."
        )
    counts = np.array(
        [
            (len(links & pair.sure), len(links & pair.possible), len(links), len(pair.sure))
            for links, pair in zip(predicted, gold, strict=True)
        ],
        dtype=np.float64,
    ).reshape(-1, 4)
    sure_made, possible_made, made, sure = counts.sum(axis=0)
    if made + sure == 0:
        raise ValueError("Without any link there is nothing to measure; give pairs with links.")
    picks = np.random.default_rng(seed).integers(len(gold), size=(RESAMPLES, len(gold)))
    samples = counts[picks].sum(axis=1)
    # A sample of sentences without any link tells nothing.
    samples = samples[samples[:, 2] + samples[:, 3] > 0]
    errors = 1 - (samples[:, 0] + samples[:, 1]) / (samples[:, 2] + samples[:, 3])
    low, high = np.quantile(errors, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return ErrorRate(
        error=float(1 - (sure_made + possible_made) / (made + sure)),
        precision=float(possible_made / made) if made else np.nan,
        recall=float(sure_made / sure) if sure else np.nan,
        low=float(low),
        high=float(high),
    )
