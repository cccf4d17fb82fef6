"""Templates of numbers, times of day, names, and of any noun."""

from __future__ import annotations

from model.survey.parallel_text import Pair
from model.training.templates.draw import Draw, a_job, a_name, template
from model.training.templates.german import ACCUSATIVE, DATIVE, NOMINATIVE, Noun, phrase, pronoun
from model.training.templates.lexicon import (
    ANIMALS,
    CITIES,
    EVERYTHING,
    HALF_HOURS,
    HOURS,
    MONTHS,
    NUMBERS,
    RELATIVES,
    THINGS,
)

WEEKDAYS = (
    *(("Monday", "Montag"), ("Tuesday", "Dienstag"), ("Wednesday", "Mittwoch")),
    *(("Thursday", "Donnerstag"), ("Friday", "Freitag"), ("Saturday", "Samstag")),
    ("Sunday", "Sonntag"),
)


def in_words(number: int) -> tuple[str, str]:
    """A number from 1 to 999 in English and German words."""
    if number == 1:
        return "one", "eins"
    if number < 20:
        return NUMBERS[number - 2]
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        many, viel = in_words(hundreds)
        english, german = in_words(rest) if rest else ("", "")
        hundert = f"{'ein' if hundreds == 1 else viel}hundert"
        return f"{many} hundred{' and ' * bool(rest)}{english}", f"{hundert}{german}"
    ten, zehner = NUMBERS[number // 10 + 16]
    if number % 10 == 0:
        return ten, zehner
    one, eins = in_words(number % 10)
    return f"{ten}-{one}", f"{'ein' if one == 'one' else eins}und{zehner}"


def _date(draw: Draw) -> tuple[str, str, str]:
    """A day and its month as English writes it, "on" included, and German for "on" and alone."""
    (month, monat), day = draw.one(MONTHS), draw.one(range(1, 29))
    suffix = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    english = draw.one(
        (f"{month} {day}", f"{month} {day}{suffix}", f"the {day}{suffix} of {month}")
    )
    return english, f"am {day}. {monat}", f"{day}. {monat}"


@template("number", 5)
def dates(draw: Draw) -> Pair:
    """Days of a month, with weekday and year."""
    date, am, alone = _date(draw)
    year, (weekday, wochentag) = 1700 + int(draw.one(range(330))), draw.one(WEEKDAYS)
    name, _ = a_name(draw)
    who, wer, birthday = draw.one(
        (
            ("he", "er", ("his", "sein")),
            ("she", "sie", ("her", "ihr")),
            (name, name, ("my", "mein")),
        )
    )
    my, mein = birthday
    comma = "" if date.startswith("the ") else ","
    return draw.sentence_of(
        f"{who} was born on {date}. | {wer} wurde {am} geboren.",
        f"{who} was born on {date}{comma} {year}. | {wer} wurde {am} {year} geboren.",
        f"{who} died on {date}{comma} {year}. | {wer} starb {am} {year}.",
        f"{my} birthday is on {date}. | {mein} Geburtstag ist {am}.",
        f"today is {date}. | heute ist der {alone}.",
        f"today is {weekday}, {date}. | heute ist {wochentag}, der {alone}.",
        f"the meeting is on {weekday}, {date}. | die Besprechung ist am {wochentag}, dem {alone}.",
        f"the school closes on {date}. | die Schule schließt {am}.",
        f"{who} will come back on {date}. | {wer} kommt {am} zurück.",
        f"the war ended on {date}{comma} {year}. | der Krieg endete {am} {year}.",
        f"see you on {weekday}, {date}. | bis {wochentag}, den {alone}.",
    )


@template("number", 6)
def figures(draw: Draw) -> Pair:
    """Times of a day in figures, prices, measures, and large numbers."""
    hour, minutes, number = draw.one(range(1, 13)), draw.one(range(10, 60)), draw.one(range(2, 100))
    tenths, thousands = draw.one(range(1, 10)), f"{draw.one(range(100, 1000))}"
    three, drei = in_words(draw.one(range(2, 1000)))
    verb, verb_german = draw.pair(
        "the train leaves at | der Zug fährt um {} ab",
        "the bus leaves at | der Bus fährt um {} ab",
        "the plane lands at | das Flugzeug landet um {}",
        "our train arrives at | unser Zug kommt um {} an",
        "the meeting starts at | die Besprechung beginnt um {}",
        "the lesson ends at | der Unterricht endet um {}",
        "the shop opens at | der Laden öffnet um {}",
        "the concert begins at | das Konzert beginnt um {}",
        "I will be there at | ich werde um {} da sein",
        "she called me at | sie rief mich um {} an",
        "we ate at | wir aßen um {}",
    )
    time, zeit = draw.one(
        (
            (f"{hour}:{minutes}", f"{hour}:{minutes} Uhr"),
            (f"{hour}:{minutes}", f"{hour}:{minutes} Uhr"),
            (f"{hour}:{minutes} a.m", f"{hour}:{minutes} Uhr"),
            (f"{hour} o'clock", f"{hour} Uhr"),
        )
    )
    thing = draw.one(THINGS)
    it, es = f"the {thing.english}", phrase("der", thing, NOMINATIVE)
    digits = " ".join(str(draw.one(range(100, 999))) for _ in range(2))
    return draw.sentence_of(
        f"{verb} {time}. | {verb_german.format(zeit)}.",
        f"{verb} {time}. | {verb_german.format(zeit)}.",
        f"{verb} {time}. | {verb_german.format(zeit)}.",
        f"it is {time}. | es ist {zeit}.",
        f"{it} costs {number} dollars. | {es} kostet {number} Dollar.",
        f"{it} costs ${number}. | {es} kostet {number} Dollar.",
        f"{it} costs {three} dollars. | {es} kostet {drei} Dollar.",
        f"I paid {three} euros for {it}."
        f" | ich habe {drei} Euro für {phrase('der', thing, ACCUSATIVE)} bezahlt.",
        f"{it} weighs {number}.{tenths} kilograms. | {es} wiegt {number},{tenths} Kilogramm.",
        f"{it} weighs {three} grams. | {es} wiegt {drei} Gramm.",
        f"{it} is {number} centimeters long. | {es} ist {number} Zentimeter lang.",
        f"it's {number} kilometers to the station. | bis zum Bahnhof sind es {number} Kilometer.",
        f"the tower is {number} meters high. | der Turm ist {number} Meter hoch.",
        f"about {number},{thousands} people live here."
        f" | hier leben ungefähr {number}.{thousands} Menschen.",
        f"the city has {number} million inhabitants. | die Stadt hat {number} Millionen Einwohner.",
        f"{number} percent of the students passed. | {number} Prozent der Schüler haben bestanden.",
        f"my phone number is {digits}. | meine Telefonnummer ist {digits}.",
        f"my room number is {thousands}. | meine Zimmernummer ist {thousands}.",
        f"there are {three} students at this school. | an dieser Schule gibt es {drei} Schüler.",
        f"this book has {three} pages. | dieses Buch hat {drei} Seiten.",
        f"open the book on page {number}. | schlag das Buch auf Seite {number} auf.",
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


@template("number", 5)
def clock(draw: Draw) -> Pair:
    """Times of day: "half past three" is "halb vier"."""
    place = draw.one(range(12))
    (hour, stunde), (_, naechste) = HOURS[place], HALF_HOURS[place]
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
