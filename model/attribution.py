"""Attributions: maps of how much each key matters to a query, held against deleted tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from model.agreement import (
    Agreement,
    MeanAgreement,
    mean_agreement,
    rank_correlation,
    top_agreement,
)
from model.trace import AttentionKind, FloatArray, Site, Tokens

_NOT_LATER: Mapping[int, bool] = MappingProxyType({})

TELLING = 0.5
"""What a token's log-probability must lose at least, or nothing is known of its source."""


class AttributionError(ValueError):
    """Something was asked of attributions that they do not hold; the message says what they do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributionMap:
    """What one method gives of one site or of the whole model, for one sentence.

    Attributes:
        method: its name in `model.attribution_methods.METHODS`.
        site: whose queries and keys these are; None for the whole model, whose rows are those of
            the target and whose columns are the source.
        heads: of each head alone, (head, query, key); none for the whole model.
        together: of all heads together, (query, key).
        by_prediction: whether its rows are of what they predict, whichever token the layer looks
            for; then it is never read one row later.
    """

    method: str
    site: Site | None
    heads: FloatArray
    together: FloatArray
    by_prediction: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", _read_only(self.heads))
        object.__setattr__(self, "together", _read_only(self.together))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade(self)

    def of(self, head: int | None) -> FloatArray:
        """The map of one head, or of all together for None; (query, key).

        Raises:
            AttributionError: if there is no such head.
        """
        if head is None:
            return self.together
        if not 0 <= head < len(self.heads):
            raise AttributionError(
                f"The map of {_named(self.site)} has {len(self.heads)} heads, counted from 0; "
                f"there is no head {head}."
            )
        found: FloatArray = self.heads[head]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attributions:
    """What every method says of one sentence, beside what deleting its tokens does.

    Attributes:
        source: what the encoder read.
        target: what the decoder read, <s> first; the rows of maps.
        predictions: what each of these rows went on to predict.
        deletion_losses: the truth: what the log-probability of each prediction loses where a source
            token is deleted from attention, (target, source); see `model.deletion`.
        maps: of every method, of each site and of the whole model.
    """

    source: Tokens
    target: Tokens
    predictions: Tokens
    deletion_losses: FloatArray
    maps: tuple[AttributionMap, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "deletion_losses", _read_only(self.deletion_losses))
        object.__setattr__(self, "maps", tuple(self.maps))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade(self)

    def map(self, method: str, site: Site | None) -> AttributionMap:
        """What one method gives of one site, or of the whole model for None.

        Raises:
            AttributionError: if it is not among the maps.
        """
        for each in self.maps:
            if (each.method, each.site) == (method, site):
                return each
        methods = {each.method: None for each in self.maps}
        sites = {_named(each.site): None for each in self.maps}
        raise AttributionError(
            f"There is no map of {method} for {_named(site)}; there are {', '.join(methods)} for "
            f"{', '.join(sites)}."
        )

    def correlation(
        self, method: str, site: Site | None, head: int | None = None, *, later: bool = False
    ) -> Agreement:
        """How well a map ranks the source tokens of each prediction as their deletion does.

        Args:
            method: as in `map`.
            site: of cross-attention, or None for the whole model; no other map has the axes of the
                truth.
            head: None for all together.
            later: whether the map is read one row later, in the row that has read the token; see
                `model.alignment.read_later`. Maps by prediction are not, whatever is asked.

        Raises:
            AttributionError: if there is no such map, or it has other axes.
        """
        return rank_correlation(*self._beside(method, site, head, later))

    def top_agreement(
        self, method: str, site: Site | None, head: int | None = None, *, later: bool = False
    ) -> Agreement:
        """Whether a map is greatest at the source token whose deletion costs each prediction most.

        Left out are predictions that no deletion costs as much as TELLING. Arguments and errors are
        those of `correlation`.
        """
        return top_agreement(*self._beside(method, site, head, later), least=TELLING)

    def _beside(
        self, method: str, site: Site | None, head: int | None, later: bool
    ) -> tuple[FloatArray, FloatArray]:
        if site is not None and site.kind is not AttentionKind.CROSS:
            raise AttributionError(
                f"The rows and columns of {site} are not target and source, so its maps cannot be "
                "held against the deletion of source tokens; choose cross-attention."
            )
        found = self.map(method, site)
        estimate = found.of(head)
        if later and not found.by_prediction:
            # The last token is never read.
            return estimate[1:], self.deletion_losses[:-1]
        return estimate, self.deletion_losses


OfMaps = Mapping[tuple[str, Site | None, int | None], MeanAgreement]
"""By method, site and head; None stands for the whole model, and for all heads together."""


def mean_correlations(
    sentences: Sequence[Attributions], *, later: Mapping[int, bool] = _NOT_LATER
) -> OfMaps:
    """`Attributions.correlation` of each map that has one, on average over sentences.

    Args:
        sentences: all with the same maps.
        later: the layers that are read one row later, as `model.alignment.read_later` gives them.

    Raises:
        AttributionError: if a sentence lacks a map that the first has.
    """
    return _mean_agreements(Attributions.correlation, sentences, later)


def mean_top_agreements(
    sentences: Sequence[Attributions], *, later: Mapping[int, bool] = _NOT_LATER
) -> OfMaps:
    """`Attributions.top_agreement` in the same way."""
    return _mean_agreements(Attributions.top_agreement, sentences, later)


def _mean_agreements(
    agreement: Callable[..., Agreement],
    sentences: Sequence[Attributions],
    later: Mapping[int, bool],
) -> OfMaps:
    of_maps = [
        (each.method, each.site, head)
        for each in (sentences[0].maps if sentences else ())
        if each.site is None or each.site.kind is AttentionKind.CROSS
        for head in (None, *range(len(each.heads)))
    ]
    return {
        (method, site, head): mean_agreement(
            [
                agreement(
                    sentence,
                    method,
                    site,
                    head,
                    later=site is not None and later.get(site.layer, False),
                )
                for sentence in sentences
            ]
        )
        for method, site, head in of_maps
    }


def _named(site: Site | None) -> str:
    return "the whole model" if site is None else str(site)


def _remade(value: Any) -> tuple[Any, ...]:
    # A copy in another process is read-only as well.
    kind: Callable[..., Any] = type(value)
    values = {each.name: getattr(value, each.name) for each in fields(value)}
    return functools.partial(kind, **values), ()


def _read_only(array: FloatArray) -> FloatArray:
    view = np.asarray(array, dtype=np.float32).view()
    view.setflags(write=False)
    return view
