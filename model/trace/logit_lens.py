"""What a decoder would say if it stopped early, as plain values without torch.

Translator.logit_lens makes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.trace.attention_map import FloatArray, Tokens


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogitLens:
    """The next token that each decoder layer's state stands for, at every step.

    A layer's state goes through the decoder's final norm and the output embedding, as only the
    last layer's does in the model itself (nostalgebraist 2020). The final norm was trained for the
    last state and scales earlier ones by their own deviation. A post-norm model without
    `final_norm` has none: every layer ends with a norm of its own, and its state is read as it is.
    Earlier layers were never trained to be read this way, so the lens can miss what they know
    (Belrose et al. 2023, section 1); what it does show is there.

    Attributes:
        tokens: the target's tokens, as many as steps.
        log_probs: of these, (layer, step), natural logarithms; the last row is the model's own.
        ranks: of these among the tokens that may be chosen, (layer, step), from 1.
        likeliest: of the tokens that may be chosen, a Tokens for each layer.
        likeliest_log_probs: of these, (layer, step).
    """

    tokens: Tokens
    log_probs: FloatArray
    ranks: NDArray[np.int64]
    likeliest: tuple[Tokens, ...]
    likeliest_log_probs: FloatArray
