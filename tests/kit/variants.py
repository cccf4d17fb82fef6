"""Transformers that differ in what attention is made of."""

from typing import Any

VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "explicit formula": {"fused_attention": False},
    "one matrix for q, k and v": {"fused_qkv": True},
    "one module a head": {"head_layout": "per_head"},
    "additive": {"scoring": "additive"},
    "additive, one module a head": {"scoring": "additive", "head_layout": "per_head"},
    "without a temperature": {"scoring": "dot_product"},
    "ALiBi": {"positions": "alibi"},
    "T5's relative bias": {"positions": "relative_bias"},
    "relative bias, a module per head": {"positions": "relative_bias", "head_layout": "per_head"},
    "a learned temperature": {"scoring": "learned_temperature"},
    "learned temperatures and ALiBi, a module per head": {
        "scoring": "learned_temperature",
        "positions": "alibi",
        "head_layout": "per_head",
    },
    "additive with a shared v": {"scoring": "additive_shared", "d_a": 7},
    "additive with a shared v, and ALiBi": {"scoring": "additive_shared", "positions": "alibi"},
    "fused projections, head by head": {
        "fused_qkv": True,
        "fused_layout": "by_head",
        "d_k": 6,
        "d_v": 5,
    },
    "a final norm after post-norm layers": {"final_norm": True},
    "pre-norm, learned positions": {"norm": "pre", "positions": "learned"},
    "rotary positions": {"positions": "rotary"},
    "rotary positions, one module a head": {"positions": "rotary", "head_layout": "per_head"},
    "as in Marian": {"output_bias": True, "activation": "swish", "bos_id": 0, "unwritten": (0, 5)},
    "free widths, no biases": {"d_k": 6, "d_v": 5, "attention_bias": False},
    "free widths, one matrix": {"d_k": 6, "d_v": 5, "fused_qkv": True},
    "free widths, one module a head": {"d_k": 6, "d_v": 5, "head_layout": "per_head"},
}


def some(*names: str) -> dict[str, dict[str, Any]]:
    """Those of these names."""
    return {name: VARIANTS[name] for name in names}
