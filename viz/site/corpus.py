"""The survey of a model's heads as files that the page reads once it is opened (survey.js)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.survey.corpus_survey import QUANTILES, CorpusSurvey, HeadProfile
from model.survey.sentence_index import Does, SentenceIndex
from model.survey.survey_file import read_sentences, read_survey
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from viz.browser.envelope import seal
from viz.corpus.examples import examples_of, main_measure
from viz.corpus.quantities import QUANTITIES, known, value_of
from viz.links.head_refs import KINDS

SURVEY, SENTENCES = "survey", "sentences"
"""The names of the files: what is said of each head, and what sentences are found by."""

_PLACES = (QUANTILES // 10, QUANTILES // 2, QUANTILES - 1 - QUANTILES // 10)
"""Of the 10% quantile, the median and the 90% quantile."""


def survey_files(folder: Path) -> dict[str, bytes]:
    """The envelopes by name; none without a survey, and no sentences if it was written without.

    Raises:
        CheckpointError: if the survey is damaged.
    """
    survey = read_survey(folder)
    if survey is None:
        return {}
    index = read_sentences(folder)
    sentences = {} if index is None else {SENTENCES: seal(_sentences(index))}
    return {SURVEY: seal(_survey(survey))} | sentences


def _survey(survey: CorpusSurvey) -> dict[str, Any]:
    places, keys = sorted(survey.places), list(known(survey))
    shown: dict[int, int] = {}
    effects = [survey.of(place).effect for place in places]
    return {
        "payload": SURVEY,
        "sentences": survey.sample.sentences,
        "trained": survey.sample.sentences - survey.held_out,
        "data": survey.sample.data,
        "licence": survey.sample.licence,
        "quantities": [[key, QUANTITIES[key].name, QUANTITIES[key].unit] for key in keys],
        "heads": [_head(survey, place, shown) for place in places],
        "values": np.array([[value_of(survey, place, key) for key in keys] for place in places]),
        "spreads": np.array(
            [[_spread(survey.of(place), key) for key in keys] for place in places], np.float32
        ),
        "effects": np.array([[each.mean, each.error, each.count] for each in effects]),
        "shown": [survey.shown[number][0] for number in shown],
    }


def _head(survey: CorpusSurvey, place: Head, shown: dict[int, int]) -> dict[str, Any]:
    """The entry of one head; `shown` gives each sentence that is shown its number."""
    label, measure = survey.label(place), main_measure(survey, place)
    examples = examples_of(survey, place, measure) if measure else {}
    return {
        "kind": str(place.site.kind),
        "layer": place.site.layer,
        "head": place.number,
        "label": None if label is None else label.text,
        "reason": "" if label is None else label.reason,
        "earned": label is not None and label.earned,
        "measure": measure,
        "examples": [
            [tenth, shown.setdefault(number, len(shown))] for tenth, number in examples.items()
        ],
        "pairs": [[pair.query, pair.key, pair.looked, pair.met] for pair in survey.of(place).pairs],
    }


def _spread(profile: HeadProfile, key: str) -> list[float]:
    if key not in profile.measures:
        return [math.nan] * len(_PLACES)
    return [profile.measures[key].quantiles[place] for place in _PLACES]


def _sentences(index: SentenceIndex) -> dict[str, Any]:
    rules: dict[AttentionKind, tuple[str, ...]] = {kind: index.found_by(kind) for kind in KINDS}
    return {
        "payload": SENTENCES,
        "sources": index.sources,
        "rules": {str(kind): names for kind, names in rules.items()},
        "heads": [[str(place.site.kind), place.site.layer, place.number] for place in index.does],
        "does": [_planes(index, place, rules[place.site.kind]) for place in index.does],
    }


def _planes(index: SentenceIndex, place: Head, names: Sequence[str]) -> NDArray[np.uint8]:
    """Where a head follows each of the rules somewhere, and where mostly."""
    rows = [index.rules[place.site.kind].index(name) for name in names]
    levels = index.does[place][rows]
    return np.packbits([levels >= Does.SOMEWHERE, levels >= Does.MOSTLY], axis=-1)
