"""Classes of tokens: closed classes of words from lists, and what the token alone tells."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from model.trace.token_schemes import WORD_START, special
from model.trace.word_grouping import punctuation

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "article": "articles",
        "preposition": "prepositions",
        "pronoun": "pronouns",
        "auxiliary": "auxiliary verbs",
        "conjunction": "conjunctions",
        "negation": "negations",
        "question": "question words",
        "function": "function words",
        "content": "content words",
        "name": "capitalized words",
        "piece": "pieces inside words",
        "comma": "commas",
        "stop": "sentence-final marks",
        "punctuation": "punctuation",
    }
)
"""The plural of each class. Words in no list are content words; determiners count as articles."""

LISTED = frozenset(CLASSES) - {"name", "comma", "stop", "punctuation"}
"""The classes that only the lists of a language tell; without one, any word is a content word."""

_MARKS = {",": "comma", ";": "comma", ":": "comma", ".": "stop", "?": "stop", "!": "stop"}

_SURE = 0.1
"""The least share of a text's tokens in the lists of its language."""


@cache
def _listed() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """The closed classes of each language."""
    content = json.loads(Path(__file__).with_name("word_classes.json").read_text(encoding="utf-8"))
    return {
        language: {name: frozenset(words.split()) for name, words in classes.items()}
        for language, classes in content.items()
    }


@cache
def classes_of(token: str, language: str) -> frozenset[str]:
    """The classes of a token; without a language, a word is a content word."""
    if special(token):
        return frozenset()
    word = token.removeprefix(WORD_START)
    if punctuation(token):
        return frozenset({"punctuation", _MARKS.get(word, "punctuation")})
    closed = {name for name, words in _listed().get(language, {}).items() if word.lower() in words}
    if closed:
        return frozenset({"function", *closed})
    if language and not token.startswith(WORD_START):
        return frozenset({"piece"})
    return frozenset({"content", "name"} if word[:1].isupper() else {"content"})


def language_of(texts: Iterable[Iterable[str]]) -> str:
    """The language whose closed classes know most tokens of some texts; empty if none does."""
    tokens = Counter(token for text in texts for token in text)
    known = {
        language: sum(
            count
            for token, count in tokens.items()
            # A letter alone may be anything.
            if len(word := token.removeprefix(WORD_START).lower()) > 1
            and any(word in words for words in classes.values())
        )
        for language, classes in _listed().items()
    }
    best = max(known, key=lambda language: known[language])
    return best if known[best] > _SURE * tokens.total() else ""
