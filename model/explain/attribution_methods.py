"""Published methods that estimate how much a key matters to a query, behind one registry.

Attention weights are the first of them. What they estimate is measured by
model/explain/deletion.py; model/explain/attribution.py compares the two. To add a method, write a
class here, enter it in CLASSES, and describe it in METHODS there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from model.explain.attribution import (
    AttributionError,
    AttributionMap,
    AttributionPart,
    Attributions,
    SelfAttributions,
)
from model.explain.decomposition import OPEN, Gates, Sublayer, decompose
from model.explain.deletion import deletion_losses
from model.paper.transformer import Transformer
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.translate.translator import Translator

_BATCH = 16
"""Passes with a graph, or layers with a value less, that are computed together."""

_CELLS = _BATCH * 128**2
"""Weights of one head in passes with a graph that are computed together: of long sentences, fewer.
"""

_STEPS = np.stack(np.polynomial.legendre.leggauss(8)) / 2 + np.array([[0.5], [0]])
"""Where an integral from 0 to 1 is evaluated, and what each place counts (Gauss–Legendre)."""


class Run:
    """One sentence that went through a model, as methods read it.

    Args:
        model: one that `install_taps` has seen.
        source: token ids, (source,).
        target: what the decoder read, (target,).
        predictions: what its rows are to predict, (target,).
        token: the row whose prediction gradients are of; None for every row its own.
        rows: of gradients, those of the target that are wanted; None for all.
        gates: of whole kinds of attention; only methods by gradient know them.

    Attributes:
        rows: as above, for all as well.
        sublayers: every attention by site, each with a batch of one.
    """

    def __init__(
        self,
        model: Transformer,
        source: Tensor,
        target: Tensor,
        predictions: Tensor,
        token: int | None = None,
        rows: range | None = None,
        gates: Gates = OPEN,
    ) -> None:
        self.rows = range(len(target)) if rows is None else rows
        self._model = model
        self._source, self._target, self._predictions = source, target, predictions
        self._token = token
        self._gates = gates
        self._integrals: dict[frozenset[AttentionKind], tuple[dict[Site, Tensor], Tensor]] = {}
        with torch.no_grad():
            self.sublayers = decompose(model, source[None], target[None], gates).sublayers

    @property
    def gradients(self) -> dict[Site, Tensor]:
        """Of a prediction's log-probability by the weights of every site, (head, query, key).

        Which prediction: that of `token`. Where it is None, a row of the decoder or of
        cross-attention is differentiated for its own prediction; rows of the encoder, which predict
        nothing, for all of them together.
        """
        return self._backward[0]

    @property
    def first_order_losses(self) -> Tensor:
        """What each prediction would lose without each source token, to first order.

        Gradient times weight, summed over all heads, layers and rows of the encoder and of
        cross-attention that look at the token; (target, source).
        """
        return self._backward[1]

    def gradient_times_weight(self, site: Site) -> Tensor:
        """The product, (head, query, key), with the rows that `gradients` says."""
        weights = self.sublayers[site].weights[0]
        if self.by_row(site):
            weights = weights[:, self.rows.start : self.rows.stop]
        return self.gradients[site] * weights

    def integrals(self, kinds: frozenset[AttentionKind]) -> tuple[dict[Site, Tensor], Tensor]:
        """Means of the products and of `first_order_losses` while gates on these kinds open."""
        if kinds not in self._integrals:
            sentence = self._source, self._target, self._predictions
            products: dict[Site, Tensor] = {}
            losses = torch.zeros(len(self.rows), len(self._source)).to(self._model.output.weight)
            for gate, share in zip(*_STEPS, strict=True):
                gates = dict.fromkeys(kinds, float(gate))
                run = Run(self._model, *sentence, self._token, self.rows, gates)
                for site in self.sublayers:
                    if site.kind in kinds:
                        product = share * run.gradient_times_weight(site)
                        products[site] = products.get(site, 0) + product
                losses += share * run.first_order_losses
            self._integrals[kinds] = products, losses
        return self._integrals[kinds]

    @cached_property
    def _backward(self) -> tuple[dict[Site, Tensor], Tensor]:
        parts: dict[Site, list[Tensor]] = {site: [] for site in self.sublayers}
        losses = []
        n_target = len(self._target)
        batch = max(1, min(_BATCH, _CELLS // max(len(self._source), n_target) ** 2))
        for start in range(0, len(self.rows), batch):
            rows = list(self.rows[start : start + batch])
            explained = [self._token in (None, row) for row in rows]
            loss = []
            for site, gradients in self._gradients_of(rows).items():
                if site.kind is not AttentionKind.DECODER:
                    loss.append((gradients * self.sublayers[site].weights).sum(dim=(1, 2)))
                if self.by_row(site):
                    # Of each copy of the sentence its own row: (head, row, key).
                    parts[site].append(gradients[range(len(rows)), :, rows].transpose(0, 1))
                else:
                    parts[site].append(gradients[explained].sum(dim=0))
            losses.append(torch.stack(loss).sum(dim=0))
        return {
            site: torch.cat(each, dim=1) if self.by_row(site) else torch.stack(each).sum(dim=0)
            for site, each in parts.items()
        }, torch.cat(losses)

    def by_row(self, site: Site) -> bool:
        """Whether a row of its gradients is of the row's own prediction, for `rows` alone."""
        return self._token is None and site.kind is not AttentionKind.ENCODER

    def _gradients_of(self, rows: list[int]) -> dict[Site, Tensor]:
        # A copy of the sentence for each row, so that one backward pass gives them all:
        # (row, head, query, key).
        with torch.enable_grad():
            run = decompose(
                self._model,
                self._source.expand(len(rows), -1),
                self._target.expand(len(rows), -1),
                self._gates,
            )
            log_probs = run.logits[range(len(rows)), rows].log_softmax(dim=-1)
            total = log_probs[range(len(rows)), self._predictions[rows]].sum()
            outputs = [sublayer.heads for sublayer in run.sublayers.values()]
            by_output = torch.autograd.grad(total, outputs)
        # A head's output is its weights times v.
        return {
            site: gradient @ sublayer.v.detach().transpose(-2, -1)
            for (site, sublayer), gradient in zip(run.sublayers.items(), by_output, strict=True)
        }


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
            for keys in torch.arange(weights.shape[-1]).split(_BATCH):
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


