"""The optimizers of a training run, and the precision of its products."""

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.benchmark import Timer

from model.paper.transformer import Transformer
from model.training.muon import Float32Muon
from model.training.settings import SettingsError, TrainingSettings


def optimizers(
    model: Transformer, settings: TrainingSettings, precision: str
) -> list[torch.optim.Optimizer]:
    """Adam, or Muon for hidden matrices with Adam for the rest; `precision` as below.

    Parameters that the settings leave as they are get no gradient from here on.

    Raises:
        SettingsError: if no matrix of the model has a name with one of the settings' parts.
    """
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    parts = settings.parts.split()
    for name, parameter in model.named_parameters():
        if parts and not any(part in name for part in parts):
            parameter.requires_grad_(False)
            continue
        hidden = parameter.ndim == 2 and not name.startswith(("source_", "target_", "output"))
        table = "positions" in name or name.endswith("attention.w")
        (matrices if hidden and not table else others).append(parameter)
    if not matrices:
        raise SettingsError(f"The model has no matrix named like {settings.parts!r} to train.")
    adam: dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-9, "fused": True}
    if settings.optimizer == "muon":
        muon: dict[str, Any] = {
            "weight_decay": settings.weight_decay,
            # Updates as large as Adam's, so that both share a learning rate.
            "adjust_lr_fn": "match_rms_adamw",
        }
        slow_in_bf16 = precision == "float32" and matrices[0].device.type == "cpu"
        kind = Float32Muon if slow_in_bf16 else torch.optim.Muon
        for_matrices: torch.optim.Optimizer
        if dist.is_initialized():
            # Its module takes seconds to import.
            from torch.distributed.optim import ZeroRedundancyOptimizer

            # Orthogonalizing a matrix costs about as much as a batch: processes share the work.
            for_matrices = ZeroRedundancyOptimizer(matrices, kind, **muon)
        else:
            for_matrices = kind(matrices, **muon)
        return [for_matrices, torch.optim.AdamW(others, weight_decay=0.0, **adam)]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [torch.optim.AdamW(groups, **adam)]


def precision(settings: TrainingSettings, device: torch.device) -> str:
    """The precision of a run's products: "float32" or "bf16"."""
    if settings.precision != "auto":
        return settings.precision
    bf16 = torch.cuda.is_bf16_supported() if device.type == "cuda" else bf16_pays()
    return "bf16" if bf16 else "float32"


def bf16_pays() -> bool:
    """Whether this processor multiplies faster in bf16 than in float32.

    Its instruction set does not say: with avx512_bf16, an AMD EPYC of Zen 5 is more than twice as
    fast in bf16, but an Intel Xeon without AMX half as fast.
    """

    def seconds(dtype: torch.dtype) -> float:
        one, other = (torch.randn(512, 512).to(dtype) for _ in range(2))
        timer = Timer("one @ other", globals={"one": one, "other": other})
        return float(timer.blocked_autorange(min_run_time=0.05).median)

    faster = seconds(torch.bfloat16) < seconds(torch.float32)
    if dist.is_initialized():
        # All processes do as the first one, whatever each measured.
        agreed = [faster]
        dist.broadcast_object_list(agreed, src=0)
        faster = agreed[0]
    return faster
