"""Matrices in eight bits: a number from -127 to 127 for each weight, and a scale for each row.

They take half the bytes of half precision. Loading gives half precision, like other weights; the
error of a weight is at most half a step of its row.
"""

import torch
from torch import Tensor

SCALE = "_scale"
"""The suffix in the name of a matrix's scales: weight, weight_scale."""

_LARGEST = 127


class QuantizationError(ValueError):
    """Eight-bit matrices with wrong scales; the message says which."""


def quantized(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights by name, each matrix as int8 (row, column) with its scales, float32 (row, 1).

    All else is rounded to half precision.
    """
    stored: dict[str, Tensor] = {}
    for name, value in state.items():
        if value.ndim != 2:
            stored[name] = value.half()
            continue
        # Any scale fits a row of zeros.
        largest = value.float().abs().amax(dim=1, keepdim=True).clamp_min(1e-9)
        stored[name + SCALE] = largest / _LARGEST
        stored[name] = (value.float() / stored[name + SCALE]).round().to(torch.int8)
    return stored


def dequantized(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of `quantized`, within its steps, in half precision; others are as stored.

    Raises QuantizationError if scales have no int8 matrix, or are not one number for each row.
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
