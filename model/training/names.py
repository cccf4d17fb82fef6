"""Sentence pairs with other names than Tom (data augmentation).

A fifth of Tatoeba's English sentences are about Tom, and almost none about anyone else. A model
trained on them alone copies no other name well.
"""

import re
from collections.abc import Sequence

import numpy as np

from model.survey.parallel_text import Pair
from model.training.tables import grouped

MEN, WOMEN = (tuple(name for (name,) in names) for names in grouped("names.tsv").values())
"""Spelled alike in English, German and French."""

_TOM = re.compile(r"\bTom(?=s?\b)")
_MARY = re.compile(r"\b(?:Mary|Maria|Marie)(?=s?\b)")
_HISSING = tuple("sxz")


def renamed(pairs: Sequence[Pair], share: float, seed: int) -> list[Pair]:
    """The pairs with other names for Tom and Mary, the same on both sides, in a share of them.

    A pair stays unchanged unless both sides name them equally often. The languages keep names and
    add at most an s.
    """
    changed = list(pairs)
    if not share:
        return changed
    random = np.random.default_rng(seed)
    for index, pair in enumerate(pairs):
        for pattern, names in ((_TOM, MEN), (_MARY, WOMEN)):
            counts = {len(pattern.findall(side)) for side in pair}
            if len(counts) > 1 or 0 in counts or random.random() >= share:
                continue
            name = names[random.integers(len(names))]
            if name.endswith(_HISSING) and any(re.search(rf"{pattern.pattern}s", s) for s in pair):
                # "Max" has no German genitive with an s.
                continue
            changed[index] = Pair(*(pattern.sub(name, side) for side in changed[index]))
    return changed
