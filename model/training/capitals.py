"""Sentence pairs with capitals where corpora seldom have them (data augmentation).

A capitalized word is another piece of the vocabulary. A model that saw "attention" hundreds of
times and "Attention" three times does not know the second.
"""

import re
from collections.abc import Sequence

import numpy as np

from model.survey.parallel_text import Pair

_INITIAL = re.compile(r"(?<![\w'])[^\W\d_]")


def capitalized(pairs: Sequence[Pair], share: float, seed: int) -> list[Pair]:
    """The pairs with a random share of their sources' words capitalized, from 0 to 1."""
    if not share:
        return list(pairs)
    random = np.random.default_rng(seed)

    def capital(letter: re.Match[str]) -> str:
        return letter[0].upper() if random.random() < share else letter[0]

    return [Pair(_INITIAL.sub(capital, pair.source), pair.target) for pair in pairs]
