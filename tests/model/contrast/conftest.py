"""Tiny models of every variant, with a word and another one in its place."""

from collections.abc import Callable
from typing import Any

import pytest

from model.contrast.pairs import Pair
from model.paper.transformer import Transformer
from model.trace.trace import Trace
from model.translate.translator import Translator

TEXT, TARGET = "The cat sat on the mat.", "Die Katze saß auf der Matte."
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm, the paper's": {},
    "pre-norm": {"norm": "pre"},
    "post-norm with a final norm": {"final_norm": True},
    "additive, one module a head": {"scoring": "additive", "head_layout": "per_head"},
    "rotary": {"positions": "rotary", "norm": "pre"},
    "no bias, free widths": {"attention_bias": False, "d_k": 8, "d_v": 12},
    "more layers in the decoder": {"n_encoder_layers": 1, "n_decoder_layers": 3, "norm": "pre"},
}

Case = tuple[Translator, Trace, Pair]


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def case(
    request: pytest.FixtureRequest, build: Callable[..., Transformer], translator: Translator
) -> Case:
    """A random model, a translation, and a pair in its third place."""
    size = translator.model.config.vocab_size
    model = build(**{"vocab_size": size, **request.param})
    other = Translator(model, translator.tokenizer)
    trace = other.trace(TEXT, TARGET)
    return other, trace, Pair(2, (trace.predictions.ids[2], trace.predictions.ids[1]), "", "")
