"""Distinct pairs from all templates, without held-out sentences."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from model.survey.parallel_text import Pair, key
from model.training.templates.compounds import nouns_of
from model.training.templates.frames import Draw, Filling, fill
from model.training.templates.reader import Block, blocks

SENTENCES = Path(__file__).parent / "sentences"


def write(block: Block, draw: Draw) -> Pair:
    """A pair of a template: its steps, a sentence, and its slots, drawn in this order."""
    filling = Filling(draw)
    for step in block.before:
        if filling.follow(step) and step.instead:
            return write(NAMED[step.instead], draw)
    sentences = block.sentences
    english, german = map(
        filling.choose, draw.one(sentences) if len(sentences) > 1 else sentences[0]
    )
    if block.after:
        filling.draw_slots(german + english)
        for step in block.after:
            filling.follow(step)
    return filling.pair(english, german)


TEMPLATES = tuple(
    block
    for path in sorted(SENTENCES.glob("*.txt"))
    for block in blocks(path.read_text(encoding="utf-8"))
)
"""In the order of their files, which decides what a seed draws."""

NAMED = {block.name: block for block in TEMPLATES if block.name}


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
        pair = write(each, draw)
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
        each: sentences for a noun.
        seed: equal seeds give equal sentences.
        held_out: keys of sentences to leave out, on either side.
    """
    draw, known = Draw(seed), set[str]()
    sentences = NAMED["noun"].sentences
    for noun in nouns_of(dictionary):
        for _ in range(each):
            pair = fill(draw, *draw.one(sentences), {"noun": noun})
            english, german = map(key, pair)
            if english not in known and not {english, german} & set(held_out):
                known.add(english)
                yield "noun", pair
