"""Named places in a sentence that a head may look at, as numbers: the vocabulary of rules.

A term is a place, such as "previous", or a place that counts only for some rows: "next@article" is
the next token where the row's own token is an article. A term knows what the head could know: the
tokens that the rows so far have read, and the keys. A decoder's term never uses a later token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.rules.progress import Progress
from model.rules.weight_rules import EVERY, FULL, RULES, SELF, Cells, SeenRows
from model.rules.word_classes import CLASSES, LISTED, classes_of
from model.trace.attention_map import AttentionKind
from model.trace.token_schemes import special

ENCODER = frozenset({AttentionKind.ENCODER})
CROSS = frozenset({AttentionKind.CROSS})

Values = NDArray[np.float64]

T = TypeVar("T")

_SHIFTED = ("article", "preposition", "pronoun", "auxiliary", "comma", "content")
"""Classes whose next token counts too."""


class TermRows:
    """The terms of some rows of one sentence.

    Args:
        seen: the rows.
        languages: of queries and of keys, such as ("de", "en"); empty for an unknown one.
    """

    def __init__(self, seen: SeenRows, languages: tuple[str, str]) -> None:
        self.seen = seen
        self.n_keys = len(seen.keys)
        self._kept: dict[str, Any] = {}
        self._queries, self._keys = (
            [classes_of(token, language) for token in tokens]
            for tokens, language in zip((seen.queries, seen.keys), languages, strict=True)
        )

    @classmethod
    def over(cls, seen: SeenRows, languages: tuple[str, str]) -> Self:
        """The terms of rows, made once for all heads that look at them."""
        if languages not in seen.terms:
            seen.terms[languages] = cls(seen, languages)
        return seen.terms[languages]

    def of(self, name: str) -> Cells:
        """What a term gives each key of each row, (query, key)."""
        place, _, whose = name.partition("@")
        cells = self.kept(place, lambda: KEY_SETS[place].cells(self))
        return cells * self._row(whose)[:, None] if whose else cells

    def key_is(self, name: str) -> Values:
        """1 for each key of a class, (key,)."""
        return self.kept(
            f"key {name}", lambda: np.array([name in each for each in self._keys], float)
        )

    @property
    def away(self) -> NDArray[np.intp]:
        """How far each key is from each row, (query, key)."""
        return np.arange(self.n_keys) - self.seen.positions[:, None]

    @property
    def progress(self) -> Progress:
        """Where the translation stands."""
        return self.kept("progress", lambda: Progress.of(self.seen))

    def keys(self, values: Values) -> Cells:
        """The same for every row."""
        return np.broadcast_to(values, self.seen.shape)

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """What was made under this name, or is now."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def _row(self, whose: str) -> Values:
        """1 for each row that counts, (query,)."""
        places = self.seen.positions
        if whose == START:
            return (places == 0).astype(float)
        if whose == END:
            return (places == self.seen.last).astype(float)
        name = whose.removeprefix(AFTER)
        here = np.array([name in each for each in self._queries], float)
        before = places - (name != whose)
        return np.where(before >= 0, here[np.maximum(before, 0)], 0.0)


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys that a head may look at, each as far as it counts.

    Attributes:
        text: after "looks at".
        kinds: of attention that have it.
        cells: what it gives each key of each row, from 0 to 1 for most.
    """

    text: str
    kinds: frozenset[AttentionKind]
    cells: Callable[[TermRows], Cells]


START, END, AFTER = "start", "end", "after "

WHOSE: Mapping[str, str] = MappingProxyType(
    {
        START: "the first token",
        END: "the sentence end",
        **CLASSES,
        **{f"{AFTER}{name}": f"tokens after {CLASSES[name]}" for name in _SHIFTED},
    }
)
"""Rows for which a place may count, as said after "from"."""


def _offset(offset: int) -> Callable[[TermRows], Cells]:
    return lambda rows: rows.seen.at(offset)


def _position(position: int) -> Callable[[TermRows], Cells]:
    return lambda rows: rows.seen.where(place == position for place in range(rows.n_keys))


def _rule(name: str) -> Callable[[TermRows], Cells]:
    return lambda rows: RULES[name].cells(rows.seen)


def _class(name: str) -> Callable[[TermRows], Cells]:
    return lambda rows: rows.keys(rows.key_is(name))


def _following(name: str) -> Callable[[TermRows], Cells]:
    return lambda rows: rows.keys(np.concatenate([[0.0], rows.key_is(name)[:-1]]))


def _extreme(name: str, first: bool) -> Callable[[TermRows], Cells]:
    """The first key of a class in the sentence, or the last one."""

    def cells(rows: TermRows) -> Cells:
        found = rows.key_is(name)[:: 1 if first else -1]
        one = found * (np.cumsum(found) == 1)
        return rows.keys(one[:: 1 if first else -1])

    return cells


def _nearest(name: str, side: int) -> Callable[[TermRows], Cells]:
    """The nearest key of a class before the row (side -1) or after it (1)."""

    def cells(rows: TermRows) -> Cells:
        distance = rows.away * side
        there = (rows.key_is(name) > 0) & (distance > 0)
        nearest = np.where(there, distance, rows.n_keys).min(axis=-1, keepdims=True)
        return (there & (distance == nearest)).astype(float)

    return cells


def _nearby(side: int) -> Callable[[TermRows], Cells]:
    """The keys before the row (side -1) or after it (1), the near ones most."""

    def cells(rows: TermRows) -> Cells:
        distance = rows.away * side
        return np.where(distance > 0, np.exp((1 - distance) / 2), 0)

    return cells


def _clause(rows: TermRows) -> Cells:
    """The keys with no comma between them and the row."""
    marks = np.cumsum(rows.key_is("comma"))
    return np.equal.outer(marks[rows.seen.positions], marks).astype(float)


def _copied(rows: TermRows) -> Cells:
    queries = np.array(rows.seen.queries)[rows.seen.positions]
    return np.equal.outer(queries, np.array(rows.seen.keys)).astype(float)


def _mirrored(rows: TermRows) -> Cells:
    """The key as far from the last one as the row is from the first."""
    return _summing_to(rows, rows.seen.last - 1)


def _mirrored_in_text(rows: TermRows) -> Cells:
    """The same in self-attention; in a decoder, from the end of the text that it goes on from."""
    if rows.seen.kind is AttentionKind.ENCODER:
        return _mirrored(rows)
    ends = [place for place, key in enumerate(rows.seen.keys) if place and special(key)]
    if not ends:
        return np.zeros(rows.seen.shape)
    has_read = rows.seen.positions[:, None] >= ends[0]
    return _summing_to(rows, 2 * ends[0] - 1) * has_read


def _summing_to(rows: TermRows, total: int) -> Cells:
    """The key whose place and that of the row have a sum."""
    return np.equal.outer(total - rows.seen.positions, np.arange(rows.n_keys)).astype(float)


def _beside(cells: Cells, by: int) -> Cells:
    """Cells moved by some keys."""
    moved = np.roll(cells, by, axis=-1)
    moved[:, : max(by, 0)] = 0
    moved[:, moved.shape[1] + min(by, 0) :] = 0
    return moved


def _current(by: int) -> Callable[[TermRows], Cells]:
    return lambda rows: _beside(rows.progress.current, by)


def _after_current(name: str) -> Callable[[TermRows], Cells]:
    """The next key of a class after the source of the token just read."""

    def cells(rows: TermRows) -> Cells:
        there = rows.key_is(name) > 0
        onward = there[None] & np.tri(rows.n_keys, k=-1, dtype=bool).T
        first = onward & (np.cumsum(onward, axis=-1) == 1)
        return rows.progress.current @ first.astype(float)

    return cells


def _untranslated(name: str = "") -> Callable[[TermRows], Cells]:
    """The keys, of a class, that were not yet translated."""

    def cells(rows: TermRows) -> Cells:
        counts = rows.key_is(name) if name else [not special(key) for key in rows.seen.keys]
        return (1 - rows.progress.done) * np.asarray(counts, float)

    return cells


def _first_untranslated(rows: TermRows) -> Cells:
    left = _untranslated("content")(rows) > 0.5
    return (left & (np.cumsum(left, axis=-1) == 1)).astype(float)


_NOUNS = {
    "content": "content word",
    "function": "function word",
    "punctuation": "punctuation mark",
    "article": "article",
    "preposition": "preposition",
    "pronoun": "pronoun",
    "auxiliary": "auxiliary verb",
    "conjunction": "conjunction",
}

KEY_SETS: Mapping[str, KeySet] = MappingProxyType(
    {
        "previous": KeySet("the previous token", SELF, _offset(-1)),
        "same": KeySet("its own token", SELF, _offset(0)),
        "next": KeySet("the next token", ENCODER, _offset(1)),
        "two_before": KeySet("two tokens back", SELF, _offset(-2)),
        "two_after": KeySet("two tokens ahead", ENCODER, _offset(2)),
        "three_before": KeySet("three tokens back", SELF, _offset(-3)),
        "three_after": KeySet("three tokens ahead", ENCODER, _offset(3)),
        "just_before": KeySet("the tokens just before", SELF, _nearby(-1)),
        "just_after": KeySet("the tokens just after", ENCODER, _nearby(1)),
        "earlier": KeySet("earlier tokens", ENCODER, lambda rows: (rows.away < 0).astype(float)),
        "far": KeySet("distant tokens", SELF, lambda rows: np.minimum(np.abs(rows.away), 16) / 8),
        "first": KeySet("the first token", EVERY, _position(0)),
        "second": KeySet("the second token", EVERY, _position(1)),
        "last": KeySet("the sentence end", FULL, _rule("last")),
        "again": KeySet("repetitions of its token", SELF, _rule("again")),
        "after_again": KeySet(
            "what follows other copies of its token",
            SELF,
            lambda rows: _beside(rows.of("again"), 1),
        ),
        "own_word": KeySet("other pieces of its word", SELF, _rule("own_word")),
        "clause": KeySet("its own clause", SELF, _clause),
        **{name: KeySet(text, EVERY, _class(name)) for name, text in CLASSES.items()},
        "first content": KeySet("the first content word", FULL, _extreme("content", True)),
        "last content": KeySet("the last content word", FULL, _extreme("content", False)),
        **{
            f"{AFTER}{name}": KeySet(f"tokens after {CLASSES[name]}", EVERY, _following(name))
            for name in _SHIFTED
        },
        **{
            f"{name} before": KeySet(f"the last {text} before it", SELF, _nearest(name, -1))
            for name, text in _NOUNS.items()
        },
        **{
            f"{name} next": KeySet(f"the next {text}", ENCODER, _nearest(name, 1))
            for name, text in _NOUNS.items()
        },
        "mirrored_in_text": KeySet("the position mirrored in its text", SELF, _mirrored_in_text),
        "mirrored": KeySet("the position mirrored in the source", CROSS, _mirrored),
        "abreast": KeySet("the same position in the source", CROSS, _offset(0)),
        "abreast_next": KeySet("one position further in the source", CROSS, _offset(1)),
        "copied": KeySet("copies of the token read", CROSS, _copied),
        "current": KeySet("the word just translated", CROSS, _current(0)),
        "before_current": KeySet("what precedes the word just translated", CROSS, _current(-1)),
        "after_current": KeySet("what follows the word just translated", CROSS, _current(1)),
        **{
            f"{name} after_current": KeySet(
                f"the next {_NOUNS[name]} after the word just translated",
                CROSS,
                _after_current(name),
            )
            for name in ("content", "function", "punctuation", "auxiliary")
        },
        "upcoming": KeySet(
            "the likely next word to translate", CROSS, lambda r: r.progress.upcoming
        ),
        "after_upcoming": KeySet(
            "what follows the likely next word",
            CROSS,
            lambda rows: _beside(rows.progress.upcoming, 1),
        ),
        "untranslated": KeySet("words not yet translated", CROSS, _untranslated()),
        **{
            f"{name} untranslated": KeySet(
                f"{CLASSES[name]} not yet translated", CROSS, _untranslated(name)
            )
            for name in ("content", "function", "pronoun", "auxiliary", "preposition")
        },
        "first content untranslated": KeySet(
            "the first content word not yet translated", CROSS, _first_untranslated
        ),
    }
)
"""Every place by its name."""


def is_term(name: str) -> bool:
    """Whether a name is that of a term."""
    place, at, whose = name.partition("@")
    return place in KEY_SETS and (not at or whose in WHOSE)


def terms_of(kind: AttentionKind, languages: tuple[str, str] | None = None) -> list[str]:
    """The names of all terms for a kind of attention: places, then places for some rows.

    Args:
        kind: of attention.
        languages: of queries and of keys; terms for classes of words that only the lists of a
            language tell are left out for an unknown one, "". None for all terms.
    """
    has_rows, has_places = (each != "" for each in languages or ("?", "?"))
    places = [
        name
        for name, place in KEY_SETS.items()
        if kind in place.kinds and (has_places or not _is_listed(name))
    ]
    rows = [
        each
        for each in WHOSE
        if (each != END or kind is AttentionKind.ENCODER) and (has_rows or not _is_listed(each))
    ]
    return places + [f"{place}@{row}" for place in places for row in rows]


def _is_listed(name: str) -> bool:
    """Whether a place, or rows, depend on a class of words that only word lists tell."""
    return not LISTED.isdisjoint(name.split())
