"""Sentences by their words and by what a head does in them, small enough to travel with a model.

A head looks at one key in a row if it gives it more than half of the row's weight. For each rule of
one line (model.rules.weight_rules), the index knows in which sentences a head looks where the rule
says: in some row, and in at least half of the rows for which the rule has a key. Special tokens
count only as the first and the last token.
"""

from __future__ import annotations

import lzma
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.arguments import checked_methods, unknown
from model.brief import Brief
from model.rules.weight_rules import RULES
from model.trace.attention_map import AttentionKind, BoolArray, Site
from model.trace.forms import form
from model.trace.head import Head

FOUND_BY: Mapping[AttentionKind, tuple[str, ...]] = MappingProxyType(
    {
        kind: tuple(
            rule.name for rule in RULES.values() if kind in rule.kinds and rule.name != "evenly"
        )
        for kind in (AttentionKind.ENCODER, AttentionKind.CROSS, AttentionKind.DECODER)
    }
)
"""The rules that sentences are found by, for each kind of attention."""

WORTH_READING = range(8, 17)
"""Tokens of a sentence in which there is something to see and not too much to read."""

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
"""Words and marks, which are nearly the tokens of frequent words; </s> is one more."""


class Does(IntEnum):
    """How far a head follows a rule in a sentence."""

    NEVER = 0
    SOMEWHERE = 1
    MOSTLY = 2


@lru_cache(maxsize=4)
def _readings(sources: tuple[str, ...]) -> tuple[BoolArray, NDArray[np.int64]]:
    """For each sentence, whether it is not WORTH_READING, and a number for its first word."""
    tokens = [_TOKEN.findall(source) for source in sources]
    is_other = np.array([len(each) + 1 not in WORTH_READING for each in tokens])
    openings: dict[str, int] = {}
    numbers = [openings.setdefault("".join(each[:1]).casefold(), len(openings)) for each in tokens]
    return is_other, np.array(numbers)


@dataclass(frozen=True, slots=True)
class FoundSentences:
    """Sentences that were found, with how far a head follows a rule in each."""

    sources: tuple[str, ...]
    found: tuple[tuple[int, Does], ...]


@checked_methods
@dataclass(frozen=True, slots=True, eq=False)
class SentenceIndex(Brief):
    """Sentences, and what heads do in them.

    Attributes:
        sources: the sentences.
        does: by head, for each of the rules of its kind, (rule, sentence), values of Does.
        rules: the names of these, by kind; a file of another version may have more or fewer.
    """

    sources: tuple[str, ...]
    does: Mapping[Head, NDArray[np.uint8]]
    rules: Mapping[AttentionKind, tuple[str, ...]] = field(default_factory=lambda: FOUND_BY)

    def found_by(self, kind: AttentionKind) -> tuple[str, ...]:
        """The rules by which sentences are found here: of FOUND_BY, those that the index has."""
        return tuple(name for name in FOUND_BY[kind] if name in self.rules[kind])

    def frame(self, words: str = "", head: Head | None = None, rule: str | None = None) -> Any:
        """What `found` gives as a pandas table: number, sentence, and how far the head follows."""
        return form("table", FoundSentences(self.sources, tuple(self.found(words, head, rule))))

    def found(
        self, words: str = "", head: Head | None = None, rule: str | None = None
    ) -> list[tuple[int, Does]]:
        """The numbers of sentences, those in which the head follows the rule most first.

        Of equal ones, those WORTH_READING come first, and of each beginning one before a second.

        Args:
            words: all of which a sentence must have, in any order, whatever their case; "work*"
                stands for every word that begins like this.
            head: which must follow the rule somewhere; None for words alone.
            rule: one of `found_by` the head's kind; None likewise.

        Raises:
            TypeError: if a head is given without a rule, or a rule without a head.
            UnknownNameError: if the index has no such head, or its kind no such rule.
        """
        if (head is None) != (rule is None):
            raise TypeError("A head and its rule are given together; give both, or words alone.")
        if head is not None and head not in self.does:
            raise unknown("head", Head(*head), self.does)
        if head is not None and rule not in self.found_by(kind := head[0].kind):
            raise unknown(f"rule for {kind} heads", rule, self.found_by(kind))
        there = np.ones(len(self.sources), np.bool_)
        for word in words.split():
            there &= self._with(word)
        level = np.full(len(self.sources), Does.MOSTLY, np.uint8)
        if head is not None and rule is not None:
            level = self.does[head][self.rules[head[0].kind].index(rule)]
            there &= level > Does.NEVER
        places = np.flatnonzero(there)
        if not len(places):
            return []
        is_other, opening = (each[places] for each in _readings(self.sources))
        keys = np.stack([-level[places].astype(int), is_other, opening])
        # Sentences of one opening stand together, and count how many came before them.
        order = np.lexsort((places, *keys[::-1]))
        begins = np.r_[True, (np.diff(keys[:, order]) != 0).any(axis=0)]
        since = np.arange(len(order)) - np.flatnonzero(begins)[begins.cumsum() - 1]
        order = order[np.lexsort((places[order], since, *keys[1::-1, order]))]
        return [(int(place), Does(level[place])) for place in places[order]]

    def _with(self, word: str) -> BoolArray:
        stem = word.removesuffix("*")
        end = r"(?!\w)" if stem == word else ""
        search = re.compile(rf"(?<!\w){re.escape(stem)}{end}", re.IGNORECASE).search
        return np.array([search(source) is not None for source in self.sources], np.bool_)

    def to_bytes(self) -> bytes:
        """The levels of all heads by site and number, compressed."""
        planes = [
            np.packbits(levels >= least, axis=-1).tobytes()
            for _, levels in sorted(self.does.items())
            for least in (Does.SOMEWHERE, Does.MOSTLY)
        ]
        return lzma.compress(b"".join(planes), format=lzma.FORMAT_XZ, preset=6)

    @classmethod
    def from_bytes(
        cls,
        content: bytes,
        sources: Sequence[str],
        heads: Mapping[Site, int],
        rules: Mapping[AttentionKind, tuple[str, ...]],
    ) -> SentenceIndex:
        """The inverse of `to_bytes`, for the sites of a model with their numbers of heads.

        Raises:
            ValueError: if it is damaged, or of other sentences or heads.
        """
        places = [Head(site, head) for site, n in sorted(heads.items()) for head in range(n)]
        width = -(-len(sources) // 8)
        sizes = [2 * width * len(rules[site.kind]) for site, _ in places]
        try:
            # No more than fits, whatever the content says.
            unpacked = lzma.LZMADecompressor(memlimit=1 << 28).decompress(content, sum(sizes) + 1)
        except (lzma.LZMAError, EOFError) as error:
            raise ValueError("damaged") from error
        if len(unpacked) != sum(sizes):
            raise ValueError("of other sentences or heads")
        cells = np.frombuffer(unpacked, np.uint8)
        does = {}
        for place, own in zip(places, np.split(cells, np.cumsum(sizes)[:-1]), strict=True):
            planes = np.unpackbits(own.reshape(2, -1, width), axis=-1, count=len(sources))
            does[place] = planes.sum(axis=0, dtype=np.uint8)
        return cls(tuple(sources), does, rules)
