"""Every inquiry by its key, in the order in which they are listed before anybody types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from viz.inquiries import ablation, contrast, corpus, facts, weights, what_if, writing
from viz.inquiries.inquiry import Inquiry, Subject
from viz.inquiries.pairs import pairs

FIRST = (
    *("source", "matters-most", "corpus-previous", "see-future", "no-positions"),
    *("matters-for-word", "why-not", "believed", "corpus-rules", "spared", "what-else"),
    "without-best",
)
"""What most visitors want to know."""

_EVERY = {
    each.key: each
    for module in (weights, corpus, ablation, contrast, writing, what_if, facts)
    for each in module.INQUIRIES
}

INQUIRIES: Mapping[str, Inquiry] = MappingProxyType(
    {key: _EVERY[key] for key in dict.fromkeys([*FIRST, *_EVERY])}
)
"""To add one, append it to the INQUIRIES of its module."""


def offered(subject: Subject) -> list[Inquiry]:
    """Those that have an answer for a subject, and its model's pairs of words."""
    return [each for each in (*INQUIRIES.values(), *pairs(subject).values()) if each.fits(subject)]


def find(key: str, subject: Subject) -> Inquiry | None:
    """The one of a key, if it has an answer for a subject."""
    inquiry = INQUIRIES.get(key) or pairs(subject).get(key)
    return inquiry if inquiry is not None and inquiry.fits(subject) else None
