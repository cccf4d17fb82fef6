"""Templates of two clauses: negation, reasons, and pronouns that refer back."""

from __future__ import annotations

from model.survey.parallel_text import Pair
from model.training.templates.draw import Draw, english_pronoun, german_pronoun, template
from model.training.templates.german import ACCUSATIVE, DATIVE, NOMINATIVE, Noun, phrase, pronoun
from model.training.templates.lexicon import NOUNS, PEOPLE, SIZES

_ANIMAL, _WAY, _PLACE = NOUNS["animal"], NOUNS["way"], NOUNS["place"]
_WHO = _ANIMAL + PEOPLE

_OF_WAYS = {
    "Straße": "wide breit, slippery glatt, dangerous gefährlich, noisy laut, dark dunkel",
    "Brücke": "narrow schmal, long lang, slippery glatt, dangerous gefährlich",
    "Fluss": "wide breit, deep tief, cold kalt, dangerous gefährlich",
    "See": "deep tief, cold kalt, big groß, dangerous gefährlich",
    "Wüste": "hot heiß, dry trocken, big groß, dangerous gefährlich",
    "": "wet nass, big groß, dangerous gefährlich, dark dunkel, muddy matschig",
}


def _adjectives(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(pair.split()) for pair in text.split(", "))


class _Action:
    """A verb with who may do it to what, and adjectives that are reasons for it or against it."""

    def __init__(
        self, verb: str, objects: tuple[Noun, ...], who: tuple[Noun, ...], *reasons: str
    ) -> None:
        self.base, self.past, self.german_past, self.participle, self.infinitive = verb.split()
        self.objects, self.who = objects, who
        self.too, self.of_object_too, self.why, self.of_object_why = map(_adjectives, reasons)


_TIRED = (
    "tired müde, weak schwach, old alt, slow langsam, young jung, ill krank, lazy faul, "
    "exhausted erschöpft, nervous nervös, small klein, shy schüchtern"
)
_EAGER = "hungry hungrig, thirsty durstig, curious neugierig, brave mutig"
_ACTIONS = (
    _Action(
        "cross crossed überquerte überquert überqueren",
        _WAY,
        _WHO,
        _TIRED,
        _OF_WAYS[""],
        _EAGER,
        "empty leer, quiet ruhig, narrow schmal",
    ),
    _Action(
        "cross crossed überquerte überquert überqueren",
        _WAY[:4],
        _ANIMAL,
        _TIRED,
        _OF_WAYS[""],
        _EAGER,
        "empty leer, quiet ruhig, narrow schmal",
    ),
    _Action(
        "enter entered betrat betreten betreten",
        _PLACE,
        _WHO,
        "dirty schmutzig, shy schüchtern, wet nass, nervous nervös, tired müde, big groß",
        "dark dunkel, cold kalt, small klein, crowded voll, noisy laut",
        _EAGER,
        "warm warm, open offen, empty leer, safe sicher",
    ),
    _Action(
        "leave left verließ verlassen verlassen",
        _PLACE,
        _WHO,
        _TIRED,
        "comfortable gemütlich, warm warm, beautiful schön",
        "hungry hungrig, bored gelangweilt, angry wütend",
        "dark dunkel, cold kalt, noisy laut, dirty schmutzig",
    ),
    _Action(
        "eat ate aß gegessen essen",
        NOUNS["food"],
        PEOPLE,
        "tired müde, ill krank, full satt, sad traurig, nervous nervös",
        "cold kalt, hot heiß, hard hart, salty salzig, old alt, dry trocken",
        "hungry hungrig, greedy gierig",
        "fresh frisch, good gut, warm warm",
    ),
    _Action(
        "buy bought kaufte gekauft kaufen",
        NOUNS["thing"],
        PEOPLE,
        "poor arm, young jung, stingy geizig",
        "expensive teuer, big groß, small klein, heavy schwer, ugly hässlich, old alt, bright hell",
        "rich reich, curious neugierig",
        "cheap billig, beautiful schön, new neu, light leicht",
    ),
    _Action(
        "carry carried trug getragen tragen",
        NOUNS["thing"][:30],
        PEOPLE,
        "weak schwach, tired müde, small klein, lazy faul, old alt",
        "heavy schwer, big groß, dirty schmutzig, wet nass, hot heiß",
        "strong stark, nice nett",
        "light leicht, valuable wertvoll",
    ),
)
_SINCE = ("because", "weil"), ("because", "weil"), ("because", "weil"), ("since", "da")


