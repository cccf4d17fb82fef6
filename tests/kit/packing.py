"""For tests of what only packed weights do."""

import pytest
import torch

from model.paper.linear import packed_rows_are_apart

_HAS_KERNEL = torch.backends.quantized.engine in ("x86", "fbgemm")

needs_packing = pytest.mark.skipif(
    not _HAS_KERNEL, reason="this torch has no kernel for packed half-precision weights"
)

needs_rows_apart = pytest.mark.skipif(
    not (_HAS_KERNEL and packed_rows_are_apart()),
    reason="this processor's kernel for packed weights rounds otherwise for one row than for many",
)
