"""The model's attention masks: booleans named `allowed`, where True means "may attend".

They broadcast against scores of shape (batch, head, query, key). torch has two opposite conventions
for boolean masks, so none here is called just "mask".
"""

import torch
from torch import Tensor


def padding_allowed(token_ids: Tensor, pad_id: int) -> Tensor:
    """The padding mask of (batch, key) token ids, (batch, 1, 1, key): True for no padding."""
    return (token_ids != pad_id)[:, None, None, :]


def causal_allowed(length: int, device: torch.device | str | None = None) -> Tensor:
    """The causal mask: each position sees itself and earlier ones (section 3.2.3).

    Returns:
        (1, 1, query, key), boolean, lower triangular; query = key = length.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def decoder_allowed(token_ids: Tensor, pad_id: int) -> Tensor:
    """The decoder's self-attention mask of (batch, target) token ids: causal, without padding.

    It is boolean, (batch, 1, query, key), with query = key = target. The first token is the start
    token, which is no padding even in models that start with the padding token.
    """
    unpadded = padding_allowed(token_ids, pad_id)
    unpadded[..., 0] = True
    return causal_allowed(token_ids.shape[1], token_ids.device) & unpadded


def rows_without_keys(allowed: Tensor) -> Tensor:
    """True for each query without any allowed key, (..., query, 1), in a (..., query, key) mask."""
    return ~allowed.any(dim=-1, keepdim=True)
