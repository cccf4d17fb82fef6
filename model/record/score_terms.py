"""The terms of attention scores, computed from a model's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from model.paper.attention import ScaledDotProductAttention
from model.paper.multi_head import MultiHead
from model.record.intervention import PositionError
from model.trace.terms import TERMS


@torch.no_grad()
def score_terms(
    attention: MultiHead, norms: Sequence[nn.Module], word: Tensor, position: Tensor
) -> dict[str, Tensor]:
    """The terms that sum to a self-attention's scores over the sum of words and positions.

    (w + p)W_Q((w' + p')W_K)ᵀ has four products. Norms before it are no obstacle: given the
    deviation σ of the sum, LN(x) = (x - mean(x))/σ·γ + β is linear in x. So the centred w and p are
    divided by the σ of their sum and multiplied by γ, and β joins the biases.

    Args:
        attention: of the first layer.
        norms: between the sum and the attention, first to last.
        word: scaled embeddings, (token, d_model).
        position: encodings, (token, d_model).

    Returns:
        by the names in TERMS, (head, query, key) each, float64.

    Raises:
        PositionError: if scores are no product of query and key.
    """
    if not isinstance(_attention_functions(attention)[0], ScaledDotProductAttention):
        raise PositionError(
            "This model's scores are no product of query and key, so they do not split into terms; "
            "choose a model with dot-product attention."
        )
    word, position = word.double(), position.double()
    parts = {"word": word, "position": position}
    parts["bias"] = torch.zeros_like(word)
    for norm in (each for each in norms if isinstance(each, nn.LayerNorm)):
        total = torch.stack([*parts.values()]).sum(dim=0)
        deviation = total.var(dim=-1, correction=0, keepdim=True) + norm.eps
        gain = norm.weight.double() / deviation.sqrt()
        parts = {name: (x - x.mean(dim=-1, keepdim=True)) * gain for name, x in parts.items()}
        parts["bias"] = parts["bias"] + norm.bias.double()
    constant = parts.pop("bias")
    queries, keys = (
        {name: x @ weight for name, x in parts.items()} | {"bias": constant @ weight + bias}
        for weight, bias in (
            _affine(attention.project_query, word),
            _affine(lambda x: attention.project_key_value(x)[0], word),
        )
    )
    scale = _scale(attention, queries["word"].shape[-1])
    terms: dict[str, Tensor] = {}
    for query, q in queries.items():
        for key, k in keys.items():
            name = "bias" if "bias" in (query, key) else f"{query}-{key}"
            product = (q @ k.transpose(-2, -1)) * scale
            terms[name] = terms[name] + product if name in terms else product
    return {name: terms[name] for name in TERMS}


def _attention_functions(attention: MultiHead) -> list[nn.Module]:
    heads = getattr(attention, "heads", None)
    owners = [attention] if heads is None else list(heads)
    return [owner.get_submodule("attention") for owner in owners]


def _scale(attention: MultiHead, d_k: int) -> float | Tensor:
    # A number, or (head, 1, 1).
    scales = [cast("Any", each).scale(d_k) for each in _attention_functions(attention)]
    return torch.cat(scales) if isinstance(scales[0], Tensor) else scales[0]


def _affine(project: Any, like: Tensor) -> tuple[Tensor, Tensor]:
    """A projection's weight (head, d_model, d_k) with its bias (head, 1, d_k), in any layout.

    An affine map sends zeros to its bias, and unit vectors to its rows.
    """
    unit = torch.eye(like.shape[-1], dtype=torch.float32, device=like.device)
    bias = project(torch.zeros_like(unit[:1])[None])[0].double()
    return project(unit[None])[0].double() - bias, bias
