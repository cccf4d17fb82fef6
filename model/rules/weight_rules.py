"""Rules of one line that say where a head looks, without the model's weights.

    RuleWeights(("previous",))                              each row looks one position back
    RuleWeights(("previous", "punctuation"), (0.7, 0.3))    a mixture

A rule knows the tokens, their positions and the mask. Put in place of a head's own weights
(`Intervention(heads={("encoder", 1, 3): RuleWeights(("previous",))})`), it shows what the model
loses if the head does that and nothing else. Raganato et al. 2020 ("Fixed Encoder Self-Attention
Patterns in Transformer-Based Machine Translation", section 3) train translators whose heads are
such patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import AttentionKind, BoolArray, Tokens
from model.trace.token_schemes import PADDING
from model.trace.word_grouping import punctuation, words

Cells = NDArray[np.float64]
"""What each row gives each key, (query, key); rows of a rule sum to 1, or to 0 without a key."""

REACH = 16
"""The farthest distance that a table of distances tells from others."""

SELF = frozenset({AttentionKind.ENCODER, AttentionKind.DECODER})
FULL = frozenset({AttentionKind.ENCODER, AttentionKind.CROSS})
"""The kinds whose rows see their whole sentence of keys."""
EVERY = SELF | FULL


class Lexicon:
    """How likely a source token is the source of a target token, learned from pairs of sentences.

    By the expectation maximization of IBM's Model 1 (Brown et al. 1993, "The Mathematics of
    Statistical Machine Translation", section 4.2), which knows no order.

    Args:
        likely: for each target token, its likeliest source tokens with their probabilities.
    """

    KEPT = 4
    """Source tokens of each target token."""

    def __init__(self, likely: Mapping[str, Mapping[str, float]]) -> None:
        self.likely = MappingProxyType({key: dict(value) for key, value in likely.items()})

    def __reduce__(self) -> tuple[type[Lexicon], tuple[dict[str, dict[str, float]]]]:
        return Lexicon, (dict(self.likely),)

    @classmethod
    def learned(
        cls, pairs: Iterable[tuple[Sequence[str], Sequence[str]]], *, rounds: int = 5
    ) -> Lexicon:
        """The lexicon of pairs of source and target tokens.

        Args:
            pairs: the sentences.
            rounds: of expectation maximization.
        """
        names: dict[tuple[str, str], int] = {}
        cells, starts = [], []
        row = 0
        for source, target in pairs:
            for word in target:
                for other in source:
                    cells.append(names.setdefault((word, other), len(names)))
                    starts.append(row)
                row += 1
        cell, rows = np.array(cells, int), np.array(starts, int)
        of_target, of_source = (
            np.array([known.setdefault(pair[side], len(known)) for pair in names], int)
            for side, known in ((0, dict[str, int]()), (1, dict[str, int]()))
        )
        # How likely each source token makes each target token.
        makes: NDArray[Any] = np.ones(len(names))
        counts = makes
        for _ in range(rounds if len(cell) else 0):
            shares = makes[cell]
            shares /= np.bincount(rows, shares)[rows]
            counts = np.bincount(cell, shares, minlength=len(names))
            makes = counts / np.bincount(of_source, counts)[of_source]
        likely = counts / np.bincount(of_target, counts)[of_target]
        best: dict[str, list[tuple[float, str]]] = {}
        for (word, other), probability in zip(names, likely.tolist(), strict=True):
            best.setdefault(word, []).append((probability, other))
        return cls(
            {
                word: {other: share for share, other in sorted(found, reverse=True)[: cls.KEPT]}
                for word, found in best.items()
            }
        )

    def aligned(self, queries: Sequence[str], keys: Sequence[str]) -> Cells:
        """How likely each key is the source of each query, (query, key)."""
        return np.array(
            [[self.likely.get(query, {}).get(key, 0.0) for key in keys] for query in queries]
        ).reshape(len(queries), len(keys))


class SeenRows:
    """What a rule may know of some rows of one sentence.

    Args:
        kind: of attention.
        queries: the tokens that all rows so far read, of which `positions` are asked.
        keys: the tokens of the keys.
        positions: of the queries; None for all.
        allowed: the mask, (query, key); None allows all.
        lexicon: for cross-attention.

    Attributes:
        terms: of model.rules.terms, by the languages of queries and keys, once they are made.
    """

    def __init__(
        self,
        kind: AttentionKind,
        queries: Sequence[str],
        keys: Sequence[str],
        *,
        positions: Sequence[int] | None = None,
        allowed: BoolArray | None = None,
        lexicon: Lexicon | None = None,
    ) -> None:
        self.kind = kind
        self.queries, self.keys = tuple(queries), tuple(keys)
        self.positions = np.arange(len(queries)) if positions is None else np.asarray(positions)
        self.allowed = allowed
        self.lexicon = lexicon
        self.terms: dict[tuple[str, str], Any] = {}
        self._cells: dict[tuple[str, tuple[float, ...]], Cells] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Of the cells."""
        return len(self.positions), len(self.keys)

    @property
    def last(self) -> int:
        """The position of the last key that is no padding."""
        return len(self.keys) - 1 - [key == PADDING for key in self.keys[::-1]].index(False)

    def at(self, offset: int) -> Cells:
        """The key at a distance from each query."""
        return np.equal.outer(self.positions + offset, np.arange(len(self.keys))).astype(float)

    def where(self, counts: Iterable[bool]) -> Cells:
        """The keys that count, for every row."""
        return np.broadcast_to(np.array([*counts], float), self.shape)

    def cells(self, name: str, table: tuple[float, ...] = ()) -> Cells:
        """The rows of one rule, each 1 in all, or 0 where it has no key."""
        known = (name, table)
        if known not in self._cells:
            raw = _by_distance(self, table) if table else RULES[name].cells(self)
            masked = raw if self.allowed is None else np.where(self.allowed, raw, 0)
            totals = masked.sum(axis=-1, keepdims=True)
            self._cells[known] = np.divide(
                masked, totals, out=np.zeros(self.shape), where=totals > 0
            )
        return self._cells[known]


