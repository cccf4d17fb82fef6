"""What a survey says of a model's heads, as plain values, without torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.arguments import checked_methods, unknown
from model.brief import Brief
from model.explain.label_rules import MIN_SENTENCES, RULE, wilson
from model.explain.labels import Finding, Label, Sample
from model.explain.measures import MEASURES
from model.explain.source_measures import ON_SOURCE
from model.record.head_edits import HeadEdit, RuleWeights
from model.rules.weight_rules import Lexicon
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.forms import form
from model.trace.head import Head

KEYS = (*(measure.key for measure in MEASURES), *(measure.key for measure in ON_SOURCE))
"""The measures of a survey, in the order of its arrays."""

REACH = 16
"""Keys farther away than this many positions are counted at this distance."""

QUANTILES = 21
"""Of a distribution: its minimum, then every 5%, to its maximum."""

DECILES = 10

CHEAP = 1.0
"""Points of BLEU; so much may be lost where a page says how many heads can be rules."""

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Distribution(Brief):
    """The values of one measure of a head over the sentences.

    Attributes:
        count: sentences in which it can be told.
        mean: over them.
        quantiles: QUANTILES of them, ascending.
        examples: for each tenth of the sentences, from the lowest values to the highest, numbers of
            sentences in `CorpusSurvey.shown`.
    """

    count: int
    mean: float
    quantiles: tuple[float, ...]
    examples: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class WordPair:
    """Two words, and how often a head's row for the one looked at the other.

    Attributes:
        query: the word that looks.
        key: the word looked at.
        looked: rows that gave it more than half of their weight.
        met: sentences' cells in which the two met and the row had a choice.
    """

    query: str
    key: str
    looked: int
    met: int

    @property
    def share(self) -> float:
        """How often the one looked at the other when they met."""
        return self.looked / self.met


@dataclass(frozen=True, slots=True)
class Held:
    """How often a label's rule held on sentences that did not earn the label."""

    passing: int
    count: int

    @property
    def share(self) -> float:
        """Of the sentences that can tell; nan for none."""
        return self.passing / self.count if self.count else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval around the share, by Wilson's score."""
        return wilson(self.passing, self.count)


