"""The sentences of a survey in which a head does most, and least, of what it does."""

from collections.abc import Mapping

from model.survey.corpus_survey import QUANTILES, CorpusSurvey
from model.trace.head import Head
from viz.corpus.quantities import QUANTITIES

TENTHS = (9, 8, 6, 4, 2, 0)
"""The tenths from which a sentence is shown, of all sentences ordered by a measure."""


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
    """A sentence from each of TENTHS, from the largest values of a measure to the smallest."""
    spread = survey.of(place).measures[measure]
    # The shorter one of each tenth: a small map of many words cannot be read.
    return {
        tenth: min(spread.examples[tenth], key=lambda number: len(survey.shown[number][0]))
        for tenth in TENTHS
        if spread.examples[tenth]
    }
