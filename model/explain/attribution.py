"""Attributions: maps of how much each key matters to a query, held against deleted tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from model.arguments import checked_methods
from model.explain.agreement import Agreement, rank_correlation, top_agreement
from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import AttentionKind, FloatArray, Site, Tokens
from model.trace.forms import form
from model.trace.provenance import UNKNOWN, Provenance

_NOT_LATER: Mapping[int, bool] = MappingProxyType({})

TELLING = 0.5
"""What a token's log-probability must lose at least, or nothing is known of its source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The description of a method; model/explain/attribution_methods.py computes it.

    Attributes:
        title: its name for people, in sentence case.
        leaves_out: what it does not see, in one sentence.
        by_prediction: whether its rows explain what they predict, whichever token a layer looks
            for; a map can then explain one target token, and is never read one row later.
        accumulates: whether a map includes the layers below its own.
    """

    title: str
    unit: str
    paper: str
    leaves_out: str
    by_prediction: bool = False
    accumulates: bool = False


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "weights": Method(
            title="Weights",
            unit="weight",
            paper="Vaswani et al. 2017, section 3.2",
            leaves_out="The values: a large weight on a short value adds little.",
        ),
        "norms": Method(
            title="Norms",
            unit="length of what is added",
            paper="Kobayashi et al. 2020, “Attention is Not Only a Weight: Analyzing Transformers "
            "with Vector Norms”, section 3",
            leaves_out="The direction of vectors, the residual connection, the feed-forward "
            "network and every other layer.",
        ),
        "residual_norms": Method(
            title="Norms with residual and layer norm",
            unit="length of what is added",
            paper="Kobayashi et al. 2021, “Incorporating Residual and Normalization Layers into "
            "Analysis of Masked Language Models”, section 3",
            leaves_out="The direction of vectors, the feed-forward network and every other layer. "
            "In cross-attention with pre-norm it equals the norms.",
        ),
        "rollout": Method(
            title="Rollout",
            unit="share",
            paper="Abnar and Zuidema 2020, “Quantifying Attention Flow in Transformers”, section 3",
            leaves_out="Values, W_O and the feed-forward networks; the residual connection counts "
            "as half of every layer, whatever the model does.",
            accumulates=True,
        ),
        "value_zeroing": Method(
            title="Value zeroing",
            unit="share of the change",
            paper="Mohebbi et al. 2023, “Quantifying Context Mixing in Transformers”, section 3",
            leaves_out="Every other layer, and the change of the weights without the token.",
        ),
        "gradient_times_weight": Method(
            title="Gradient × weight",
            unit="loss to first order",
            paper="Serrano and Smith 2019, “Is Attention Interpretable?”, section 5",
            leaves_out="Everything nonlinear: it sees a small change of a weight, not its removal, "
            "and no other weight grows in its place.",
            by_prediction=True,
        ),
        "integrated_gradients": Method(
            title="Integrated gradients",
            unit="part of the loss",
            paper="Sundararajan et al. 2017, “Axiomatic Attribution for Deep Networks”, section 3; "
            "of attention weights, after Hao et al. 2021, “Self-Attention Attribution”",
            leaves_out="Tokens that could replace each other: all weights fade together, through "
            "passes that the model never makes.",
            by_prediction=True,
        ),
    }
)
"""Every method by its name in an AttributionMap."""


class AttributionError(ValueError):
    """Something was asked of attributions that they do not hold; the message says what they do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributionMap(ArrayValue, Sized):
    """What one method gives of one site or of the whole model, for one sentence.

    Attributes:
        site: whose queries and keys these are; None for the whole model, whose rows are those of
            the target and whose columns are the source.
        heads: of each head alone, (head, query, key); none for the whole model.
        together: of all heads together, (query, key).
    """

    method: str
    site: Site | None
    heads: FloatArray
    together: FloatArray

    def of(self, head: int | None) -> FloatArray:
        """The map of one head, or of all together for None; (query, key)."""
        if head is None:
            return self.together
        if not 0 <= head < len(self.heads):
            raise AttributionError(
                f"The map of {_named(self.site)} has {len(self.heads)} heads, counted from 0; "
                f"there is no head {head}."
            )
        head_map: FloatArray = self.heads[head]
        return head_map


