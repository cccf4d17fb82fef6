"""Verb phrases of people ("turn off the light") with the forms that German separates or joins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.training.templates.lexicon import WORDS

_OF_SEIN = {
    **{"hat": "ist", "habe": "bin", "haben": "sind", "hast": "bist", "hatte": "war"},
    **{"hatten": "waren", "hätte": "wäre", "hätten": "wären"},
}
"""Forms of haben, and those of sein for verbs that take it."""


@dataclass(frozen=True, slots=True, eq=False)
class Deed:
    """A verb phrase; its forms by name, as `<deed.FORM>` names them.

    Attributes:
        english: base, s, past, done and ing.
        german: er (finite) and rest, past and pasts (plural), du (imperative), sub and subpast and
            subpasts (last in a clause), inf, zu, done, and the auxiliary of the perfect, by its
            form of haben (hat, hätte …), its infinitive as aux. "no-" denies rest, sub, inf, done.
        separable: whether the verb has a prefix.
    """

    english: Mapping[str, str]
    german: Mapping[str, str]
    separable: bool


def _deed(line: str) -> Deed:
    verb, tail, middle, prefix, german, perfect = line.split("\t")
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
        denied = f"nicht {middle}".strip()
    last = {"sub": prefix + er, "inf": prefix + infinitive, "done": prefix + done, "rest": prefix}
    forms = {name: f"{middle} {form}".strip() for name, form in last.items()}
    forms |= {f"no-{name}": f"{denied} {form}".strip() for name, form in last.items()}
    forms |= {
        "er": er,
        "wir": infinitive,
        "du": du,
        "past": past,
        "pasts": pasts,
        "subpast": f"{middle} {prefix}{past}".strip(),
        "subpasts": f"{middle} {prefix}{pasts}".strip(),
        "zu": f"{middle} {prefix}zu{infinitive}" if prefix else f"{middle} zu {infinitive}",
    }
    forms["zu"] = forms["zu"].strip()
    for haben, sein in _OF_SEIN.items():
        forms[haben] = sein if perfect == "ist" else haben
    forms["aux"] = "sein" if perfect == "ist" else "haben"
    return Deed(english, forms, separable=bool(prefix))


DEEDS = tuple(
    _deed(line) for line in (WORDS / "deeds.tsv").read_text(encoding="utf-8").splitlines()[1:]
)
"""words/deeds.tsv."""
