"""Templates of possessives, and of who gives whom what."""

from __future__ import annotations

from model.survey.parallel_text import Pair
from model.training.templates.draw import (
    Draw,
    a_job,
    a_name,
    adjective_stem,
    english_pronoun,
    template,
)
from model.training.templates.german import (
    ACCUSATIVE,
    DATIVE,
    GENITIVE,
    NOMINATIVE,
    Noun,
    phrase,
    possessor,
)
from model.training.templates.lexicon import (
    ANIMALS,
    CITIES,
    COLORS,
    FEMALE,
    MY,
    NOUNS,
    PEOPLE,
    RELATIVES,
    SIZES,
    THINGS,
)

_ADJECTIVES = (
    ("old", "alt"),
    ("young", "jung"),
    ("little", "klein"),
    ("tall", "groß"),
    ("clever", "klug"),
    ("poor", "arm"),
    ("rich", "reich"),
    ("famous", "berühmt"),
    ("friendly", "freundlich"),
    ("tired", "müde"),
)


def _genitive(name: str) -> str:
    return f"{name}'" if name.endswith(("s", "x", "z")) else f"{name}s"


@template("possessive", 5)
def relatives_relative(draw: Draw) -> Pair:
    """Write "My mother's sister is a doctor"."""
    first, second = draw.two(RELATIVES)
    my, mein = draw.one(MY)
    genitive = phrase(mein, first, GENITIVE)
    adjective = draw.chance(0.2)
    if first.english in ("friend", "girlfriend", "boyfriend", "colleague") and adjective:
        genitive = phrase(mein, first, GENITIVE, adjective="best")
        my = f"{my} best"
    elif adjective:
        english, german = draw.one((("old", "alt"), ("young", "jung"), ("poor", "arm")))
        genitive = phrase(mein, first, GENITIVE, adjective=german)
        my = f"{my} {english}"
    who = f"{phrase('der', second, NOMINATIVE)} {genitive}"
    city, stadt = draw.one(tuple(CITIES.items()))
    job, beruf = a_job(draw, second.english in FEMALE)
    is_ill, ist_krank = draw.pair(
        f"is {job} | ist {beruf}",
        f"is {job} | ist {beruf}",
        f"lives in {city} | wohnt in {stadt}",
        f"lives in {city} | lebt in {stadt}",
        "is very ill | ist sehr krank",
        "works at a bank | arbeitet bei einer Bank",
        "plays the piano | spielt Klavier",
        "is not at home | ist nicht zu Hause",
        f"was born in {city} | wurde in {stadt} geboren",
        "died last year | ist letztes Jahr gestorben",
    )
    return draw.sentence(
        f"{my} {first.english}'s {second.english} {is_ill}.", f"{who} {ist_krank}."
    )


@template("possessive", 4)
def relatives_thing(draw: Draw) -> Pair:
    """Write "My father's car is red"."""
    if draw.chance(0.5):
        owner, (my, mein) = draw.one(RELATIVES), draw.one(MY)
    else:
        owner, (my, mein) = draw.one(PEOPLE), ("the", "der")
    thing = draw.one(THINGS + ANIMALS[:12])
    color, farbe = draw.one(tuple((COLORS | SIZES).items()))
    genitive, surface = phrase(mein, owner, GENITIVE), draw.one(NOUNS["surface"])
    left = f"{my} {owner.english}'s {thing.english}"
    the, der = phrase("der", thing, NOMINATIVE), phrase("der", thing, ACCUSATIVE)
    if thing in ANIMALS:
        color, farbe = draw.one((("old", "alt"), ("small", "klein"), ("big", "groß")))
    return draw.sentence_of(
        f"{left} is {color}. | {the} {genitive} ist {farbe}.",
        f"this is {left}. | das ist {the} {genitive}.",
        f"that is not {left}. | das ist nicht {the} {genitive}.",
        f"where is {left}? | wo ist {the} {genitive}?",
        f"{left} is on the {surface.english}."
        f" | {the} {genitive} ist auf {phrase('der', surface, DATIVE)}.",
        f"I found {left}. | ich habe {der} {genitive} gefunden.",
        f"have you seen {left}? | hast du {der} {genitive} gesehen?",
    )


@template("possessive", 2)
def names_relative(draw: Draw) -> Pair:
    """Write "Peter's wife is a teacher"."""
    name, _ = a_name(draw)
    who = draw.one(tuple(r for r in RELATIVES if r.english not in ("boss", "teacher")))
    job, beruf = a_job(draw, who.english in FEMALE)
    return draw.sentence(
        f"{name}'s {who.english} is {job}.", f"{_genitive(name)} {who.german} ist {beruf}."
    )


