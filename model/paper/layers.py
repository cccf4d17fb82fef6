"""The layers of both stacks, with their feed-forward network (Vaswani et al. 2017, section 3)."""

from collections.abc import Callable, Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from model.paper.attention import NOTHING, Relative
from model.paper.config import TransformerConfig
from model.paper.decoding_cache import LayerCache
from model.paper.dropout import Dropout
from model.paper.linear import Linear
from model.paper.multi_head import HEAD_LAYOUTS


class Residual(nn.Module):
    """The residual connection around a sub-layer, with dropout and a norm (sections 3.1, 5.4).

    post: LayerNorm(x + Dropout(Sublayer(x))), as in the paper.
    pre: x + Dropout(Sublayer(LayerNorm(x))),
    which trains without a long warm-up (Xiong et al. 2020).
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, token, d_model) -> (batch, token, d_model)."""
        update = sublayer(self.norm(x)) if self.pre else sublayer(x)
        if self.training:
            update = self.dropout(update)
        return x + update if self.pre else self.norm(x + update)


class EncoderLayer(nn.Module):
    """An encoder layer: self-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.self_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, allowed: Tensor | None, relative: Relative = NOTHING) -> Tensor:
        """(batch, source, d_model) -> (batch, source, d_model)."""
        x = self.self_residual(x, lambda y: self.self_attention(y, y, allowed, relative)[0])
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """A decoder layer: causal self-attention, cross-attention, then feed-forward (section 3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.self_residual = Residual(config)
        self.cross_attention = HEAD_LAYOUTS[config.head_layout](config)
        self.cross_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        allowed: Tensor | None,
        memory_allowed: Tensor | None,
        relative: Relative = NOTHING,
    ) -> Tensor:
        """The hidden states of all target positions.

        Args:
            x: (batch, target, d_model).
            memory: the encoder's output, (batch, source, d_model).
            allowed: for self-attention, broadcastable to (batch, head, target, target).
            memory_allowed: for cross-attention, broadcastable to (batch, head, target, source).
            relative: the effect of positions on self-attention.

        Returns:
            (batch, target, d_model).
        """
        x = self.self_residual(x, lambda y: self.self_attention(y, y, allowed, relative)[0])
        x = self.cross_residual(x, lambda y: self.cross_attention(y, memory, memory_allowed)[0])
        return self.feed_forward_residual(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        cache: LayerCache,
        memory_allowed: Sequence[Tensor | None],
        relative: Relative = NOTHING,
    ) -> Tensor:
        """The hidden state of the newest position alone, (sentence * beam, 1, d_model)."""

        def attend_to_source(y: Tensor) -> Tensor:
            # The beams of a sentence become queries over its one copy of the source:
            # (sentence * beam, 1, d_model) -> (sentence, beam, d_model) and back.
            sentences = sum(len(k) for k, _ in cache.cross)
            q = self.cross_attention.project_query(y.reshape(sentences, -1, y.shape[-1]))
            return self.cross_attention.attend_apart(q, cache.cross, memory_allowed).reshape(
                y.shape
            )

        x = self.self_residual(x, cache.attending(self.self_attention, relative))
        x = self.cross_residual(x, attend_to_source)
        return self.feed_forward_residual(x, self.feed_forward)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    # x · sigmoid(x) (Ramachandran et al. 2017).
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """max(0, xW_1 + b_1)W_2 + b_2, at each position by itself (section 3.3, equation 2)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.w_1 = Linear(config.d_model, config.d_ff)
        self.w_2 = Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        self.dropout = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, token, d_model) -> (batch, token, d_model)."""
        return self.w_2(self.dropout(self.activation(self.w_1(x))))
