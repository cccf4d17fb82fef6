"""Templates of numbers, times of day, names, and of any noun."""

from __future__ import annotations

from model.training.corpus import Pair
from model.training.templates.draw import Draw, a_job, a_name, template
from model.training.templates.german import ACCUSATIVE, DATIVE, NOMINATIVE, Noun, phrase, pronoun
from model.training.templates.lexicon import (
    ANIMALS,
    CITIES,
    EVERYTHING,
    HOURS,
    NUMBERS,
    RELATIVES,
    THINGS,
)


@template("number", 5)
def numbers(draw: Draw) -> Pair:
    """Numbers in words, ages, years and prices."""
    english, german = draw.one(NUMBERS)
    noun, who = draw.one(THINGS + ANIMALS), draw.one(RELATIVES)
    mein, plural = phrase("mein", who, NOMINATIVE), phrase("", noun, ACCUSATIVE, plural=True)
    year = 1900 + int(draw.one(range(125)))
    digits, cents = draw.one(range(2, 100)), draw.one(("50", "20", "99", "75"))
    city, stadt = draw.one(tuple(CITIES.items()))
    name, _ = a_name(draw)
    he, er = draw.one((("he", "er"), ("she", "sie"), (name, name)))
    it, der = f"the {noun.english}", phrase("der", noun, NOMINATIVE)
    return draw.sentence_of(
        f"{he} is {english} years old. | {er} ist {german} Jahre alt.",
        f"my {who.english} is {english} years old. | {mein} ist {german} Jahre alt.",
        f"my {who.english} is {digits} years old. | {mein} ist {digits} Jahre alt.",
        f"I have {english} {noun.english_plural}. | ich habe {german} {plural}.",
        f"{he} bought {english} {noun.english_plural}. | {er} kaufte {german} {plural}.",
        f"{he} was born in {year}. | {er} wurde {year} geboren.",
        f"{he} has lived in {city} since {year}. | {er} wohnt seit {year} in {stadt}.",
        f"{it} costs {english} euros. | {der} kostet {german} Euro.",
        f"{it} costs {digits}.{cents} euros. | {der} kostet {digits},{cents} Euro.",
        f"the city has {digits},000 inhabitants. | die Stadt hat {digits}.000 Einwohner.",
    )


@template("number", 3)
def clock(draw: Draw) -> Pair:
    """Times of day: "half past three" is "halb vier"."""
    place = draw.one(range(12))
    (hour, stunde), (_, naechste) = HOURS[place], HOURS[(place + 1) % 12]
    minutes, digits = draw.one(range(10, 60)), draw.one(range(1, 24))
    full = "ein" if stunde == "eins" else stunde
    times = draw.pair(
        f"half past {hour} | halb {naechste}",
        f"half past {hour} | halb {naechste}",
        f"a quarter past {hour} | Viertel nach {stunde}",
        f"a quarter to {hour} | Viertel vor {stunde}",
        f"ten past {hour} | zehn nach {stunde}",
        f"ten to {hour} | zehn vor {stunde}",
        f"{hour} o'clock | {full} Uhr",
        f"{digits}:{minutes} | {digits}:{minutes} Uhr",
    )
    time, zeit = times
    return draw.sentence_of(
        f"it is {time}. | es ist {zeit}.",
        f"it's {time}. | es ist {zeit}.",
        f"the train leaves at {time}. | der Zug fährt um {zeit} ab.",
        f"the bus arrives at {time}. | der Bus kommt um {zeit} an.",
        f"I got up at {time}. | ich bin um {zeit} aufgestanden.",
        f"the shop closes at {time}. | der Laden schließt um {zeit}.",
        f"the film starts at {time}. | der Film beginnt um {zeit}.",
        f"she left the house at {time}. | sie verließ das Haus um {zeit}.",
        f"dinner is served at {time}. | das Abendessen wird um {zeit} serviert.",
    )


@template("name", 4)
def names(draw: Draw) -> Pair:
    """Names of people and cities."""
    name, column = a_name(draw)
    other, _ = a_name(draw)
    if other == name:
        return clock(draw)
    (city, stadt), (to, nach) = draw.two(tuple(CITIES.items()))
    job, beruf = a_job(draw, column == "f")
    thing, (his, sein) = draw.one(THINGS), (("his", "sein"), ("her", "ihr"))[column == "f"]
    object_ = phrase(sein, thing, ACCUSATIVE)
    him, ihn = (("him", "ihn"), ("her", "sie"))[column == "f"]
    return draw.sentence_of(
        f"{name} lives in {city}. | {name} wohnt in {stadt}.",
        f"{name} and {other} live in {city}. | {name} und {other} leben in {stadt}.",
        f"{name} flew from {city} to {to}. | {name} flog von {stadt} nach {nach}.",
        f"we flew from {city} to {to}. | wir flogen von {stadt} nach {nach}.",
        f"I want to go to {city}. | ich möchte nach {stadt} fahren.",
        f"have you ever been to {city}? | warst du schon einmal in {stadt}?",
        f"I have never been to {city}. | ich war noch nie in {stadt}.",
        f"{name} gave {other} {his} {thing.english}. | {name} gab {other} {object_}.",
        f"{name} was born in {city}. | {name} wurde in {stadt} geboren.",
        f"do you know {name}? | kennst du {name}?",
        f"my name is {name}. | ich heiße {name}.",
        f"my name is {name} and I live in {city}. | ich heiße {name} und wohne in {stadt}.",
        f"{name} is {job}. | {name} ist {beruf}.",
        f"{name} is not {job}. | {name} ist kein{'e' * (column == 'f')} {beruf}.",
        f"{name} didn't come, so I called {him}. | {name} kam nicht, also rief ich {ihn} an.",
        f"{name} loves {other}. | {name} liebt {other}.",
    )


@template("carrier", 6)
def carrier(draw: Draw) -> Pair:
    """Every noun of the lexicon in sentences that fit any noun."""
    return with_noun(draw, draw.one(EVERYTHING))


def with_noun(draw: Draw, noun: Noun) -> Pair:
    """A sentence about any noun in the singular."""
    nom, acc, dat = (phrase("der", noun, case) for case in (NOMINATIVE, ACCUSATIVE, DATIVE))
    the = f"the {noun.english}"
    er, ein = pronoun(noun.gender, NOMINATIVE), phrase("dies", noun, NOMINATIVE)
    return draw.sentence_of(
        f"where is {the}? | wo ist {nom}?",
        f"there is {the}. | da ist {nom}.",
        f"I can't find {the}. | ich kann {acc} nicht finden.",
        f"do you see {the}? | siehst du {acc}?",
        f"I saw {the} yesterday. | ich habe {acc} gestern gesehen.",
        f"we talked about {the}. | wir sprachen über {acc}.",
        f"what happened to {the}? | was ist mit {dat} passiert?",
        f"this {noun.english} is very important. | {ein} ist sehr wichtig.",
        f"{the} is not here. | {nom} ist nicht hier.",
        f"is this {noun.english} new? No, it is old. | ist {ein} neu? Nein, {er} ist alt.",
        f"I don't like this {noun.english}. | ich mag {phrase('dies', noun, ACCUSATIVE)} nicht.",
        f"which {noun.english} do you mean? | {phrase('welch', noun, ACCUSATIVE)} meinst du?",
    )