@template("reason", 6)
def not_because(draw: Draw) -> Pair:
    """Nothing happened, and why: "it" is whichever noun the adjective fits."""
    action = draw.one(_ACTIONS)
    who, what = draw.one(action.who), draw.one(action.objects)
    about_object = draw.chance(0.5)
    if about_object:
        of_way = action.base == "cross"
        too = (
            _adjectives(_OF_WAYS.get(what.german, _OF_WAYS[""]))
            if of_way
            else (action.of_object_too)
        )
        english, german = draw.one(too)
        it, es = "it", pronoun(what.gender, NOMINATIVE)
    else:
        english, german = draw.one(action.too)
        it, es = english_pronoun(who), german_pronoun(who)
    word, wort = draw.one((("the", "der"), ("the", "der"), ("the", "der"), ("this", "dies")))
    subject, thing = phrase(wort, who, NOMINATIVE), phrase("der", what, ACCUSATIVE)
    because, weil = draw.one(_SINCE)
    negated = draw.one(("didn't", "didn't", "did not", "couldn't"))
    if negated == "couldn't":
        main = f"{subject} konnte {thing} nicht {action.infinitive}"
    elif draw.chance(0.6):
        main = f"{subject} {action.german_past} {thing} nicht"
    else:
        main = f"{subject} hat {thing} nicht {action.participle}"
    left = f"{word} {who.english} {negated} {action.base} the {what.english}"
    why, warum = f"{it} was too {english}", f"{es} zu {german} war"
    return draw.sentence(f"{left} {because} {why}.", f"{main}, {weil} {warum}.")


@template("it", 14)
def either(draw: Draw) -> Pair:
    """An animal and a place of different genders: the adjective alone tells what "it" is."""
    action = draw.one([each for each in _ACTIONS if each.base in ("cross", "enter", "leave")])
    who = draw.one(_ANIMAL)
    what = draw.one([each for each in action.objects if each.gender != who.gender])
    about_place = draw.chance(0.5)
    if about_place and action.base == "cross":
        options = _adjectives(_OF_WAYS.get(what.german, _OF_WAYS[""]))
    else:
        options = action.of_object_too if about_place else action.too
    shared = {english for english, _ in action.too} & {word for word, _ in action.of_object_too}
    english, german = draw.one([each for each in options if each[0] not in shared])
    es = pronoun(what.gender, NOMINATIVE) if about_place else german_pronoun(who)
    negated = draw.one(("didn't", "didn't", "did not", "couldn't"))
    subject, thing = phrase("der", who, NOMINATIVE), phrase("der", what, ACCUSATIVE)
    main = (
        f"{subject} konnte {thing} nicht {action.infinitive}"
        if negated == "couldn't"
        else f"{subject} {action.german_past} {thing} nicht"
    )
    too, zu = draw.one((("too", "zu"), ("too", "zu"), ("so", "so"), ("very", "sehr")))
    return draw.sentence(
        f"the {who.english} {negated} {action.base} the {what.english} "
        f"because it was {too} {english}.",
        f"{main}, weil {es} {zu} {german} war.",
    )


@template("reason", 4)
def because(draw: Draw) -> Pair:
    """Something happened, and why."""
    action = draw.one(_ACTIONS)
    who, what = draw.one(action.who), draw.one(action.objects)
    about_object = draw.chance(0.5)
    english, german = draw.one(action.of_object_why if about_object else action.why)
    it = "it" if about_object else english_pronoun(who)
    es = pronoun(what.gender, NOMINATIVE) if about_object else german_pronoun(who)
    subject, thing = phrase("der", who, NOMINATIVE), phrase("der", what, ACCUSATIVE)
    if draw.chance(0.6):
        main = f"{subject} {action.german_past} {thing}"
    else:
        main = f"{subject} hat {thing} {action.participle}"
    very, sehr = draw.one((("", ""), ("", ""), ("very ", "sehr "), ("so ", "so ")))
    return draw.sentence(
        f"the {who.english} {action.past} the {what.english} because {it} was {very}{english}.",
        f"{main}, weil {es} {sehr}{german} war.",
    )


@template("reason", 3)
def although(draw: Draw) -> Pair:
    """Something happened against a reason, in both orders of the clauses."""
    action = draw.one(_ACTIONS)
    who, what = draw.one(action.who), draw.one(action.objects)
    english, german = draw.one(action.too)
    it, es = english_pronoun(who), german_pronoun(who)
    subject, thing = phrase("der", who, NOMINATIVE), phrase("der", what, ACCUSATIVE)
    if draw.chance(0.5):
        return draw.sentence(
            f"although the {who.english} was {english}, {it} {action.past} the {what.english}.",
            f"obwohl {subject} {german} war, {action.german_past} {es} {thing}.",
        )
    return draw.sentence(
        f"the {who.english} {action.past} the {what.english} although {it} was {english}.",
        f"{subject} {action.german_past} {thing}, obwohl {es} {german} war.",
    )


