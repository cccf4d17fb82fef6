"""One sentence on its way through a model, as methods of attribution read it."""

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from model.explain.decomposition import OPEN, Gates, decompose
from model.paper.transformer import Transformer
from model.trace.attention_map import AttentionKind, Site

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
        source: token ids, (source,).
        target: what the decoder read, (target,).
        predictions: what its rows are to predict, (target,).
        token: the row whose prediction gradients are of; None for every row its own.
        rows: of gradients, those of the target that are wanted; None for all.
        gates: of whole kinds of attention; only methods by gradient know them.

    Attributes:
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
