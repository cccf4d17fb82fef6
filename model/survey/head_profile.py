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

import numpy as np
from numpy.typing import NDArray

from model.explain.head_rows import Values
from model.explain.label_rules import RULE
from model.explain.labels import Finding, Sample
from model.survey.corpus_survey import (
    DECILES,
    QUANTILES,
    CorpusSurvey,
    Distribution,
    Effect,
    HeadProfile,
    Held,
    WordPair,
)
from model.survey.part import SurveyPart
from model.trace.attention_map import AttentionKind, FloatArray, Site, Tokens
from model.trace.token_schemes import WORD_START, joined, special
from model.trace.word_grouping import words

PER_DECILE = 2
"""So many sentences of each tenth of a measure's distribution are kept."""

SHOWN = 1500
"""Of so many sentences, evenly over the survey, examples are chosen."""

PAIRS = 20
"""Pairs of words that are kept of each head."""

MIN_MEETINGS = 8
"""So often two words must meet for a pair to be told."""


def summed_up(part: SurveyPart, sample: Sample, *, held_out: int | None = None) -> CorpusSurvey:
    """The survey of counts.

    Args:
        part: the counts over all sentences.
        sample: where these come from.
        held_out: so many of them, the first ones, are not from the model's training, and decide on
            labels; None for all.
    """
    held_out = len(part) if held_out is None else held_out
    n_heads = part.values.shape[2]
    shown = np.unique(np.linspace(0, len(part) - 1, min(SHOWN, len(part))).round().astype(int))
    meetings = _Meetings(part)
    return CorpusSurvey(
        sample,
        tuple(part.texts[sentence] for sentence in shown),
        {
            site: tuple(
                _profile(part, site, head, held_out, shown, meetings) for head in range(n_heads)
            )
            for site in part.sites
        },
        held_out=held_out,
    )


def _profile(
    part: SurveyPart,
    site: Site,
    head: int,
    held_out: int,
    shown: NDArray[np.intp],
    meetings: _Meetings,
) -> HeadProfile:
    telling = {key: each[:held_out] for key, each in part.telling(site, head).items()}
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

    def __init__(self, part: SurveyPart) -> None:
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
    for word in words(Tokens(tuple(tokens), tuple(range(len(tokens))), "sentencepiece")):
        text = joined(tokens[word]).replace(WORD_START, " ").strip()
        if not special(text):
            found[word] = [text.lower()] * (word.stop - word.start)
    return found


def _mean(measures: Mapping[str, Distribution], key: str) -> float:
    return measures[key].mean if key in measures else -math.inf
