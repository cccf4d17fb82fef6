"""Attention, from the formula up to many heads (Vaswani et al. 2017, section 3.2).

An attention module returns `(output, weights)`. Unless a caller asks for weights (`need_weights`),
they are None: torch's fused kernel runs, and the matrix of weights never exists. A caller that asks
gets the explicit formula. Both give the same output to float32 rounding.

A query whose keys are all masked gets weights of zero and an output of zero. A plain softmax would
give NaN (over -inf) or a false uniform row (over -1e9).
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.paper.config import CHOICES, ConfigError, TransformerConfig
from model.paper.masks import rows_without_keys

Rotation = tuple[Tensor, Tensor]
"""Cosine and sine of each position's angles, (position, d_k / 2) each."""


class Relative(NamedTuple):
    """The effect of positions on a self-attention, for encodings that leave embeddings alone.

    Attributes:
        rotation: of queries and keys; None rotates nothing.
        bias: added to scores before the mask, broadcastable to (batch, head, query, key); None adds
            nothing.
    """

    rotation: Rotation | None = None
    bias: Tensor | None = None


NOTHING = Relative()
"""For positions added to embeddings, and for cross-attention."""


def rotated(x: Tensor, rotation: Rotation) -> Tensor:
    """Queries or keys with each pair of numbers rotated (Su et al. 2021, equation 34).

    They are (batch, head, token, d_k); the pairs are (0, 1), (2, 3), …
    """
    cos, sin = rotation
    first, second = x[..., 0::2], x[..., 1::2]
    turned = first * cos - second * sin, first * sin + second * cos
    return torch.stack(turned, dim=-1).flatten(-2)


def masked_softmax(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Softmax over the allowed keys, (batch, head, query, key); zeros at all other keys.

    Scores have that shape; the mask is boolean and broadcastable to it, or None for "all".
    """
    if allowed is None:
        return scores.softmax(dim=-1)
    # An empty row keeps finite scores through the softmax, so that neither it nor its gradient
    # is ever NaN, and is zeroed with the other forbidden cells afterwards.
    visible = allowed | rows_without_keys(allowed)
    weights = scores.masked_fill(~visible, -math.inf).softmax(dim=-1)
    return weights.masked_fill(~allowed, 0.0)


class AttentionFunction(nn.Module, ABC):
    """softmax(scores)V; subclasses differ in how a query and a key make a score.

    It is a separate module, so that a forward hook on it sees q, k, v and allowed go in and weights
    come out.
    """

    is_product: ClassVar[bool] = False
    """Whether a score is a product of query and key, apart from a factor."""

    dropout = 0.0
    """Of the weights, in training."""

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Raises ConfigError if a model of this configuration cannot use this function."""

    @classmethod
    @abstractmethod
    def of(cls, config: TransformerConfig, n_heads: int) -> Self:
        """The function for `n_heads` heads of a model."""

    @abstractmethod
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores before masking and without the bias of positions, (batch, head, query, key)."""

    def biased_scores(self, q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
        """Scores before masking, with the bias of positions, (batch, head, query, key)."""
        return self.scores(q, k) if bias is None else self.scores(q, k) + bias

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None, bias: Tensor | None) -> Tensor:
        """Weights after softmax and dropout, (batch, head, query, key)."""
        weights = masked_softmax(self.biased_scores(q, k, bias), allowed)
        return F.dropout(weights, self.dropout, self.training)

    def output(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output alone, for callers that need no weights, (batch, head, query, d_v)."""
        return self.weights(q, k, allowed, bias) @ v

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        allowed: Tensor | None = None,
        need_weights: bool = False,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Output (batch, head, query, d_v) and weights (batch, head, query, key), or None for them.

        Args:
            q: (batch, head, query, d_k).
            k: (batch, head, key, d_k).
            v: (batch, head, key, d_v).
            allowed: boolean, broadcastable to (batch, head, query, key), or None for "all".
            bias: added to scores, as in `Relative`.
        """
        if not need_weights:
            return self.output(q, k, v, allowed, bias), None
        weights = self.weights(q, k, allowed, bias)
        return weights @ v, weights


class ScaledDotProductAttention(AttentionFunction):
    """softmax(QKᵀ/√d_k)V, equation 1 of section 3.2.1."""

    is_product = True

    def __init__(self, *, fused: bool = True) -> None:
        super().__init__()
        self.fused = fused

    @classmethod
    def of(cls, config: TransformerConfig, n_heads: int) -> Self:
        return cls(fused=config.fused_attention)

    def scale(self, d_k: int) -> float | Tensor:
        """The factor on QKᵀ, one over the temperature √d_k: a number, or (head, 1, 1)."""
        return 1.0 / math.sqrt(d_k)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.transpose(-2, -1)) * self.scale(q.shape[-1])

    def output(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """The output alone, by torch's fused kernel if `fused`."""
        if not self.fused:
            return super().output(q, k, v, allowed, bias)
        scale = self.scale(q.shape[-1])
        if isinstance(scale, Tensor):
            q, scale = q * scale.to(q.dtype), 1.0
        dropout = self.dropout if self.training else 0.0
        if bias is not None:
            bias = bias.to(q.dtype)
        if allowed is None:
            return F.scaled_dot_product_attention(
                q, k, v, attn_mask=bias, dropout_p=dropout, scale=scale
            )
        # Kernels disagree on rows with no allowed key, so none gets one.
        empty = rows_without_keys(allowed)
        mask = allowed | empty
        if bias is not None:
            mask = torch.where(mask, bias, -math.inf)
        output = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale
        )
        return output.masked_fill(empty, 0.0)


