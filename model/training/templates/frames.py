"""Fills the sentences of a template; model/training/README.md has the notation."""

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from model.survey.parallel_text import Pair
from model.training.templates.german import (
    ACCUSATIVE,
    CASES,
    DATIVE,
    NOMINATIVE,
    Noun,
    column,
    phrase,
    possessor,
    pronoun,
    relative,
)
from model.training.templates.lexicon import Row, Word, english_pronoun, german_gender, head, row
from model.training.templates.reader import Condition, Step
from model.training.templates.sorts import SLOT, SORTS, is_a, words_of

T = TypeVar("T")

_CHOICE = re.compile(r"\{(?:(\w+):)?([^}]*)\}")
_HIM = {
    "he": {"he": "he", "she": "she", "it": "it"},
    "him": {"he": "him", "she": "her", "it": "it"},
    "his": {"he": "his", "she": "her", "it": "its"},
}
_ER = {"er": NOMINATIVE, "ihn": ACCUSATIVE, "ihm": DATIVE}
_DETERMINERS = {"der", "dies", "ein", "kein", "mein", "dein", "sein", "ihr", "unser"}
_STEMS = {"teuer": "teur", "dunkel": "dunkl", "sauer": "saur", "hoch": "hoh"}
"""Adjectives whose stem before an ending is another."""

_CONTRACTIONS = {
    **{"von dem": "vom", "zu dem": "zum", "zu der": "zur", "bei dem": "beim"},
    **{"in dem": "im", "an dem": "am", "in das": "ins"},
}
_AN = re.compile(r"\ba(?= [aeiou])(?! (?:uni[^m]|use|usu|eu|one))")
# Not of a relative pronoun: "das Haus, in dem der Mann wohnt".
_CONTRACTION = re.compile(rf"(?<!, )\b({'|'.join(_CONTRACTIONS)})\b(?= \w)", re.IGNORECASE)


def _contracted(match: re.Match[str]) -> str:
    short = _CONTRACTIONS[match[1].lower()]
    return short.capitalize() if match[1][0].isupper() else short


def _finished(sentence: str) -> str:
    """With single spaces, none before a mark, a capital, one full stop after "p.m.", "ein Uhr"."""
    text = re.sub(r" +(?=[ .,?!])", "", sentence).strip().replace("~", " ")
    text = text.replace(".m..", ".m.").replace("eins Uhr", "ein Uhr")
    return text[0].upper() + text[1:]


def _bare(word: Word) -> str:
    """What no two words of a sentence share: "the king" and "king" are one person."""
    return head(word).removeprefix("the ").removeprefix("my ")


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


