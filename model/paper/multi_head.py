"""Many heads beside each other, in either layout (Vaswani et al. 2017, section 3.2.2)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from model.paper.attention import NOTHING, Relative, Rotation, attention_function, rotated
from model.paper.config import CHOICES, TransformerConfig
from model.paper.linear import Linear

KeyValue = tuple[Tensor, Tensor]
"""Projected keys (batch, head, key, d_k) and values (batch, head, key, d_v)."""


class MultiHead(nn.Module, ABC):
    """Concat(head_1 … head_h)W_O with head_i = Attention(QW_Q, KW_K, VW_V) (section 3.2.2).

    The base of both layouts of the parameters. d_k and d_v are free.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.d_v = config.value_width
        self.w_o = Linear(self.n_heads * self.d_v, config.d_model, bias=config.attention_bias)

    @abstractmethod
    def project_query(self, queries: Tensor) -> Tensor:
        """(batch, query, d_model) -> (batch, head, query, d_k)."""

    @abstractmethod
    def project_key_value(self, keys: Tensor) -> KeyValue:
        """(batch, key, d_model) -> (batch, head, key, d_k) and (batch, head, key, d_v)."""

    @abstractmethod
    def projections(self, head: int) -> tuple[Tensor, Tensor, Tensor]:
        """W_Q, W_K and W_V of one head, (d_model, d_k), (d_model, d_k) and (d_model, d_v)."""

    @abstractmethod
    def attend_heads(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Output of every head (batch, head, query, d_v) with its weights, None unless tapped."""

    def project(self, tokens: Tensor, rotation: Rotation | None = None) -> tuple[Tensor, KeyValue]:
        """Queries, keys and values of the same tokens, (batch, token, d_model), for self-attention.

        Queries and keys are rotated as by `rotated`, or not at all.
        """
        q, (k, v) = self.project_together(tokens)
        if rotation is None:
            return q, (k, v)
        return rotated(q, rotation), (rotated(k, rotation), v)

    def project_together(self, tokens: Tensor) -> tuple[Tensor, KeyValue]:
        """Queries, keys and values of the same tokens, before any rotation."""
        return self.project_query(tokens), self.project_key_value(tokens)

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        allowed: Tensor | None = None,
        relative: Relative = NOTHING,
    ) -> tuple[Tensor, Tensor | None]:
        """Output (batch, query, d_model) and weights (batch, head, query, key).

        The weights are None unless a tap on the attention function asks for them.

        Args:
            queries: (batch, query, d_model).
            keys: (batch, key, d_model), also projected to values; for self-attention, `queries`.
            allowed: boolean, broadcastable to (batch, head, query, key), or None for "all".
            relative: the effect of positions; for self-attention only.
        """
        if queries is keys:
            q, key_value = self.project(queries, relative.rotation)
        else:
            q, key_value = self.project_query(queries), self.project_key_value(keys)
        return self.attend(q, key_value, allowed, relative.bias)

    def attend(
        self,
        q: Tensor,
        key_value: KeyValue,
        allowed: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """As `forward`, from projected queries, keys and values."""
        heads, weights = self.attend_heads(q, *key_value, allowed, bias)
        # (batch, head, query, d_v) -> (batch, query, head * d_v)
        return self.w_o(heads.transpose(1, 2).flatten(2)), weights

    def attend_apart(
        self, q: Tensor, key_values: Sequence[KeyValue], allowed: Sequence[Tensor | None]
    ) -> Tensor:
        """Output of `attend`, (batch, query, d_model), for keys of different lengths.

        Queries are (batch, head, query, d_k). Keys and values are of consecutive parts of the
        batch, (part, head, its keys, width) each, with a mask a part, as `forward` takes it.
        """
        own = q.split([len(k) for k, _ in key_values])
        heads = [
            self.attend_heads(each, *key_value, mask)[0]
            for each, key_value, mask in zip(own, key_values, allowed, strict=True)
        ]
        together = heads[0] if len(heads) == 1 else torch.cat(heads)
        output: Tensor = self.w_o(together.transpose(1, 2).flatten(2))
        return output

    def head_matrices(self, head: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W_Q, W_K and W_V as in `projections`, then the head's rows of W_O, (d_v, d_model).

        Raises IndexError if there is no such head.
        """
        if not 0 <= head < self.n_heads:
            raise IndexError(f"There is no head {head}; choose one from 0 to {self.n_heads - 1}.")
        w_o = self.w_o.weight.unflatten(1, (self.n_heads, self.d_v))[:, head].T
        return *self.projections(head), w_o

    def head_parts(self, heads: Tensor) -> Tensor:
        """What each head alone adds through its rows of W_O, (batch, head, query, d_model).

        It takes each head's output, (batch, head, query, d_v). The sum over heads plus the bias is
        the output.
        """
        weight = self.w_o.weight.unflatten(1, (self.n_heads, self.d_v))
        return torch.einsum("bhqv,dhv->bhqd", heads, weight)


class MultiHeadAttention(MultiHead):
    """Multi-head attention that computes all heads in one batched product.

    The projections are three parameters (w_q, w_k, w_v) or, with `fused_qkv`, one (w_qkv) that
    holds the same rows: stacked in that order, or head by head.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        keys, values = self.n_heads * config.key_width, self.n_heads * self.d_v
        self.widths = (keys, keys, values)
        self.fused_qkv = config.fused_qkv
        self.by_head = config.fused_layout == "by_head"
        bias = config.attention_bias
        if self.fused_qkv:
            self.w_qkv = Linear(config.d_model, sum(self.widths), bias=bias)
        else:
            self.w_q = Linear(config.d_model, keys, bias=bias)
            self.w_k = Linear(config.d_model, keys, bias=bias)
            self.w_v = Linear(config.d_model, values, bias=bias)
        self.attention = attention_function(config, config.n_heads)

    def project_together(self, tokens: Tensor) -> tuple[Tensor, KeyValue]:
        if not self.fused_qkv:
            return super().project_together(tokens)
        if self.by_head:
            q, k, v = self._split_heads(self.w_qkv(tokens)).split(self._head_widths, dim=-1)
        else:
            q, k, v = map(self._split_heads, self.w_qkv(tokens).split(self.widths, dim=-1))
        return q, (k, v)

    def project_query(self, queries: Tensor) -> Tensor:
        if not self.fused_qkv:
            return self._split_heads(self.w_q(queries))
        if self.by_head:
            return self.project_together(queries)[0]
        return self._split_heads(self.w_qkv.rows(queries, 0, self.widths[0]))

    def project_key_value(self, keys: Tensor) -> KeyValue:
        if not self.fused_qkv:
            return self._split_heads(self.w_k(keys)), self._split_heads(self.w_v(keys))
        if self.by_head:
            return self.project_together(keys)[1]
        both = self.w_qkv.rows(keys, self.widths[0], sum(self.widths))
        k, v = both.split(self.widths[1:], dim=-1)
        return self._split_heads(k), self._split_heads(v)

    def attend_heads(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        return self.attention(q, k, v, allowed, bias=bias)

    def projections(self, head: int) -> tuple[Tensor, Tensor, Tensor]:
        if self.by_head:
            own = self.w_qkv.weight.unflatten(0, (self.n_heads, -1))[head]
            w_q, w_k, w_v = (each.T for each in own.split(self._head_widths))
            return w_q, w_k, w_v
        if self.fused_qkv:
            every = self.w_qkv.weight.split(self.widths)
        else:
            every = self.w_q.weight, self.w_k.weight, self.w_v.weight
        # (head * width, d_model), as linear layers hold them.
        w_q, w_k, w_v = (each.unflatten(0, (self.n_heads, -1))[head].T for each in every)
        return w_q, w_k, w_v

    @property
    def _head_widths(self) -> list[int]:
        return [width // self.n_heads for width in self.widths]

    def blocks(self) -> list[Tensor]:
        """Views on the rows of w_qkv, one for each projection, or for each head's projection."""
        weight = self.w_qkv.weight.data
        if not self.by_head:
            return list(weight.split(self.widths))
        parts = weight.unflatten(0, (self.n_heads, -1)).split(self._head_widths, dim=1)
        return [head for part in parts for head in part]

    def _split_heads(self, x: Tensor) -> Tensor:
        # (batch, token, head * width) -> (batch, head, token, width)
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)


