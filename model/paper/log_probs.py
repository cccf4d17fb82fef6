"""Log-probabilities of tokens, and the tokens that are never written."""

import torch
from torch import Tensor

from model.paper.config import TransformerConfig


def unsayable(config: TransformerConfig, device: torch.device) -> Tensor:
    """-inf for tokens that are never written, 0 for others: (vocab,), to be added to logits."""
    penalty = torch.zeros(config.output_size, device=device)
    penalty[list(config.barred)] = -torch.inf
    return penalty


def token_log_probs(logits: Tensor, token_ids: Tensor) -> Tensor:
    """Log-probability of each token, (batch, token), float32, by (batch, token, vocab) logits."""
    return logits.float().log_softmax(dim=-1).gather(2, token_ids[:, :, None])[:, :, 0]