class Filling:
    """One sentence while its words are drawn.

    Args:
        words: given words, by the names of their slots.
    """

    def __init__(self, draw: Draw, words: Mapping[str, Word] | None = None) -> None:
        self._draw = draw
        self._words = dict(words or {})
        self._places: dict[str, int] = {}

    def follow(self, step: Step) -> bool:
        """Give the words of a step their names. False if its conditions do not hold."""
        if not all(self._holds(condition) for condition in step.conditions):
            return False
        options = step.sorts or step.texts
        if step.share is not None:
            place = int(not self._draw.chance(step.share))
        else:
            place = self._draw.one(range(len(options))) if len(options) > 1 else 0
        if step.sorts:
            self._words[step.names[0]] = self._draw.one(words_of(step.sorts[place], self._meaning))
        elif step.texts:
            self._words |= {name: row(*texts) for name, *texts in step.texts[place]}
        return True

    def _holds(self, condition: Condition) -> bool:
        word = self._words.get(condition.word)
        items = (SLOT.sub(lambda slot: self._meaning(slot[1]), item) for item in condition.items)
        return condition.wanted == (word is not None and any(is_a(word, item) for item in items))

    def _meaning(self, slot: str) -> str:
        """What a slot stands for in the name of a sort: a form of its word."""
        name, _, form = slot.partition(".")
        word = self._words.get(name)
        if word is None:
            raise ValueError(f"No step above has drawn “{name}”, which “<{slot}>” needs.")
        if isinstance(word, Noun):
            return word.gender if form == "gender" else word.english
        return word.english[form] if form else head(word)

    def choose(self, text: str) -> str:
        """The text with its choices made, each as in the other language."""
        counted = itertools.count()

        def option(match: re.Match[str]) -> str:
            options, position = match[2].split("|"), str(next(counted))
            drawn = self._draw.one(range(len(options)))
            return options[self._places.setdefault(match[1] or position, drawn)]

        return _CHOICE.sub(option, text)

    def draw_slots(self, text: str) -> None:
        """Draw the words of all slots that name a sort."""
        for slot in SLOT.findall(text):
            for part in slot.split():
                self._word(part.partition(".")[0])

    def pair(self, english: str, german: str) -> Pair:
        """The sentences with their slots filled."""
        german = _CONTRACTION.sub(_contracted, self._in_german(german))
        english = _AN.sub("an", self._in_english(english))
        return Pair(_finished(english), _finished(german))

    def _word(self, name: str) -> Word | None:
        options = SORTS.get(name.rstrip("0123456789"))
        if options is not None and name not in self._words:
            taken = {_bare(each) for each in self._words.values()}
            self._words[name] = self._draw.one(
                [each for each in options if _bare(each) not in taken] if taken else options
            )
        return self._words.get(name)

    def _in_english(self, text: str) -> str:
        return SLOT.sub(lambda slot: self._english(slot[1].split()), text)

    def _english(self, parts: list[str]) -> str:
        if parts[0] in _HIM and len(parts) > 1:
            return _HIM[parts[0]][english_pronoun(self._noun(parts[1]))]
        if parts[0] == "a":
            noun = self._english(parts[1:])
            return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        return " ".join(map(self._english_word, parts))

    def _english_word(self, part: str) -> str:
        name, _, form = part.partition(".")
        word = self._word(name)
        if isinstance(word, Noun):
            return word.english
        if word is not None:
            return self._in_english(word.english[form])
        many = self._word(name.removesuffix("s")) if name.endswith("s") else None
        return many.english_plural if isinstance(many, Noun) else part

    def _in_german(self, text: str) -> str:
        return SLOT.sub(lambda slot: self._german(slot[1].split()), text)

    def _german(self, parts: list[str]) -> str:
        if parts[0] == "Er":
            return self._german(["er", *parts[1:]]).capitalize()
        case = parts.pop() if parts[-1] in CASES else ""
        *before, last = parts
        name, _, form = last.partition(".")
        word = self._word(name)
        if isinstance(word, Row):
            return self._in_german(word.german[form])
        plural = word is None
        noun = self._noun(name.removesuffix("s") if plural else name)
        if before and before[0] in _ER:
            natural = pronoun(german_gender(noun), _ER[before[0]])
            return pronoun(noun.gender, case) if case else natural
        if before == ["rel"]:
            return relative(column(noun, plural=plural), case)
        if before == ["sein"] and not case:
            return possessor(german_gender(noun))
        determiner, between = self._determiner(before)
        stems = [stem for stem in map(self._stem, between) if stem]
        # Two adjectives take the same ending.
        together = phrase(determiner, noun, case, adjective="+".join(stems), plural=plural)
        if len(stems) < 2:
            return together
        *before, both, last = together.split(" ")
        ending = both[len("+".join(stems)) :]
        return " ".join([*before, *(stem + ending for stem in stems), last])

    def _determiner(self, parts: list[str]) -> tuple[str, list[str]]:
        """The determiner of a phrase, "" for none, and its adjectives."""
        if not parts or parts[0].startswith("="):
            return "", parts
        if parts[0] == "sein":
            owner = self._noun(parts[1]) if parts[1:] else None
            return possessor(german_gender(owner)) if owner else "sein", parts[2:]
        word = self._word(parts[0])
        if word is None:
            return parts[0], parts[1:]
        text = word.german[""] if isinstance(word, Row) else ""
        return (text, parts[1:]) if text in _DETERMINERS else ("", parts)

    def _stem(self, part: str) -> str:
        """An adjective without its ending: "=alt" itself, or the word of a slot."""
        word = None if part.startswith("=") else self._word(part)
        text = word.german[""] if isinstance(word, Row) else part.removeprefix("=")
        return _STEMS.get(text, text.removesuffix("e"))

    def _noun(self, name: str) -> Noun:
        word = self._word(name)
        if not isinstance(word, Noun):
            raise ValueError(f"“{name}” stands for no noun: no sort and no step has this name.")
        return word


def fill(draw: Draw, english: str, german: str, words: Mapping[str, Word] | None = None) -> Pair:
    """A pair of sentences with their choices made and their slots filled."""
    filling = Filling(draw, words)
    return filling.pair(*map(filling.choose, (english, german)))
