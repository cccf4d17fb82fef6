"""Inputs and scores of the encoder's first layer, split into words and positions: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.trace.array_values import ArrayValue
from model.trace.attention_map import FloatArray, Tokens

TERMS = ("word-word", "word-position", "position-word", "position-position", "bias")
"""The parts of a first layer's scores, the query's part named first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EmbeddingParts(ArrayValue):
    """The input of the encoder's first layer with its two summands (sections 3.4 and 3.5).

    Attributes:
        tokens: the source tokens, ending with </s>.
        word: their embeddings, (source, d_model).
        scaled: the embeddings times √d_model, if the model scales them.
        position: the encodings of their positions.
        sum: scaled + position, exactly the input of the first layer unless a norm follows it.
    """

    tokens: Tokens
    word: FloatArray
    scaled: FloatArray
    position: FloatArray
    sum: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreTerms(ArrayValue):
    """The scores of the encoder's first layer with the terms that sum to them.

    Attributes:
        tokens: labels of both axes.
        terms: by the names in TERMS, (head, query, key) each; "word-position" is the query's word
            with the key's position. "bias" contains every product with a bias of W_Q, of W_K or of
            a norm before them.
        scores: as recorded, before the softmax, (head, query, key).
    """

    tokens: Tokens
    terms: Mapping[str, FloatArray]
    scores: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadMatrices(ArrayValue):
    """The parameters of one head without its biases (section 3.2.2).

    Attributes:
        w_q: (d_model, d_k).
        w_k: (d_model, d_k).
        w_v: (d_model, d_v).
        w_o: the head's rows of W_O, (d_v, d_model).
    """

    w_q: FloatArray
    w_k: FloatArray
    w_v: FloatArray
    w_o: FloatArray
