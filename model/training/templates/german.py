"""German noun phrases: every article, adjective and noun takes its form here."""

from dataclasses import dataclass

NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE = "nom", "acc", "dat", "gen"
CASES = (NOMINATIVE, ACCUSATIVE, DATIVE, GENITIVE)

_COLUMNS = ("m", "f", "n", "p")
"""Masculine, feminine, neuter, and plural of any gender."""

_DEFINITE = {
    NOMINATIVE: ("der", "die", "das", "die"),
    ACCUSATIVE: ("den", "die", "das", "die"),
    DATIVE: ("dem", "der", "dem", "den"),
    GENITIVE: ("des", "der", "des", "der"),
}
_STRONG_ENDINGS = {
    NOMINATIVE: ("er", "e", "es", "e"),
    ACCUSATIVE: ("en", "e", "es", "e"),
    DATIVE: ("em", "er", "em", "en"),
    GENITIVE: ("es", "er", "es", "er"),
}
_POSSESSIVE_ENDINGS = _STRONG_ENDINGS | {
    NOMINATIVE: ("", "e", "", "e"),
    ACCUSATIVE: ("en", "e", "", "e"),
}
_PRONOUNS = {
    NOMINATIVE: ("er", "sie", "es", "sie"),
    ACCUSATIVE: ("ihn", "sie", "es", "sie"),
    DATIVE: ("ihm", "ihr", "ihm", "ihnen"),
}
_RELATIVE = _DEFINITE | {
    DATIVE: ("dem", "der", "dem", "denen"),
    GENITIVE: ("dessen", "deren", "dessen", "deren"),
}
_POSSESSORS = {"m": "sein", "f": "ihr", "n": "sein", "p": "ihr"}


@dataclass(frozen=True, slots=True)
class Noun:
    """An English noun and its German translation.

    Attributes:
        german: the nominative singular.
        gender: "m", "f" or "n".
        plural: the German nominative plural.
        genitive: the ending of the genitive singular, "" for feminine nouns.
        weak: whether every form but the nominative singular ends in -(e)n ("den Jungen").
    """

    english: str
    german: str
    gender: str
    plural: str
    english_plural: str
    genitive: str = ""
    weak: bool = False

    def form(self, case: str, *, plural: bool = False) -> str:
        """The noun in a case, with capital and ending."""
        if plural:
            takes_n = case == DATIVE and not self.plural.endswith(("n", "s"))
            return self.plural + "n" * takes_n
        if self.weak and case != NOMINATIVE:
            return self.german + self.genitive
        return self.german + (self.genitive if case == GENITIVE else "")


def column(noun: Noun, *, plural: bool = False) -> str:
    """The column of a declension table: the noun's gender, or "p"."""
    return "p" if plural else noun.gender


def determiner(word: str, case: str, of: str) -> str:
    """A determiner's form.

    Args:
        word: "der", "dies", "jed", "ein", "kein", or a possessive stem such as "mein" or "unser".
        case: one of CASES.
        of: a column, as `column` gives it.
    """
    place = _COLUMNS.index(of)
    if word == "der":
        return _DEFINITE[case][place]
    if word in ("dies", "jed", "welch"):
        return word + _STRONG_ENDINGS[case][place]
    return word + _POSSESSIVE_ENDINGS[case][place]


def adjective_ending(word: str, case: str, of: str) -> str:
    """The ending of an adjective after a determiner; "" as the determiner means none."""
    if not word:
        if case == GENITIVE and of in "mn":
            return "en"
        return _STRONG_ENDINGS[case][_COLUMNS.index(of)]
    if of == "p" or case in (DATIVE, GENITIVE) or (case == ACCUSATIVE and of == "m"):
        return "en"
    if word in ("der", "dies", "jed", "welch") or of == "f":
        return "e"
    return "er" if of == "m" else "es"


def phrase(word: str, noun: Noun, case: str, *, adjective: str = "", plural: bool = False) -> str:
    """A noun phrase: determiner, adjective and noun, in agreement.

    Args:
        word: a determiner as `determiner` takes it, or "" for none.
        noun: the head.
        case: one of CASES.
        adjective: the stem that takes the ending ("alt", "teur", "dunkl"), or "".
    """
    of = column(noun, plural=plural)
    parts = [determiner(word, case, of)] if word else []
    if adjective:
        parts.append(adjective + adjective_ending(word, case, of))
    return " ".join([*parts, noun.form(case, plural=plural)])


def pronoun(of: str, case: str) -> str:
    """The personal pronoun of the third person for a column."""
    return _PRONOUNS[case][_COLUMNS.index(of)]


def relative(of: str, case: str) -> str:
    """The relative pronoun for a column."""
    return _RELATIVE[case][_COLUMNS.index(of)]


def possessor(of: str) -> str:
    """The stem of the possessive of a third person: "sein" or "ihr"."""
    return _POSSESSORS[of]
