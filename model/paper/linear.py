"""The linear layer, quick at the few rows at a time that decoding multiplies.

Decoding one token reads every weight to multiply it with a handful of rows, so its time is the
time to read them. Shipped weights are half-precision numbers; kept as such, half as many bytes
are read. They are widened to float32 inside the product, which is then the same product.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Linear):
    """xWᵀ + b. Once `pack` was called, inference on a CPU uses weights kept packed for it.

    Packed weights follow the parameters: they are made when first needed and again whenever the
    parameters have changed (other than through `.data`, which torch counts as no change). Weights
    that half precision would round or that were made in inference mode, where torch counts
    nothing, training, other devices and other precisions take torch's usual path.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias=bias)
        self._packing = False
        self._packed: dict[tuple[int, int], tuple[tuple[tuple[int, int], ...], Any]] = {}

    def pack(self) -> None:
        """Keep weights packed from now on, where torch can and nothing is lost."""
        self._packing = torch.backends.quantized.engine in ("x86", "fbgemm")

    @property
    def is_packed(self) -> bool:
        """Whether inference uses packed weights."""
        return (
            self._packing
            and self.weight.device.type == "cpu"
            and self._packed_rows(0, self.out_features) is not None
        )

    def forward(self, x: Tensor) -> Tensor:
        """(…, in_features) -> (…, out_features)."""
        return self.rows(x, 0, self.out_features)

    def rows(self, x: Tensor, start: int, stop: int) -> Tensor:
        """Outputs start … stop - 1 alone, (…, in_features) -> (…, stop - start)."""
        if self._packing and not torch.is_grad_enabled() and x.device.type == "cpu":
            packed = self._packed_rows(start, stop)
            if packed is not None and x.dtype == torch.float32:
                product: Tensor = torch.ops.quantized.linear_dynamic_fp16.default(x, packed)
                return product
        if stop - start == self.out_features:
            return F.linear(x, self.weight, self.bias)
        bias = None if self.bias is None else self.bias[start:stop]
        return F.linear(x, self.weight[start:stop], bias)

    def _packed_rows(self, start: int, stop: int) -> Any:
        if self.weight.is_inference():
            return None
        # A change in place moves a tensor's version on; another tensor lies elsewhere.
        parts = (self.weight,) if self.bias is None else (self.weight, self.bias)
        version = tuple((part.data_ptr(), part._version) for part in parts)
        made_for, packed = self._packed.get((start, stop), (None, None))
        if made_for != version:
            with torch.no_grad():
                weight = self.weight.detach()[start:stop].contiguous()
                bias = None if self.bias is None else self.bias.detach()[start:stop].clone()
                if weight.dtype == torch.float32 and torch.equal(weight, weight.half().float()):
                    packed = torch.ops.quantized.linear_prepack_fp16(weight, bias)
                else:
                    packed = None
            self._packed[start, stop] = (version, packed)
        return packed

    def __getstate__(self) -> dict[str, Any]:
        # A copy packs its own.
        return {**self.__dict__, "_packed": {}}


def multiplies_rows_apart(model: nn.Module) -> bool:
    """Whether every product of a model with its weights gives each row what it gives it alone.

    Where a processor has AVX-512, packed weights are multiplied with one row like with many, bit
    for bit. What torch calls otherwise chooses among kernels by the number of rows, and they round
    differently.
    """
    packed = all(module.is_packed for module in model.modules() if isinstance(module, Linear))
    return packed and packed_rows_are_apart()


@functools.cache
def packed_rows_are_apart() -> bool:
    """Whether this processor's packed product gives few rows what it gives them among many.

    The kernels for AVX2 sum in another order for one or two rows than for more.
    """
    draw = torch.Generator().manual_seed(0)
    weight, rows = (torch.randn(n, 256, generator=draw).half().float() for n in (64, 14))
    packed = torch.ops.quantized.linear_prepack_fp16(weight, None)
    product = torch.ops.quantized.linear_dynamic_fp16.default
    whole = product(rows, packed)
    return all(torch.equal(product(rows[:n], packed), whole[:n]) for n in range(1, len(rows)))


def pack_linears(model: nn.Module) -> None:
    """Have every linear layer of a model keep its weights packed for inference on a CPU."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.pack()
