"""A rule of a few named terms, and what it says in English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from model.rules.terms import KEY_SETS, WHOSE, is_term

LONGEST = 25
"""Words of a sentence."""

EVENLY = "looks at all tokens alike"
"""What a head does whose rule has no term."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A rule: the softmax of some terms.

    Attributes:
        names: of the terms, as `model.rules.terms.terms_of` lists them, the weightiest first.
        strengths: of each; a negative one keeps weight away.
    """

    names: tuple[str, ...]
    strengths: tuple[float, ...]

    @property
    def text(self) -> str:
        """What a head does that follows it: "looks at the previous token; avoids commas"."""
        parts = [
            *_said("looks at", self._places(1)),
            *_said("avoids", self._places(-1)),
        ]
        return "; ".join(parts) or EVENLY

    def _places(self, sign: int) -> dict[str, list[str]]:
        """Where terms of a sign lead, each place with the rows that it counts for, "" for all."""
        places: dict[str, list[str]] = {}
        for name, strength in zip(self.names, self.strengths, strict=True):
            place, _, whose = name.partition("@")
            if sign * strength > 0:
                places.setdefault(KEY_SETS[place].text, []).append(whose)
        return places

    @property
    def are_known(self) -> bool:
        """Whether this version knows all of them."""
        return all(map(is_term, self.names))

    @property
    def is_short(self) -> bool:
        """Whether its text has no more than LONGEST words."""
        return len(self.text.split()) <= LONGEST


def _said(verb: str, places: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The parts of a sentence: places for all rows, for all but above all for some, for some."""
    everywhere = [place for place, rows in places.items() if "" in rows]
    most = {place: rows for place, rows in places.items() if "" in rows and len(rows) > 1}
    plain = [place for place in everywhere if place not in most]
    if plain and len(most) != 1:
        yield f"{verb} {_either(plain)}"
        plain = []
    for place, rows in most.items():
        named = _either([WHOSE[each] for each in rows if each])
        yield f"{verb} {_either([*plain, place])}, above all from {named}"
    of_rows: dict[tuple[str, ...], list[str]] = {}
    for place, rows in places.items():
        if place not in everywhere:
            of_rows.setdefault(tuple(rows), []).append(place)
    for some, looked in of_rows.items():
        yield f"from {_either([WHOSE[each] for each in some])}, {verb} {_either(looked)}"


def _either(texts: Sequence[str]) -> str:
    *before, last = texts
    return f"{', '.join(before)} or {last}" if before else last
