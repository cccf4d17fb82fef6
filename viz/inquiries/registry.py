"""Every inquiry by its key, in the order in which they are listed before anybody types."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from viz.inquiries import (
    ablation,
    contrast,
    corpus,
    facts,
    how_to,
    terms,
    weights,
    what_if,
    words,
    writing,
)
from viz.inquiries.inquiry import Inquiry, Subject

FIRST = (
    *("what-headscope", "source", "matters-most", "corpus-previous", "see-future"),
    *("no-positions", "what-head", "matters-for-word", "why-not", "believed", "how-save"),
    *("corpus-rules", "spared", "what-else", "without-best"),
)
"""What most visitors want to know."""

_MODULES = weights, words, corpus, ablation, contrast, writing, what_if, facts, terms, how_to

_EVERY = {each.key: each for module in _MODULES for each in module.inquiry.listed}

INQUIRIES: Mapping[str, Inquiry] = MappingProxyType(
    {key: _EVERY[key] for key in dict.fromkeys([*FIRST, *_EVERY])}
)


def offered(subject: Subject) -> list[Inquiry]:
    """Those that have an answer for a subject."""
    return [each for each in INQUIRIES.values() if each.fits(subject)]


def find(asked: str, subject: Subject) -> tuple[Inquiry, Subject] | None:
    """What an address asks, with the words that it names, if that has an answer for a subject.

    Args:
        asked: a key, then perhaps the place of a token from 1 and another word: "why-not.3.ein".
        subject: without words of its own.
    """
    key, _, named = asked.partition(".")
    place, _, other = named.partition(".")
    about = replace(subject, place=int(place) - 1 if place else None, other=other)
    inquiry = INQUIRIES.get(key)
    if inquiry is None or not inquiry.fits(subject) or not inquiry.takes(about):
        return None
    return inquiry, about
