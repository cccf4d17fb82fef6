"""Sorts of words: of the tables, of words/sorts.txt, numbers, and parts and unions of these."""

import functools
import re
from collections.abc import Callable, Sequence

from model.training.templates.figures import Figures, ordinal
from model.training.templates.german import NOMINATIVE, Noun, phrase
from model.training.templates.lexicon import LISTED, WORDS, Row, Word, english_pronoun, head, row
from model.training.templates.reader import steps_of

SORTS = dict(LISTED)
"""The words of each sort."""

SLOT = re.compile(r"<([^>]+)>")
_TERM = re.compile(r"(.*?) ?(?:\b(\d+)-(\d+))?(?: (but|only) (.+))?")


def is_a(word: Word, item: str) -> bool:
    """Whether a word is this English word, one of this sort, or called he, she or it."""
    english = head(word)
    if item == english or (isinstance(word, Noun) and item == english_pronoun(word)):
        return True
    return any(english == head(each) for each in SORTS.get(item, ()))


def words_of(sort: str, meaning: Callable[[str], str]) -> Sequence[Word]:
    """The words of a sort as a step writes it.

    Args:
        sort: names of sorts with " + " between them, each alone, as "thing 1-30" (its first words),
            "person but boss, teacher" or "thing only lamp, clock"; numbers, as "1-28"; or
            "A or B", which is B where no sort is called A. A slot, as "<action.who>", stands for
            what it means; "but <slot>" at the end leaves out that word, or that gender.

    Raises ValueError if there is no such sort.
    """
    sort, but, slot = sort.partition(" but <")
    words = _words_of(SLOT.sub(lambda match: meaning(match[1]), sort))
    if not but:
        return words
    out = meaning(slot.removesuffix(">"))
    return [
        word
        for word in words
        if out != head(word) and not (isinstance(word, Noun) and out == word.gender)
    ]


@functools.cache
def _words_of(sort: str) -> tuple[Word, ...]:
    found: list[Word] = []
    for term in sort.split(" + "):
        name, first, last, how, items = _TERM.fullmatch(term).groups()  # type: ignore[union-attr]
        rare, _, usual = name.partition(" or ")
        name = rare if rare in SORTS else usual or rare
        if name not in SORTS and (name or not first):
            raise ValueError(f"No sort of words is called “{name}”; words/sorts.txt defines sorts.")
        if name:
            words = SORTS[name][int(first) - 1 : int(last)] if first else SORTS[name]
        else:
            words = tuple(map(number, range(int(first), int(last) + 1)))
        listed = items.split(", ") if items else ()
        found += [
            word
            for word in words
            if not how or any(is_a(word, item) for item in listed) == (how == "only")
        ]
    return tuple(found)


def _texts(word: Word) -> tuple[str, str]:
    assert isinstance(word, Row)
    return word.english[""], word.german[""]


def in_words(value: int) -> tuple[str, str]:
    """A number from 1 to 999 in English and German words."""
    if value < 20 or (value < 100 and value % 10 == 0):
        return _texts(SORTS["numeral"][value - 1 if value < 20 else 17 + value // 10])
    rest = value % (10 if value < 100 else 100)
    tens = value - rest
    english, german = in_words(rest) if rest else ("", "")
    if value < 100:
        ten, zehner = in_words(tens)
        return f"{ten}-{english}", f"{'ein' if rest == 1 else german}und{zehner}"
    many, viel = in_words(tens // 100)
    hundert = f"{'ein' if tens == 100 else viel}hundert"
    return f"{many} hundred{' and ' * bool(rest)}{english}", f"{hundert}{german}"


def number(value: int) -> Row:
    """A number in figures, with the forms th (4th), words (below 1000), and half ("halb fünf")."""
    english, german = in_words(value) if value < 1000 else ("", "")
    half = in_words(value % 12 + 1)[1]
    return Row(
        {"": f"{value}", "th": ordinal(value), "words": english},
        {"": f"{value}", "words": german, "half": half},
    )


def _subjects(he: str, er: str, names: str) -> tuple[Word, ...]:
    """Subjects of the third person: a pronoun, a name, a relative, a person."""
    nouns = (("my", "mein", SORTS["relative"]), ("the", "der", SORTS["person"]))
    return (
        *(row(he, er) for _ in range(30)),
        *SORTS[names],
        *(
            row(f"{the} {noun.english}", phrase(der, noun, NOMINATIVE))
            for the, der, words in nouns
            for noun in words
            if isinstance(noun, Noun) and english_pronoun(noun) == he
        ),
    )


def _fill_sorts() -> None:
    for step in steps_of((WORDS / "sorts.txt").read_text(encoding="utf-8")):
        texts = tuple(row(*text) for ((_, *text),) in step.texts)
        SORTS[step.names[0]] = texts or words_of(step.sorts[0], str)
    numbers = (*range(2, 20), *range(20, 100, 10), *(each for each in range(21, 100) if each % 10))
    SORTS["number"] = tuple(row(*in_words(each)) for each in numbers)
    SORTS["hewho"] = _subjects("he", "er", "hisname")
    SORTS["shewho"] = _subjects("she", "sie", "hername")
    SORTS["who"] = (*SORTS["hewho"], *SORTS["shewho"])
    for name, figures in Figures([_texts(each) for each in SORTS["month"]]).all().items():
        SORTS[name] = tuple(row(*each) for each in figures)


_fill_sorts()
