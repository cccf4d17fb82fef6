"""What each head does for one word against another."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from model.contrast.results import Contrast
from model.trace.attention_map import FloatArray, Site
from model.trace.head import Head
from viz.draw.labels import lower_first
from viz.draw.style import count_of
from viz.effects.contrasted import Contrasted, moved, quoted
from viz.effects.effect_map import LISTED
from viz.effects.head_map import HeadMap, head_columns
from viz.save.numbers import Numbers

ADVANTAGE = "loss of advantage"
"""The unit: the drop in the difference of two log-probabilities."""


@dataclass(frozen=True, slots=True, eq=False)
class ContrastMap(Contrasted, HeadMap):
    """How much of a word's advantage over another goes with each head."""

    unit = ADVANTAGE

    off: Sequence[Head] = field(default=(), kw_only=True)
    numbered: bool = field(default=True, kw_only=True)

    name = "effects-contrast"

    @property
    def title(self) -> str:
        word, other = self.words
        return f"How far {word} stays ahead of {other} without each head"

    @property
    def values(self) -> Mapping[Site, FloatArray]:
        return self.contrast.losses

    @property
    def caption(self) -> str:
        word, other = self.words
        return (
            f"Without an orange head, {other} gains on {word}; without a blue one, {word} gains on "
            f"{other}."
        )

    def said(self, site: Site, head: int) -> str:
        return without_head(self.contrast, site, head)

    @property
    def more(self) -> str:
        word, other = self.words
        return (
            f"The number is the drop in how far {word} is ahead of {other}, as a natural "
            "logarithm: 0.7 halves the ratio of their probabilities, 2.3 cuts it to a "
            "tenth. Each head is removed alone, before W_O, while the decoder has read the same "
            "words. A head that both words need alike gets 0, however much it matters for the "
            f"sentence (Yin and Neubig 2022). {self.cross_words}"
        ).rstrip()

    def numbers(self) -> Numbers:
        without = np.concatenate(list(self.contrast.without.values()))
        columns = head_columns(self.contrast.without) | {
            "word_log_prob": without[:, 0],
            "other_log_prob": without[:, 1],
            "loss": np.concatenate(list(self.values.values())),
        }
        return Numbers(
            {},
            {"site_head": range(len(without)), "word": range(2)},
            {
                **{name: (("site_head",), values) for name, values in columns.items()},
                "log_prob": (("word",), self.contrast.log_probs),
            },
        )


def replaced_sentence(contrast: Contrast, before: str, after: Mapping[Site, Sequence[str]]) -> str:
    """Without which single heads the other word is written in place of the word, in plain text.

    Args:
        after: its translations without each head, by site.
    """
    word, other = contrast.word, contrast.other
    heads = [
        Head(site, number).short_name
        for site, texts in after.items()
        for number, text in enumerate(texts)
        if _count(text, other) > _count(before, other) and _count(text, word) < _count(before, word)
    ]
    if not heads:
        return (
            f"No head alone, when it is removed, puts {quoted(other)} in the place of "
            f"{quoted(word)}."
        )
    listed = f"{', '.join(heads[:LISTED])}{', …' if len(heads) > LISTED else ''}"
    return (
        f"Without {count_of(len(heads), 'head')} of {sum(map(len, after.values()))}, one at a "
        f"time, the model writes {quoted(other)} and not {quoted(word)}: {listed}."
    )


def _count(text: str, word: str) -> int:
    return re.findall(r"\w+", text).count(word)


def contrast_sentences(contrast: Contrast, count: int = LISTED) -> list[str]:
    """The heads whose removal changes a word's advantage most, in plain text."""
    return [
        f"Without {lower_first(site.head_name(head))}, {without_head(contrast, site, head)}."
        for site, head, _ in contrast.ranked()[:count]
    ]


def without_head(contrast: Contrast, site: Site, head: int) -> str:
    """What happens to both words without a head, as `moved` says it."""
    return moved(contrast, contrast.without[site][head], contrast.likeliest[site].at([head]))
