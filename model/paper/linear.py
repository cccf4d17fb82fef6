"""The linear layer, made fast for the few rows that decoding multiplies.

Decoding a token multiplies every weight with a handful of rows, so reading the weights takes most
of the time. Shipped weights are half-precision numbers; packed as such, they are half as many bytes
to read. The product widens them to float32, so its result is the same.
"""

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Linear(nn.Linear):
    """xWᵀ + b; after `pack`, inference on a CPU uses packed weights.

    Packed weights follow the parameters: they are made at first use, and again after each change
    (except through `.data`, which torch does not count). These take torch's usual path: training,
    other devices, other precisions, weights that half precision would round, and weights made in
    inference mode, where torch counts no changes.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__(in_features, out_features, bias=bias)
        self._packing = False
        self._packed: dict[tuple[int, int], tuple[tuple[tuple[int, int], ...], Any]] = {}

    def pack(self) -> None:
        """Pack weights from now on, where torch can and no weight is rounded."""
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
        """Outputs start … stop - 1 alone: (…, in_features) -> (…, stop - start)."""
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
        # A change in place raises a tensor's version; another tensor has another address.
        parts = (self.weight,) if self.bias is None else (self.weight, self.bias)
        version = tuple((part.data_ptr(), part._version) for part in parts)
        packed_version, packed = self._packed.get((start, stop), (None, None))
        if packed_version != version:
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
        # A copy packs its own weights.
        return {**self.__dict__, "_packed": {}}


def multiplies_rows_apart(model: nn.Module) -> bool:
    """Whether each row of a batch gets the same bits from the model's weights as it does alone.

    With AVX-512, packed weights treat one row and many alike. torch's other products pick a kernel
    by the number of rows, and kernels round differently.
    """
    packed = all(module.is_packed for module in model.modules() if isinstance(module, Linear))
    return packed and packed_rows_are_apart()


@functools.cache
def packed_rows_are_apart() -> bool:
    """Whether this processor's packed product gives a row the same bits in any batch.

    AVX2 kernels sum one or two rows in another order than more rows.
    """
    draw = torch.Generator().manual_seed(0)
    weight, rows = (torch.randn(n, 256, generator=draw).half().float() for n in (64, 14))
    packed = torch.ops.quantized.linear_prepack_fp16(weight, None)
    product = torch.ops.quantized.linear_dynamic_fp16.default
    whole = product(rows, packed)
    return all(torch.equal(product(rows[:n], packed), whole[:n]) for n in range(1, len(rows)))


def pack_linears(model: nn.Module) -> None:
    """Pack the weights of every linear layer for inference on a CPU."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.pack()
