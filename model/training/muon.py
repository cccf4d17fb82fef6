"""The optimizer Muon with products in float32, for processors that are slow in bf16."""

from collections.abc import Callable

import torch
from torch import Tensor


class Float32Muon(torch.optim.Muon):
    """torch's Muon with products in float32 instead of bf16.

    On a CPU without bf16 instructions, bf16 products take a hundred times as long, and so an
    optimizer step takes longer than everything else. Arguments are those of torch's Muon with
    "match_rms_adamw".
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """The closure's loss, after one step (Jordan et al. 2024)."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient = parameter.grad
                average = self.state[parameter].setdefault(
                    "momentum_buffer", torch.zeros_like(gradient)
                )
                average.lerp_(gradient, 1 - momentum)
                update = gradient.lerp(average, momentum) if group["nesterov"] else average
                update = _orthogonal(
                    update, group["ns_coefficients"], group["ns_steps"], group["eps"]
                )
                parameter.mul_(1 - rate * group["weight_decay"])
                # Liu et al. 2025, section 2.2: the root mean square of AdamW's usual updates.
                parameter.add_(update, alpha=-rate * 0.2 * max(parameter.shape) ** 0.5)
        return loss


def _orthogonal(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Approximately the nearest orthogonal matrix, by Newton–Schulz iteration."""
    a, b, c = coefficients
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / wide.norm().clamp(min=eps)
    for _ in range(steps):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T
