"""Templates of what verbs govern: passives, word order, relative clauses, conditions."""

from __future__ import annotations

from model.survey.parallel_text import Pair
from model.training.templates.draw import Draw, a_job, english_pronoun, template
from model.training.templates.german import (
    ACCUSATIVE,
    DATIVE,
    GENITIVE,
    NOMINATIVE,
    Noun,
    phrase,
    pronoun,
    relative,
)
from model.training.templates.lexicon import (
    ANIMALS,
    COLORS,
    NOUNS,
    OF_ANIMALS,
    PEOPLE,
    RELATIVES,
    SIZES,
    THINGS,
    TO_PEOPLE,
    TO_THINGS,
)

_DEEDS = tuple(verb for verb in TO_THINGS if verb.base not in ("lose", "forget", "need", "see"))
_CHORES = tuple(
    verb for verb in TO_THINGS if verb.base in ("sell", "repair", "clean", "use", "hide")
)
_MEETINGS = tuple(
    verb for verb in TO_PEOPLE if verb.base not in ("know", "love", "understand", "hate", "admire")
)


@template("passive", 6)
def passive(draw: Draw) -> Pair:
    """Passives of all tenses, with "by" and without."""
    agent_of_animals = draw.chance(0.3)
    if agent_of_animals:
        what, agent = draw.two(ANIMALS)
        verb = draw.one(OF_ANIMALS)
    elif draw.chance(0.5):
        what, agent = draw.two(PEOPLE)
        verb = draw.one(tuple(v for v in TO_PEOPLE if v.base not in ("know", "hear", "find")))
    else:
        what, agent = draw.one(THINGS), draw.one(PEOPLE)
        verb = draw.one(_DEEDS)
    pp, pz = verb.participle, verb.german_participle
    has_agent = draw.chance(0.65)
    by = f" by the {agent.english}" if has_agent else ""
    von = f" {_by(agent)}" if has_agent else ""
    the, der = f"the {what.english}", phrase("der", what, NOMINATIVE)
    return draw.sentence_of(
        f"{the} was {pp}{by}. | {der} wurde{von} {pz}.",
        f"{the} was {pp}{by}. | {der} wurde{von} {pz}.",
        f"{the} wasn't {pp}{by}. | {der} wurde nicht{von} {pz}.",
        f"{the} has been {pp}{by}. | {der} ist{von} {pz} worden.",
        f"{the} has not been {pp}{by}. | {der} ist nicht{von} {pz} worden.",
        f"{the} will be {pp}{by}. | {der} wird{von} {pz} werden.",
        f"{the} must be {pp}{by}. | {der} muss{von} {pz} werden.",
        f"{the} can't be {pp}{by}. | {der} kann nicht{von} {pz} werden.",
        f"was {the} {pp}{by}? | wurde {der}{von} {pz}?",
        f"{the} is being {pp}{by}. | {der} wird gerade{von} {pz}.",
    )


def _by(agent: Noun) -> str:
    dative = phrase("der", agent, DATIVE)
    return f"von {dative}".replace("von dem ", "vom ", 1)


