"""What all pictures of one word against another share."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.contrast.results import Contrast
from model.trace.attention_map import Tokens
from viz.draw import style
from viz.draw.labels import axis_texts
from viz.save.notebook import Lines, traced
from viz.save.picture import Picture

CERTAIN = 0.0005
"""Smaller probabilities are written as such."""


@dataclass(frozen=True, slots=True, eq=False)
class Contrasted(Picture):
    """A picture of one word against another.

    Attributes:
        place: the target token that was asked about, from 0.
        target: a person's own translation; empty for the model's.
    """

    contrast: Contrast
    place: int
    other: str
    target: str = field(default="", kw_only=True)

    @property
    def texts(self) -> Mapping[str, str]:
        return {"word": self.contrast.word, "other_word": self.contrast.other}

    @property
    def words(self) -> tuple[str, str]:
        """The two words in quotation marks."""
        return quoted(self.contrast.word), quoted(self.contrast.other)

    @property
    def contrasted(self) -> Lines:
        """Lines of a notebook that compute the contrast."""
        return [
            *traced(self.contrast.source_text, self.target),
            f"pair = hs.figures.pair_of(translator, trace, {self.place}, {self.other!r})",
            "contrast = hs.figures.contrast_of(translator, trace, pair)",
        ]

    @property
    def setup(self) -> Lines:
        return self.contrasted


def example_means(checkpoint: str) -> str:
    """The line of a notebook that computes what each head gives on average."""
    folder = f"hs.checkpoint_folder({checkpoint!r})"
    return f"means = hs.figures.example_means(translator, {folder})"


def quoted(word: str) -> str:
    """A word in quotation marks."""
    return f"“{word}”"


def probability(log_prob: float) -> str:
    """A probability as a person reads it."""
    value = math.exp(log_prob)
    return f"below {CERTAIN}" if value < CERTAIN else style.fixed(value, 3)


def times(difference: float) -> str:
    """How many times as likely one of two words is, such as "100 times"."""
    ratio = math.exp(min(abs(difference), 25))
    if ratio >= 1e6:
        return "over a million times"
    return f"{ratio:,.0f} times" if ratio >= 10 else f"{style.fixed(ratio, 1)} times"


def standing(contrast: Contrast) -> str:
    """Both words with their probabilities, and which is likelier, in plain text."""
    word, other = quoted(contrast.word), quoted(contrast.other)
    one, two = (probability(float(each)) for each in contrast.log_probs)
    lead = contrast.difference
    likelier = word if lead > 0 else other
    sentence = f"{word} {one}, {other} {two}: {likelier} is {times(lead)} as likely."
    pieces = axis_texts(contrast.pieces)
    if (contrast.word, contrast.other) == tuple(pieces):
        return sentence
    first, second = map(quoted, pieces)
    return f"{sentence} Judged at the first token that differs, {first} against {second}."


def moved(contrast: Contrast, log_probs: NDArray[np.floating], likeliest: Tokens) -> str:
    """What happens to both words, such as "“seine” falls from 0.905 to 0.6 and “seinen” …".

    Where neither is the `likeliest` token then, a single one, that is named as well.
    """
    both = " and ".join(
        f"{quoted(word)} {style.number_change(float(before), float(after), probability)}"
        for word, before, after in zip(
            (contrast.word, contrast.other), contrast.log_probs, log_probs, strict=True
        )
    )
    if likeliest.ids[0] in contrast.pieces.ids:
        return both
    return f"{both}, while {quoted(*axis_texts(likeliest))} is likelier than either"
