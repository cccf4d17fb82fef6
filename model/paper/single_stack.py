"""Half a Transformer: an encoder alone, like BERT, or a decoder alone, like GPT.

Both are stacks of self-attention and feed-forward layers (Vaswani et al. 2017, section 3.1) over
one text. The encoder sees the whole text and predicts a token for each (Devlin et al. 2018, section
3). The decoder sees the tokens so far and predicts the next (Radford et al. 2018, section 3.1); its
layers are the Transformer's without cross-attention (Liu et al. 2018, section 4.2.3).

Shapes: tokens (batch, token) are ids; logits are (batch, token, vocab).
"""

import math
from collections.abc import Iterable
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from model.paper.attention import Relative
from model.paper.config import ConfigError, TransformerConfig
from model.paper.decoding_cache import LayerCache
from model.paper.layers import EncoderLayer
from model.paper.linear import Linear
from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.transformer import Encoder, initialize


class SelfDecoderLayer(EncoderLayer):
    """A decoder layer without cross-attention: causal self-attention, then feed-forward."""

    def step(self, x: Tensor, cache: LayerCache, relative: Relative) -> Tensor:
        """The newest position alone, (batch, 1, d_model) -> the same shape."""
        x = self.self_residual(x, cache.attending(self.self_attention, relative))
        return self.feed_forward_residual(x, self.feed_forward)


class SelfDecoder(Encoder):
    """A stack of decoder layers without cross-attention."""

    causal = True

    def make_layers(self, config: TransformerConfig) -> Iterable[EncoderLayer]:
        """The layers, first to last."""
        return (SelfDecoderLayer(config) for _ in range(config.n_decoder_layers))

    def step(self, embedded: Tensor, position: int, caches: list[LayerCache]) -> Tensor:
        """The newest position, (batch, 1, d_model) -> the same shape."""
        x = self.dropout(self.positions.embed(embedded, start=position))
        relative = self.positions.relative(1, start=position)
        layers = cast("Iterable[SelfDecoderLayer]", self.layers)
        for layer, cache in zip(layers, caches, strict=True):
            x = layer.step(x, cache, relative)
        return self.final_norm(x)


class SingleStack(nn.Module):
    """An encoder or a decoder alone: token ids in, logits over a token at each position out.

    With `tie_embeddings`, embedding and output projection are one matrix (section 3.4). Raises
    ConfigError if the configuration describes another model.
    """

    tied: ClassVar[tuple[str, ...]] = ("output.weight",)
    name: ClassVar[str]
    stack_of: ClassVar[type[Encoder]]

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        if config.single_stack != self.name:
            raise ConfigError(
                f"This configuration describes {config.single_stack or 'a whole Transformer'}, but "
                f"this model is {self.name}; change n_encoder_layers and n_decoder_layers."
            )
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.stack = self.stack_of(config)
        self.output = Linear(config.d_model, config.vocab_size, bias=False)
        initialize(self)
        if config.tie_embeddings:
            self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits, (batch, token, vocab), for ids (batch, token), padded with config.pad_id."""
        masked = decoder_allowed if self.stack.causal else padding_allowed
        allowed = masked(tokens, self.config.pad_id)
        logits: Tensor = self.output(self.stack(self.embed(tokens), allowed))
        return logits

    def embed(self, tokens: Tensor) -> Tensor:
        """Embeddings, times √d_model where the configuration says so (section 3.4)."""
        embedded: Tensor = self.embedding(tokens)
        return (
            embedded * math.sqrt(self.config.d_model) if self.config.scale_embeddings else embedded
        )


class EncoderOnly(SingleStack):
    """An encoder that predicts a token for every token it reads."""

    name = "an encoder alone"
    stack_of = Encoder


class DecoderOnly(SingleStack):
    """A decoder that predicts the next token after every token it reads."""

    name = "a decoder alone"
    stack_of = SelfDecoder

    def write(self, tokens: Tensor, most: int) -> Tensor:
        """The tokens with a greedy continuation, (1, token); the end token may stop it early."""
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
        """Logits for the next token, (batch, vocab), by the newest (batch,) token ids.

        Their position counts from 0; the caches, one a layer, advance by one position.
        """
        stack = cast("SelfDecoder", self.stack)
        logits: Tensor = self.output(
            stack.step(self.embed(tokens[:, None]), position, caches)[:, 0]
        )
        return logits


def single_stack(config: TransformerConfig) -> SingleStack:
    """The model of a configuration with one stack; ConfigError if it has both."""
    return (DecoderOnly if config.single_stack == DecoderOnly.name else EncoderOnly)(config)
