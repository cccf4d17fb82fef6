"""Cross-entropy with label smoothing (section 5.4), lean in memory.

torch's own keeps float32 copies of logits and log-probabilities for the backward pass; with a
vocabulary of thousands they are the largest tensors of a training step. This one writes the
gradient in the forward pass, over its one copy.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float, ignored: int) -> Tensor:
        vocab = logits.shape[-1]
        kept = labels != ignored
        probabilities = logits.float()
        if probabilities is logits:
            probabilities = logits.clone()
        normalizer = probabilities.logsumexp(dim=-1)
        target = probabilities.gather(1, labels[:, None])[:, 0]
        losses = normalizer - (1 - smoothing) * target
        if smoothing:
            losses -= smoothing * probabilities.mean(dim=-1)
        # d loss / d logits = softmax - smoothed target; from here on the buffer is the gradient.
        gradient = probabilities.sub_(normalizer[:, None]).exp_()
        if smoothing:
            gradient.sub_(smoothing / vocab)
        gradient.scatter_add_(1, labels[:, None], torch.full_like(target, smoothing - 1)[:, None])
        gradient.mul_(kept[:, None])
        ctx.save_for_backward(gradient.to(logits.dtype))
        return (losses * kept).sum()

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0].to(gradient.dtype), None, None, None


def smoothed_cross_entropy(
    logits: Tensor, labels: Tensor, smoothing: float, ignored: int
) -> Tensor:
    """Sum over tokens of the cross-entropy against (1 - ε) one-hot + ε uniform.

    Args:
        logits: (token, vocab), of any floating type; summed in float32.
        labels: (token,), the right ids.
        smoothing: ε of section 5.4.
        ignored: tokens with this label count nothing.

    Returns:
        a scalar. Differentiable once, in logits.
    """
    loss: Tensor = _SmoothedCrossEntropy.apply(logits, labels, smoothing, ignored)
    return loss
