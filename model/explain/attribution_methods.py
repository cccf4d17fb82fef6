"""Published methods that estimate how much a key matters to a query, behind one registry.

Attention weights are the first of them. What they estimate is measured by
model/explain/deletion.py; model/explain/attribution.py compares the two. To add a method, write a
class here, enter it in CLASSES, and describe it in METHODS there.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from model.explain.attribution_run import Run
from model.explain.decomposition import Sublayer
from model.trace.attention_map import AttentionKind, Site

_TOGETHER = 16
"""Keys without a value that are computed together."""


class AttributionMethod(ABC):
    """A map (query, key) for every head, and one for all heads of a layer together."""

    cost: ClassVar[Literal["pass", "site", "row"]] = "pass"
    """What takes its time: one pass, every site, or every row of the target."""

    @classmethod
    @abstractmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """The maps of a site, (head, query, key), or (1, query, key) for all heads together."""

    @classmethod
    def whole(cls, run: Run) -> Tensor:
        """One map for the whole model, (target, source): the mean over layers of cross-attention.

        Of each layer, its map for all heads together.
        """
        sites = [site for site in run.sublayers if site.kind is AttentionKind.CROSS]
        return torch.cat([cls.of(run, site, together=True) for site in sites]).mean(dim=0)


class Weights(AttributionMethod):
    """Attention weights as they are; together, their mean over heads."""

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """After the softmax."""
        weights = run.sublayers[site].weights[0]
        return weights.mean(dim=0, keepdim=True) if together else weights


class Norms(AttributionMethod):
    """‖α·f(x)‖: the length of what a key adds to the output, through W_V and W_O.

    f(x) = (x·W_V + b_V)·W_O, with x as the layer's values read it. Together, the vectors of all
    heads are added before their length is taken. The bias of W_O belongs to no key.
    """

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """Row by row, for the vectors of all rows at once can take more memory than the model."""
        sublayer = run.sublayers[site]
        weights, values = sublayer.weights[0], sublayer.transformed_values()[0]
        rows = []
        for query in range(weights.shape[1]):
            # (head, key, d_model)
            added = weights[:, query, :, None] * values
            if together:
                added = added.sum(dim=0, keepdim=True)
            rows.append(cls.outside(sublayer, site, query, added).norm(dim=-1))
        return torch.stack(rows, dim=1)

    @classmethod
    def outside(cls, sublayer: Sublayer, site: Site, query: int, added: Tensor) -> Tensor:
        """What becomes of the vectors that the keys add to a row, (head, key, d_model)."""
        return added


class ResidualNorms(Norms):
    """The same with the residual connection and the layer norm around attention.

    In self-attention, the residual connection adds a row's own x to what its own token adds. In
    cross-attention it adds what is no source token's, so it counts for none of them.

    Post-norm: LN(y) = (y - mean(y))/σ·γ + β comes after the sum y; with σ as it was in the pass,
    it is linear, and each key's vector goes through it. β belongs to no key. Pre-norm: the norm
    comes before W_V, so f has read its output already, and nothing normalizes the sum; there,
    cross-attention has the same maps as without residual and norm.
    """

    @classmethod
    def outside(cls, sublayer: Sublayer, site: Site, query: int, added: Tensor) -> Tensor:
        """The row's own x is added, and a norm that follows is applied."""
        x = sublayer.x[0, query]
        if site.kind is not AttentionKind.CROSS:
            added = added.clone()
            added[:, query] += x
        if sublayer.residual.pre:
            return added
        norm = sublayer.residual.norm
        variance = (x + sublayer.update[0, query]).var(correction=0)
        centred = added - added.mean(dim=-1, keepdim=True)
        return centred / (variance + norm.eps).sqrt() * norm.weight


class Rollout(AttributionMethod):
    """Weights multiplied through all layers below, half of each layer being its residual.

    A layer of self-attention mixes its tokens by (A + I)/2, with A the mean over its heads. The
    encoder's maps are the products up to a layer. In the decoder, a row consists of target tokens
    that it read and of source tokens: self-attention mixes both as they are in its keys, and
    cross-attention takes half from the encoder's tokens, each being what the whole encoder's
    product says. So a row's shares add up to 1 over both sentences; decoder self-attention shows
    those of the target, cross-attention those of the source. For a head, its own weights stand for
    the mean in its own layer alone.
    """

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """The product up to a site."""
        own = Weights.of(run, site, together=together)
        if site.kind is AttentionKind.ENCODER:
            return _with_residual(own) @ cls._encoder(run, site.layer)
        from_target, from_source = cls._decoder(run, site.layer)
        if site.kind is AttentionKind.DECODER:
            return _with_residual(own) @ from_target
        mixed = cls._self_attention(run, AttentionKind.DECODER, site.layer) @ from_source
        return (mixed + own @ cls._encoder(run)) / 2

    @classmethod
    def whole(cls, run: Run) -> Tensor:
        """That of the last layer, which is a product of all."""
        last = max(site for site in run.sublayers if site.kind is AttentionKind.CROSS)
        return cls.of(run, last, together=True)[0]

    @classmethod
    def _encoder(cls, run: Run, n_layers: int | None = None) -> Tensor:
        # Of so many layers, or of all, (source, source).
        sites = [site for site in run.sublayers if site.kind is AttentionKind.ENCODER]
        shares = torch.eye(run.sublayers[sites[0]].x.shape[1]).to(run.sublayers[sites[0]].x)
        for site in sites[:n_layers]:
            shares = cls._self_attention(run, site.kind, site.layer) @ shares
        return shares

    @classmethod
    def _decoder(cls, run: Run, n_layers: int) -> tuple[Tensor, Tensor]:
        # After so many layers, (target, target) and (target, source).
        memory = cls._encoder(run)
        n_target = run.sublayers[Site(AttentionKind.DECODER, 0)].x.shape[1]
        from_target = torch.eye(n_target).to(memory)
        from_source = memory.new_zeros(n_target, len(memory))
        for layer in range(n_layers):
            mixing = cls._self_attention(run, AttentionKind.DECODER, layer)
            cross = Weights.of(run, Site(AttentionKind.CROSS, layer), together=True)[0]
            from_target = mixing @ from_target / 2
            from_source = (mixing @ from_source + cross @ memory) / 2
        return from_target, from_source

    @staticmethod
    def _self_attention(run: Run, kind: AttentionKind, layer: int) -> Tensor:
        return _with_residual(Weights.of(run, Site(kind, layer), together=True))[0]


