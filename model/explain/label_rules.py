"""The rules by which heads earn labels: what they measure, and their thresholds.

A label is earned by weight, not by the largest weight alone (compare Voita et al. 2019,
"Analyzing Multi-Head Self-Attention", section 5, where a head is positional if its largest weight
falls on one relative position at least 90% of the time):

* half of the weight or more for heads that look at a neighbour, at the start or end of the sentence
  or at punctuation, so that everything else together gets less;
* 90% of the greatest possible entropy for heads that spread their weight;
* for cross-attention, half of the weight on a token's source, beyond what shuffled rows would give.
  The source of a token is the one without which the model finds it least likely, which uses no
  weights (see model.explain.source_rows). The shape of the rows is not enough: rows that each look
  at one random token share as much information with the tokens as most heads do, and a head that
  runs through the source ahead of the target and then rests on </s> follows its order without
  pairing words.

Each threshold must hold on average and in four of five sentences, and not for these sentences
alone: MIN_SENTENCES sentences are measured, none of them an example of the model, and the lower
ends of both 95% intervals must reach the thresholds. A point estimate at a threshold would miss it
on every other set of sentences. A sentence counts only if it can tell; see
model.explain.head_numbers.telling_facts. A head without a label still gets a line with its
number. A label says what a head mostly does, not what the model uses it for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from model.explain.head_rows import TOKENS, Values
from model.explain.measures import MEASURES
from model.explain.source_measures import ON_SOURCE
from model.trace.attention_map import AttentionKind

MIN_SENTENCES = 500
"""The number of sentences that can tell which a label needs."""

MIN_PASSING = 0.8
"""The share of these sentences in which a label must hold."""

CONFIDENCE = 0.95
"""Of the intervals around that share and around the mean."""

HALF = 0.5
"""The share of the weight that earns a label, and for which a line says "mostly"."""

OFTEN = 0.2
"""The share of the weight from which a line without a label names a place."""

SHARP = 0.2
"""The share of the greatest entropy up to which a row looks at little more than one token."""

DEVIATIONS = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
"""How many standard deviations to either side of the mean hold CONFIDENCE of a normal variable."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A label with its threshold, for the kinds of attention that have its measure.

    Attributes:
        text: the label.
        measure: the key of its measure, under which the label is stored.
        least: the threshold.
        needs: the threshold in words, such as "at least 50% of its weight".
        wording: a sentence with the numbers {mean} and {share}.
        place: the tokens looked at, for the line of a head that misses the threshold; or empty.
    """

    text: str
    measure: str
    least: float
    needs: str
    wording: str
    place: str = ""

    @property
    def kinds(self) -> frozenset[AttentionKind]:
        """The kinds of attention whose heads can earn it."""
        return _KINDS[self.measure]

    def holds(self, values: Values) -> bool:
        """Whether it holds for these sentences: on average, and in enough of them."""
        return bool(len(values)) and bool(
            values.mean() >= self.least
            and np.count_nonzero(values >= self.least) >= MIN_PASSING * len(values)
        )

    def is_earned(self, values: Values) -> bool:
        """Whether these sentences are enough to expect it in others."""
        count = len(values)
        if count < MIN_SENTENCES:
            return False
        lowest_mean = values.mean() - DEVIATIONS * values.std(ddof=1) / math.sqrt(count)
        passing = int(np.count_nonzero(values >= self.least))
        return bool(lowest_mean >= self.least and wilson(passing, count)[0] >= MIN_PASSING)


_KINDS = {measure.key: measure.kinds for measure in (*MEASURES, *ON_SOURCE)}

RULES = (
    *(
        Rule(
            f"looks at {place}",
            key,
            HALF,
            f"at least {HALF:.0%} of its weight",
            "On average, {mean} of its weight goes there; in {share}, at least half does.",
            place,
        )
        for key, place in (
            ("previous", "the previous token"),
            ("same", "the same token"),
            ("next", "the next token"),
            ("start", "the sentence start"),
            ("end", "the sentence end"),
            ("punctuation", "punctuation"),
        )
    ),
    *(
        Rule(
            f"pairs {token} with its source",
            key,
            HALF,
            f"at least {HALF:.0%} of its weight beyond chance",
            "On average, {mean} of its weight beyond chance goes to that source; in {share}, at "
            "least half does.",
            f"the source of {token}",
        )
        for key, token in (
            ("predicted_source", "the predicted token"),
            ("read_source", "the token just read"),
        )
    ),
    Rule(
        "spreads its weight almost evenly",
        "entropy_share",
        0.9,
        "at least 90% of the greatest possible entropy",
        "On average, its rows reach {mean} of the greatest possible entropy; in {share}, at least "
        "90%.",
    ),
)
"""Every label with its threshold; the first one earned is given."""

RULE = {rule.measure: rule for rule in RULES}

PAIRS_TOKENS = frozenset(
    rule.text for rule in RULES if rule.measure not in (*TOKENS, "entropy_share")
)
"""The labels that pair tokens, not only name a place where a head rests."""


def wilson(passing: int, count: int) -> tuple[float, float]:
    """The interval of CONFIDENCE around a share by Wilson's score; 0 to 1 for a count of 0.

    From Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if not count:
        return 0.0, 1.0
    share, weight = passing / count, DEVIATIONS * DEVIATIONS / count
    middle = share + weight / 2
    half = math.sqrt(weight * (share * (1 - share) + weight / 4))
    low, high = ((middle + side * half) / (1 + weight) for side in (-1, 1))
    return max(low, 0.0), min(high, 1.0)
