"""A part of a survey: the values of every head, and where its rows look, over some sentences.

Parts are counted one by one. What is added up are whole numbers, so that parts joined in their
order do not depend on which process counted them, or when.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.brief import Brief
from model.explain.facts import facts_of
from model.explain.head_ablation import effects_of
from model.explain.head_numbers import telling_keys
from model.explain.head_rows import allowed_per_head
from model.explain.label_rules import RULE
from model.explain.labels import site_named
from model.explain.source_measures import on_sources
from model.explain.source_rows import token_sources
from model.survey.corpus_survey import KEYS, REACH
from model.trace.attention_map import AttentionKind, AttentionMap, BoolArray, FloatArray, Site
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator

MOSTLY = 0.5
"""A row looks at one key if it gives it more than this share of its weight."""

TOGETHER = 125
"""Sentences that are translated in one batch."""

_WHOLE = 1 << 24
"""A weight of 1 as a whole number: the sum of whole numbers does not depend on their order."""


class SurveyError(ValueError):
    """A survey that cannot be made, read or continued; the message says why and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class SurveyPart(Brief):
    """The counts over some sentences, read with the model's own translations.

    Attributes:
        sites: of the model.
        sources: the tokens of each source, </s> included.
        predictions: the tokens of each translation, one for each row of the decoder.
        texts: each source and translation as text.
        values: of each measure in KEYS, (sentence, site, head, measure); nan where it cannot be
            told.
        tells: whether the sentence can tell whether a label holds, (sentence, site, measure); see
            model.explain.head_numbers.telling_facts.
        distances: the weight at each distance of key from query, -REACH to REACH, as whole numbers,
            (site, head, distance).
        looks: the rows that give one key more than MOSTLY of their weight: sentence, site, head,
            query and key, (row, 5).
        effects: what the translation's log-probability loses without each head, in nats,
            (sentence, site, head); nan for sentences outside the sample.
    """

    sites: tuple[Site, ...]
    sources: tuple[tuple[str, ...], ...]
    predictions: tuple[tuple[str, ...], ...]
    texts: tuple[tuple[str, str], ...]
    values: FloatArray
    tells: BoolArray
    distances: NDArray[np.int64]
    looks: NDArray[np.int32]
    effects: FloatArray

    def __len__(self) -> int:
        return len(self.texts)

    def of_head(self, site: Site, head: int) -> Mapping[str, FloatArray]:
        """A head's value of each measure, (sentence,); nan where it cannot be told."""
        values = self.values[:, self.sites.index(site), head]
        return dict(zip(KEYS, values.T, strict=True))

    def telling(self, site: Site, head: int) -> Mapping[str, FloatArray]:
        """The values that count for labels: as `of_head`, of the sentences that can tell."""
        place = self.sites.index(site)
        return {
            key: np.where(
                self.tells[:, place, KEYS.index(key)],
                self.values[:, place, head, KEYS.index(key)],
                np.nan,
            )
            for key in RULE
        }

    def to_bytes(self) -> bytes:
        """The content of a file, which numpy reads without pickle."""
        names = json.dumps(
            {
                "measures": KEYS,
                "sites": [str(site) for site in self.sites],
                "sources": self.sources,
                "predictions": self.predictions,
                "texts": self.texts,
            }
        )
        written = BytesIO()
        np.savez_compressed(
            written,
            names=np.frombuffer(names.encode(), np.uint8),
            **{name: getattr(self, name) for name in _ARRAYS},
        )
        return written.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            SurveyError: if it is damaged, or another version counted other measures.
        """
        try:
            with np.load(BytesIO(content), allow_pickle=False) as arrays:
                if sorted(arrays.files) != sorted(("names", *_ARRAYS)):
                    raise ValueError
                names = json.loads(arrays["names"].tobytes())
                if names["measures"] != [*KEYS]:
                    raise ValueError
                return cls(
                    tuple(map(site_named, names["sites"])),
                    tuple(map(tuple, names["sources"])),
                    tuple(map(tuple, names["predictions"])),
                    tuple((source, text) for source, text in names["texts"]),
                    **{name: arrays[name] for name in _ARRAYS},
                )
        except Exception as error:
            # A cut file fails in zipfile, zlib, json or here.
            raise SurveyError(
                "A part of the survey is damaged, or of another version; delete it and go on."
            ) from error


_ARRAYS = ("values", "tells", "distances", "looks", "effects")


def counted(
    translator: Translator,
    texts: Sequence[str],
    sampled: Callable[[int], bool],
    sourced: Callable[[int], bool] = lambda _: True,
) -> SurveyPart:
    """The counts over sentences; one that the model cannot read is left out.

    Args:
        translator: the model.
        texts: the sentences.
        sampled: whether the heads are switched off one by one for a sentence, by its place.
        sourced: whether the sources of its tokens are looked for, which the measures ON_SOURCE
            need, and which takes longer than all other measures.
    """
    sites = translator.sites
    shape = (len(sites), translator.model.config.n_heads)
    places = [place for place, text in enumerate(texts) if is_readable(translator, text)]
    values = np.full((len(places), *shape, len(KEYS)), np.nan, np.float32)
    tells = np.zeros((len(places), shape[0], len(KEYS)), np.bool_)
    effects = np.full((len(places), *shape), np.nan, np.float32)
    distances = np.zeros((*shape, 2 * REACH + 1), np.int64)
    looks: list[NDArray[np.int32]] = [np.empty((0, 5), np.int32)] * len(places)
    named: dict[int, tuple[tuple[str, ...], tuple[str, ...], tuple[str, str]]] = {}
    for number, trace in traced(translator, [texts[place] for place in places]):
        sources = token_sources(translator, trace) if sourced(places[number]) else {}
        values[number], tells[number] = _facts(trace, sources)
        looks[number] = _looks(number, trace)
        for index, attention in enumerate(trace.maps.values()):
            distances[index] += _distances(attention)
        if sampled(places[number]):
            losses = effects_of(translator, trace).losses
            effects[number] = np.stack([losses[site].sum(axis=-1) for site in sites])
        named[number] = (
            trace.source.tokens,
            trace.predictions.tokens,
            (trace.source_text, trace.text),
        )
    return SurveyPart(
        sites,
        tuple(named[number][0] for number in range(len(places))),
        tuple(named[number][1] for number in range(len(places))),
        tuple(named[number][2] for number in range(len(places))),
        values,
        tells,
        distances,
        np.concatenate([np.empty((0, 5), np.int32), *looks]),
        effects,
    )


def traced(translator: Translator, texts: Sequence[str]) -> Iterator[tuple[int, Trace]]:
    """The place and the trace of each text, those of short ones first."""
    # Sentences of about one length share most steps of decoding, and many a shape.
    by_length = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for start in range(0, len(texts), TOGETHER):
        places = by_length[start : start + TOGETHER]
        traces = translator.trace([texts[place] for place in places])
        yield from zip(places, traces, strict=True)


def is_readable(translator: Translator, text: str) -> bool:
    """Whether a model can read a sentence."""
    try:
        translator.require_readable(text)
    except TextError:
        return False
    return True


def joined(parts: Sequence[SurveyPart]) -> SurveyPart:
    """The parts of a survey as one, in their order.

    Raises:
        SurveyError: if there is none, or they are of models of other shapes.
    """
    if not parts or len({(part.sites, part.values.shape[1:]) for part in parts}) > 1:
        raise SurveyError("A survey is joined from one or more parts, all of one model.")
    before = np.cumsum([0, *(len(part) for part in parts)])
    return SurveyPart(
        parts[0].sites,
        tuple(each for part in parts for each in part.sources),
        tuple(each for part in parts for each in part.predictions),
        tuple(each for part in parts for each in part.texts),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.tells for part in parts]),
        np.sum([part.distances for part in parts], axis=0),
        np.concatenate(
            [
                part.looks + np.array([first, 0, 0, 0, 0], np.int32)
                for part, first in zip(parts, before, strict=False)
            ]
        ),
        np.concatenate([part.effects for part in parts]),
    )


def _facts(trace: Trace, sources: Mapping[int, int]) -> tuple[FloatArray, BoolArray]:
    """The values of one sentence, (site, head, measure), and which can tell, (site, measure)."""
    measured = facts_of(trace.maps)
    values, tells = [], []
    even: dict[AttentionKind, set[str]] = {}
    for site, attention in trace.maps.items():
        if site.kind not in even:
            even[site.kind] = telling_keys(attention)
        facts = measured[site] | on_sources(attention, sources)
        values.append(np.stack([facts[key] for key in KEYS], axis=-1))
        tells.append([key in even[site.kind] and not np.isnan(facts[key]).all() for key in KEYS])
    return np.stack(values).astype(np.float32), np.array(tells)


def _distances(attention: AttentionMap) -> NDArray[np.int64]:
    """The weight at each distance of key from query, (head, distance), as whole numbers."""
    n_queries, n_keys = attention.weights.shape[1:]
    away = np.arange(n_keys) - np.arange(n_queries)[:, None]
    places = (np.clip(away, -REACH, REACH) + REACH).ravel()
    whole = np.rint(attention.weights.astype(np.float64) * _WHOLE)
    # Sums of whole numbers in float64 are exact up to 2 to the 53rd.
    n_places = 2 * REACH + 1
    return np.stack(
        [np.bincount(places, weights.ravel(), minlength=n_places) for weights in whole]
    ).astype(np.int64)


def _looks(sentence: int, trace: Trace) -> NDArray[np.int32]:
    """The rows with a choice that give one key more than MOSTLY of their weight, (row, 5)."""
    found = []
    for site, attention in enumerate(trace.maps.values()):
        has_choice = np.count_nonzero(allowed_per_head(attention.allowed), axis=-1) >= 2
        there = (attention.weights > MOSTLY) & has_choice[..., None]
        head, query, key = np.nonzero(there)
        found.append(np.stack([np.full(len(head), site), head, query, key], axis=-1))
    return np.insert(np.concatenate(found), 0, sentence, axis=1).astype(np.int32)
