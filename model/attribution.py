"""Attributions: maps of how much each key matters to a query, held against deleted tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from model.rank_correlation import (
    MeanRankCorrelation,
    RankCorrelation,
    mean_rank_correlation,
    rank_correlation,
)
from model.trace import AttentionKind, FloatArray, Site, Tokens


class AttributionError(ValueError):
    """Something was asked of attributions that they do not hold; the message says what they do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributionMap:
    """What one method gives of one site, for one sentence.

    Attributes:
        method: its name in `model.attribution_methods.METHODS`.
        site: whose queries and keys these are.
        heads: of each head alone, (head, query, key).
        together: of all its heads together, (query, key).
    """

    method: str
    site: Site
    heads: FloatArray
    together: FloatArray

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
                f"{self.site} has the heads 0 to {len(self.heads) - 1}; there is no head {head}."
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
        maps: of every method and site.
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

    def map(self, method: str, site: Site) -> AttributionMap:
        """What one method gives of one site.

        Raises:
            AttributionError: if it is not among the maps.
        """
        for each in self.maps:
            if (each.method, each.site) == (method, site):
                return each
        methods, sites = ({getattr(each, name): None for each in self.maps} for name in _NAMES)
        raise AttributionError(
            f"There is no map of {method} for {site}; there are {', '.join(methods) or 'none'} for "
            f"{', '.join(map(str, sites)) or 'no site'}."
        )

    def correlation(self, method: str, site: Site, head: int | None = None) -> RankCorrelation:
        """How well a map ranks the source tokens of each prediction as their deletion does.

        Args:
            method: as in `map`.
            site: of cross-attention, for its maps alone have the axes of the truth.
            head: None for all together.

        Raises:
            AttributionError: if there is no such map, or it has other axes.
        """
        if site.kind is not AttentionKind.CROSS:
            raise AttributionError(
                f"The rows and columns of {site} are not target and source, so its maps cannot be "
                "held against the deletion of source tokens; choose cross-attention."
            )
        return rank_correlation(self.map(method, site).of(head), self.deletion_losses)


def mean_correlations(
    sentences: Sequence[Attributions],
) -> Mapping[tuple[str, Site, int | None], MeanRankCorrelation]:
    """How well each map of cross-attention ranks source tokens, on average over sentences.

    Returns:
        by method, site and head; None stands for all heads together.

    Raises:
        AttributionError: if the sentences have not the same maps.
    """
    of_maps: list[tuple[str, Site, int | None]] = [
        (each.method, each.site, head)
        for each in (sentences[0].maps if sentences else ())
        if each.site.kind is AttentionKind.CROSS
        for head in (None, *range(len(each.heads)))
    ]
    return {
        of_map: mean_rank_correlation([sentence.correlation(*of_map) for sentence in sentences])
        for of_map in of_maps
    }


_NAMES = ("method", "site")


def _remade(value: Any) -> tuple[Any, ...]:
    # A copy in another process is read-only as well.
    kind: Callable[..., Any] = type(value)
    values = {each.name: getattr(value, each.name) for each in fields(value)}
    return functools.partial(kind, **values), ()


def _read_only(array: FloatArray) -> FloatArray:
    view = np.asarray(array, dtype=np.float32).view()
    view.setflags(write=False)
    return view
