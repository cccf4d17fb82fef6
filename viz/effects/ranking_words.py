"""Which map to believe, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.explain.agreement import MeanAgreement
from model.explain.attribution import METHODS
from viz.draw import style
from viz.draw.labels import lower_first
from viz.effects.self_maps import PLAIN

_ALIKE = 1e-9
"""Numbers that differ by less are equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One method's agreement with the truth; nan if the truth is no guide.

    Attributes:
        correlation: for this sentence, or for one of its target tokens.
        top: the same for the greatest cell.
        examples: both over the examples; None if they were not measured.
    """

    method: str
    correlation: float
    top: float
    examples: tuple[MeanAgreement, MeanAgreement] | None = None

    @property
    def both(self) -> tuple[float, float]:
        """Its two numbers."""
        return self.correlation, self.top


def ranking_sentences(ranked: Sequence[Score], token_name: str = "") -> list[str]:
    """Which map to believe, in a number, in plain text; for a target token if it has a name."""
    where = f"For “{token_name}”" if token_name else "For this sentence"
    sentences = [_believed(where, {each.method: each.correlation for each in ranked})]
    if not token_name:
        sentences[0] += _on_top({each.method: each.top for each in ranked})
    means = {each.method: each.examples for each in ranked if each.examples}
    if means:
        intervals = {
            method: f" [{written(mean.low, 0)}, {written(mean.high, 0)}]"
            for method, (mean, _) in means.items()
        }
        count = max(mean.n_sentences for mean, _ in means.values())
        sentences.append(
            _believed(
                f"Over {count} examples of this model",
                {method: mean.mean for method, (mean, _) in means.items()},
                intervals,
            )
            + _on_top({method: mean.mean for method, (_, mean) in means.items()})
        )
    return sentences


def best(values: Mapping[str, float]) -> tuple[list[str], float]:
    """The methods that share the greatest number, and the number; none without numbers."""
    known = {method: value for method, value in values.items() if not np.isnan(value)}
    most = max(known.values(), default=float("nan"))
    return [method for method, value in known.items() if value >= most - _ALIKE], most


def _believed(
    where: str, values: Mapping[str, float], intervals: Mapping[str, str] | None = None
) -> str:
    first, most = best(values)
    if not first:
        return f"{where}, no map stands out as closest to the truth."
    interval = intervals or dict.fromkeys(values, "")
    text = (
        f"{where}, believe {names(first)} first: rank correlation {written(most, 0)}"
        f"{interval[first[0]]} with the truth"
    )
    if PLAIN in first:
        return f"{text}. No other map does better than the plain weights."
    return f"{text}; the plain weights reach {written(values[PLAIN], 0)}{interval[PLAIN]}."


def _on_top(values: Mapping[str, float]) -> str:
    first, most = best(values)
    if not first:
        return ""
    text = f" The most important token is on top most often with {names(first)}, {written(most, 1)}"
    if PLAIN in first:
        return f"{text}."
    return f"{text}; with the plain weights, {written(values[PLAIN], 1)}."


def names(methods: Sequence[str]) -> str:
    """Methods in a sentence."""
    *others, last = [lower_first(METHODS[method].title) for method in methods]
    return f"{', '.join(others)} and {last}" if others else last


def written(value: float, place: int) -> str:
    """A number beside its bar: a correlation, or a share."""
    if np.isnan(value):
        return "–"
    return style.percent(value) if place else style.fixed(value, 2)
