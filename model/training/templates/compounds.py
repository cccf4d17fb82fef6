"""Dictionary nouns of certain German gender, by their ending or by the compound's last part.

A German compound has the gender of its last part, and a few endings have one gender only.
"""

import re
from collections.abc import Iterable, Iterator

from model.survey.parallel_text import Pair
from model.training.templates.german import Noun
from model.training.templates.lexicon import EVERYTHING

_ENDINGS = (
    *(("ung", "f"), ("heit", "f"), ("keit", "f"), ("schaft", "f"), ("tät", "f"), ("ion", "f")),
    *(("chen", "n"), ("lein", "n"), ("ismus", "m"), ("ling", "m")),
)
_TOO_SHORT = ("ion", "lein", "ling")
_ENGLISH = re.compile(r"[a-z]+(?: [a-z]+)?")
_GERMAN = re.compile(r"[A-ZÄÖÜ][a-zäöüß]{4,}")
_NO_COMPOUNDS = {
    *("ei", "uhr", "rock", "tor", "see", "leiter", "stift", "platz", "esel", "lamm", "schild"),
    *("otter", "stier", "wort", "wert"),
}
"""Nouns that end unrelated words ("Schlamm"), or have two genders."""

_HEADS = {
    noun.german.lower(): noun
    for noun in EVERYTHING
    if len(noun.german) > 3 and noun.german.lower() not in _NO_COMPOUNDS
}


def nouns_of(dictionary: Iterable[Pair]) -> Iterator[Noun]:
    """The singular nouns whose form shows their gender.

    Args:
        dictionary: English words and their German translations.
    """
    for english, german in dictionary:
        if not _ENGLISH.fullmatch(english) or not _GERMAN.fullmatch(german):
            continue
        if english.endswith("s") and not english.endswith("ss"):
            continue
        noun = _noun(english, german)
        if noun is not None:
            yield noun


def _noun(english: str, german: str) -> Noun | None:
    for length in range(len(german) - 3, 3, -1):
        head = _HEADS.get(german[-length:].lower())
        if head is not None and german[-length:].islower():
            stem = german[:-length]
            plural = stem + head.plural.lower()
            return Noun(english, german, head.gender, plural, "", head.genitive, head.weak)
    for ending, gender in _ENDINGS:
        long_enough = len(german) > len(ending) + (4 if ending in _TOO_SHORT else 3)
        if german.endswith(ending) and long_enough:
            return Noun(english, german, gender, german, "", "" if gender == "f" else "s")
    return None
