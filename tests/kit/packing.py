"""For tests of what only packed weights do."""

import pytest
import torch

from model.linear import packed_rows_are_apart

needs_packing = pytest.mark.skipif(
    torch.backends.quantized.engine not in ("x86", "fbgemm"),
    reason="this torch has no kernel for packed half-precision weights",
)

needs_rows_apart = pytest.mark.skipif(
    torch.backends.quantized.engine not in ("x86", "fbgemm") or not packed_rows_are_apart(),
    reason="this processor's kernel for packed weights rounds otherwise for one row than for many",
)
