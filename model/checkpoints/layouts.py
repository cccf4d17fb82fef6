"""Parameters of one layout, rewritten for another; the function stays the same."""

from collections.abc import Callable

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


_NAMES = (
    ("source_embedding", "model.shared"),
    ("encoder.layers", "model.encoder.layers"),
    ("decoder.layers", "model.decoder.layers"),
    ("encoder.final_norm", "model.encoder.layer_norm"),
    ("decoder.final_norm", "model.decoder.layer_norm"),
    ("self_attention", "self_attn"),
    ("cross_attention", "encoder_attn"),
    ("self_residual.norm", "self_attn_layer_norm"),
    ("cross_residual.norm", "encoder_attn_layer_norm"),
    ("feed_forward_residual.norm", "final_layer_norm"),
    ("feed_forward.w_1", "fc1"),
    ("feed_forward.w_2", "fc2"),
    *((f"w_{each}.", f"{each}_proj.") for each in "qkv"),
    ("w_o.", "out_proj."),
    ("encoder.positions.norm", "model.encoder.layernorm_embedding"),
    ("decoder.positions.norm", "model.decoder.layernorm_embedding"),
    ("encoder.positions.table", "model.encoder.embed_positions.weight"),
    ("decoder.positions.table", "model.decoder.embed_positions.weight"),
)
_READ_HIDDEN = (
    *("shared", "embed_tokens", "embed_positions", "lm_head"),
    *("q_proj", "k_proj", "v_proj", "fc1"),
)
"""Their modules with a hidden state's dimensions as columns of their weights."""
_WRITE_HIDDEN = ("out_proj", "fc2", "layer_norm", "layernorm_embedding")
"""Their modules with these dimensions as rows of weights and biases."""


def to_hugging_face(state: StateDict) -> StateDict:
    """The parameters of `split_qkv` under the names of Marian and its family.

    Their tables of positions have all sines before all cosines, ours have pairs (section 3.5). The
    order of a hidden state's dimensions does not matter if all parameters share it, so all are
    reordered.
    """
    theirs = {}
    for name, value in state.items():
        for ours, other in _NAMES:
            name = name.replace(ours, other)
        theirs[name] = _reordered(name, value, sines_first)
    return theirs


def from_hugging_face(state: StateDict) -> StateDict:
    """The inverse of `to_hugging_face`."""
    mine = {}
    for name, value in state.items():
        reordered = _reordered(name, value, pairs_first)
        for ours, other in reversed(_NAMES):
            name = name.replace(other, ours)
        mine[name] = reordered
    return mine


def _reordered(name: str, value: Tensor, order: Callable[[Tensor], Tensor]) -> Tensor:
    module, _, leaf = name.rpartition(".")
    if module.endswith(_WRITE_HIDDEN):
        return order(value.T).T if value.ndim == 2 else order(value)
    return order(value) if module.endswith(_READ_HIDDEN) and leaf == "weight" else value


def sines_first(pairs: Tensor) -> Tensor:
    """The last axis (0, 1, 2, 3, …) as (0, 2, …, 1, 3, …)."""
    return torch.cat([pairs[..., 0::2], pairs[..., 1::2]], dim=-1)


def pairs_first(halves: Tensor) -> Tensor:
    """The inverse of `sines_first`."""
    return torch.stack(halves.chunk(2, dim=-1), dim=-1).flatten(-2)