@template("reason", 2)
def until(draw: Draw) -> Pair:
    """Write "not … until", which German says with "erst"."""
    action = draw.one(_ACTIONS)
    who, what = draw.one(action.who), draw.one(action.objects)
    when, wann = draw.pair(
        "it was dark | es dunkel war",
        "the sun was shining | die Sonne schien",
        "the rain stopped | der Regen aufhörte",
        "everyone was asleep | alle schliefen",
        "it was too late | es zu spät war",
        "the music stopped | die Musik aufhörte",
    )
    return draw.sentence(
        f"the {who.english} didn't {action.base} the {what.english} until {when}.",
        f"{phrase('der', who, NOMINATIVE)} {action.german_past} "
        f"{phrase('der', what, ACCUSATIVE)} erst, als {wann}.",
    )


@template("reason", 3)
def does_not_fit(draw: Draw) -> Pair:
    """A thing, a container, and which of them is too big or too small."""
    thing, container = draw.one(NOUNS["thing"]), draw.one(NOUNS["container"])
    if thing.english == container.english:
        return not_because(draw)
    big, gross = draw.one((("big", "groß"), ("large", "groß"), ("wide", "breit"), ("long", "lang")))
    small, klein = draw.one((("small", "klein"), ("narrow", "schmal"), ("full", "voll")))
    of_container = draw.chance(0.5)
    about = container if of_container else thing
    english, german = (small, klein) if of_container else (big, gross)
    past = draw.chance(0.3)
    left = "didn't" if past else draw.one(("doesn't", "does not", "won't"))
    passte, war = ("passte", "war") if past else ("passt", "ist")
    return draw.sentence(
        f"the {thing.english} {left} fit {draw.one(('in', 'into'))} the {container.english} "
        f"because it {'was' if past else 'is'} too {english}.",
        f"{phrase('der', thing, NOMINATIVE)} {passte} nicht in "
        f"{phrase('der', container, ACCUSATIVE)}, weil "
        f"{pronoun(about.gender, NOMINATIVE)} zu {german} {war}.",
    )


@template("mat", 6)
def on_a_surface(draw: Draw) -> Pair:
    """An animal or a person rests on something, sometimes because of what it is like."""
    who, surface = draw.one(_WHO), draw.one(NOUNS["surface"])
    english, german = draw.pair(
        "sat on | saß auf",
        "sat on | saß auf",
        "lay on | lag auf",
        "slept on | schlief auf",
        "is sitting on | sitzt auf",
        "is lying on | liegt auf",
        "is sleeping on | schläft auf",
        "was standing on | stand auf",
        "doesn't sit on | sitzt nicht auf",
        "sits on | sitzt auf",
    )
    word, wort = draw.one((("the", "der"), ("the", "der"), ("a", "ein"), ("this", "dies")))
    left = f"{draw.article(word, who.english)} {english} the {surface.english}"
    right = f"{phrase(wort, who, NOMINATIVE)} {german} {phrase('der', surface, DATIVE)}"
    if draw.chance(0.35) and english in ("sat on", "slept on", "lay on"):
        soft, weich = draw.one(
            (("soft", "weich"), ("warm", "warm"), ("comfortable", "bequem"), ("dry", "trocken"))
        )
        left += f" because it was {soft}"
        right += f", weil {pronoun(surface.gender, NOMINATIVE)} {weich} war"
    return draw.sentence(f"{left}.", f"{right}.")


@template("pronoun", 6)
def but_it_is_too(draw: Draw) -> Pair:
    """A thing, and "it" in the next clause."""
    thing = draw.one(NOUNS["thing"])
    english, german = draw.one(tuple(SIZES.items()))
    er, ihn = pronoun(thing.gender, NOMINATIVE), pronoun(thing.gender, ACCUSATIVE)
    a = draw.article("a", thing.english)
    ein, der = phrase("ein", thing, ACCUSATIVE), phrase("der", thing, NOMINATIVE)
    mein, meinen = phrase("mein", thing, NOMINATIVE), phrase("mein", thing, ACCUSATIVE)
    surface = draw.one(NOUNS["surface"])
    me, mich = draw.one((("my room", "mein Zimmer"), ("me", "mich"), ("my son", "meinen Sohn")))
    return draw.sentence_of(
        f"I bought {a}, but it is too {english}."
        f" | ich habe {ein} gekauft, aber {er} ist zu {german}.",
        f"I bought {a}, but it is too {english} for {me}."
        f" | ich habe {ein} gekauft, aber {er} ist zu {german} für {mich}.",
        f"she bought {a}, but it was too {english}. | sie kaufte {ein}, aber {er} war zu {german}.",
        f"where is my {thing.english}? It was on the {surface.english}."
        f" | wo ist {mein}? {er.capitalize()} war auf {phrase('der', surface, DATIVE)}.",
        f"I lost my {thing.english} and couldn't find it."
        f" | ich habe {meinen} verloren und konnte {ihn} nicht finden.",
        f"the {thing.english} was too {english}, so I didn't buy it."
        f" | {der} war zu {german}, also habe ich {ihn} nicht gekauft.",
        f"the {thing.english} is too {english}, I can't use it."
        f" | {der} ist zu {german}, ich kann {ihn} nicht benutzen.",
        f"the {thing.english} is dirty. Please clean it."
        f" | {der} ist schmutzig. Bitte mach {ihn} sauber.",
        f"this {thing.english} is broken. Can you repair it?"
        f" | {phrase('dies', thing, NOMINATIVE)} ist kaputt. Kannst du {ihn} reparieren?",
        f"I like this {thing.english} because it is {english}."
        f" | ich mag {phrase('dies', thing, ACCUSATIVE)}, weil {er} {german} ist.",
        f"he found {a} and gave it to me. | er fand {ein} und gab {ihn} mir.",
    )


