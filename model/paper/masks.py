"""The model's attention masks, boolean and named `allowed`: True means "may attend".

They broadcast against scores of shape (batch, head, query, key). torch itself has two opposite
conventions for boolean masks, so no boolean here is ever called just "mask".
"""

from __future__ import annotations

import torch
from torch import Tensor


def padding_allowed(token_ids: Tensor, pad_id: int) -> Tensor:
    """Which keys are words and not padding.

    Args:
        token_ids: (batch, key), integers.
        pad_id: the id that fills short sentences up.

    Returns:
        (batch, 1, 1, key), boolean.
    """
    return (token_ids != pad_id)[:, None, None, :]


def causal_allowed(length: int, device: torch.device | str | None = None) -> Tensor:
    """Each position may look at itself and at what came before (section 3.2.3).

    Returns:
        (1, 1, query, key), boolean, lower triangular; query = key = length.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]


def decoder_allowed(token_ids: Tensor, pad_id: int) -> Tensor:
    """The decoder's self-attention mask: causal and not padding.

    Args:
        token_ids: (batch, target), integers.
        pad_id: the id that fills short sentences up.

    Returns:
        (batch, 1, query, key), boolean; query = key = target.
    """
    return causal_allowed(token_ids.shape[1], token_ids.device) & padding_allowed(token_ids, pad_id)


def rows_without_keys(allowed: Tensor) -> Tensor:
    """Which queries have nothing to look at.

    Args:
        allowed: (..., query, key), boolean.

    Returns:
        (..., query, 1), boolean, True where a row of `allowed` is False throughout.
    """
    return ~allowed.any(dim=-1, keepdim=True)