def attributions(
    translator: Translator,
    sentence: str | Trace,
    *,
    methods: Sequence[str] = tuple(CLASSES),
    sites: Sequence[Site] | None = None,
    token: int | None = None,
) -> Attributions:
    """What every method says of a sentence, beside what deleting its tokens does.

    Args:
        translator: the model.
        sentence: a text, which the model translates; or a trace of it, of a run in which nothing
            was changed.
        methods: names in `model.explain.attribution.METHODS`.
        sites: those wanted; None for all of the model. A map for the whole model is made as well.
        token: the row of the target whose prediction gradients are of; None for every row its own,
            and for the encoder's all together.

    Raises:
        TextError: as `Translator.translate`, for a text.
        AttributionError: if there is no such method, site or row.
    """
    trace = translator.trace(sentence) if isinstance(sentence, str) else sentence
    wanted = translator.sites if sites is None else tuple(sites)
    run = _run(translator, trace, methods, wanted, token)
    maps = []
    with torch.no_grad():
        for name in methods:
            maps += [_site_map(run, name, site) for site in wanted]
            maps.append(_whole_map(run, name))
    return Attributions(
        source=trace.source,
        target=trace.target,
        predictions=trace.predictions,
        deletion_losses=deletion_losses(translator, trace),
        maps=tuple(maps),
    )


_PARTS = 12
"""Into so many parts rows are divided."""


@dataclass(frozen=True, slots=True)
class AttributionPiece:
    """Which of the maps of cross-attention are computed together.

    Attributes:
        methods: by their names.
        sites: None stands for the whole model.
        rows: of the target, of gradients alone; None for all.
    """

    methods: tuple[str, ...]
    sites: tuple[Site | None, ...]
    rows: range | None = None


