"""For tests of what only packed weights do."""

import pytest
import torch

needs_packing = pytest.mark.skipif(
    torch.backends.quantized.engine not in ("x86", "fbgemm"),
    reason="this torch has no kernel for packed half-precision weights",
)
