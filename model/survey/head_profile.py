"""What a survey says of each head, small enough to travel with the checkpoint.

Sentences are halved: labels are earned on one half and held to their rule on the other (Wilson's
interval), so that no label is judged by the sentences that gave it. A head's name from a few
sentences seldom says what it does over many (compare Voita et al. 2019, section 5, and the labels
of model.explain.labels, which are earned the same way).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.explain.labels import RULE, Finding, Sample, wilson
from model.explain.measures import Values
from model.survey.part import Part
from model.trace.attention_map import AttentionKind, FloatArray, Site, Tokens
from model.trace.word_grouping import special, words

QUANTILES = 21
"""Of a distribution: its minimum, then every 5%, to its maximum."""

DECILES = 10
PER_DECILE = 2
"""So many sentences of each tenth of a measure's distribution are kept."""

SHOWN = 1500
"""Of so many sentences, evenly over the survey, examples are chosen."""

PAIRS = 20
"""Pairs of words that are kept of each head."""

MIN_MEETINGS = 8
"""So often two words must meet for a pair to be told."""

_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Distribution:
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
class HeadProfile:
    """What one head does over the sentences of a survey.

    Attributes:
        label: the measure of the rule that the first half earned; None for none.
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


@dataclass(frozen=True, slots=True)
class CorpusSurvey:
    """What the heads of a model do over many sentences.

    Attributes:
        sample: the sentences.
        shown: sentences with the model's translations, of which examples are chosen.
        heads: for each site, an entry for each head.
    """

    sample: Sample
    shown: tuple[tuple[str, str], ...]
    heads: Mapping[Site, tuple[HeadProfile, ...]]

    def ranked(self, measure: str, *, kind: AttentionKind | None = None) -> list[tuple[Site, int]]:
        """The heads by their mean of a measure, largest first; those without it are left out."""
        means = {
            (site, head): profile.measures[measure].mean
            for site, profiles in self.heads.items()
            for head, profile in enumerate(profiles)
            if measure in profile.measures and kind in (None, site.kind)
        }
        return sorted(means, key=lambda place: -means[place])


def summed_up(part: Part, sample: Sample) -> CorpusSurvey:
    """The survey of counts.

    Args:
        part: the counts over all sentences.
        sample: where these come from.
    """
    n_heads = part.values.shape[2]
    shown = np.unique(np.linspace(0, len(part) - 1, min(SHOWN, len(part))).round().astype(int))
    meetings = _Meetings(part)
    return CorpusSurvey(
        sample,
        tuple(part.texts[sentence] for sentence in shown),
        {
            site: tuple(_profile(part, site, head, shown, meetings) for head in range(n_heads))
            for site in part.sites
        },
    )


def _profile(
    part: Part, site: Site, head: int, shown: NDArray[np.intp], meetings: _Meetings
) -> HeadProfile:
    telling = part.telling(site, head)
    first = {key: _known(values[::2]) for key, values in telling.items()}
    second = {key: _known(values[1::2]) for key, values in telling.items()}
    held = {
        key: Held(int(np.count_nonzero(values >= RULE[key].least)), len(values))
        for key, values in second.items()
        if len(values)
    }
    measures = {
        key: _distribution(values, shown)
        for key, values in part.of_head(site, head).items()
        if not np.isnan(values).all()
    }
    distances = part.distances[part.sites.index(site), head].astype(np.float64)
    return HeadProfile(
        Finding.of(first).label,
        held,
        measures,
        tuple((distances / max(distances.sum(), 1)).tolist()),
        meetings.pairs(site, head, measures),
        _effect(_known(part.effects[:, part.sites.index(site), head])),
    )


def _known(values: FloatArray) -> Values:
    return values[~np.isnan(values)].astype(np.float64)


def _effect(losses: Values) -> Effect:
    error = losses.std(ddof=1) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan
    return Effect(float(losses.mean()) if len(losses) else math.nan, float(error), len(losses))


def _distribution(values: FloatArray, shown: NDArray[np.intp]) -> Distribution:
    known = _known(values)
    quantiles = np.quantile(known, np.linspace(0, 1, QUANTILES))
    edges = np.quantile(known, np.linspace(0, 1, DECILES + 1))
    tenths = np.clip(np.searchsorted(edges, values[shown], side="right") - 1, 0, DECILES - 1)
    tenths = np.where(np.isnan(values[shown]), -1, tenths)
    examples = []
    for tenth in range(DECILES):
        there = np.flatnonzero(tenths == tenth)
        # The most typical of a tenth, but of the last ones the strongest.
        middle = edges[DECILES] if tenth == DECILES - 1 else edges[tenth : tenth + 2].mean()
        order = np.argsort(np.abs(values[shown][there] - middle), kind="stable")
        examples.append(tuple(there[order[:PER_DECILE]].tolist()))
    return Distribution(len(known), float(known.mean()), tuple(quantiles.tolist()), tuple(examples))


class _Meetings:
    """Which words met, and which looked at which."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._source = [_words(tokens) for tokens in part.sources]
        self._predicted = [_words(tokens) for tokens in part.predictions]
        self._read = [_words(("<s>", *tokens[:-1])) for tokens in part.predictions]

    def pairs(
        self, site: Site, head: int, measures: Mapping[str, Distribution]
    ) -> tuple[WordPair, ...]:
        """The pairs of a head by how much more often they look than its rows do in general."""
        queries = self._queries(site, measures)
        keys = self._read if site.kind is AttentionKind.DECODER else self._source
        looks = self._part.looks
        place = self._part.sites.index(site)
        own = looks[(looks[:, 1] == place) & (looks[:, 2] == head)]
        # A word of several tokens looks once, however many of its tokens do.
        looked = Counter(
            (query, key)
            for sentence, query, key in {
                (sentence, queries[sentence][row], keys[sentence][column])
                for sentence, row, column in own[:, [0, 3, 4]].tolist()
            }
            if query and key
        )
        often = {pair: count for pair, count in looked.items() if count >= MIN_MEETINGS // 2}
        met = self._met(site, queries, keys, often)
        base = sum(often.values()) / max(sum(met.values()), 1)
        found = [
            WordPair(*pair, count, met[pair])
            for pair, count in often.items()
            if met[pair] >= MIN_MEETINGS
        ]
        found.sort(key=lambda pair: -pair.looked * math.log(max(pair.share / base, 1e-9)))
        return tuple(found[:PAIRS])

    def _queries(self, site: Site, measures: Mapping[str, Distribution]) -> list[list[str]]:
        """The word of each row: the one it predicts where a head looks for that one's source."""
        if site.kind is AttentionKind.ENCODER:
            return self._source
        if site.kind is AttentionKind.CROSS and _mean(measures, "predicted_source") > _mean(
            measures, "read_source"
        ):
            return self._predicted
        return self._read

    def _met(
        self,
        site: Site,
        queries: Sequence[Sequence[str]],
        keys: Sequence[Sequence[str]],
        wanted: Mapping[tuple[str, str], int],
    ) -> Counter[tuple[str, str]]:
        """In how many sentences each pair met, the key not after the query in a decoder."""
        by_query: dict[str, set[str]] = {}
        for query, key in wanted:
            by_query.setdefault(query, set()).add(key)
        met: Counter[tuple[str, str]] = Counter()
        causal = site.kind is AttentionKind.DECODER
        for rows, columns in zip(queries, keys, strict=True):
            pairs = {
                (query, key)
                for row, query in enumerate(rows)
                if query in by_query
                for key in set(columns[: row + 1] if causal else columns) & by_query[query]
            }
            met.update(pairs)
        return met


def _words(tokens: Sequence[str]) -> list[str]:
    """The word of each token, in lower case; empty for special tokens."""
    found = [""] * len(tokens)
    for word in words(Tokens(tuple(tokens), tuple(range(len(tokens))))):
        text = "".join(tokens[word]).replace("▁", " ").strip()
        if not special(text):
            found[word] = [text.lower()] * (word.stop - word.start)
    return found


def _mean(measures: Mapping[str, Distribution], key: str) -> float:
    return measures[key].mean if key in measures else -math.inf