@dataclass(frozen=True, slots=True)
class WeightRule:
    """A rule of one line.

    Attributes:
        name: by which edits name it.
        text: what a head does that follows it, after "looks".
        kinds: of attention that can follow it.
        cells: gives what each row gives each key, in any unit, before the mask.
    """

    name: str
    text: str
    kinds: frozenset[AttentionKind]
    cells: Callable[[SeenRows], Cells]


def _again(rows: SeenRows) -> Cells:
    same = np.array([[rows.queries[p] == key for key in rows.keys] for p in rows.positions], float)
    return same.reshape(rows.shape) * (1 - rows.at(0))


def _own_word(rows: SeenRows) -> Cells:
    keys = Tokens(rows.keys, tuple(range(len(rows.keys))), "sentencepiece")
    word = np.zeros(len(rows.keys), int)
    for number, each in enumerate(words(keys)):
        word[each] = number
    return np.equal.outer(word[rows.positions], word) * (1 - rows.at(0))


def _aligned(rows: SeenRows) -> Cells:
    if rows.lexicon is None:
        return np.zeros(rows.shape)
    return rows.lexicon.aligned([rows.queries[p] for p in rows.positions], rows.keys)


def _after_aligned(rows: SeenRows) -> Cells:
    aligned = _aligned(rows)
    return np.pad(aligned, ((0, 0), (1, 0)))[:, : aligned.shape[1]]


def _by_distance(rows: SeenRows, table: Sequence[float]) -> Cells:
    away = np.arange(len(rows.keys)) - rows.positions[:, None]
    return np.asarray(table)[np.clip(away, -REACH, REACH) + REACH]


RULES: Mapping[str, WeightRule] = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            WeightRule("previous", "at the previous token", SELF, lambda rows: rows.at(-1)),
            WeightRule("same", "at the same token", SELF, lambda rows: rows.at(0)),
            WeightRule(
                "next", "at the next token", frozenset({AttentionKind.ENCODER}), lambda r: r.at(1)
            ),
            WeightRule("two_before", "two tokens back", SELF, lambda rows: rows.at(-2)),
            WeightRule(
                "two_after", "two tokens on", frozenset({AttentionKind.ENCODER}), lambda r: r.at(2)
            ),
            WeightRule(
                "first",
                "at the first token",
                EVERY,
                lambda rows: rows.where(place == 0 for place in range(len(rows.keys))),
            ),
            WeightRule(
                "last",
                "at the sentence end",
                FULL,
                lambda rows: rows.where(place == rows.last for place in range(len(rows.keys))),
            ),
            WeightRule(
                "punctuation",
                "at punctuation",
                EVERY,
                lambda rows: rows.where(map(punctuation, rows.keys)),
            ),
            WeightRule("again", "at the same token elsewhere", SELF, _again),
            WeightRule("own_word", "at the other pieces of its word", SELF, _own_word),
            WeightRule("evenly", "at everything alike", EVERY, lambda rows: np.ones(rows.shape)),
            WeightRule(
                "aligned",
                "at the source of the token just read",
                frozenset({AttentionKind.CROSS}),
                _aligned,
            ),
            WeightRule(
                "after_aligned",
                "at what follows the source of the token just read",
                frozenset({AttentionKind.CROSS}),
                _after_aligned,
            ),
        )
    }
)
"""Every rule by its name."""

BY_DISTANCE = "by_distance"
"""A rule with a table: each distance of key from query has its share."""
