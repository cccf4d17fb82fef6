"""Templates of adjectives: comparison, and endings of every case."""

from __future__ import annotations

from model.survey.parallel_text import Pair
from model.training.templates.draw import Draw, adjective_stem, template
from model.training.templates.german import ACCUSATIVE, NOMINATIVE, phrase
from model.training.templates.lexicon import ANIMALS, COLORS, MY, NUMBERS, RELATIVES, SIZES, THINGS

_COMPARATIVES = (
    ("bigger", "größer", "big", "groß"),
    ("smaller", "kleiner", "small", "klein"),
    ("older", "älter", "old", "alt"),
    ("more expensive", "teurer", "expensive", "teuer"),
    ("heavier", "schwerer", "heavy", "schwer"),
    ("more beautiful", "schöner", "beautiful", "schön"),
    ("cheaper", "billiger", "cheap", "billig"),
    ("better", "besser", "good", "gut"),
    ("longer", "länger", "long", "lang"),
    ("lighter", "leichter", "light", "leicht"),
)


@template("comparison", 4)
def comparison(draw: Draw) -> Pair:
    """Comparatives, equality and superlatives."""
    one, other = draw.two(THINGS if draw.chance(0.5) else ANIMALS)
    more, mehr, much, viel = draw.one(_COMPARATIVES)
    (my, mein), (your, dein) = draw.one(MY[:4]), draw.one(MY[4:])
    the, der = f"the {one.english}", phrase("der", one, NOMINATIVE)
    than, als = f"the {other.english}", phrase("der", other, NOMINATIVE)
    sibling, yours = draw.one(RELATIVES), phrase(dein, one, NOMINATIVE)
    taller, groesser = draw.pair(
        "taller | größer",
        "older | älter",
        "younger | jünger",
        "stronger | stärker",
        "richer | reicher",
        "smarter | klüger",
    )
    me, ich = draw.one((("me", "ich"), ("you", "du"), ("him", "er"), ("her", "sie"), ("us", "wir")))
    return draw.sentence_of(
        f"{the} is {more} than {than}. | {der} ist {mehr} als {als}.",
        f"{the} is not {more} than {than}. | {der} ist nicht {mehr} als {als}.",
        f"{the} is as {much} as {than}. | {der} ist so {viel} wie {als}.",
        f"{the} is not as {much} as {than}. | {der} ist nicht so {viel} wie {als}.",
        f"{my} {one.english} is {more} than {your} {one.english}."
        f" | {phrase(mein, one, NOMINATIVE)} ist {mehr} als {yours}.",
        f"my {sibling.english} is {taller} than {me}."
        f" | {phrase('mein', sibling, NOMINATIVE)} ist {groesser} als {ich}.",
        f"I have never seen {draw.article('a', more)} {one.english}."
        f" | ich habe noch nie {phrase('ein', one, ACCUSATIVE, adjective=mehr)} gesehen.",
    )


@template("adjective", 4)
def adjectives(draw: Draw) -> Pair:
    """Adjective endings of every case and determiner."""
    noun = draw.one(THINGS)
    english, german = draw.one(tuple((COLORS | SIZES).items()))
    stem, this = (
        adjective_stem(german),
        draw.one((("the", "der"), ("this", "dies"), ("my", "mein"))),
    )
    ein = phrase("ein", noun, ACCUSATIVE, adjective=stem)
    a = f"{draw.article('a', english)} {noun.english}"
    word, wort = this
    plural = phrase("", noun, ACCUSATIVE, adjective=stem, plural=True)
    two, zwei = draw.one(NUMBERS[:9])
    return draw.sentence_of(
        f"she has {a}. | sie hat {ein}.",
        f"he bought {a}. | er kaufte {ein}.",
        f"this is {a}. | das ist {phrase('ein', noun, NOMINATIVE, adjective=stem)}.",
        f"I need {a}. | ich brauche {ein}.",
        f"I would like {a}. | ich hätte gern {ein}.",
        f"I don't have {a}. | ich habe {phrase('kein', noun, ACCUSATIVE, adjective=stem)}.",
        f"this {english} {noun.english} is mine."
        f" | {phrase('dies', noun, NOMINATIVE, adjective=stem)} gehört mir.",
        f"I like {word} {english} {noun.english}."
        f" | ich mag {phrase(wort, noun, ACCUSATIVE, adjective=stem)}.",
        f"I have {two} {english} {noun.english_plural}. | ich habe {zwei} {plural}.",
        f"there are {two} {noun.english_plural} in the room."
        f" | im Zimmer sind {zwei} {phrase('', noun, NOMINATIVE, plural=True)}.",
        f"where did you buy this {english} {noun.english}?"
        f" | wo hast du {phrase('dies', noun, ACCUSATIVE, adjective=stem)} gekauft?",
    )
