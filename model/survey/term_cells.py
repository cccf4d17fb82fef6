"""What each term of a rule predicts of a head's weights, on many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.brief import Brief
from model.rules.phrases import Terms
from model.rules.terms import TermRows, terms_of
from model.rules.weight_rules import Lexicon
from model.survey.fitting import by_kind, seen_rows
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace


@dataclass(frozen=True, slots=True, eq=False)
class TermCells(Brief):
    """The cells of all rows with a choice, in the sentences of a set.

    Attributes:
        names: of the terms.
        terms: what each term gives a cell, (cell, term).
        weights: of each head, (cell, head).
        rows: the row of each cell, (cell,).
        sentences: the sentence of each row, (row,).
    """

    names: tuple[str, ...]
    terms: Tensor
    weights: Tensor
    rows: Tensor
    sentences: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        traces: Sequence[Trace],
        kind: AttentionKind,
        languages: tuple[str, str],
        lexicon: Lexicon | None,
        names: Sequence[str] | None = None,
    ) -> TermCells:
        """The cells of one kind of attention.

        Args:
            traces: of one model.
            kind: of attention.
            languages: of queries and of keys.
            lexicon: for cross-attention.
            names: of terms; None for all that the kind has in these languages.
        """
        names = tuple(terms_of(kind, languages) if names is None else names)
        terms, weights, rows, sentences = [], [], [], []
        count = 0
        for number, trace in enumerate(traces):
            _, _, attention = next(each for each in by_kind(trace) if each[0] is kind)
            seen, choice = seen_rows(attention, lexicon)
            cells = TermRows.over(seen, languages)
            allowed = (
                seen.allowed & choice[:, None] if seen.allowed is not None else choice[:, None]
            )
            query, key = np.nonzero(np.broadcast_to(allowed, seen.shape))
            columns = [cells.of(name)[query, key] for name in names]
            terms.append(np.array(columns, np.float32).reshape(len(names), -1).T)
            weights.append(attention.weights[:, query, key].T)
            rows.append(np.cumsum(choice)[query] - 1 + count)
            sentences.append(np.full(np.count_nonzero(choice), number))
            count += len(sentences[-1])
        return cls(
            names,
            torch.from_numpy(np.concatenate(terms)),
            torch.from_numpy(np.concatenate(weights)),
            torch.from_numpy(np.concatenate(rows)),
            np.concatenate(sentences),
        )

    @property
    def n_heads(self) -> int:
        """The number of heads."""
        return self.weights.shape[1]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.sentences)

    def only(self, sentences: NDArray[np.bool_]) -> TermCells:
        """The cells of some sentences, (sentence,)."""
        kept = sentences[self.sentences]
        cells = torch.from_numpy(kept)[self.rows]
        number = torch.from_numpy(np.cumsum(kept) - 1)
        return TermCells(
            self.names,
            self.terms[cells],
            self.weights[cells],
            number[self.rows[cells]],
            self.sentences[kept],
        )

    def shuffled(self, seed: int) -> TermCells:
        """The same with each row's weights given to its keys at random, by head."""
        generator = torch.Generator().manual_seed(seed)
        weights = torch.empty_like(self.weights)
        for head in range(self.n_heads):
            drawn = torch.rand(len(self.rows), generator=generator)
            order = torch.argsort(self.rows + drawn.double() * 0.999)
            weights[self.rows.argsort(stable=True), head] = self.weights[order, head]
        return TermCells(self.names, self.terms, weights, self.rows, self.sentences)

    def summed(self, values: Tensor) -> Tensor:
        """The sums over the cells of each row, (row, head)."""
        return torch.zeros(self.n_rows, values.shape[1]).index_add_(0, self.rows, values)

    def softmax(self, scores: Tensor) -> Tensor:
        """Weights from scores, (cell, head)."""
        shares = torch.exp(scores.clamp(-60, 60))
        return shares / self.summed(shares)[self.rows]

    def overlaps(self, ruled: Tensor) -> Tensor:
        """How far rules and heads overlap, row by row, (row, head)."""
        return self.summed(torch.minimum(ruled, self.weights))

    def hits(self, ruled: Tensor) -> Tensor:
        """Whether a rule's strongest key is the head's, row by row, (row, head).

        A row whose strongest keys are equal by the rule is right by their share.
        """
        index = self.rows[:, None].expand_as(ruled)

        def is_most(values: Tensor) -> Tensor:
            most = torch.zeros(self.n_rows, values.shape[1]).scatter_reduce(
                0, index, values, "amax"
            )
            return (values >= most[self.rows] - 1e-6).float()

        by_rule = is_most(ruled)
        return self.summed(by_rule * is_most(self.weights)).clamp(max=1) / self.summed(by_rule)


def weights_by_rules(cells: TermCells, rules: Sequence[Terms]) -> Tensor:
    """The weights of a rule for each head, (cell, head)."""
    strengths = torch.zeros(len(cells.names), len(rules))
    for head, rule in enumerate(rules):
        for name, strength in zip(rule.names, rule.strengths, strict=True):
            strengths[cells.names.index(name), head] = strength
    return cells.softmax(cells.terms @ strengths)