@template("possessive", 5)
def own_thing(draw: Draw) -> Pair:
    """His, her and its, by the gender of the German owner."""
    owner = draw.one(PEOPLE + ANIMALS + RELATIVES)
    word, wort = ("my", "mein") if owner in RELATIVES else ("the", "der")
    she = owner.english in FEMALE or english_pronoun(owner) == "she"
    its = "her" if she else ("its" if owner in ANIMALS else "his")
    sein = "ihr" if owner.english == "girl" else possessor(owner.gender)
    thing = draw.one(THINGS)
    past, german = draw.pair(
        "lost | verlor {}",
        "forgot | vergaß {}",
        "found | fand {}",
        "sold | verkaufte {}",
        "was looking for | suchte {}",
        "has lost | hat {} verloren",
        "loves | liebt {}",
        "can't find | kann {} nicht finden",
        "didn't sell | verkaufte {} nicht",
        "took | nahm {}",
        "needs | braucht {}",
    )
    if owner in ANIMALS:
        part, teil = draw.one(
            (
                ("paw", Noun("", "Pfote", "f", "Pfoten", "")),
                ("tail", Noun("", "Schwanz", "m", "", "")),
                ("food", Noun("", "Futter", "n", "", "")),
                ("ear", Noun("", "Ohr", "n", "", "")),
                ("leg", Noun("", "Bein", "n", "", "")),
                ("head", Noun("", "Kopf", "m", "", "")),
            )
        )
        past, german = draw.pair(
            "hurt | verletzte {}",
            "has hurt | hat {} verletzt",
            "is washing | putzt {}",
            "lost | verlor {}",
            "is looking for | sucht {}",
            "moved | bewegte {}",
            "is licking | leckt {}",
        )
        if part == "food" and "wash" not in past and "lick" not in past:
            past, german = "ate", "fraß {}"
        object_ = phrase(sein, teil, ACCUSATIVE)
    else:
        part, object_ = thing.english, phrase(sein, thing, ACCUSATIVE)
    return draw.sentence(
        f"{word} {owner.english} {past} {its} {part}.",
        f"{phrase(wort, owner, NOMINATIVE)} {german.format(object_)}.",
    )


@template("giving", 5)
def giving(draw: Draw) -> Pair:
    """Who gives whom what: a dative, an accusative and a possessive."""
    giver, taker = draw.two(PEOPLE)
    thing = draw.one(THINGS)
    verb, gab, gegeben = draw.one(
        (
            ("gave", "gab", "gegeben"),
            ("gave", "gab", "gegeben"),
            ("showed", "zeigte", "gezeigt"),
            ("brought", "brachte", "gebracht"),
            ("sold", "verkaufte", "verkauft"),
            ("promised", "versprach", "versprochen"),
        )
    )
    she = english_pronoun(giver) == "she"
    which, welch = draw.one(
        (("the", "der"), ("a", "ein"), ("his", "sein"), ("my", "mein"), ("this", "dies"))
    )
    if which == "his" and she:
        which, welch = "her", "ihr"
    english, german = ("", "")
    if draw.chance(0.4):
        english, german = draw.one(_ADJECTIVES)
    if english == "young" and taker.english == "boy":
        english, german = "tall", "groß"
    who, wem = (
        phrase("der", giver, NOMINATIVE),
        phrase("der", taker, DATIVE, adjective=adjective_stem(german)),
    )
    what = phrase(welch, thing, ACCUSATIVE)
    if draw.chance(0.4):
        who, subject = draw.one((("er", "he"), ("sie", "she"), ("ich", "I")))
        if which in ("his", "her"):
            which, welch = {"he": ("his", "sein"), "she": ("her", "ihr"), "I": ("my", "mein")}[
                subject
            ]
            what = phrase(welch, thing, ACCUSATIVE)
    else:
        subject = f"the {giver.english}"
    receiver = f"the {english} {taker.english}" if english else f"the {taker.english}"
    a_thing = draw.article(which, thing.english)
    left = (
        f"{subject} {verb} {receiver} {a_thing}."
        if draw.chance(0.6)
        else f"{subject} {verb} {a_thing} to {receiver}."
    )
    if draw.chance(0.35):
        hat = "habe" if who == "ich" else "hat"
        return draw.sentence(left, f"{who} {hat} {wem} {what} {gegeben}.")
    return draw.sentence(left, f"{who} {gab} {wem} {what}.")