@template("order", 6)
def subject_and_object(draw: Draw) -> Pair:
    """Who does it to whom: nobody, everyone, pronouns, nouns."""
    if draw.chance(0.3):
        verb, (who, whom) = draw.one(OF_ANIMALS), draw.two(ANIMALS + PEOPLE[:6])
    else:
        verb, (who, whom) = draw.one(TO_PEOPLE), draw.two(PEOPLE)
    the, der = f"the {who.english}", phrase("der", who, NOMINATIVE)
    obj, den = f"the {whom.english}", phrase("der", whom, ACCUSATIVE)
    this, dies = f"this {whom.english}", phrase("dies", whom, ACCUSATIVE)
    past, pp, pz = verb.past, verb.participle, verb.german_participle
    pres, er_pres, er_past = verb.present, verb.er_present, verb.er_past
    return draw.sentence_of(
        f"{the} {past} {obj}. | {der} {er_past} {den}.",
        f"{the} {past} {obj}. | {der} hat {den} {pz}.",
        f"nobody {past} {obj}. | niemand {er_past} {den}.",
        f"nobody {past} {obj}. | niemand hat {den} {pz}.",
        f"{the} {past} nobody. | {der} {er_past} niemanden.",
        f"nobody has ever {pp} {this}. | niemand hat {dies} je {pz}.",
        f"no one has ever {pp} {this}. | niemand hat {dies} jemals {pz}.",
        f"{the} has never {pp} {this}. | {der} hat {dies} noch nie {pz}.",
        f"everyone {pres} {obj}. | jeder {er_pres} {den}.",
        f"everybody {past} {obj}. | jeder {er_past} {den}.",
        f"{the} {past} everyone. | {der} {er_past} alle.",
        f"{the} didn't {verb.base} {obj}. | {der} hat {den} nicht {pz}.",
        f"who {past} {obj}? | wer hat {den} {pz}?",
        f"whom did {the} {verb.base}? | wen hat {der} {pz}?",
        f"who did {the} {verb.base}? | wen hat {der} {pz}?",
    )


@template("order", 2)
def nobody_and_things(draw: Draw) -> Pair:
    """Nobody and nothing, with things."""
    verb, thing = draw.one(_CHORES), draw.one(THINGS + NOUNS["place"])
    if thing in NOUNS["place"]:
        verb = draw.one(tuple(v for v in TO_THINGS if v.base in ("sell", "buy", "see", "use")))
    dies, den = phrase("dies", thing, ACCUSATIVE), phrase("der", thing, ACCUSATIVE)
    return draw.sentence_of(
        f"nobody has ever {verb.participle} this {thing.english}."
        f" | niemand hat {dies} je {verb.german_participle}.",
        f"nobody {verb.past} the {thing.english}. | niemand hat {den} {verb.german_participle}.",
        f"nobody can {verb.base} this {thing.english}. | niemand kann {dies} {verb.infinitive}.",
        f"nobody wants to {verb.base} the {thing.english}. | niemand will {den} {verb.infinitive}.",
        f"everyone wants to {verb.base} the {thing.english}. | jeder will {den} {verb.infinitive}.",
        f"I don't want to {verb.base} this {thing.english}."
        f" | ich will {dies} nicht {verb.infinitive}.",
        f"you don't have to {verb.base} the {thing.english}."
        f" | du musst {den} nicht {verb.infinitive}.",
        f"you must not {verb.base} the {thing.english}. | du darfst {den} nicht {verb.infinitive}.",
        f"she can't {verb.base} her {thing.english}."
        f" | sie kann {phrase('ihr', thing, ACCUSATIVE)} nicht {verb.infinitive}.",
    )


