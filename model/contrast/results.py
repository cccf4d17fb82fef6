"""What speaks for one word against another: plain values, without torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from model.trace.array_values import ArrayValue, Sized
from model.trace.attention_map import FloatArray, Site, Tokens
from model.trace.forms import form
from model.trace.head import Head, strongest_first
from model.trace.provenance import UNKNOWN, Provenance

Question = Literal["remove", "keep"]
"""Without which heads the other word beats the word; or with which alone the word still wins."""

"""A head: its site, and its number there from 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rivals(ArrayValue, Sized):
    """The likeliest tokens at one step of a translation.

    Attributes:
        tokens: the ten likeliest that the model can write, likeliest first.
        probabilities: of these tokens, (token,).
    """

    tokens: Tokens
    probabilities: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contrast(ArrayValue, Sized):
    """Two words at one step of a translation: their probabilities, and what these depend on.

    Where a word has several tokens, both are judged at the first token in which they differ: the
    tokens before it are the same. Log-probabilities are natural; the last axis is (word, other).

    Attributes:
        source: the sentence's tokens, ending with </s>.
        step: of the judged token, from 0.
        word: the word that the translation has.
        other: the word that it could have had.
        log_probs: of the two with all heads and tokens, (2,).
        without: by site, without each head alone, (head, 2).
        deleted: without each source token, hidden from attention of encoder and decoder,
            (source, 2).
        likeliest: by site, the token that is likeliest there without each head alone, of those the
            model can write.
        likeliest_deleted: likewise without each source token.
    """

    source_text: str
    text: str
    source: Tokens
    predictions: Tokens
    step: int
    word: str
    other: str
    pieces: Tokens
    log_probs: FloatArray
    without: Mapping[Site, FloatArray]
    deleted: FloatArray
    likeliest: Mapping[Site, Tokens]
    likeliest_deleted: Tokens
    provenance: Provenance = UNKNOWN

    def frame(self) -> Any:
        """A pandas table in long form: without each head, then without each source token.

        Columns are `kind`, `layer`, `head`, `position` and `token` (missing where the row has
        none), the log-probabilities `word` and `other`, `likeliest`, and `loss`, how much of the
        difference between the two goes with it.
        """
        return form("table", self)

    @property
    def difference(self) -> float:
        """The logarithm of how many times likelier the word is than the other."""
        return ahead(self.log_probs)

    @property
    def losses(self) -> dict[Site, FloatArray]:
        """How much of the difference goes with each head alone, by site, (head,)."""
        return {
            site: (self.difference - (each[:, 0] - each[:, 1])).astype(np.float32)
            for site, each in self.without.items()
        }

    def ranked(self) -> list[tuple[Site, int, float]]:
        """Every head with its loss, the largest change first."""
        return strongest_first(self.losses)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadSet(ArrayValue, Sized):
    """The smallest set of heads that was found to decide between two words.

    Attributes:
        heads: the set; if none decides, the heads that were tried last.
        question: whether it was removed, or kept alone.
        every_log_probs: with all heads, as `log_probs`, (3,).
        log_probs: of the word, of the other, and of the likeliest besides the word, with the set
            removed or alone, (3,).
        likeliest: the token that is likeliest of all with the set removed or alone.
        single: the heads with the strongest single effects, as many as the set has.
        single_log_probs: with these in place of the set, (3,).
        most: the most heads that were tried.
        by_mean: whether a replaced head gave its mean; else it gave nothing.
    """

    heads: tuple[Head, ...]
    question: Question
    decides: bool
    log_probs: FloatArray
    likeliest: Tokens
    every_log_probs: FloatArray
    single: tuple[Head, ...]
    single_log_probs: FloatArray
    single_decides: bool
    most: int
    by_mean: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogitTerms(ArrayValue, Sized):
    """The terms that sum to the difference of two logits at one step.

    Attributes:
        difference: the model's own: the logit of the word less that of the other.
        embedding: of the decoder's input with its position.
        decoder: of each head of self-attention by site, (head,).
        cross: of each head of cross-attention and each source token by site, (head, source).
        feed_forward: of each layer of the decoder, (layer,).
    """

    difference: float
    embedding: float
    decoder: Mapping[Site, FloatArray]
    cross: Mapping[Site, FloatArray]
    feed_forward: FloatArray
    biases: float
    provenance: Provenance = UNKNOWN

    def frame(self) -> Any:
        """A pandas table, a row a term: `part`, `layer`, `head`, `position` in the source, `value`.

        Columns that a term does not have are missing in its row.
        """
        return form("table", self)

    @property
    def total(self) -> float:
        """The sum of all terms; the difference, to float32 rounding."""
        heads = sum(float(each.sum()) for each in (*self.decoder.values(), *self.cross.values()))
        return self.embedding + heads + float(self.feed_forward.sum()) + self.biases


@dataclass(frozen=True, slots=True)
class Edge:
    """One way of a computation, with what replacing what runs along it costs the difference.

    Attributes:
        sender: a source token by its position, or a head.
        receiver: a head, or None for the word.
        effect: the drop in the difference of log-probabilities.
    """

    sender: int | Head
    receiver: Head | None
    effect: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths(ArrayValue, Sized):
    """The ways from source tokens through heads to the difference of two words.

    Attributes:
        edges: the strongest of all that were measured, strongest first.
        heads: whose edges were measured: those with the strongest effects.
        head_effects: the drop in the difference where each of them is replaced, (head,).
        by_mean: whether a replaced head gives its mean over examples; else it gives nothing.
        correlation: the rank correlation of each head's strongest edge to its effect, by size.
    """

    edges: tuple[Edge, ...]
    measured: int
    heads: tuple[Head, ...]
    head_effects: FloatArray
    by_mean: bool
    correlation: float


def ahead(log_probs: NDArray[np.floating]) -> float:
    """The log-probability of the word less that of the other, from (2,)."""
    return float(log_probs[0]) - float(log_probs[1])


def leads(log_probs: NDArray[np.floating], question: Question) -> NDArray[np.float64]:
    """How far the word is ahead, (set,), of the other or of whichever is likeliest besides it.

    The log-probabilities are (set, 3), as in `HeadSet`.
    """
    behind = 1 if question == "remove" else 2
    lead: NDArray[np.float64] = log_probs[:, 0].astype(np.float64) - log_probs[:, behind]
    return lead


def decided(log_probs: NDArray[np.floating], question: Question) -> NDArray[np.bool_]:
    """Whether sets decide, (set,), by log-probabilities as of `leads`."""
    lead = leads(log_probs, question)
    return lead < 0 if question == "remove" else lead > 0
