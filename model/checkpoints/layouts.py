"""Parameters of one layout of attention, rewritten for another; the function stays the same."""

import torch
from torch import Tensor

from model.paper.config import TransformerConfig

StateDict = dict[str, Tensor]


def fuse_qkv(state: StateDict) -> StateDict:
    """Parameters with w_qkv (stacked) in place of w_q, w_k and w_v; others are passed on."""
    fused = {}
    for name, value in state.items():
        owner, projection, leaf = _split_name(name)
        if projection in ("w_k", "w_v"):
            continue
        if projection == "w_q":
            parts = [state[f"{owner}{each}.{leaf}"] for each in ("w_q", "w_k", "w_v")]
            fused[f"{owner}w_qkv.{leaf}"] = torch.cat(parts)
        else:
            fused[name] = value
    return fused


def split_qkv(state: StateDict, config: TransformerConfig) -> StateDict:
    """The inverse of `fuse_qkv`, for either order of the fused rows."""
    widths = config.key_width, config.key_width, config.value_width
    by_head = config.fused_layout == "by_head"
    split = {}
    for name, value in state.items():
        owner, projection, leaf = _split_name(name)
        if projection == "w_qkv":
            if by_head:
                heads = value.unflatten(0, (config.n_heads, -1)).split(widths, dim=1)
                parts = [part.flatten(0, 1) for part in heads]
            else:
                parts = list(value.split([config.n_heads * width for width in widths]))
            for each, part in zip(("w_q", "w_k", "w_v"), parts, strict=True):
                split[f"{owner}{each}.{leaf}"] = part
        else:
            split[name] = value
    return split


def _split_name(name: str) -> tuple[str, str, str]:
    # "layers.0.self_attention.w_q.bias" -> "layers.0.self_attention.", "w_q", "bias"
    module, _, leaf = name.rpartition(".")
    owner, dot, projection = module.rpartition(".")
    return owner + dot, projection, leaf


def batch_heads(state: StateDict, config: TransformerConfig) -> StateDict:
    """Parameters of the batched layout, from those of one module per head."""
    batched = {}
    for name, value in state.items():
        owner, projection, leaf = _split_name(name)
        attention, apart, head = owner.rpartition("heads.")
        if not apart:
            batched[name] = value
        elif head == "0.":
            heads = range(config.n_heads)
            parts = [state[f"{attention}heads.{i}.{projection}.{leaf}"] for i in heads]
            batched[f"{attention}{projection}.{leaf}"] = torch.cat(parts)
    return batched
