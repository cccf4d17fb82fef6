"""Templates kept as data: words/frames.tsv and words/senses.tsv, a sentence with slots a line.

`{a|b}` is a choice, made alike in both languages; `{1:a|b}` names it where the order differs.
`<animal>` is a slot. English: `<animals>` is its plural, `<a trait animal>` has an article that
fits, `<he person>` (him, his) refers to it. German: `<der trait animal dat>` is a phrase in
agreement, `<er animal>` (ihn, ihm) its pronoun, `<rel animal acc>` its relative pronoun, and
`<sein person thing acc>` a possessive of the person. A digit tells slots of one sort apart.
`<who>` is a subject in the third person (`<hewho>`, `<shewho>`). `<deed.FORM>` is a form of a verb
phrase, named in deeds.py: "because <who> <deed.s>", "weil <who> <deed.sub>".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from model.survey.parallel_text import Pair
from model.training.names import MEN, WOMEN
from model.training.templates.deeds import DEEDS, Deed
from model.training.templates.draw import (
    Draw,
    adjective_stem,
    english_pronoun,
    german_pronoun,
    template,
)
from model.training.templates.figures import FIGURES
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
from model.training.templates.lexicon import (
    ANIMALS,
    CITIES,
    COLORS,
    FEMALE,
    HALF_HOURS,
    HOURS,
    JOBS,
    MONTHS,
    NOUNS,
    NUMBERS,
    ORDINALS,
    PEOPLE,
    RELATIVES,
    SIZES,
    TO_THINGS,
    TRAITS,
    WORDS,
)
from model.training.templates.numbers import WEEKDAYS, in_words

Word = Noun | Deed | tuple[str, str]


def _subjects(female: bool) -> tuple[tuple[str, str], ...]:
    """Subjects of the third person: a pronoun, a name, a relative, a person."""
    he, names = (("she", "sie"), WOMEN) if female else (("he", "er"), MEN)
    nouns = [
        *((f"my {each.english}", phrase("mein", each, NOMINATIVE)) for each in RELATIVES),
        *((f"the {each.english}", phrase("der", each, NOMINATIVE)) for each in PEOPLE),
    ]
    return (
        *(he,) * 30,
        *((name, name) for name in names),
        *(each for each in nouns if (each[0].split()[1] in FEMALE) == female),
    )


_DONE = tuple(
    (verb.participle, verb.german_participle)
    for verb in TO_THINGS
    if verb.base not in ("need", "break", "lose", "hide", "forget")
)

_SAID = (
    ("as the saying goes,", "wie es so schön heißt:"),
    ("my grandmother always said:", "meine Großmutter sagte immer:"),
    ("remember:", "denk daran:"),
    ("an old saying goes:", "ein altes Sprichwort lautet:"),
)
_DIGITS = tuple((str(number), str(number)) for number in range(2, 100))
SLOTS: dict[str, Sequence[Word]] = {
    **NOUNS,
    **FIGURES,
    "deed": DEEDS,
    "separable": tuple(each for each in DEEDS if each.separable),
    "haben": tuple(each for each in DEEDS if each.german["hat"] == "hat"),
    "sein": tuple(each for each in DEEDS if each.german["hat"] == "ist"),
    "hewho": _subjects(female=False),
    "shewho": _subjects(female=True),
    "who": _subjects(female=False) + _subjects(female=True),
    "done": _DONE,
    "said": _SAID,
    "person": PEOPLE,
    "being": PEOPLE + ANIMALS,
    "name": tuple((name, name) for name in (*MEN, *WOMEN)),
    "city": tuple(CITIES.items()),
    "quality": tuple(SIZES.items()),
    "color": tuple(COLORS.items()),
    "trait": tuple(TRAITS.items()),
    "number": NUMBERS,
    "hundreds": tuple(in_words(number) for number in range(101, 1000)),
    "digits": _DIGITS,
    "ordinal": ORDINALS,
    "month": MONTHS,
    "weekday": WEEKDAYS,
    "hour": HOURS,
    "half": HALF_HOURS,
    "herjob": tuple((english, female) for english, (_, female) in JOBS.items()),
    "hisjob": tuple((english, male) for english, (male, _) in JOBS.items()),
}
"""The words of each sort of slot."""

_SLOT = re.compile(r"<([^>]+)>")
_CHOICE = re.compile(r"\{(?:(\w+):)?([^}]*)\}")
_HIM = {
    "him": {"he": "him", "she": "her", "it": "it"},
    "his": {"he": "his", "she": "her", "it": "its"},
}
_CONTRACTIONS = {
    **{"von dem": "vom", "zu dem": "zum", "zu der": "zur", "bei dem": "beim"},
    **{"in dem": "im", "an dem": "am", "in das": "ins"},
}
_AN = re.compile(r"\ba(?= [aeiou])(?! (?:uni[^m]|use|usu|eu|one))")
# Not of a relative pronoun: "das Haus, in dem der Mann wohnt".
_CONTRACTION = re.compile(rf"(?<!, )\b({'|'.join(_CONTRACTIONS)})\b(?= \w)", re.IGNORECASE)


def _head(word: Word) -> object:
    """What no two words of a sentence share: "the king" and "king" are one person."""
    if isinstance(word, Deed):
        return word
    english = word.english if isinstance(word, Noun) else word[0]
    return english.removeprefix("the ").removeprefix("my ")


def _contracted(match: re.Match[str]) -> str:
    short = _CONTRACTIONS[match[1].lower()]
    return short.capitalize() if match[1][0].isupper() else short


def fill(draw: Draw, english: str, german: str) -> Pair:
    """A pair from a frame, as in the module's text."""
    places: dict[str, float] = {}
    words: dict[str, Word] = {}

    def choose(text: str) -> str:
        counted = itertools.count()

        def option(match: re.Match[str]) -> str:
            options = match[2].split("|")
            position = next(counted)
            name = match[1] or str(position)
            place = places.setdefault(name, draw.one(range(len(options))))
            return options[int(place)]

        return re.sub(" +", " ", _CHOICE.sub(option, text))

    def word(name: str) -> Word | None:
        sort = name.rstrip("0123456789")
        options = SLOTS.get(sort)
        if options is None:
            return None
        if name not in words:
            taken = {_head(each) for each in words.values()}
            words[name] = draw.one([each for each in options if _head(each) not in taken])
        return words[name]

    def in_english(match: re.Match[str]) -> str:
        parts = []
        for name in match[1].split():
            name, _, form = name.partition(".")
            one, many = word(name), word(name.removesuffix("s")) if name.endswith("s") else None
            if isinstance(one, Noun):
                parts.append(one.english)
            elif isinstance(one, Deed):
                parts.append(one.english[form])
            elif one:
                parts.append(one[0])
            elif isinstance(many, Noun):
                parts.append(many.english_plural)
            else:
                parts.append(name)
        if parts[0] in ("he", "him", "his") and len(parts) > 1:
            noun = word(match[1].split()[1])
            assert isinstance(noun, Noun), match[0]
            he = english_pronoun(noun)
            return _HIM[parts[0]][he] if parts[0] in _HIM else he
        if parts[0] == "a":
            return draw.article("a", " ".join(parts[1:]))
        return " ".join(parts)

    def in_german(match: re.Match[str]) -> str:
        return _german(match[1].split(), word).replace("\xa0", " ")

    english, german = choose(english), choose(german)
    german = _CONTRACTION.sub(_contracted, _SLOT.sub(in_german, german))
    english = _AN.sub("an", _SLOT.sub(in_english, english))
    # A sentence that ends in "p.m." has one full stop.
    return draw.sentence(english.replace(".m..", ".m."), german)


