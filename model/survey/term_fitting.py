"""Rules of a few named terms, fitted to heads: softmaxes, by gradient descent, cut back by steps.

All heads of one kind of attention are fitted at once. Terms join where they would change a head's
weights most, and leave where the overlap of rule and head misses them least, down to MOST and
below, so that each head has a rule of each length in LENGTHS.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from model.rules.phrases import Terms
from model.survey.term_cells import TermCells

MOST = 12
"""Terms of a rule."""

LENGTHS = (MOST, 9, 6, 4, 3, 2, 1, 0)
"""Numbers of terms of which a rule is fitted."""

SAID = 3
"""Terms that a sentence can say."""

_JOIN, _ROUNDS = 20, 2
"""Terms that join each head's in a round, and rounds."""

_CUTS = (56, 36, 24, 16)
"""Terms that stay, before MOST."""

_SWAPPED = {MOST: 6, SAID: 4}
"""At these lengths, so many further terms may take the place of others."""

_EXACT = 24
"""In rules of up to this many terms, the worth of each is measured: the overlap lost without it."""

_LONG, _SHORT = 40, 20
"""Steps of descent after terms joined, and after terms left."""

_RATE, _STRONGEST = 0.15, 12.0

_SELDOM = 10
"""A term needs at least this many rows in which it says something."""


def fitted_terms(cells: TermCells, *, shortest: int = 0) -> Mapping[int, list[Terms]]:
    """For each of LENGTHS down to the shortest, a rule of each head."""
    fit = _Fit(cells)
    fit.descend(_LONG, overlap=0.4)
    for _ in range(_ROUNDS):
        fit.join(_JOIN)
        fit.descend(_LONG, overlap=0.6)
    for count in _CUTS:
        fit.cut(count)
        fit.descend(_SHORT, overlap=0.7)
    found = {}
    for count in (length for length in LENGTHS if length >= shortest):
        fit.cut(count)
        fit.descend(_SHORT, overlap=0.8)
        for _ in range(2 if count in _SWAPPED else 0):
            fit.join(_SWAPPED[count])
            fit.descend(_SHORT, overlap=0.8)
            fit.cut(count)
            fit.descend(_LONG, overlap=0.9)
        found[count] = fit.rules()
    return found


class _Fit:
    """The strengths of all heads' terms while they are fitted, (term, head)."""

    def __init__(self, cells: TermCells) -> None:
        self.cells = cells
        met = torch.zeros(cells.n_rows, len(cells.names))
        met.index_add_(0, cells.rows, (cells.terms != 0).float())
        self.useful = (met > 0).sum(0) >= _SELDOM
        self.scale = torch.sqrt((cells.terms**2).mean(0)) + 0.02
        n_heads = cells.n_heads
        self.strengths = torch.zeros(len(cells.names), n_heads)
        alone = torch.tensor(["@" not in name for name in cells.names]) & self.useful
        self.active = alone[:, None].expand(-1, n_heads).clone()

    @property
    def used(self) -> Tensor:
        """The terms that some head uses."""
        return torch.nonzero(self.active.any(1))[:, 0]

    def weights(self) -> Tensor:
        """The rules' weights, (cell, head)."""
        used = self.used
        return self.cells.softmax(self.cells.terms[:, used] @ self.strengths[used])

    def descend(self, steps: int, *, overlap: float) -> None:
        """Steps of Adam on cross-entropy, and by a share on the overlap."""
        cells, used = self.cells, self.used
        terms, active = cells.terms[:, used].contiguous(), self.active[used].float()
        strengths = self.strengths[used]
        mean, square = torch.zeros_like(strengths), torch.zeros_like(strengths)
        for step in range(1, steps + 1):
            weights = cells.softmax(terms @ strengths)
            below = (weights < cells.weights).float()
            kept = cells.summed(weights * below)[cells.rows]
            of_scores = (1 - overlap) * (weights - cells.weights) - overlap * weights * (
                below - kept
            )
            gradient = (terms.T @ of_scores) / cells.n_rows * active
            mean = 0.9 * mean + 0.1 * gradient
            square = 0.98 * square + 0.02 * gradient**2
            rate = _RATE * (1 - 0.9 * step / steps)
            moved = (mean / (1 - 0.9**step)) / (torch.sqrt(square / (1 - 0.98**step)) + 1e-6)
            strengths = (strengths - rate * moved).clamp(-_STRONGEST, _STRONGEST)
        self.strengths[used] = strengths * active

    def join(self, count: int) -> None:
        """Add to each head the terms that its rule misses most."""
        missed = self.cells.weights - self.weights()
        worth = (self.cells.terms.T @ missed).abs() / self.scale[:, None]
        worth[self.active | ~self.useful[:, None]] = -1
        for head, terms in enumerate(worth.topk(count, dim=0).indices.T):
            self.active[terms, head] = True

    def cut(self, count: int) -> None:
        """Keep this many terms of each head."""
        worth = self.worth().masked_fill(~self.active, -torch.inf)
        kept = torch.zeros_like(self.active)
        if count:
            kept.scatter_(0, worth.topk(count, dim=0).indices, True)
        self.active &= kept
        self.strengths *= self.active

    def worth(self) -> Tensor:
        """What each head would lose with each of its terms, (term, head)."""
        cells = self.cells
        weights = self.weights()
        if int(self.active.sum(0).max()) > _EXACT:
            mean = cells.terms.T @ weights / cells.n_rows
            square = (cells.terms**2).T @ weights / cells.n_rows
            return self.strengths.abs() * torch.sqrt((square - mean**2).clamp(min=0))
        whole = cells.overlaps(weights).mean(0)
        scores = cells.terms[:, self.used] @ self.strengths[self.used]
        worth = torch.full_like(self.strengths, -torch.inf)
        for term in self.used.tolist():
            heads = torch.nonzero(self.active[term])[:, 0]
            without = cells.softmax(
                scores[:, heads] - cells.terms[:, term : term + 1] * self.strengths[term, heads]
            )
            common = cells.summed(torch.minimum(without, cells.weights[:, heads])).mean(0)
            worth[term, heads] = whole[heads] - common
        return worth

    def rules(self) -> list[Terms]:
        """Each head's rule, its strongest terms first."""
        worth = self.worth()
        found = []
        for head in range(self.active.shape[1]):
            terms = torch.nonzero(self.active[:, head])[:, 0].tolist()
            terms.sort(key=lambda term: -float(worth[term, head]))
            found.append(
                Terms(
                    tuple(self.cells.names[term] for term in terms),
                    tuple(round(float(self.strengths[term, head]), 2) for term in terms),
                )
            )
        return found
