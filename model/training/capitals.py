"""Capitals where corpora seldom have them: augmentation of sentence pairs.

A word that nearly always stands inside a sentence is another piece when it begins one, and a model
that saw "attention" hundreds of times and "Attention" thrice does not know the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from model.training.corpus import Pair

_INITIAL = re.compile(r"(?<![\w'])[^\W\d_]")


def capitalized(pairs: Sequence[Pair], share: float, seed: int) -> list[Pair]:
    """Pairs in whose sources some words have a capital first letter, whatever they had before.

    Args:
        pairs: of any languages; the targets stay.
        share: of the source words, 0 to 1.
        seed: the same one draws the same words.
    """
    if not share:
        return list(pairs)
    random = np.random.default_rng(seed)

    def capital(letter: re.Match[str]) -> str:
        return letter[0].upper() if random.random() < share else letter[0]

    return [Pair(_INITIAL.sub(capital, pair.source), pair.target) for pair in pairs]
