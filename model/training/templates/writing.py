"""Distinct pairs from all templates, without held-out sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from model.survey.parallel_text import Pair, key
from model.training.templates import frames, numbers, possession, qualities, reasons, senses, verbs
from model.training.templates.compounds import nouns_of
from model.training.templates.draw import TEMPLATES, Draw
from model.training.templates.numbers import with_noun

MODULES = (frames, numbers, possession, qualities, reasons, senses, verbs)
"""Modules whose templates are registered."""


def from_templates(count: int, seed: int, held_out: Collection[str]) -> Iterator[tuple[str, Pair]]:
    """Distinct pairs, each after its kind.

    Args:
        count: the most pairs; templates may have fewer.
        seed: equal seeds give equal pairs.
        held_out: keys of sentences to leave out, on either side.
    """
    draw = Draw(seed)
    tickets = [each for each in TEMPLATES for _ in range(each.weight)]
    known, stale, written = set[str](), 0, 0
    while written < count and stale < 2000:
        each = draw.one(tickets)
        pair = each.write(draw)
        english = key(pair.source)
        if english in known or any(held in held_out for side in pair for held in _keys(side)):
            stale += 1
            continue
        stale = 0
        known.add(english)
        written += 1
        yield each.kind, pair


def _keys(side: str) -> Iterator[str]:
    """Of a sentence, and of what follows its introduction ("Remember: …")."""
    yield key(side)
    for mark in (", ", ": "):
        yield key(side.partition(mark)[2])


def around_nouns(
    dictionary: Sequence[Pair], each: int, seed: int, held_out: Collection[str]
) -> Iterator[tuple[str, Pair]]:
    """Sentences around the nouns of a dictionary, if their German gender is certain.

    Args:
        dictionary: English and German words.
        each: sentences for a noun.
        seed: equal seeds give equal sentences.
        held_out: keys of sentences to leave out, on either side.
    """
    draw, known = Draw(seed), set[str]()
    for noun in nouns_of(dictionary):
        for _ in range(each):
            pair = with_noun(draw, noun)
            english, german = map(key, pair)
            if english not in known and not {english, german} & set(held_out):
                known.add(english)
                yield "noun", pair
