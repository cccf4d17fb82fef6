"""A decoder's predictions if it stopped early, as plain values without torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.brief import Brief
from model.trace.attention_map import FloatArray, Tokens


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogitLens(Brief):
    """The next-token predictions of each decoder layer's state, from `Translator.logit_lens`.

    A layer's state goes through the decoder's final norm and the output embedding, as only the
    last layer's does in the model itself (nostalgebraist 2020). The final norm was trained for the
    last state and scales earlier ones by their own deviation. A post-norm model without
    `final_norm` has none: every layer ends with its own norm, and its state is read unchanged.
    Earlier layers were never trained to be read this way, so the lens can miss what they know
    (Belrose et al. 2023, section 1); what it does show is there.

    Attributes:
        tokens: the target's tokens, one a step.
        log_probs: of these tokens, (layer, step), natural logarithms; the last row is the model's.
        ranks: of these tokens among those the model can write, (layer, step), from 1.
        likeliest: the likeliest tokens the model can write, a Tokens for each layer.
        likeliest_log_probs: of the likeliest tokens, (layer, step).
    """

    tokens: Tokens
    log_probs: FloatArray
    ranks: NDArray[np.int64]
    likeliest: tuple[Tokens, ...]
    likeliest_log_probs: FloatArray
