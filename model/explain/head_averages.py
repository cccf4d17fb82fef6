"""Numbers of every head over several texts, with their errors: plain values, without torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from model.arguments import checked_methods
from model.explain.label_rules import DEVIATIONS
from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import Site
from model.trace.forms import form
from model.trace.head import Head, strongest_first
from model.trace.provenance import UNKNOWN, Provenance

Values = NDArray[np.float64]


@checked_methods
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadAverages(ArrayValue, Sized):
    """A number of each head over several texts.

    Attributes:
        quantity: what it is, such as "bleu".
        texts: the sentences.
        mean: of the texts, by site, (head,); of BLEU and chrF, of all texts together.
        error: the standard error of the mean, likewise; NaN for fewer than two texts.
        low: the lower end of its 95% interval, likewise: by the normal approximation, or for BLEU
            and chrF from 500 bootstrap samples of the texts.
        high: the upper end, likewise.
        values: the number of each text, by site, (text, head); NaN where a text does not tell.
            Empty for BLEU and chrF.
        partners: for heads that are compared, those of the other model.
        note: what else is to be known, in a sentence.
        provenance: the model and what it was asked to do.
    """

    quantity: str
    texts: tuple[str, ...]
    mean: Mapping[Site, Values]
    error: Mapping[Site, Values]
    low: Mapping[Site, Values]
    high: Mapping[Site, Values]
    values: Mapping[Site, Values] = field(default_factory=dict)
    partners: Mapping[Head, Head] = field(default_factory=dict)
    note: str = ""
    provenance: Provenance = UNKNOWN

    @classmethod
    def over(
        cls, quantity: str, texts: Iterable[str], heads: Sequence[Head], values: Values, **more: Any
    ) -> Self:
        """The averages of numbers, (text, head), in the order of the heads."""
        told = ~np.isnan(values)
        counts = told.sum(axis=0)
        known = np.where(told, values, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = known.sum(axis=0) / counts
            spread = (np.where(told, values - mean, 0) ** 2).sum(axis=0) / np.maximum(counts - 1, 0)
            error = np.sqrt(spread / counts)
        ends = mean - DEVIATIONS * error, mean + DEVIATIONS * error
        return cls.estimated(
            quantity, texts, heads, (mean, error, *ends), values=_by_site(heads, values), **more
        )

    @classmethod
    def estimated(
        cls,
        quantity: str,
        texts: Iterable[str],
        heads: Sequence[Head],
        estimates: Sequence[Values],
        **more: Any,
    ) -> Self:
        """Averages given by mean, error, low and high, (head,) each, in the order of the heads."""
        mean, error, low, high = (_by_site(heads, each) for each in estimates)
        return cls(
            quantity=quantity,
            texts=tuple(texts),
            mean=mean,
            error=error,
            low=low,
            high=high,
            **more,
        )

    def ranked(self) -> list[tuple[Site, int, float]]:
        """Every head with its mean, the largest first, whatever its sign."""
        return strongest_first(self.mean)

    def frame(self) -> Any:
        """A pandas table with a row a head: kind, layer, head, mean, error, low, high and texts.

        Where heads are compared, other_layer and other_head are its partner's.
        """
        return form("table", self)


def _by_site(heads: Sequence[Head], values: Values) -> dict[Site, Values]:
    """Numbers of heads, (…, head), by site."""
    places: dict[Site, list[int]] = {}
    for place, head in enumerate(heads):
        places.setdefault(head.site, []).append(place)
    return {site: values[..., own] for site, own in places.items()}
