"""Inputs for the browser benchmarks: random traces, and many sentences of the same length."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from model.paper.tokenizer import Tokenizer
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace

SENTENCE_PARTS = (
    ("A", "The", "One", "This"),
    ("young", "old", "tall", "happy", "tired"),
    ("man", "woman", "girl", "boy", "teacher"),
    ("in a",),
    ("red", "blue", "green", "white", "black"),
    ("coat", "shirt", "hat", "dress"),
    ("is reading", "is eating", "is sleeping", "is working", "is waiting"),
    ("near the",),
    ("river", "house", "station", "church", "school"),
    ("and a",),
    ("small", "big", "brown", "grey"),
    ("dog", "cat", "horse", "bird"),
    ("is there.", "is there too."),
)


@dataclass(frozen=True)
class Shape:
    """Numbers of layers, heads per layer, and tokens."""

    layers: int
    heads: int
    tokens: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The shape that is written like 6x8x128."""
        try:
            layers, heads, tokens = (int(part) for part in text.split("x"))
        except ValueError:
            raise ValueError(f"{text!r} is no shape; write one like 6x8x128.") from None
        if min(layers, heads, tokens) < 1:
            raise ValueError(f"{text!r} is no shape; each number must be at least 1.")
        return cls(layers, heads, tokens)

    def __str__(self) -> str:
        return f"{self.layers}x{self.heads}x{self.tokens}"

    @property
    def cells(self) -> int:
        """The number of weights of all heads together."""
        return self.layers * self.heads * self.tokens**2


def made_up(shape: Shape, seed: int) -> Trace:
    """Self-attention of random weights, each row a softmax; the same for the same seed."""
    generator = np.random.default_rng(seed)
    tokens = Tokens(
        tuple(f"▁word{place}" for place in range(shape.tokens)), tuple(range(shape.tokens))
    )
    allowed = np.ones((shape.tokens, shape.tokens), dtype=np.bool_)
    maps = {}
    for layer in range(shape.layers):
        scores = generator.standard_normal(
            (shape.heads, shape.tokens, shape.tokens), dtype=np.float32
        )
        weights = np.exp(2 * scores)
        weights /= weights.sum(axis=-1, keepdims=True)
        site = Site(AttentionKind.ENCODER, layer)
        maps[site] = AttentionMap(
            site, weights=weights, allowed=allowed, queries=tokens, keys=tokens
        )
    return Trace(
        source=tokens,
        target=Tokens(),
        predictions=Tokens(),
        text="",
        source_text=" ".join(token.removeprefix("▁") for token in tokens),
        maps=maps,
    )


def sentences(tokenizer: Tokenizer, n_tokens: int) -> Iterator[str]:
    """Different sentences with an exact number of tokens, including the end token."""
    parts = list(itertools.product(*SENTENCE_PARTS))
    for place in np.random.default_rng(0).permutation(len(parts)):
        text = " ".join(parts[place])
        if len(tokenizer.encode(text)) + 1 == n_tokens:
            yield text
