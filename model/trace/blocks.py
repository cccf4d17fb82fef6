"""What the blocks beside attention did on one sentence, as plain values without torch.

model/explain/block_outputs.py makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from model.brief import Brief
from model.trace.attention_map import AttentionKind, FloatArray, Tokens

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0)
"""Those at which a softmax can be shown; the browser's engine names the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks(Brief):
    """What feed-forward layers add, and what the softmax offers at every step.

    Attributes:
        added: by stack, encoder or decoder, the length of what each feed-forward layer adds to each
            token's vector, as a share of that vector's own length, (layer, token).
        likeliest: the next tokens of every step that may be chosen, likeliest first.
        probabilities: theirs, (step, rank).
        normalizers: the logarithm of the sum over all tokens of their probabilities to the power
            1 / temperature, (step, temperature), for each of `TEMPERATURES`. With it, p becomes
            exp(log(p) / temperature - normalizer), the softmax of logits / temperature. None where
            that is not known.
    """

    added: Mapping[AttentionKind, FloatArray]
    likeliest: tuple[Tokens, ...]
    probabilities: FloatArray
    normalizers: FloatArray | None = None
