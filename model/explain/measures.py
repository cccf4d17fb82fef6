"""What a head does, as numbers: measures of its attention weights.

That heads come in kinds which a few numbers tell apart, such as heads that look at a neighbour, is
from Voita et al. 2019 ("Analyzing Multi-Head Self-Attention", section 5) and Clark et al. 2019
("What Does BERT Look At?", section 3: neighbours, separators, punctuation, and heads that spread
their weight). model/explain/labels.py names heads by these numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from model.explain.head_rows import (
    OFFSETS,
    TOKENS,
    Rows,
    Values,
    weight_at,
    weight_on,
)
from model.trace.attention_map import (
    AttentionKind,
    Site,
)

SELF = frozenset({AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.MODULE})
EVERY = frozenset(AttentionKind)


UNKNOWN = "–"
"""How a value is written that does not apply."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that says something of a head.

    Attributes:
        key: by which `head_facts` gives it.
        unit: "bits", "share" (0 to 1), "tokens", "words", "correlation" (-1 to 1) or "nats".
        kinds: the kinds of attention for which it is defined.
        of: gives it, (head,); None where the model has to run again for it.
    """

    key: str
    name: str
    unit: str
    meaning: str
    kinds: frozenset[AttentionKind]
    of: Callable[[Rows], Values] | None = None


EFFECT = Measure(
    "effect",
    "Loss without the head",
    "nats",
    "The drop in the translation’s log-probability (natural logarithm) when only this head is "
    "switched off.",
    frozenset(kind for kind in AttentionKind if kind is not AttentionKind.MODULE),
)
"""Not read off a trace: the model runs again for it, when heads are to be ordered by it."""


@lru_cache
def measures(*, words: bool = False, specials: bool = True) -> tuple[Measure, ...]:
    """Every measure, in the order in which they are shown.

    Rows and columns are whole words or tokens, with or without the special ones.
    """
    one = "word" if words else "token"
    counted = f", special tokens {'included' if specials else 'left out'}"
    return (
        Measure(
            "entropy",
            "Entropy",
            "bits",
            f"How widely a row spreads its weight, averaged over rows: 0 bits is one {one}; each "
            f"further bit doubles the number of {one}s{counted}.",
            EVERY,
            Rows.entropy,
        ),
        Measure(
            "entropy_share",
            "Entropy, share of maximum",
            "share",
            "A row's entropy as a share of its maximum, averaged over rows with a choice: 0% is "
            f"one {one}, 100% is equal weight on all allowed {one}s{counted}.",
            EVERY,
            Rows.entropy_share,
        ),
        Measure(
            "distance",
            "Mean distance",
            f"{one}s",
            f"How many {one}s away from itself a row looks, averaged by weight{counted}.",
            SELF,
            Rows.distance,
        ),
        Measure(
            "previous",
            f"Weight on the previous {one}",
            "share",
            f"The weight on the {one} just before the row's own, averaged over rows that have one "
            f"and may also look elsewhere{counted}.",
            SELF,
            weight_at(OFFSETS["previous"]),
        ),
        Measure(
            "same",
            f"Weight on the same {one}",
            "share",
            f"The weight on the row's own {one}, averaged over rows that may also look "
            f"elsewhere{counted}.",
            SELF,
            weight_at(OFFSETS["same"]),
        ),
        Measure(
            "next",
            f"Weight on the next {one}",
            "share",
            f"The weight on the {one} just after the row's own, averaged over rows that have one "
            f"and may also look elsewhere{counted}.",
            SELF - {AttentionKind.DECODER},
            weight_at(OFFSETS["next"]),
        ),
        Measure(
            "start",
            "Weight on the sentence start",
            "share",
            "The weight on <s>, averaged over rows that may also look elsewhere.",
            SELF,
            weight_on(TOKENS["start"]),
        ),
        Measure(
            "end",
            "Weight on the sentence end",
            "share",
            "The weight on </s>, averaged over rows that may also look elsewhere.",
            EVERY - {AttentionKind.DECODER},
            weight_on(TOKENS["end"]),
        ),
        Measure(
            "punctuation",
            "Weight on punctuation",
            "share",
            f"The weight on punctuation {one}s, averaged over rows that may look at one and also "
            f"elsewhere; empty if fewer than half of the rows may{counted}.",
            EVERY,
            weight_on(TOKENS["punctuation"]),
        ),
        Measure(
            "pairing",
            "Pairing",
            "share",
            f"How much a row reveals about the {one} it looks at (their mutual information): 0% "
            f"is all rows alike, 100% is one {one} per row, with rows spread evenly over as many "
            f"{one}s as possible; rows that each look at one random {one} mostly score above "
            f"65%{counted}.",
            frozenset({AttentionKind.CROSS}),
            Rows.pairing,
        ),
        Measure(
            "diagonal",
            "Diagonal",
            "correlation",
            "The correlation of a row's position with the positions it looks at: 1 is a straight "
            f"line from the first {one}s to the last, 0 is no order; if rows may only look back, "
            f"even a head without preference is above 0{counted}.",
            EVERY,
            Rows.diagonal,
        ),
    )


MEASURES = measures()
"""Every measure of a trace as it was recorded."""

Facts = Mapping[Site, Mapping[str, NDArray[np.floating]]]
"""What `facts_of` gives: for each site and each measure's key, one value per head, (head,)."""

MIN_TOKENS = 5
"""Sentences with fewer tokens on either axis tell nothing."""

MAX_BY_CHANCE = 0.25
"""Where a head without preference has a larger share than that, the sentence cannot tell."""


MIN_SOURCES = 4
"""So many tokens of known source a sentence needs, or it cannot tell."""


MANY = 1_000_000
"""Of so many weights, sites are measured side by side."""
