"""Cross-entropy with label smoothing (section 5.4) and R-Drop's divergence, in little memory.

torch's own losses keep float32 copies of logits and log-probabilities for the backward pass; with
thousands of pieces these are the largest tensors of a training step. The losses here compute the
gradient in the forward pass, in place of copies they need anyway.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_ROWS = 64
"""Rows that a CPU processes at once: a few MB, which stay in its cache."""


def _parts(logits: Tensor) -> Iterator[slice]:
    """Slices of the rows: one for a GPU, several for a CPU."""
    rows = len(logits) if logits.is_cuda else _ROWS
    return (slice(start, start + rows) for start in range(0, len(logits), max(rows, 1)))


class _SmoothedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, smoothing: float, ignored: int) -> Tensor:
        vocab = logits.shape[-1]
        gradients = torch.empty_like(logits)
        total = logits.new_zeros((), dtype=torch.float32)
        for part in _parts(logits):
            right = labels[part, None]
            counted = right != ignored
            probabilities = logits[part].to(torch.float32, copy=True)
            normalizer = probabilities.logsumexp(dim=-1, keepdim=True)
            target = probabilities.gather(1, right)
            losses = normalizer - (1 - smoothing) * target
            if smoothing:
                losses -= smoothing * probabilities.mean(dim=-1, keepdim=True)
            total += (losses * counted).sum()
            # d loss / d logits = softmax - smoothed target; from here on, this is the gradient.
            gradient = probabilities.sub_(normalizer).exp_()
            if smoothing:
                gradient.sub_(smoothing / vocab)
            gradient.scatter_add_(1, right, torch.full_like(target, smoothing - 1))
            gradients[part] = gradient.mul_(counted)
        ctx.save_for_backward(gradients)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0].to(gradient.dtype), None, None, None


def smoothed_cross_entropy(
    logits: Tensor, labels: Tensor, smoothing: float, ignored: int
) -> Tensor:
    """Sum over tokens of the cross-entropy against (1 - ε) one-hot + ε uniform, a scalar.

    ε is the smoothing of section 5.4. Logits are (token, vocab), of any floating type, summed in
    float32, and differentiable once; labels are (token,), where the ignored one does not count.
    """
    loss: Tensor = _SmoothedCrossEntropy.apply(logits, labels, smoothing, ignored)
    return loss


class _Divergence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, first: Tensor, second: Tensor, counted: Tensor) -> Tensor:
        gradients = torch.empty_like(first), torch.empty_like(second)
        total = first.new_zeros((), dtype=torch.float32)
        for part in _parts(first):
            one, other = (each[part].float().log_softmax(dim=-1) for each in (first, second))
            gap = one - other
            one.exp_()
            other.exp_()
            half = 0.5 * counted[part, None]
            # KL(p‖q) = Σ p (log p - log q), and its gradient in p's logits is
            # p (log p - log q - KL(p‖q)); that of KL(q‖p) adds p - q.
            forth = (one * gap).sum(dim=-1, keepdim=True)
            back = -(other * gap).sum(dim=-1, keepdim=True)
            total += ((forth + back) * half).sum()
            gradients[0][part] = (gap - (forth - 1)).mul_(one).sub_(other).mul_(half)
            gradients[1][part] = gap.neg_().sub_(back - 1).mul_(other).sub_(one).mul_(half)
        ctx.save_for_backward(*gradients)
        return total

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, Tensor, None]:
        first, second = ctx.saved_tensors
        scale = outputs[0].to(first.dtype)
        return first * scale, second * scale, None


def divergence(first: Tensor, second: Tensor, labels: Tensor, ignored: int) -> Tensor:
    """Sum over tokens of ½ KL(p‖q) + ½ KL(q‖p), for R-Drop (Liang et al. 2021, equation 2).

    It is a scalar in nats, differentiable once, in the logits of p and q; shapes and labels are
    those of `smoothed_cross_entropy`.
    """
    result: Tensor = _Divergence.apply(first, second, labels != ignored)
    return result
