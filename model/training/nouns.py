"""English-German pairs with other nouns (data augmentation, after Fadaee et al. 2017).

"Love is blind." teaches a model how a sentence begins with "Love", not how it begins with
"Attention". A noun without an article can be replaced by another of the same German gender.
"""

import re
from collections.abc import Sequence

import numpy as np

from model.survey.parallel_text import Pair
from model.training.tables import grouped

GENDERS: tuple[dict[str, str], ...] = tuple(map(dict, grouped("nouns.tsv").values()))
"""English and German nouns used without an article, by German gender."""

_BEFORE = (
    *("my", "your", "his", "her", "our", "their", "no", "any", "some", "more", "much", "enough"),
    *("need", "needs", "needed", "want", "wants", "wanted", "have", "has", "had", "is", "was"),
    *("for", "with", "without", "about", "than", "like", "and", "deserve", "deserves"),
)
"""Words after which an English noun needs no article."""

_ALLOWED = re.compile(rf"(?:^|\b(?:{'|'.join(_BEFORE)}) )$", re.IGNORECASE)
_SIDES = [
    (re.compile(rf"\b(?:{'|'.join(nouns)})\b(?!['-])", re.IGNORECASE), nouns) for nouns in GENDERS
]


def with_other_nouns(pairs: Sequence[Pair], copies: int, seed: int) -> list[Pair]:
    """English-German pairs, then copies of those with such a noun, with other nouns in its place.

    A pair is copied if it has one such noun, once on each side, and the noun begins the English
    sentence or follows a word after which it needs no article.
    """
    more: list[Pair] = []
    if copies:
        random = np.random.default_rng(seed)
        for pair in pairs:
            for english, nouns in _SIDES:
                more += _others(pair, english, nouns, copies, random)
    return [*pairs, *more]


def _others(
    pair: Pair,
    english: re.Pattern[str],
    nouns: dict[str, str],
    copies: int,
    random: np.random.Generator,
) -> list[Pair]:
    matches = list(english.finditer(pair.source))
    if len(matches) != 1 or not _ALLOWED.search(pair.source[: matches[0].start()]):
        return []
    noun = matches[0][0]
    german = re.compile(rf"\b{nouns[noun.lower()]}\b(?!-)")
    if len(german.findall(pair.target)) != 1:
        return []
    others = [other for other in nouns if other != noun.lower()]
    replacements = [others[index] for index in random.integers(len(others), size=copies)]
    return [
        Pair(
            english.sub(other.capitalize() if noun[0].isupper() else other, pair.source),
            german.sub(nouns[other], pair.target),
        )
        for other in replacements
    ]
