"""What heads are compared by: their measures over the corpus, their effect, and their rule."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from model.explain.measures import EFFECT, MEASURES, Measure
from model.explain.source_measures import ON_SOURCE
from model.survey.corpus_survey import CorpusSurvey
from model.trace.head import Head
from viz.draw import style
from viz.links.head_refs import KINDS

OVERLAP = Measure(
    "overlap",
    "Overlap with its rule",
    "share",
    "How much of the head’s weight its best rule of one line puts in the same place, on sentences "
    "that the rule was not fitted to.",
    frozenset(KINDS),
)
RULE_COST = Measure(
    "rule_cost",
    "Loss with its rule",
    "nats",
    "The drop in the translation’s log-probability (natural logarithm) when the head follows its "
    "rule instead of its own weights.",
    frozenset(KINDS),
)

QUANTITIES: Mapping[str, Measure] = MappingProxyType(
    {each.key: each for each in (*MEASURES, *ON_SOURCE, EFFECT, OVERLAP, RULE_COST)}
)
"""Every one by its key."""


def value_of(survey: CorpusSurvey, place: Head, key: str) -> float:
    """A head's value; nan where it has none."""
    if key in (OVERLAP.key, RULE_COST.key):
        if survey.rules is None:
            return math.nan
        rule = survey.rules.heads[place]
        return rule.overlap if key == OVERLAP.key else rule.cost.mean
    profile = survey.of(place)
    if key == EFFECT.key:
        return profile.effect.mean
    return profile.measures[key].mean if key in profile.measures else math.nan


def ranked(survey: CorpusSurvey, key: str) -> list[tuple[Head, float]]:
    """The heads that have a value, largest first."""
    values = [(place, value_of(survey, place, key)) for place in survey.places]
    return sorted(
        (each for each in values if not math.isnan(each[1])), key=lambda each: (-each[1], each[0])
    )


def known(survey: CorpusSurvey) -> dict[str, str]:
    """The names of the quantities that some head has a value of, by key."""
    return {key: each.name for key, each in QUANTITIES.items() if ranked(survey, key)}


def written(key: str, value: float) -> str:
    """A value with its unit."""
    measure = QUANTITIES[key]
    if measure.unit == "share":
        return style.percent(value)
    if measure.unit == "correlation":
        return style.fixed(value, 2)
    return f"{style.fixed(value, 1 if measure.unit == 'tokens' else 2)} {measure.unit}"