class AttentionHead(nn.Module):
    """One head as a small module: three projections, one attention function."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        bias = config.attention_bias
        self.w_q = Linear(config.d_model, config.key_width, bias=bias)
        self.w_k = Linear(config.d_model, config.key_width, bias=bias)
        self.w_v = Linear(config.d_model, config.value_width, bias=bias)
        self.attention = attention_function(config, 1)


class PerHeadAttention(MultiHead):
    """Multi-head attention as a list of small modules, as many tutorials write it.

    With the same parameters it computes the same function as MultiHeadAttention.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.heads = nn.ModuleList(AttentionHead(config) for _ in range(config.n_heads))

    @property
    def _heads(self) -> Iterable[AttentionHead]:
        return cast("Iterable[AttentionHead]", self.heads)

    def project_query(self, queries: Tensor) -> Tensor:
        return torch.stack([head.w_q(queries) for head in self._heads], dim=1)

    def project_key_value(self, keys: Tensor) -> KeyValue:
        k = torch.stack([head.w_k(keys) for head in self._heads], dim=1)
        v = torch.stack([head.w_v(keys) for head in self._heads], dim=1)
        return k, v

    def projections(self, head: int) -> tuple[Tensor, Tensor, Tensor]:
        one = list(self._heads)[head]
        return one.w_q.weight.T, one.w_k.weight.T, one.w_v.weight.T

    def attend_heads(
        self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, bias: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        outputs, weights = [], []
        for i, head in enumerate(self._heads):
            own = slice(i, i + 1)
            mask = allowed if allowed is None or allowed.shape[1] == 1 else allowed[:, own]
            added = bias if bias is None or bias.shape[1] == 1 else bias[:, own]
            output, head_weights = head.attention(q[:, own], k[:, own], v[:, own], mask, bias=added)
            outputs.append(output)
            weights.append(head_weights)
        heads = torch.cat(outputs, dim=1)
        if any(each is None for each in weights):
            return heads, None
        return heads, torch.cat(weights, dim=1)


HEAD_LAYOUTS: dict[str, Callable[[TransformerConfig], MultiHead]] = {
    "batched": MultiHeadAttention,
    "per_head": PerHeadAttention,
}
"""Every layout of the heads' parameters, by its name in a TransformerConfig."""

CHOICES["head_layout"] = HEAD_LAYOUTS