@dataclass(frozen=True, slots=True)
class Effect:
    """What the translation's log-probability loses without a head, in nats a sentence.

    Attributes:
        mean: over the sample.
        error: the standard error of the mean.
        count: sentences in the sample.
    """

    mean: float
    error: float
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the mean, by the normal approximation."""
        return self.mean - _Z * self.error, self.mean + _Z * self.error


@dataclass(frozen=True, slots=True)
class HeadProfile(Brief):
    """What one head does over the sentences of a survey.

    Attributes:
        label: the measure of the rule that the first half earned; None for none. What a head is
            said to do is `CorpusSurvey.label`.
        held: by measure of a rule, how often it held on the second half.
        measures: the distribution of each measure that can be told.
        distances: the share of the weight at each distance of key from query, from -REACH to REACH;
            the ends hold what is farther away.
        pairs: of words, the most telling first.
        effect: of switching it off.
    """

    label: str | None
    held: Mapping[str, Held]
    measures: Mapping[str, Distribution]
    distances: tuple[float, ...]
    pairs: tuple[WordPair, ...]
    effect: Effect

    @property
    def in_words(self) -> Label | None:
        """The label that this survey alone gives; None if too few sentences can tell."""
        if self.label is not None:
            return Label(RULE[self.label].text, "", measure=self.label)
        told = (key for key, held in self.held.items() if held.count >= MIN_SENTENCES)
        means = {key: self.measures[key].mean for key in told if key in self.measures}
        return Finding(means).in_words


@dataclass(frozen=True, slots=True)
class HeadRule(Brief):
    """A head's best rule.

    Attributes:
        weights: the rule.
        overlap: of its weights with the head's own, 0 to 1, on sentences that did not choose it.
        cost: what the model's translations lose if it replaces the head's weights.
    """

    weights: RuleWeights
    overlap: float
    cost: Effect


@dataclass(frozen=True, slots=True)
class Scores(Brief):
    """A score while more and more heads are rules, or are removed, at each of some counts.

    Attributes:
        ruled: with the cheapest rules first.
        low: the lower end of the 95% interval of what these lose, from samples of the sentences.
        high: its upper end.
        removed: with the same heads removed.
        ruled_at_random: in random orders, (order, count).
        removed_at_random: the same heads removed.
    """

    ruled: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    removed: tuple[float, ...]
    ruled_at_random: tuple[tuple[float, ...], ...]
    removed_at_random: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Rules(Brief):
    """The rules of a model's heads, and what they cost.

    Attributes:
        heads: each head's rule.
        lexicon: of rules that look for a token's source.
        fitted: sentences that chose the rules.
        judged: other sentences, for overlaps, costs and log-probabilities.
        translated: of these, the ones for BLEU.
        counts: numbers of heads that are rules at once, from 0 to all.
        log_prob: the mean log-probability of a token of the model's own translations.
        bleu: of what the model writes, greedily, against human translations.
    """

    heads: Mapping[Head, HeadRule]
    lexicon: Lexicon
    fitted: int
    judged: int
    translated: int
    counts: tuple[int, ...]
    log_prob: Scores
    bleu: Scores

    def frame(self) -> Any:
        """A pandas table of the heads, the cheapest rules first: the rule, its overlap and cost."""
        return form("table", self)

    @property
    def order(self) -> list[Head]:
        """The heads, those with the cheapest rules first."""
        return sorted(self.heads, key=lambda place: (self.heads[place].cost.mean, place))

    def edits(self, count: int) -> dict[Head, HeadEdit]:
        """The cheapest rules, this many, as the heads of an Intervention."""
        return {place: self.heads[place].weights for place in self.order[:count]}

    @property
    def cheap(self) -> int:
        """The place in `counts` of the most heads whose rules cost at most CHEAP of BLEU.

        If even the fewest cost more, these.
        """
        lost = [self.bleu.ruled[0] - each for each in self.bleu.ruled]
        cheap = max(place for place, each in enumerate(lost) if max(lost[: place + 1]) <= CHEAP)
        return max(cheap, 1)


@checked_methods
@dataclass(frozen=True, slots=True)
class CorpusSurvey(Brief):
    """What the heads of a model do over many sentences.

    Attributes:
        sample: the sentences.
        shown: sentences with the model's translations, of which examples are chosen.
        heads: for each site, an entry for each head.
        probes: every head's measures on the sentences that all surveys share, as
            model.survey.probes.probed gives them; empty if they were not measured.
        is_german: whether those were read in German.
        rules: what each head's best rule costs; None if they were not measured.
        held_out: how many of the sentences are not from the model's training; they alone tell of
            labels, effects and rules.
        missing: measures in KEYS that the survey's file lacks; NaN in `probes`.
        further: measures on the probes that KEYS does not have, (head, sentence), by name.
        unknown: what else the file holds that has no name here.
        labels: of the model's labels.json, which decide what its heads are said to do; empty
            without that file.
    """

    sample: Sample
    shown: tuple[tuple[str, str], ...]
    heads: Mapping[Site, tuple[HeadProfile, ...]]
    probes: Mapping[Site, FloatArray] = field(default_factory=dict)
    is_german: bool = False
    rules: Rules | None = None
    held_out: int = 0
    missing: tuple[str, ...] = ()
    further: Mapping[str, Mapping[Site, FloatArray]] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[Site, tuple[Label | None, ...]] = field(default_factory=dict)

    @property
    def places(self) -> list[Head]:
        """Every head, by site."""
        return [Head(site, head) for site in self.heads for head in range(len(self.heads[site]))]

    def of(self, place: Head) -> HeadProfile:
        """What the survey says of a head."""
        return self.heads[place.site][place.number]

    def label(self, place: Head) -> Label | None:
        """What a head is said to do, everywhere the same; None if too few sentences can tell."""
        return self.labels[place.site][place.number] if self.labels else self.of(place).in_words

    def frame(self) -> Any:
        """A pandas table with a row a head: kind, layer, head, label, each measure's mean, loss.

        loss is the mean drop of the translation's log-probability without the head; error is that
        of this mean.
        """
        return form("table", self)

    def ranked(self, measure: str, *, kind: AttentionKind | None = None) -> list[Head]:
        """The heads by their mean of a measure, largest first; those without it are left out.

        Raises UnknownNameError if there is no such measure.
        """
        if measure not in KEYS:
            raise unknown("measure", measure, KEYS)
        means = {
            place: self.of(place).measures[measure].mean
            for place in self.places
            if measure in self.of(place).measures and kind in (None, place.site.kind)
        }
        return sorted(means, key=lambda place: -means[place])
