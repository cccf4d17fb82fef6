"""The random choices of templates, and their registry."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from model.survey.parallel_text import Pair
from model.training.names import MEN, WOMEN
from model.training.templates.german import NOMINATIVE, Noun, pronoun
from model.training.templates.lexicon import FEMALE, JOBS, NOUNS, STEMS

T = TypeVar("T")

_HE = {noun.english for noun in NOUNS["man"]}


class Draw:
    """Seeded choices, the same on every machine."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random.random() * len(options))]

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return self._random.random() < share

    def two(self, options: Sequence[T]) -> tuple[T, T]:
        """Two different options."""
        first = int(self._random.random() * len(options))
        second = int(self._random.random() * (len(options) - 1))
        return options[first], options[second + (second >= first)]

    @staticmethod
    def article(word: str, noun: str) -> str:
        """An English determiner with its noun, "a" as "an" before a vowel."""
        return f"{'an' if word == 'a' and noun[0] in 'aeiou' else word} {noun}"

    def pair(self, *options: str) -> tuple[str, str]:
        """English and German of one of the options, each "English | German"."""
        english, german = self.one(options).split(" | ")
        return english, german

    def sentence_of(self, *options: str) -> Pair:
        """One of the options, as `sentence` writes it."""
        return self.sentence(*self.pair(*options))

    @staticmethod
    def sentence(english: str, german: str) -> Pair:
        """The pair with capitals at the start."""
        return Pair(english[0].upper() + english[1:], german[0].upper() + german[1:])


@dataclass(frozen=True, slots=True)
class Template:
    """A function that writes one pair.

    Attributes:
        kind: the rule it teaches.
        weight: its share of the pairs, relative to the others.
        write: the function.
    """

    kind: str
    weight: int
    write: Callable[[Draw], Pair]


TEMPLATES: list[Template] = []


def template(kind: str, weight: int) -> Callable[[Callable[[Draw], Pair]], Callable[[Draw], Pair]]:
    """Register a function as a template."""

    def register(write: Callable[[Draw], Pair]) -> Callable[[Draw], Pair]:
        TEMPLATES.append(Template(kind, weight, write))
        return write

    return register


def english_pronoun(noun: Noun) -> str:
    """The English pronoun for a subject."""
    return "he" if noun.english in _HE else ("she" if noun.english in FEMALE else "it")


def german_pronoun(noun: Noun) -> str:
    """The German pronoun for a subject: by gender, but "sie" for a girl, as people say."""
    return "sie" if noun.english == "girl" else pronoun(noun.gender, NOMINATIVE)


def adjective_stem(adjective: str) -> str:
    """The stem of a German adjective, without its ending."""
    return STEMS.get(adjective, adjective.removesuffix("e"))


def a_job(draw: Draw, female: bool) -> tuple[str, str]:
    """A job in English with its article, then in German, for a man or a woman."""
    english, german = draw.one(tuple(JOBS.items()))
    return f"{draw.article('a', english)}", german[female]


def a_name(draw: Draw) -> tuple[str, str]:
    """A name with the declension column of its owner."""
    return (draw.one(MEN), "m") if draw.chance(0.5) else (draw.one(WOMEN), "f")