@template("relative", 5)
def relative_clause(draw: Draw) -> Pair:
    """Relative pronouns of subjects, objects and owners."""
    verb, met, (who, whom) = draw.one(TO_PEOPLE), draw.one(_MEETINGS), draw.two(PEOPLE)
    job, beruf = a_job(draw, english_pronoun(who) == "she")
    thing, to_thing = draw.one(THINGS), draw.one(_DEEDS)
    color, farbe = draw.one(tuple((COLORS | SIZES).items()))
    plays, spielt = draw.pair(
        f"is {job} | ist {beruf}",
        "plays the piano | spielt Klavier",
        "is tired | ist müde",
        "lives here | wohnt hier",
        "is very old | ist sehr alt",
    )
    the, der = f"the {who.english}", phrase("der", who, NOMINATIVE)
    den, the_girl = phrase("der", whom, ACCUSATIVE), f"the {whom.english}"
    rel, rel_acc = relative(who.gender, NOMINATIVE), relative(who.gender, ACCUSATIVE)
    whose, dem = relative(who.gender, GENITIVE), relative(who.gender, DATIVE)
    it, which = phrase("der", thing, NOMINATIVE), relative(thing.gender, ACCUSATIVE)
    pz = verb.german_participle
    that = draw.one(("that ", "which ", ""))
    whom_word = draw.one(("whom ", "that ", ""))
    whom_der = phrase("der", whom, NOMINATIVE)
    return draw.sentence_of(
        f"{the} who {verb.present} {the_girl} {plays}."
        f" | {der}, {rel} {den} {verb.er_present}, {spielt}.",
        f"{the} {whom_word}{the_girl} {verb.present} {plays}."
        f" | {der}, {rel_acc} {whom_der} {verb.er_present}, {spielt}.",
        f"this is {the} who {verb.past} me. | das ist {der}, {rel} mich {pz} hat.",
        f"this is {the} who helped me. | das ist {der}, {rel} mir geholfen hat.",
        f"this is {the} I helped. | das ist {der}, {dem} ich geholfen habe.",
        f"this is {the} whose {thing.english} is {color}."
        f" | das ist {der}, {whose} {thing.german} {farbe} ist.",
        f"{the} I {met.past} yesterday {plays}."
        f" | {der}, {rel_acc} ich gestern {met.german_participle} habe, {spielt}.",
        f"the {thing.english} {that}{the_girl} {to_thing.past} is {color}."
        f" | {it}, {which} {whom_der} {to_thing.german_participle} hat, ist {farbe}.",
        f"the {thing.english} {that}I {to_thing.past} yesterday is {color}."
        f" | {it}, {which} ich gestern {to_thing.german_participle} habe, ist {farbe}.",
    )


@template("conditional", 4)
def conditional(draw: Draw) -> Pair:
    """Conditions real, unreal and past."""
    thing, verb = draw.one(THINGS), draw.one(_CHORES)
    who = draw.one(RELATIVES)
    english, german = draw.one(
        (("cheaper", "billiger"), ("smaller", "kleiner"), ("newer", "neuer"))
    )
    ein, den = phrase("ein", thing, ACCUSATIVE), phrase("der", thing, ACCUSATIVE)
    a, der = draw.article("a", thing.english), phrase("der", thing, NOMINATIVE)
    ihn = pronoun(thing.gender, ACCUSATIVE)
    mein = phrase("mein", who, NOMINATIVE)
    rains, regnet = draw.one((("rains", "regnet"), ("snows", "schneit")))
    when, wann = draw.one((("tomorrow", "morgen"), ("today", "heute"), ("tonight", "heute Abend")))
    stay, bleiben = draw.pair(
        "we will stay at home | bleiben wir zu Hause",
        "I won't come | komme ich nicht",
        "she will take the car | nimmt sie das Auto",
        "they will play inside | spielen sie drinnen",
        "we won't go out | gehen wir nicht aus",
    )
    return draw.sentence_of(
        f"if I were rich, I would buy {a}. | wenn ich reich wäre, würde ich {ein} kaufen.",
        f"if I had {a}, I would {verb.base} it."
        f" | wenn ich {ein} hätte, würde ich {ihn} {verb.infinitive}.",
        f"if the {thing.english} were {english}, I would buy it."
        f" | wenn {der} {german} wäre, würde ich {ihn} kaufen.",
        f"if he had {verb.participle} the {thing.english}, I would have been happy."
        f" | wenn er {den} {verb.german_participle} hätte, wäre ich glücklich gewesen.",
        f"if I had known that, I would have {verb.participle} the {thing.english}."
        f" | wenn ich das gewusst hätte, hätte ich {den} {verb.german_participle}.",
        f"if it {rains} {when}, {stay}. | wenn es {wann} {regnet}, {bleiben}.",
        f"if my {who.english} were here, we would be happy."
        f" | wenn {mein} hier wäre, wären wir glücklich.",
        f"if my {who.english} comes, I will tell you. | wenn {mein} kommt, sage ich es dir.",
        f"I wonder if my {who.english} will come. | ich frage mich, ob {mein} kommt.",
        f"I don't know if the {thing.english} is new. | ich weiß nicht, ob {der} neu ist.",
        f"what would you do if you had {a}? | was würdest du tun, wenn du {ein} hättest?",
    )
