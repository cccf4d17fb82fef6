"""The tap on torch's own attention module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.paper.attention import ScaledDotProductAttention, masked_softmax
from model.record.head_editing import active_head_edits
from model.record.mask_editing import active_edits
from model.record.recording import CaptureError
from model.record.sentence_map import AttentionRecord
from model.record.tap import Tap


class TorchTap(Tap):
    """A tap on nn.MultiheadAttention, which may return weights of any layout, means or none.

    It handles every form of arguments: batch first or second, no batch, nested tensors, boolean and
    additive masks. Like torch, it assumes that the hint `is_causal` describes attn_mask. Masks and
    heads cannot be edited.
    """

    def after(
        self, function: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> Any:
        """The forward hook; it refuses an edit instead of ignoring it."""
        edits, head_edits = active_edits.get(), active_head_edits.get()
        if edits is not None and edits.concerns(self.site):
            raise CaptureError(
                f"{self.site} is a {type(function).__name__}, whose mask cannot be replaced; edit "
                "attention built of this project's modules, or pass the mask to the model itself."
            )
        if head_edits is not None and head_edits.concerns(self.site):
            raise CaptureError(
                f"{self.site} is a {type(function).__name__}, whose heads cannot be edited; edit "
                "attention built of this project's modules."
            )
        return super().after(function, args, kwargs, output)

    def see(self, function: Any, request: Mapping[str, Any], output: Any) -> AttentionRecord:
        """The record by the module's formula, from its inputs and parameters."""
        texts = [request[name] for name in ("query", "key", "value")]
        padding, mask = request["key_padding_mask"], request["attn_mask"]
        if texts[0].is_nested:
            # torch nests self-attention only; the lengths give the padding mask.
            texts, padding = _unnest(texts[0])
        elif texts[0].dim() == 2:
            texts = [text.unsqueeze(0) for text in texts]
            padding = None if padding is None else padding.unsqueeze(0)
        elif not function.batch_first:
            texts = [text.transpose(0, 1) for text in texts]
        q, k, v = _torch_projections(function, *texts)
        extra_keys: tuple[str, ...] = ()
        if function.bias_k is not None:
            k, v = (
                torch.cat([x, _split_heads(function, added.expand(len(x), 1, -1))], dim=2)
                for x, added in ((k, function.bias_k), (v, function.bias_v))
            )
            extra_keys += ("[bias]",)
        if function.add_zero_attn:
            k, v = (F.pad(x, (0, 0, 0, 1)) for x in (k, v))
            extra_keys += ("[zero]",)
        scores = _TORCH_FORMULA.scores(q, k)
        allowed, added = _torch_masks(padding, mask, len(q), len(extra_keys))
        weights = masked_softmax(scores if added is None else scores + added, allowed)
        return AttentionRecord(
            weights=weights, scores=scores, q=q, k=k, v=v, allowed=allowed, extra_keys=extra_keys
        )


_TORCH_FORMULA = ScaledDotProductAttention()


def _split_heads(attention: Any, x: Tensor) -> Tensor:
    # (batch, token, head * width) -> (batch, head, token, width)
    heads: Tensor = x.unflatten(-1, (attention.num_heads, -1))
    return heads.transpose(1, 2)


def _torch_projections(
    attention: Any, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    if attention.in_proj_weight is not None:
        weights = attention.in_proj_weight.chunk(3)
    else:
        weights = attention.q_proj_weight, attention.k_proj_weight, attention.v_proj_weight
    bias = attention.in_proj_bias
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        _split_heads(attention, F.linear(x, weight, bias))
        for x, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _unnest(nested: Tensor) -> tuple[list[Tensor], Tensor]:
    padded = nested.to_padded_tensor(0.0)
    lengths = torch.tensor([len(text) for text in nested.unbind()], device=padded.device)
    padding = torch.arange(padded.shape[1], device=padded.device) >= lengths[:, None]
    return [padded] * 3, padding


def _torch_masks(
    padding: Tensor | None, mask: Tensor | None, batch: int, n_extra_keys: int
) -> tuple[Tensor | None, Tensor | None]:
    """The allowed keys of torch's two masks, and the sum of their additive parts.

    Both are (batch, head, query, key). For torch, a boolean True forbids, and so does -inf in an
    additive mask.
    """
    masks = []
    if padding is not None:
        masks.append(padding[:, None, None, :])
    if mask is not None:
        # (query, key), or (batch * head, query, key)
        masks.append(mask[None, None] if mask.dim() == 2 else mask.unflatten(0, (batch, -1)))
    allowed: Tensor | None = None
    added: Tensor | None = None
    for each in masks:
        if each.dtype == torch.bool:
            may = ~each
        else:
            may = each > -torch.inf
            finite = F.pad(each.masked_fill(~may, 0.0), (0, n_extra_keys))
            added = finite if added is None else added + finite
        may = F.pad(may, (0, n_extra_keys), value=True)
        allowed = may if allowed is None else allowed & may
    return allowed, added
