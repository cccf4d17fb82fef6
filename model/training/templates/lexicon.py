"""The words of the templates: German and English, by sort, from the folder words/.

A table's first line names its columns; each row begins with its sort. nouns.tsv marks a weak
masculine noun "m*" and names only irregular English plurals. deeds.tsv holds verb phrases of
people ("turn off the light"). A column "en FORM" or "de FORM" of another table is what
`<word.FORM>` writes in that language. sorts.txt has the other sorts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.training.names import MEN, WOMEN
from model.training.tables import rows
from model.training.templates.german import Noun

WORDS = Path(__file__).parent / "words"


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A word or phrase other than a noun: its forms by name, "" being the only or usual one."""

    english: Mapping[str, str]
    german: Mapping[str, str]


Word = Noun | Row


def row(english: object, german: object) -> Row:
    """A word of one form."""
    return Row({"": str(english)}, {"": str(german)})


def head(word: Word) -> str:
    """The English word as it is listed: a noun's singular, a verb's base."""
    return word.english if isinstance(word, Noun) else next(iter(word.english.values()))


def _english_plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    ends = ("s", "x", "ch", "sh", "tato", "mato")
    return noun + ("es" if noun.endswith(ends) else "s")


def _nouns() -> dict[str, tuple[Noun, ...]]:
    kinds: dict[str, tuple[Noun, ...]] = {}
    for kind, english, german, gender, plural, genitive, *irregular in rows(WORDS / "nouns.tsv")[
        1:
    ]:
        many = irregular[0] if irregular else _english_plural(english)
        noun = Noun(english, german, gender[0], plural, many, genitive, weak=gender.endswith("*"))
        kinds[kind] = (*kinds.get(kind, ()), noun)
    return kinds


NOUNS: dict[str, tuple[Noun, ...]] = _nouns()
"""Nouns by kind."""

EVERYTHING = tuple({noun.german: noun for kind in NOUNS.values() for noun in kind}.values())


def _names(names: Sequence[str], gender: str) -> tuple[Noun, ...]:
    return tuple(
        Noun(name, name, gender, "", "", "'" if name.endswith(("s", "x", "z")) else "s")
        for name in names
    )


_HIS, _HER = _names(MEN, "m"), _names(WOMEN, "f")
_PRONOUNS = {
    noun.english: "he" if noun.gender == "m" else "she"
    for nouns in (NOUNS["man"], NOUNS["woman"], NOUNS["relative"], _HIS, _HER)
    for noun in nouns
} | {"girl": "she"}


def english_pronoun(noun: Noun) -> str:
    """The English pronoun for a subject."""
    return _PRONOUNS.get(noun.english, "it")


def german_gender(noun: Noun) -> str:
    """The gender of a noun's pronouns: its own, but "sie" for a girl, as people say."""
    return "f" if noun.english == "girl" else noun.gender


def _tables(*names: str) -> dict[str, list[Word]]:
    sorts: dict[str, list[Word]] = {}
    for name in names:
        (_, *header), *listed = rows(WORDS / name)
        columns = [column.partition(" ")[::2] for column in header]
        for sort, *cells in listed:
            forms: dict[str, dict[str, str]] = {"en": {}, "de": {}}
            for (language, form), cell in zip(columns, cells, strict=True):
                forms[language][form] = cell
            sorts.setdefault(sort, []).append(Row(forms["en"], forms["de"]))
    return sorts


_OF_SEIN = {
    **{"hat": "ist", "habe": "bin", "haben": "sind", "hast": "bist", "hatte": "war"},
    **{"hatten": "waren", "hätte": "wäre", "hätten": "wären"},
}
"""Forms of haben, and those of sein for verbs that take it."""


def _deed(verb: str, tail: str, middle: str, prefix: str, german: str, perfect: str) -> Row:
    """A verb phrase; `<deed.FORM>` names its forms.

    English: base, s, past, done and ing. German: er and wir (finite) and rest, past and pasts
    (plural), du (imperative), sub and subpast and subpasts (last in a clause), inf, zu, done, and
    the auxiliary of the perfect, by its form of haben (hat, hätte …), its infinitive as aux. "no-"
    denies rest, sub, inf and done. prefix is the part that separates, or "".
    """
    names = ("base", "s", "past", "done", "ing")
    english = {
        name: f"{form} {tail}".strip() for name, form in zip(names, verb.split(), strict=True)
    }
    infinitive, er, past, done, du = german.split()
    pasts = past + ("n" if past.endswith("e") else "en")
    if middle.startswith("ein"):
        denied = f"k{middle}"
    elif middle.startswith(("den ", "die ", "das ", "dem ")):
        denied = f"{middle} nicht"
    else:
        denied = f"nicht {middle}"
    last = {"sub": prefix + er, "inf": prefix + infinitive, "done": prefix + done, "rest": prefix}
    forms = {
        **{name: f"{middle} {form}" for name, form in last.items()},
        **{f"no-{name}": f"{denied.strip()} {form}" for name, form in last.items()},
        **{"er": er, "wir": infinitive, "du": du, "past": past, "pasts": pasts, "prefix": prefix},
        "subpast": f"{middle} {prefix}{past}",
        "subpasts": f"{middle} {prefix}{pasts}",
        "zu": f"{middle} {prefix}zu{infinitive}" if prefix else f"{middle} zu {infinitive}",
        "aux": "sein" if perfect == "ist" else "haben",
        **{haben: sein if perfect == "ist" else haben for haben, sein in _OF_SEIN.items()},
    }
    return Row(english, {name: form.strip() for name, form in forms.items()})


DEEDS = tuple(_deed(*cells) for cells in rows(WORDS / "deeds.tsv")[1:])
"""words/deeds.tsv."""

LISTED: dict[str, Sequence[Word]] = {
    **NOUNS,
    **_tables("verbs.tsv", "jobs.tsv", "actions.tsv"),
    **{"everything": EVERYTHING, "hisname": _HIS, "hername": _HER, "deed": DEEDS},
    "separable": tuple(each for each in DEEDS if each.german["prefix"]),
    "haben": tuple(each for each in DEEDS if each.german["hat"] == "hat"),
    "sein": tuple(each for each in DEEDS if each.german["hat"] == "ist"),
}
"""The words of each sort that is in a table."""