_WORKING = tuple(
    noun
    for noun in NOUNS["thing"]
    if noun.english
    in ("lamp", "clock", "watch", "phone", "computer", "camera", "radio", "car", "machine", "piano")
)


@template("pronoun", 1)
def still_works(draw: Draw) -> Pair:
    """A machine that works or does not."""
    thing = draw.one(_WORKING)
    english, german = draw.one((("old", "alt"), ("cheap", "billig"), ("small", "klein")))
    er = pronoun(thing.gender, NOMINATIVE)
    word, wort = draw.one((("the", "der"), ("this", "dies"), ("my", "mein")))
    works, funktioniert = draw.pair(
        f"is {english}, but it still works | ist {german}, aber {er} funktioniert noch",
        f"is {english}, but it works well | ist {german}, aber {er} funktioniert gut",
        f"is new, but it doesn't work | ist neu, aber {er} funktioniert nicht",
        f"doesn't work because it is broken | funktioniert nicht, weil {er} kaputt ist",
    )
    return draw.sentence(
        f"{word} {thing.english} {works}.", f"{phrase(wort, thing, NOMINATIVE)} {funktioniert}."
    )


@template("pronoun", 2)
def food_and_it(draw: Draw) -> Pair:
    """Food, and "it" in the next clause."""
    food = draw.one(NOUNS["food"])
    english, german = draw.pair(
        "hot | heiß", "cold | kalt", "salty | salzig", "old | alt", "hard | hart", "sweet | süß"
    )
    er, ihn = pronoun(food.gender, NOMINATIVE), pronoun(food.gender, ACCUSATIVE)
    der, den = phrase("der", food, NOMINATIVE), phrase("der", food, ACCUSATIVE)
    return draw.sentence_of(
        f"the {food.english} is too {english}, I can't eat it."
        f" | {der} ist zu {german}, ich kann {ihn} nicht essen.",
        f"the {food.english} was {english}, so I didn't eat it."
        f" | {der} war {german}, also habe ich {ihn} nicht gegessen.",
        f"the {food.english} is {english}. Don't eat it! | {der} ist {german}. Iss {ihn} nicht!",
        f"I didn't eat the {food.english} because it was too {english}."
        f" | ich habe {den} nicht gegessen, weil {er} zu {german} war.",
        f"the {food.english} smells good. Where did you buy it?"
        f" | {der} riecht gut. Wo hast du {ihn} gekauft?",
    )


@template("pronoun", 1)
def open_and_close(draw: Draw) -> Pair:
    """Things that open and close, and "it" in a request."""
    english, german, gender = draw.one(
        (
            ("door", "die Tür", "f"),
            ("window", "das Fenster", "n"),
            ("gate", "das Tor", "n"),
            ("suitcase", "der Koffer", "m"),
            ("cupboard", "der Schrank", "m"),
            ("drawer", "die Schublade", "f"),
            ("box", "die Kiste", "f"),
            ("fridge", "der Kühlschrank", "m"),
        )
    )
    ihn = pronoun(gender, ACCUSATIVE)
    state, zustand, do, tu, Sie = draw.one(
        (
            ("open", "offen", "close", "mach {} zu", "schließen Sie {}"),
            ("closed", "geschlossen", "open", "mach {} auf", "öffnen Sie {}"),
        )
    )
    request = draw.one((tu, Sie)).format(ihn)
    return draw.sentence(
        f"the {english} is {state}. Please {do} it.", f"{german} ist {zustand}. Bitte {request}."
    )
