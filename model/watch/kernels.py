"""Weights of torch's fused kernels, which never hold them: recomputed from the same input."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_mask

from model.paper.attention import masked_softmax
from model.paper.masks import rows_without_keys
from model.record.sentence_map import AttentionRecord
from model.trace.stored import OnDemand
from model.watch.masks import allows
from model.watch.site_edit import SiteEdit


def attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> AttentionRecord:
    """The formula of `F.scaled_dot_product_attention`, before dropout.

    Args:
        q: (…, head, query, d_k), three axes or more.
        k: (…, head or a divisor of it, key, d_k).
        v: (…, as k, key, d_v).
        mask: boolean, True = may attend, or what is added; broadcastable to (…, query, key).
        is_causal: whether query i sees the keys 0 to i alone.
        scale: what QKᵀ is multiplied by; None for 1/√d_k.
    """
    q, k, v, scores, added, allowed = _scored(q, k, v, mask, is_causal, scale)
    return AttentionRecord(
        weights=_as_kernel(added, mask, allowed),
        scores=scores,
        q=q.clone(),
        k=k.clone(),
        v=v.clone(),
        allowed=allowed,
    )


class ByHead(OnDemand):
    """Weights of a fused kernel, (batch, head, query, key), computed one head at a time.

    All at once they would take more memory than the kernel, which holds none of them.
    """

    def __init__(
        self, q: Tensor, k: Tensor, scale: float, bias: Tensor | None, allowed: Tensor | None
    ) -> None:
        """Arguments as of `attended`; keys may have fewer heads; `bias` is added to the scores."""
        self._q, self._k, self._scale = q, k, scale
        self._bias, self._allowed = _four(bias), _four(allowed)
        self._empty = self._forbidden = None
        if self._allowed is not None:
            empty = rows_without_keys(self._allowed)
            self._forbidden = ~(self._allowed | empty)
            self._empty = empty if bool(empty.any()) else None
        self.shape = (*q.shape[:3], k.shape[2])
        self._room = q.new_empty((2, *self.shape[2:]))

    def head(self, sentence: int, number: int) -> Tensor:
        """One head, (query, key), until the next is asked for."""
        scores, weights = self._room
        key = number * self._k.shape[1] // self._q.shape[1]
        q, k = self._q[sentence, number], self._k[sentence, key]
        torch.addmm(scores, q, k.transpose(0, 1), beta=0, alpha=self._scale, out=scores)
        if self._bias is not None:
            scores += _head(self._bias, sentence, number)
        if self._forbidden is not None:
            scores.masked_fill_(_head(self._forbidden, sentence, number), -math.inf)
        torch.softmax(scores, dim=-1, out=weights)
        if self._empty is not None:
            weights.masked_fill_(_head(self._empty, sentence, number), 0)
        return weights

    def read(self) -> Tensor:
        """All of them."""
        batch, heads = self.shape[:2]
        each = [self.head(i, j).clone() for i in range(batch) for j in range(heads)]
        return torch.stack(each).view(self.shape)


def _four(x: Tensor | None) -> Tensor | None:
    """A mask or a bias with four axes."""
    if x is None or x.dim() >= 4:
        return x
    return x[(None,) * (4 - x.dim())]


def _head(x: Tensor, sentence: int, number: int) -> Tensor:
    """What belongs to one head of a mask or a bias, which heads and sentences may share."""
    return x[sentence if x.shape[0] > 1 else 0, number if x.shape[1] > 1 else 0]


def by_head(inputs: Mapping[str, Any]) -> AttentionRecord:
    """As `of_fused`, with weights that are computed when they are asked for, and nothing else."""
    q, k, _, mask, is_causal, scale = _attention_inputs(inputs)
    q, k = _heads_of(q), _heads_of(k)
    allowed, bias = _masked(q, k, mask, is_causal)
    if bias is not None and allowed is not None and bool(rows_without_keys(allowed).any()):
        # Such rows keep weights of their own.
        return of_fused(inputs)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    weights: Any = ByHead(q, k, scale, bias, allowed)
    return AttentionRecord(weights=weights, scores=None, q=None, k=None, v=None, allowed=allowed)


def _as_kernel(added: Tensor, mask: Tensor | None, allowed: Tensor | None) -> Tensor:
    """Weights as the kernel computes them: a finite mask leaves even a row without keys some."""
    weights = masked_softmax(added, allowed)
    if mask is None or mask.dtype == torch.bool or allowed is None:
        return weights
    empty = rows_without_keys(allowed)
    if not bool(empty.any()):
        return weights
    mask = mask if mask.dim() <= 4 else mask.reshape(-1, *mask.shape[-3:])
    own = (added.where(allowed, added + mask)).softmax(dim=-1).nan_to_num(nan=0.0)
    return own.where(empty, weights)


def edited(edit: SiteEdit, record: AttentionRecord, inputs: Mapping[str, Any]) -> AttentionRecord:
    """The record of `_scaled_dot_product_…` with edited weights; arguments by name.

    Errors are those of `SiteEdit.new_weights`; a kernel with dropout cannot be edited.
    """
    if inputs.get("dropout_p"):
        raise edit.hidden("a fused kernel with dropout", "call model.eval() first")
    _, _, _, scores, added, allowed = _scored(*_attention_inputs(inputs))
    weights, allowed = edit.new_weights(record.weights, added, scores, allowed)
    return dataclasses.replace(record, weights=weights, allowed=allowed)


def _scored(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """q, k and v of every head, scores, scores with a mask's bias, and the mask."""
    q, k, v = map(_heads_of, (q, k, v))
    shared = q.shape[1] // k.shape[1]
    if shared > 1:
        k, v = (x.repeat_interleave(shared, dim=1) for x in (k, v))
    scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    allowed, bias = _masked(q, k, mask, is_causal)
    return q, k, v, scores, scores if bias is None else scores + bias, allowed