@torch.no_grad()
def self_attributions(
    translator: Translator,
    sentence: str | Trace,
    site: Site,
    *,
    methods: Sequence[str] = tuple(CLASSES),
    token: int | None = None,
) -> SelfAttributions:
    """What every method says of one site of self-attention.

    Arguments and errors are those of `attributions`; cross-attention is refused as no such site.
    """
    trace = translator.trace(sentence) if isinstance(sentence, str) else sentence
    if site.kind is AttentionKind.CROSS:
        raise AttributionError(f"{site} is no self-attention; `attributions` makes its maps.")
    run = _run(translator, trace, methods, [site], token)
    tokens, _ = site.kind.axes(trace.source, trace.target, trace.target)
    maps = tuple(_site_map(run, name, site) for name in methods)
    allowed = trace.maps[site].allowed
    return SelfAttributions(site=site, tokens=tokens, allowed=allowed, maps=maps, token=token)


def _run(
    translator: Translator,
    trace: Trace,
    methods: Sequence[str],
    sites: Sequence[Site],
    token: int | None,
    rows: range | None = None,
) -> Run:
    """The sentence of a trace as methods read it, where all that is asked for is there."""
    for name, those, known in (("method", methods, CLASSES), ("site", sites, translator.sites)):
        for each in those:
            if each not in known:
                raise AttributionError(
                    f"There is no {name} {each}; choose among {', '.join(map(str, known))}."
                )
    if token is not None and not 0 <= token < len(trace.target):
        raise AttributionError(
            f"The target has the rows 0 to {len(trace.target) - 1}; there is no row {token}."
        )
    source, target, predictions = (
        torch.tensor(tokens.ids, device=translator.device)
        for tokens in (trace.source, trace.target, trace.predictions)
    )
    return Run(translator.model, source, target, predictions, token, rows)


def _whole_map(run: Run, name: str) -> AttributionMap:
    whole = _array(CLASSES[name].whole(run))
    return AttributionMap(method=name, site=None, heads=whole[None][:0], together=whole)


def _site_map(run: Run, name: str, site: Site) -> AttributionMap:
    method = CLASSES[name]
    heads, (together,) = (_array(method.of(run, site, together=each)) for each in (False, True))
    return AttributionMap(method=name, site=site, heads=heads, together=together)


def attribution_parts(translator: Translator, trace: Trace) -> list[AttributionPiece]:
    """What `attribution_part` is to be asked for, one after another, for all of cross-attention.

    Each of them takes much less than all together.
    """
    cross = tuple(site for site in translator.sites if site.kind is AttentionKind.CROSS)
    by_cost: dict[str, list[str]] = {"pass": [], "site": [], "row": []}
    for name, method in CLASSES.items():
        by_cost[method.cost].append(name)
    rows = range(len(trace.target))
    step = math.ceil(len(rows) / _PARTS)
    return [
        AttributionPiece(tuple(by_cost["pass"]), (*cross, None)),
        *(
            AttributionPiece((each,), (site,))
            for each in by_cost["site"]
            for site in (*cross, None)
        ),
        *(
            AttributionPiece((each,), (*cross, None), rows[start : start + step])
            for each in by_cost["row"]
            for start in rows[::step]
        ),
    ]


@torch.no_grad()
def attribution_part(
    translator: Translator, trace: Trace, piece: AttributionPiece
) -> AttributionPart:
    """Some of the maps that `attributions` makes, for `model.explain.attribution.joined`."""
    run = _run(translator, trace, piece.methods, [], None, piece.rows)
    maps = [
        _whole_map(run, name) if site is None else _site_map(run, name, site)
        for name in piece.methods
        for site in piece.sites
    ]
    return AttributionPart(maps=tuple(maps))


def cross_attributions(translator: Translator, trace: Trace) -> Attributions:
    """`attributions` of cross-attention, whose maps can be held against the truth."""
    sites = [site for site in translator.sites if site.kind is AttentionKind.CROSS]
    return attributions(translator, trace, sites=sites)


def _array(x: Tensor) -> FloatArray:
    array: FloatArray = x.float().cpu().numpy()
    return array
