"""Sentence pairs as people type them (data augmentation).

Corpora hold edited sentences. People type capitals only or none, slip, leave the full stop out,
paste several sentences, and add an address, a formula or an emoji that a translation must copy.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from random import Random
from string import ascii_lowercase, digits
from typing import NamedTuple
from unicodedata import category

from model.survey.parallel_text import Pair
from model.training.tables import TABLES

_SLIPS = re.compile(r"\b[a-z]{4,}\b")
_ENDS = (".", "!", "?")

_OWN = tomllib.loads((TABLES / "typed.toml").read_text(encoding="utf-8"))
_WORDS, _NAMES, _DOMAINS, _FILES = (
    _OWN[each].split() for each in ("words", "names", "domains", "files")
)
_MARKUP, _CARRIERS = _OWN["markup"], _OWN["carriers"]
_LANGUAGES = ("en", "de", "fr")
"""Of each carrier."""
_SIGNS = _OWN["signs"] + "".join(
    chr(code)
    for first, last in _OWN["blocks"]
    for code in range(first, last + 1)
    if category(chr(code)) not in ("Cn", "Mn", "Sk")
)
_SAME = re.compile(r"(?<![\w'-])(?:[A-Z][a-z]+|\d+)(?![\w'’-]|[.,]\d)")


class Given(NamedTuple):
    """What a way to type may draw from: other pairs, and pairs around something to be copied."""

    pairs: Sequence[Pair]
    carriers: Sequence[Pair]
    random: Random


def typed(
    pairs: Sequence[Pair], share: float, seed: int, *, languages: tuple[str, str] = ("en", "de")
) -> list[Pair]:
    """The pairs, a share of them as people type them; targets stay as an editor would write them.

    Args:
        pairs: of any sentences.
        share: of the pairs, from 0 to 1.
        seed: of what is drawn.
        languages: the codes of source and target: "en" and one of "de" and "fr".
    """
    changed = list(pairs)
    if not share:
        return changed
    random = Random(seed)
    ends = [_LANGUAGES.index(each) for each in languages]
    given = Given(pairs, [Pair(*(each[end] for end in ends)) for each in _CARRIERS], random)
    for place, pair in enumerate(pairs):
        if random.random() < share:
            way = random.choices(tuple(_WAYS), weights=tuple(_WAYS.values()))[0]
            changed[place] = way(pair, given)
    return changed


def _upper(pair: Pair, given: Given) -> Pair:
    return Pair(pair.source.upper(), pair.target)


def _lower(pair: Pair, given: Given) -> Pair:
    random = given.random
    source = pair.source.lower()
    return Pair(source.rstrip(".") if random.random() < 0.5 else source, pair.target)


def _unstopped(pair: Pair, given: Given) -> Pair:
    # A translation without a question mark would not say that it asks.
    target = pair.target.rstrip(".") if pair.source.endswith(".") else pair.target
    return Pair(pair.source.rstrip(".?!"), target)


def _slipped(pair: Pair, given: Given) -> Pair:
    random = given.random
    words = list(_SLIPS.finditer(pair.source))
    if not words:
        return pair
    word = random.choice(words)
    place = random.randrange(word.start() + 1, word.end() - 1)
    before, letter, after = pair.source[:place], pair.source[place], pair.source[place + 1 :]
    swapped, doubled = after[0] + letter + after[1:], letter + letter + after
    slip = random.choice((swapped, after, doubled, random.choice(ascii_lowercase) + after))
    return Pair(before + slip, pair.target)


def _several(pair: Pair, given: Given) -> Pair:
    random = given.random
    more = [pair, *(random.choice(given.pairs) for _ in range(random.choice((1, 1, 2))))]
    if not all(side.endswith(_ENDS) for each in more for side in each):
        return pair
    if sum(len(each.source) for each in more) > 250:
        return pair
    return Pair(*(" ".join(sides) for sides in zip(*more, strict=True)))


def _signed(pair: Pair, given: Given) -> Pair:
    """With an emoji or a rare character after a name, or at the end, before or after the stop."""
    random = given.random
    sign = random.choice(_SIGNS)
    if (name := _shared(pair, random)) and random.random() < 0.6:
        return _replaced(pair, name, f"{name} {sign}")
    if random.random() < 0.5:
        return Pair(*(f"{side} {sign}" for side in pair))
    if pair.source[-1:] != pair.target[-1:] or not pair.source.endswith(_ENDS):
        return Pair(*(f"{sign} {side}" for side in pair))
    space = random.choice((" ", ""))
    return Pair(*(f"{side[:-1]}{space}{sign}{side[-1]}" for side in pair))


def _copied(pair: Pair, given: Given) -> Pair:
    """With an address, a file, a formula or mark-up: in place of a name, or after the sentence."""
    random = given.random
    thing = _thing(random)
    if (name := _shared(pair, random)) and random.random() < 0.6:
        return _replaced(pair, name, thing)
    if random.random() < 0.4:
        return Pair(*(f"{side} {thing}" for side in pair))
    carried = Pair(*(side.format(thing) for side in random.choice(given.carriers)))
    if random.random() < 0.4:
        return carried
    return Pair(*(" ".join(sides) for sides in zip(pair, carried, strict=True)))


def _shared(pair: Pair, random: Random) -> str | None:
    """A name or number that each side has exactly once."""
    found = [_SAME.findall(side) for side in pair]
    both = [each for each in found[0] if all(side.count(each) == 1 for side in found)]
    return random.choice(both) if both else None


def _replaced(pair: Pair, name: str, thing: str) -> Pair:
    return Pair(*(_SAME.sub(lambda own: thing if own[0] == name else own[0], s) for s in pair))


def _thing(random: Random) -> str:
    kind = random.randrange(8)
    word = random.choice(_WORDS)
    if random.random() < 0.4:
        word = "".join(random.choice(ascii_lowercase) for _ in range(random.randint(3, 9)))
    if random.random() < 0.4:
        mark = random.choice(("-", "_", "", "."))
        word += mark + "".join(random.choice(digits) for _ in range(random.randint(1, 4)))
    if kind == 0:
        start = random.choice(("https://", "http://", "https://www.", "www.", ""))
        paths = [random.choice(_WORDS) for _ in range(random.randint(0, 3))]
        return "/".join([f"{start}{word}.{random.choice(_DOMAINS)}", *paths])
    if kind == 1:
        return f"{random.choice(_NAMES)}@{word}.{random.choice(_DOMAINS)}"
    if kind == 2:
        return f"{word}.{random.choice(_FILES)}"
    if kind == 3:
        return random.choice(("#", "@")) + word.replace("-", "").replace(".", "")
    if kind == 4:
        return random.choice(_MARKUP)
    if kind == 5:
        folders = [random.choice(_WORDS) for _ in range(random.randint(1, 3))]
        start = random.choice(("/", "~/", "./", "/home/"))
        return start + "/".join([*folders, word])
    if kind == 6:
        return random.choice(("", "v", "+")) + random.choice(".-").join(
            str(random.randrange(10 ** random.randint(1, 4))) for _ in range(random.randint(2, 4))
        )
    return random.choice(_SIGNS) * random.randint(1, 3)


_WAYS: dict[Callable[[Pair, Given], Pair], float] = {
    _upper: 1.5,
    _lower: 1.5,
    _unstopped: 1.5,
    _slipped: 2.5,
    _several: 2.0,
    _signed: 1.5,
    _copied: 2.0,
}
"""Ways to type a pair, with how often each is drawn."""
