"""Templates for English words of several senses, each with the words that decide which."""

from __future__ import annotations

import re

from model.survey.parallel_text import Pair
from model.training.templates.draw import Draw, template
from model.training.templates.frames import fill
from model.training.templates.german import NOMINATIVE, phrase
from model.training.templates.lexicon import FEMALE, PEOPLE, RELATIVES, WORDS

_PAIRS = tuple(
    line.split("	") for line in (WORDS / "senses.tsv").read_text(encoding="utf-8").splitlines()
)
"""English and German frames; W is the subject, W2 in English and D in German a name."""
_NAMES = ("Peter", "Anna", "Paul", "Lisa", "Max", "Emma", "John", "Sarah", "David", "Julia")


@template("sense", 34)
def senses(draw: Draw) -> Pair:
    """A sentence of the list, with a person in it if it has a place for one."""
    english, german = fill(draw, *draw.one(_PAIRS))
    kind = draw.one(range(4))
    masculine_only = english.startswith("W ") and " his " in english
    if kind == 0:
        who, wer = draw.one((("he", "er"), ("she", "sie")))
        feminine = who == "she"
    elif kind == 1:
        who = wer = draw.one(_NAMES)
        feminine = who in ("Anna", "Lisa", "Emma", "Sarah", "Julia")
    else:
        word, wort = (("the", "der"), ("my", "mein"))[kind - 2]
        noun = draw.one(PEOPLE if kind == 2 else RELATIVES)
        who, wer = f"{word} {noun.english}", phrase(wort, noun, NOMINATIVE)
        feminine = noun.english in FEMALE
    if masculine_only and feminine:
        english = english.replace(" his ", " her ")
        german = re.sub(r"\bsein(?=e?[mnrs]? \w)", "ihr", german)
    name = draw.one(_NAMES)
    english = english.replace("W2", name)
    german = german.replace("von D", f"von {name}")
    if english.startswith("W "):
        english, german = f"{who}{english[1:]}", f"{wer}{german[1:]}"
    return draw.sentence(english, german)