def _heads_of(x: Tensor) -> Tensor:
    """(batch, head, token, width)."""
    return x if x.dim() == 4 else x.reshape(-1, *x.shape[-3:])


def _masked(
    q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool
) -> tuple[Tensor | None, Tensor | None]:
    """The keys that a kernel allows, and what it adds to the scores of those."""
    if is_causal:
        shape = q.shape[-2], k.shape[-2]
        return torch.ones(shape, dtype=torch.bool, device=q.device).tril(), None
    if mask is None:
        return None, None
    mask = mask if mask.dim() <= 4 else mask.reshape(-1, *mask.shape[-3:])
    if mask.dtype == torch.bool:
        return mask.clone(), None
    allowed = allows(mask)
    return allowed, mask.masked_fill(~allowed, 0.0)


def of_fused(inputs: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_scaled_dot_product_…`; its kernels share their argument names."""
    q, k, v, mask, is_causal, scale = _attention_inputs(inputs)
    return attended(q, k, v, mask, is_causal=is_causal, scale=scale)


def _attention_inputs(
    inputs: Mapping[str, Any],
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, bool, float | None]:
    mask = inputs.get("attn_mask")
    mask = inputs.get("attn_bias") if mask is None else mask
    return (
        inputs["query"],
        inputs["key"],
        inputs["value"],
        mask,
        inputs["is_causal"],
        inputs["scale"],
    )


def of_native(inputs: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_native_multi_head_attention`, the fast path of nn.MultiheadAttention."""
    return _projected(
        inputs["query"],
        inputs["num_head"],
        inputs["qkv_weight"],
        inputs["qkv_bias"],
        inputs["mask"],
        inputs["mask_type"],
    )


def of_encoder_layer(inputs: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_transformer_encoder_layer_fwd`, the fast path of nn.TransformerEncoderLayer."""
    x, padding = _padded(inputs["src"])
    if inputs["norm_first"]:
        norm = inputs["norm_weight_1"], inputs["norm_bias_1"]
        x = F.layer_norm(x, (inputs["embed_dim"],), *norm, inputs["eps"])
    return _projected(
        x,
        inputs["num_heads"],
        inputs["qkv_weight"],
        inputs["qkv_bias"],
        inputs["mask"] if padding is None else padding,
        inputs["mask_type"] if padding is None else _PADDING,
    )


def of_flex(flex: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> AttentionRecord:
    """Weights of flex_attention: its output for values that are 1 at one key each."""
    query, key, value, score_mod, block_mask, scale, *more = args
    n_keys = key.shape[-2]
    each = torch.eye(n_keys, dtype=value.dtype, device=value.device)
    each = each.expand(*value.shape[:-1], n_keys)
    weights = flex(query, key, each, score_mod, block_mask, scale, *more, **kwargs)[0]
    batch, heads, n_queries, _ = weights.shape
    plain = attended(query, key, value, scale=scale)
    allowed = create_mask(block_mask[-1], batch, heads, n_queries, n_keys, str(weights.device))
    return dataclasses.replace(plain, weights=weights, allowed=allowed)


_PADDING = 1
"""torch's mask_type: 0 is (query, key), 1 is (batch, key), 2 is (batch, head, query, key)."""


def _projected(
    x: Tensor,
    n_heads: int,
    weight: Tensor,
    bias: Tensor,
    mask: Tensor | None,
    mask_type: int | None,
) -> AttentionRecord:
    x, padding = _padded(x)
    if padding is not None:
        mask, mask_type = padding, _PADDING
    # (batch, token, 3 * d_model) -> three times (batch, head, token, d_k)
    q, k, v = (
        part.unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for part in F.linear(x, weight, bias).chunk(3, dim=-1)
    )
    if mask is not None:
        if mask_type == _PADDING:
            mask = mask[:, None, None, :]
        # Here a boolean True forbids.
        mask = ~mask if mask.dtype == torch.bool else mask
    return attended(q, k, v, mask)


def _padded(x: Tensor) -> tuple[Tensor, Tensor | None]:
    """A nested tensor padded, with its padding mask; other tensors unchanged."""
    if not x.is_nested:
        return x, None
    padded = x.to_padded_tensor(0.0)
    lengths = torch.tensor([len(text) for text in x.unbind()], device=padded.device)
    return padded, torch.arange(padded.shape[1], device=padded.device) >= lengths[:, None]