def _german(parts: list[str], word: Callable[[str], Word | None]) -> str:
    name, _, form = parts[-1].partition(".")
    if form:
        deed = word(name)
        assert isinstance(deed, Deed), parts
        return deed.german[form]
    case = parts.pop() if parts[-1] in CASES else ""
    last = word(parts[-1])
    plural = last is None and parts[-1].endswith("s")
    if plural:
        last = word(parts[-1][:-1])
    if isinstance(last, tuple):
        return last[1]
    assert isinstance(last, Noun), parts
    first = parts[0]
    if first == "er":
        return german_pronoun(last)
    if first in ("ihn", "ihm"):
        cased = ACCUSATIVE if first == "ihn" else DATIVE
        return pronoun("f" if last.english == "girl" else last.gender, cased)
    if first == "rel":
        return relative(column(last, plural=plural), case)
    between, determiner = parts[1:-1], first
    if first == "sein=":
        determiner = "sein"
    elif first == "sein":
        owner = word(between.pop(0))
        assert isinstance(owner, Noun), parts
        determiner = "ihr" if owner.english == "girl" else possessor(owner.gender)
    elif len(parts) == 1 or word(first) is not None:
        between, determiner = parts[:-1], ""
    stems = [adjective_stem(_adjective(name, word)) for name in between]
    # Two adjectives take the same ending.
    together = phrase(determiner, last, case, adjective="+".join(stems), plural=plural)
    if len(stems) < 2:
        return together
    *before, both, noun = together.split(" ")
    ending = both[len("+".join(stems)) :]
    return " ".join([*before, *(stem + ending for stem in stems), noun])


def _adjective(name: str, word: Callable[[str], Word | None]) -> str:
    pair = word(name)
    if name.startswith("="):
        return name[1:].replace("_", "\xa0")
    assert isinstance(pair, tuple), name
    return pair[1]


def _frames() -> dict[str, list[tuple[str, str]]]:
    kinds: dict[str, list[tuple[str, str]]] = {}
    for line in (WORDS / "frames.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        kind, english, german = line.split("\t")
        kinds.setdefault(kind, []).append((english, german))
    return kinds


FRAMES = _frames()
"""English and German frames of each kind."""
_WEIGHTS = {
    **{"motion": 5, "proverb": 15, "number": 8, "clause": 14, "field": 9},
    **{"profession": 7, "time": 6, "conditional": 10, "relative": 12, "passive": 10},
    **{"preposition": 26, "article": 9, "auxiliary": 12, "separable": 20, "plural": 7},
    **{"money": 9, "date": 9, "clock": 6, "figure": 8, "saying": 3, "reflexive": 5},
}


def _register(kind: str, frames: Sequence[tuple[str, str]]) -> None:
    @template(kind, _WEIGHTS[kind])
    def framed(draw: Draw) -> Pair:
        return fill(draw, *draw.one(frames))


for _kind, _lines in FRAMES.items():
    _register(_kind, _lines)
