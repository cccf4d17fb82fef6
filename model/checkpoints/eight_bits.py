"""Matrices in eight bits: a number from -127 to 127 for each weight, and a scale for each row.

Half the bytes of half precision. What comes back is in half precision, so that it is read and
computed with as any other weights; each weight is off by at most half a step of its row.
"""

from __future__ import annotations

import torch
from torch import Tensor

SCALE = "_scale"
"""What follows a matrix's name in that of its scales: weight and weight_scale."""

_LARGEST = 127


class QuantizationError(ValueError):
    """Eight-bit matrices and scales that do not belong together; the message says which."""


def quantized(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights by name, with each matrix as int8 (row, column) beside its scales, float32 (row, 1).

    All else is rounded to half precision.
    """
    stored: dict[str, Tensor] = {}
    for name, value in state.items():
        if value.ndim != 2:
            stored[name] = value.half()
            continue
        # A row of zeros has any scale.
        largest = value.float().abs().amax(dim=1, keepdim=True).clamp_min(1e-9)
        stored[name + SCALE] = largest / _LARGEST
        stored[name] = (value.float() / stored[name + SCALE]).round().to(torch.int8)
    return stored


def dequantized(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """What `quantized` was given, within its steps and in half precision; others are as stored.

    Raises:
        QuantizationError: if scales have no int8 matrix, or are not one number for each of its
            rows.
    """
    state = {name: value for name, value in stored.items() if not name.endswith(SCALE)}
    for name in stored.keys() - state.keys():
        matrix, scale = state.get(name.removesuffix(SCALE)), stored[name]
        if matrix is None or matrix.dtype != torch.int8:
            raise QuantizationError(f"{name} scales no matrix of eight bits.")
        if scale.shape != (*matrix.shape[:1], 1) or not scale.is_floating_point():
            raise QuantizationError(f"{name} is not one number for each row of its matrix.")
        state[name.removesuffix(SCALE)] = (matrix.float() * scale.float()).half()
    return state
