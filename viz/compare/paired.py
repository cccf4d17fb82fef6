"""Two traces with their tokens aligned, and which head of one belongs to which of the other."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from model.survey.nearest import one_to_one
from model.trace.attention_map import AttentionKind, FloatArray, HeadAttention, Tokens
from model.trace.head import Head
from model.trace.provenance import Provenance, note_on_models
from model.trace.token_runs import pairs
from model.trace.trace import Trace
from viz.draw.labels import axis_texts
from viz.links.head_refs import KINDS

Versus = Literal["sentence", "model", "search"]


@dataclass(frozen=True)
class PairedTraces:
    """Two traces; only tokens that both have at one place are compared.

    Attributes:
        first: of the first sentence or model, or of what the first search wrote.
        partners: for heads of the first trace, those of the second; empty where each head belongs
            to the one at its own place.
        surveyed: both models, where surveys of theirs say which heads are partners; empty where the
            weights of these two traces do.
    """

    first: Trace
    second: Trace
    versus: Versus = "sentence"
    partners: Mapping[Head, Head] = field(default_factory=dict)
    surveyed: tuple[str, ...] = ()

    @cached_property
    def source(self) -> list[tuple[int, int]]:
        """Positions of aligned source tokens."""
        return pairs(self.first.source.tokens, self.second.source.tokens)

    @cached_property
    def target(self) -> list[tuple[int, int]]:
        """Positions of aligned target tokens."""
        return pairs(self.first.target.tokens, self.second.target.tokens)

    @property
    def provenance(self) -> Provenance:
        """Of the first."""
        return self.first.provenance

    @property
    def note(self) -> str:
        """A sentence where the traces are of two models; "" for one."""
        return note_on_models([self.first.provenance, self.second.provenance])

    @property
    def left_out(self) -> int:
        """How many tokens of both traces have no counterpart."""
        both = self.first, self.second
        tokens = sum(len(each.source) + len(each.target) for each in both)
        return tokens - 2 * (len(self.source) + len(self.target))

    def labels(self, kind: AttentionKind) -> tuple[Tokens, Tokens]:
        """The names of aligned queries and keys, such as "his/her"."""
        return kind.axes(
            self._named(self.source, self.first.source, self.second.source),
            self._named(self.target, self.first.target, self.second.target),
            Tokens(),
        )

    def _named(self, places: list[tuple[int, int]], one: Tokens, other: Tokens) -> Tokens:
        ones, others = axis_texts(one), axis_texts(other)
        return Tokens.unnamed(
            ones[i] if ones[i] == others[j] else f"{ones[i]}/{others[j]}" for i, j in places
        )

    @cached_property
    def heads(self) -> dict[Head, Head]:
        """Every head of the first trace that has a partner, with it."""
        own, others = self.first.heads, set(self.second.heads)
        partnered = self.partners or dict(zip(own, own, strict=True))
        return {head: partnered[head] for head in own if partnered.get(head) in others}

    def in_both(self, head: Head) -> list[HeadAttention]:
        """A head and its partner, whole."""
        site, place = self.heads[head]
        return [self.first.maps[head[0]].head(head[1]), self.second.maps[site].head(place)]

    def weights(self, head: Head) -> tuple[FloatArray, FloatArray]:
        """The weights of a head and of its partner between aligned tokens, (query, key) each."""
        kind = head[0].kind
        queries, keys = kind.axes(self.source, self.target, [])
        found = []
        for number, run in enumerate(self.in_both(head)):
            rows, columns = ([each[number] for each in axis] for axis in (queries, keys))
            found.append(run.weights[np.ix_(rows, columns)])
        return found[0], found[1]

    def difference(self, head: Head) -> FloatArray:
        """The second weight less the first, (query, key)."""
        one, other = self.weights(head)
        return other - one

    @cached_property
    def limit(self) -> float:
        """The largest difference of all heads, above 0."""
        differences = (np.abs(self.difference(head)).max(initial=0) for head in self.heads)
        return max(map(float, differences), default=0) or 1e-6

    @cached_property
    def moved(self) -> dict[Head, float]:
        """The share of each head's weight that lies on other aligned tokens, mean over rows."""
        return {
            head: float(np.abs(self.difference(head)).sum(axis=-1).mean()) / 2
            for head in self.heads
        }

    @property
    def most_moved(self) -> Head:
        """The head that differs most."""
        return max(self.moved, key=lambda head: self.moved[head])

    @property
    def kinds(self) -> list[AttentionKind]:
        return [kind for kind in KINDS if any(site.kind is kind for site, _ in self.heads)]


def matched(first: Trace, second: Trace) -> dict[Head, Head]:
    """For each head of the first trace, the head of the second that looks most alike.

    Heads of one kind are paired one to one, the pairs with the least moved weight first; a head
    whose model has more heads than the other's may stay without a partner.
    """
    return {
        ones[one]: others[other]
        for ones, others, moved in apart(first, second)
        for one, other in one_to_one(moved)
    }


def apart(
    first: Trace, second: Trace
) -> Iterator[tuple[list[Head], list[Head], NDArray[np.floating]]]:
    """How far the heads of two traces are apart, for each kind of attention that both have.

    These are the heads of the first, those of the second, and the share of weight that lies on
    other aligned tokens, (first, second); NaN without an aligned query.
    """
    plain = PairedTraces(first, second, "model")
    for kind in plain.kinds:
        rows, columns = kind.axes(plain.source, plain.target, [])
        ones, others = (_stacked(trace, kind) for trace in (first, second))
        a, b = (
            np.stack(
                [
                    trace.maps[site].weights[head][
                        np.ix_([r[number] for r in rows], [c[number] for c in columns])
                    ]
                    for site, head in heads
                ]
            )
            for number, (trace, heads) in enumerate(((first, ones), (second, others)))
        )
        if rows:
            moved = np.array([np.abs(b - each).sum(axis=-1).mean(axis=-1) / 2 for each in a])
        else:
            moved = np.full((len(ones), len(others)), np.nan)
        yield ones, others, moved


def _stacked(trace: Trace, kind: AttentionKind) -> list[Head]:
    return [head for head in trace.heads if head.site.kind is kind]
