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
from model.record.recording import AttentionRecord
from model.watch.editing import SiteEdit
from model.watch.masks import allows


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


def edited(edit: SiteEdit, record: AttentionRecord, given: Mapping[str, Any]) -> AttentionRecord:
    """The record of `_scaled_dot_product_…` with edited weights; arguments by name.

    Raises:
        CaptureError, HeadError, MaskError: if they cannot be edited.
    """
    if given.get("dropout_p"):
        raise edit.hidden("a fused kernel with dropout", "call model.eval() first")
    _, _, _, scores, added, allowed = _scored(*_asked(given))
    weights, allowed = edit.new_weights(record.weights, added, scores, allowed)
    return dataclasses.replace(record, weights=weights, allowed=allowed)


def _scored(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """q, k and v of every head, scores, scores with a mask's bias, and the mask."""
    q, k, v = (x if x.dim() == 4 else x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    shared = q.shape[1] // k.shape[1]
    if shared > 1:
        k, v = (x.repeat_interleave(shared, dim=1) for x in (k, v))
    scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    allowed, added = None, scores
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
    elif mask is not None:
        mask = mask if mask.dim() <= 4 else mask.reshape(-1, *mask.shape[-3:])
        if mask.dtype == torch.bool:
            allowed = mask.clone()
        else:
            allowed = allows(mask)
            added = scores + mask.masked_fill(~allowed, 0.0)
    return q, k, v, scores, added, allowed


def of_fused(given: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_scaled_dot_product_…`; its kernels share their argument names."""
    q, k, v, mask, is_causal, scale = _asked(given)
    return attended(q, k, v, mask, is_causal=is_causal, scale=scale)


def _asked(
    given: Mapping[str, Any],
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, bool, float | None]:
    mask = given.get("attn_mask")
    mask = given.get("attn_bias") if mask is None else mask
    return given["query"], given["key"], given["value"], mask, given["is_causal"], given["scale"]


def of_native(given: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_native_multi_head_attention`, the fast path of nn.MultiheadAttention."""
    return _projected(
        given["query"],
        given["num_head"],
        given["qkv_weight"],
        given["qkv_bias"],
        given["mask"],
        given["mask_type"],
    )


def of_encoder_layer(given: Mapping[str, Any]) -> AttentionRecord:
    """Inputs of `_transformer_encoder_layer_fwd`, the fast path of nn.TransformerEncoderLayer."""
    x, padding = _padded(given["src"])
    if given["norm_first"]:
        norm = given["norm_weight_1"], given["norm_bias_1"]
        x = F.layer_norm(x, (given["embed_dim"],), *norm, given["eps"])
    return _projected(
        x,
        given["num_heads"],
        given["qkv_weight"],
        given["qkv_bias"],
        given["mask"] if padding is None else padding,
        given["mask_type"] if padding is None else _PADDING,
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