class DotProductAttention(ScaledDotProductAttention):
    """softmax(QKᵀ)V, without a temperature (section 3.2.1; Luong et al. 2015)."""

    def scale(self, d_k: int) -> float:
        return 1.0


class LearnedTemperatureAttention(ScaledDotProductAttention):
    """softmax(QKᵀ/τ)V; each head learns its τ, starting at √d_k (Lee et al. 2021, section 3.2).

    The parameter is log τ, so that no training step makes τ negative.
    """

    def __init__(self, n_heads: int, d_k: int, *, fused: bool = True) -> None:
        super().__init__(fused=fused)
        self.log_temperature = nn.Parameter(torch.full((n_heads,), math.log(d_k) / 2))

    @classmethod
    def of(cls, config: TransformerConfig, n_heads: int) -> Self:
        return cls(n_heads, config.key_width, fused=config.fused_attention)

    def scale(self, d_k: int) -> Tensor:
        return torch.exp(-self.log_temperature)[:, None, None]


class AdditiveAttention(AttentionFunction):
    """softmax(wᵀ tanh(q + k))V with a learned w per head (Bahdanau et al. 2015, appendix A.1.2).

    The query and key projections of the multi-head module are the two matrices of that paper.
    """

    def __init__(self, n_heads: int, d_k: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(n_heads, d_k))
        nn.init.normal_(self.w, std=d_k**-0.5)

    @classmethod
    def of(cls, config: TransformerConfig, n_heads: int) -> Self:
        return cls(n_heads, config.key_width)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        summed = torch.tanh(q.unsqueeze(-2) + k.unsqueeze(-3))
        return torch.einsum("bhqkd,hd->bhqk", summed, self.w)


class SharedAdditiveAttention(AttentionFunction):
    """softmax(vᵀ tanh(W q + U k))V; all heads of a module share W, U and v.

    v has a width d_a, as in the alignment model of Bahdanau et al. 2015 (appendix A.1.2).
    """

    def __init__(self, d_k: int, d_a: int) -> None:
        super().__init__()
        self.w = nn.Linear(d_k, d_a, bias=False)
        self.u = nn.Linear(d_k, d_a, bias=False)
        self.v = nn.Parameter(torch.empty(d_a))
        nn.init.normal_(self.v, std=d_a**-0.5)

    @classmethod
    def require(cls, config: TransformerConfig) -> None:
        """Raises ConfigError if each head is a module of its own, for those share nothing."""
        if config.head_layout == "per_head":
            raise ConfigError(
                "additive_shared scoring has one v for all heads, which the per_head layout keeps "
                "apart; choose another of the two."
            )

    @classmethod
    def of(cls, config: TransformerConfig, n_heads: int) -> Self:
        return cls(config.key_width, config.d_a or config.key_width)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return torch.tanh(self.w(q).unsqueeze(-2) + self.u(k).unsqueeze(-3)) @ self.v


SCORINGS: dict[str, type[AttentionFunction]] = {
    "scaled_dot_product": ScaledDotProductAttention,
    "dot_product": DotProductAttention,
    "learned_temperature": LearnedTemperatureAttention,
    "additive": AdditiveAttention,
    "additive_shared": SharedAdditiveAttention,
}
"""Every way to score a query with a key, by its name in a TransformerConfig."""

CHOICES["scoring"] = SCORINGS


def attention_function(config: TransformerConfig, n_heads: int) -> AttentionFunction:
    """The function of a configuration for so many heads, with its dropout."""
    function = SCORINGS[config.scoring].of(config, n_heads)
    function.dropout = config.attention_dropout
    return function
