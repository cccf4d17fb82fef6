"""The sentences of a survey in which a head does most, and least, of what it does."""

from collections.abc import Mapping

from model.survey.corpus_survey import QUANTILES, CorpusSurvey
from model.trace.head import Head
from viz.corpus.quantities import QUANTITIES

TENTHS = (9, 8, 6, 4, 2, 0)
"""Tenths of the sentences of which one is shown, by a measure of the head."""


def shares_of(survey: CorpusSurvey, place: Head) -> list[str]:
    """The measures of a head that are shares, largest median first."""
    measures = survey.of(place).measures
    shares = [key for key in measures if key in QUANTITIES and QUANTITIES[key].unit == "share"]
    return sorted(shares, key=lambda key: -measures[key].quantiles[QUANTILES // 2])


def main_measure(survey: CorpusSurvey, place: Head) -> str | None:
    """The measure that says most about a head: its label's, or its largest share."""
    label = survey.label(place)
    if label is not None and label.measure in survey.of(place).measures:
        return label.measure
    return next(iter(shares_of(survey, place)), None)


def examples_of(survey: CorpusSurvey, place: Head, measure: str) -> Mapping[int, int]:
    """A sentence of some tenths, from where a measure is largest to where it is smallest."""
    spread = survey.of(place).measures[measure]
    # The shorter one of each tenth: a small map of many words cannot be read.
    return {
        tenth: min(spread.examples[tenth], key=lambda number: len(survey.shown[number][0]))
        for tenth in TENTHS
        if spread.examples[tenth]
    }