@checked_methods
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attributions(ArrayValue, Sized):
    """What every method says of one sentence, beside what deleting its tokens does.

    Attributes:
        target: what the decoder read, <s> first; the rows of maps.
        predictions: what each of these rows went on to predict.
        deletion_losses: the truth: what the log-probability of each prediction loses where a source
            token is deleted from attention, (target, source); see `model.explain.deletion`.
    """

    source: Tokens
    target: Tokens
    predictions: Tokens
    deletion_losses: FloatArray
    maps: tuple[AttributionMap, ...]
    provenance: Provenance = UNKNOWN

    def frame(self) -> Any:
        """Every map as a pandas table, a row a query and key.

        Its columns are method, kind, layer and head, query_position, query, key_position, key and
        value. Without a head stand all heads together; without a kind, the whole model.
        """
        return form("table", self)

    def map(self, method: str, site: Site | None) -> AttributionMap:
        """What one method gives of one site, or of the whole model for None."""
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
            site: of cross-attention, or None for the whole model; no other map has the axes of the
                truth.
            head: None for all together.
            later: whether the map is read one row later, in the row that has read the token; see
                `model.explain.source_rows.read_later`. Maps by prediction and of the whole model
                never are.

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

    def estimate(
        self, method: str, site: Site | None, head: int | None = None, *, later: bool = False
    ) -> FloatArray:
        """A map with the rows and columns of the truth, (target, source).

        Read one row later, its last row is nan: the token predicted last is never read. Arguments
        and errors are those of `correlation`.
        """
        if site is not None and site.kind is not AttentionKind.CROSS:
            raise AttributionError(
                f"The rows and columns of {site} are not target and source, so its maps cannot be "
                "held against the deletion of source tokens; choose cross-attention."
            )
        attribution_map = self.map(method, site)
        estimate = attribution_map.of(head)
        if not later or site is None or METHODS[method].by_prediction:
            return estimate
        unread = np.full_like(estimate[:1], np.nan)
        return np.concatenate([estimate[1:], unread])

    def agreements(self, *, later: Mapping[int, bool] = _NOT_LATER) -> Agreements:
        """How well each map that has the axes of the truth agrees with it.

        `later` names the layers that are read one row later, from `source_rows.read_later`.
        """
        agreements = {}
        for each in self.maps:
            site = each.site
            if site is not None and site.kind is not AttentionKind.CROSS:
                continue
            row = site is not None and later.get(site.layer, False)
            for head in (None, *range(len(each.heads))):
                place = each.method, site, head
                agreements[place] = DeletionAgreement(
                    correlation=self.correlation(*place, later=row),
                    top=self.top_agreement(*place, later=row),
                )
        return agreements

    def _beside(
        self, method: str, site: Site | None, head: int | None, later: bool
    ) -> tuple[FloatArray, FloatArray]:
        estimate = self.estimate(method, site, head, later=later)
        read = slice(-1 if np.isnan(estimate[-1]).all() else None)
        return estimate[read], self.deletion_losses[read]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributionPart(Sized):
    """Some of the maps of `Attributions`, or the same rows of some of them."""

    maps: tuple[AttributionMap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionAgreement:
    """How well one map of one sentence agrees with deletion, as `Attributions` measures it."""

    correlation: Agreement
    top: Agreement


MapKey = tuple[str, Site | None, int | None]
"""A method, a site and a head; None stands for the whole model, and for all heads together."""
Agreements = Mapping[MapKey, DeletionAgreement]


def _named(site: Site | None) -> str:
    return "the whole model" if site is None else str(site)