def _with_residual(weights: Tensor) -> Tensor:
    return (weights + torch.eye(weights.shape[-1]).to(weights)) / 2


class ValueZeroing(AttributionMethod):
    """How far a row's output of the layer turns where the value of a key is zero.

    The distance is 1 - cos, taken after the whole layer, the feed-forward network included; rows
    are divided by their sum. Weights stay as they are. The value is zero in all heads together or,
    for a head, in that one alone. For an encoder–decoder, Mohebbi et al. 2023 ("Homophone
    Disambiguation Reveals Patterns of Context Mixing in Speech Transformers") take the same of
    cross-attention.
    """

    cost = "site"

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """A head's output is linear in its values, so one that is zero takes α·f(x) away."""
        sublayer = run.sublayers[site]
        weights, values = sublayer.weights[0], sublayer.transformed_values()[0]
        update = sublayer.update
        whole = cls._output(sublayer, update)[0]
        maps = []
        for heads in [slice(None)] if together else [slice(i, i + 1) for i in range(len(weights))]:
            columns = []
            for keys in torch.arange(weights.shape[-1]).split(_TOGETHER):
                removed = torch.einsum(
                    "hqk,hkd->kqd", weights[heads][..., keys], values[heads, keys]
                )
                zeroed = cls._output(sublayer, update - removed)
                # In double precision: small distances are differences from 1.
                cosine = F.cosine_similarity(zeroed.double(), whole.double(), dim=-1)
                columns.append(1 - cosine.T)
            # What a row does not look at has no part in it, however that is rounded.
            unseen = (weights[heads] == 0).all(dim=0)
            maps.append(torch.cat(columns, dim=-1).clamp(min=0).masked_fill(unseen, 0.0))
        distances = torch.stack(maps)
        total = distances.sum(dim=-1, keepdim=True)
        return distances / total.masked_fill(total == 0, 1.0)

    @staticmethod
    def _output(sublayer: Sublayer, update: Tensor) -> Tensor:
        # (batch, query, d_model), of the layer.
        x = sublayer.x.expand(len(update), -1, -1)
        return sublayer.rest(sublayer.residual(x, lambda _: update))


class GradientTimesWeight(AttributionMethod):
    """The gradient of a prediction's log-probability by a weight, times the weight.

    To first order, what the log-probability would lose without that weight, all other weights
    staying as they are; below 0 where it would gain. Together, the sum over heads; for the whole
    model, over everything that looks at a source token, the encoder included.
    """

    cost = "row"

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """Rows are those that `Run.gradients` says."""
        product = run.gradient_times_weight(site)
        return product.sum(dim=0, keepdim=True) if together else product

    @classmethod
    def whole(cls, run: Run) -> Tensor:
        """The sum over layers."""
        return run.first_order_losses


class IntegratedGradients(AttributionMethod):
    """Gradient × weight, on average while a gate on all weights opens from 0 to 1.

    The gate is on every weight of the encoder and of cross-attention; for maps of the decoder, on
    every weight of the decoder. So the maps of the same prediction add up, over heads, rows, keys
    and layers, to what it loses where the gate is closed, but for the error of eight steps
    (Sundararajan et al. 2017, proposition 1: completeness). Rows, sums over heads and the map of
    the whole model are as for gradient × weight.
    """

    cost = "row"

    _SOURCE = frozenset({AttentionKind.ENCODER, AttentionKind.CROSS})

    @classmethod
    def of(cls, run: Run, site: Site, *, together: bool) -> Tensor:
        """Rows are those that `Run.gradients` says."""
        kinds = cls._SOURCE if site.kind in cls._SOURCE else frozenset({site.kind})
        product = run.integrals(kinds)[0][site]
        return product.sum(dim=0, keepdim=True) if together else product

    @classmethod
    def whole(cls, run: Run) -> Tensor:
        """A row adds up to what its prediction loses where the model sees no source at all."""
        return run.integrals(cls._SOURCE)[1]


CLASSES: dict[str, type[AttributionMethod]] = {
    "weights": Weights,
    "norms": Norms,
    "residual_norms": ResidualNorms,
    "rollout": Rollout,
    "value_zeroing": ValueZeroing,
    "gradient_times_weight": GradientTimesWeight,
    "integrated_gradients": IntegratedGradients,
}
"""Every method of `model.explain.attribution.METHODS` by its name there."""


@dataclass(frozen=True, slots=True)
class AttributionPiece:
    """Which of the maps of cross-attention are computed together.

    Attributes:
        sites: None stands for the whole model.
        rows: of the target, of gradients alone; None for all.
    """

    methods: tuple[str, ...]
    sites: tuple[Site | None, ...]
    rows: range | None = None
