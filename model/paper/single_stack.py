"""Half a Transformer: an encoder alone, as BERT, or a decoder alone, as GPT.

Both are stacks of self-attention and feed-forward layers (Vaswani et al. 2017, section 3.1) over
one text. The encoder sees all of it and gives a token for each (Devlin et al. 2018, section 3); the
decoder sees what came before and gives the next (Radford et al. 2018, section 3.1): its layers are
the Transformer's without attention over a source (Liu et al. 2018, section 4.2.3).

Shapes: tokens (batch, token) are ids; logits are (batch, token, vocab).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from model.paper.attention import Relative
from model.paper.config import ConfigError, TransformerConfig
from model.paper.linear import Linear
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.transformer import Encoder, EncoderLayer, LayerCache, cached, initialize


class SelfDecoderLayer(EncoderLayer):
    """Causal self-attention, then feed-forward: a decoder layer that has no source to look at."""

    def step(self, x: Tensor, cache: LayerCache, relative: Relative) -> Tensor:
        """The newest position alone, (batch, 1, d_model) in and out."""
        x = self.self_residual(x, cached(self.self_attention, cache, relative))
        return self.feed_forward_residual(x, self.feed_forward)


class SelfDecoder(Encoder):
    """A stack of such layers."""

    causal = True

    def make_layers(self, config: TransformerConfig) -> Iterable[EncoderLayer]:
        """As above."""
        return (SelfDecoderLayer(config) for _ in range(config.n_decoder_layers))

    def step(self, embedded: Tensor, position: int, caches: list[LayerCache]) -> Tensor:
        """One position, (batch, 1, d_model) in and out."""
        x = self.dropout(self.positions.embed(embedded, start=position))
        relative = self.positions.relative(1, start=position)
        layers = cast("Iterable[SelfDecoderLayer]", self.layers)
        for layer, cache in zip(layers, caches, strict=True):
            x = layer.step(x, cache, relative)
        return self.final_norm(x)


class SingleStack(nn.Module):
    """Token ids in, logits over a token at each position out.

    With `tie_embeddings`, embedding and output projection are one matrix (section 3.4).

    Raises:
        ConfigError: if the configuration is of another model.
    """

    tied: ClassVar[tuple[str, ...]] = ("output.weight",)
    name: ClassVar[str]
    stack_of: ClassVar[type[Encoder]]

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.single_stack != self.name:
            raise ConfigError(
                f"This is the configuration of {config.single_stack or 'a whole Transformer'}, and "
                f"{self.name} is wanted here; change n_encoder_layers and n_decoder_layers."
            )
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.stack = self.stack_of(config)
        self.output = Linear(config.d_model, config.vocab_size, bias=False)
        initialize(self)
        if config.tie_embeddings:
            self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of all positions, (batch, token, vocab).

        Args:
            tokens: (batch, token), padded with config.pad_id.
        """
        masked = decoder_allowed if self.stack.causal else padding_allowed
        allowed = masked(tokens, self.config.pad_id)
        logits: Tensor = self.output(self.stack(self.embed(tokens), allowed))
        return logits

    def embed(self, tokens: Tensor) -> Tensor:
        """Embeddings, scaled by √d_model where the configuration says so (section 3.4)."""
        embedded: Tensor = self.embedding(tokens)
        return (
            embedded * math.sqrt(self.config.d_model) if self.config.scale_embeddings else embedded
        )


class EncoderOnly(SingleStack):
    """An encoder that says something of every token that it reads."""

    name = "an encoder alone"
    stack_of = Encoder


class DecoderOnly(SingleStack):
    """A decoder that predicts the token after each that it reads."""

    name = "a decoder alone"
    stack_of = SelfDecoder

    def write(self, tokens: Tensor, most: int) -> Tensor:
        """Write on, the likeliest token each time, with the keys and values of each layer kept.

        Args:
            tokens: (1, token), what is given; at least one.
            most: how many tokens are written at most.

        Returns:
            (1, token) with what was written, up to the end token or `most` of them.
        """
        caches = [LayerCache([]) for _ in self.stack.layers]
        n_given = tokens.shape[1]
        for position in range(n_given + most - 1):
            logits = self.step(tokens[:, position], position, caches)
            if position >= n_given - 1:
                newest = logits.argmax(dim=-1, keepdim=True)
                tokens = torch.cat([tokens, newest], dim=1)
                if int(newest) == self.config.eos_id:
                    break
        return tokens

    def step(self, tokens: Tensor, position: int, caches: list[LayerCache]) -> Tensor:
        """Feed one token.

        Args:
            tokens: (batch,), the newest token ids.
            position: their place, from 0.
            caches: of each layer; moved on by one position.

        Returns:
            logits for the next token, (batch, vocab).
        """
        stack = cast("SelfDecoder", self.stack)
        logits: Tensor = self.output(
            stack.step(self.embed(tokens[:, None]), position, caches)[:, 0]
        )
        return logits


def single_stack(config: TransformerConfig) -> SingleStack:
    """The model of a configuration without encoder layers or without decoder layers.

    Raises:
        ConfigError: if it has both.
    """
    return (DecoderOnly if config.single_stack == DecoderOnly.name else EncoderOnly)(config)
