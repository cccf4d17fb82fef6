"""The logit lens against the model's own probabilities, and layer by layer against the formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from model.paper.masks import decoder_allowed, padding_allowed
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.record.intervention import Intervention
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS

TEXT = "The cat eats."


@pytest.fixture(scope="module", params=["pre", "post"])
def of_norm(request: Any, build: Callable[..., Transformer], translator: Translator) -> Translator:
    """Untrained models of either kind, of three decoder layers."""
    tokenizer: Tokenizer = translator.tokenizer
    model = build(vocab_size=len(tokenizer), norm=request.param, n_decoder_layers=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=_generator()))
    return Translator(model, tokenizer)


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(4)


def by_hand(translator: Translator, trace: Any) -> np.ndarray:
    """(layer, target, vocab) probabilities: each layer run and read as the docstring says."""
    model = translator.model
    source, target = torch.tensor([trace.source.ids]), torch.tensor([trace.target.ids])
    found = []
    with torch.inference_mode():
        memory = model.encode(source)
        x = model.decoder.positions.embed(model.embed(model.target_embedding, target))
        relative = model.decoder.positions.relative(target.shape[1])
        allowed = decoder_allowed(target, 0), padding_allowed(source, 0)
        for layer in model.decoder.layers:
            x = layer(x, memory, *allowed, relative)
            read = x
            if model.config.norm == "pre":
                norm = model.decoder.final_norm
                centred = x - x.mean(dim=-1, keepdim=True)
                variance = (centred**2).mean(dim=-1, keepdim=True)
                read = centred / (variance + norm.eps).sqrt() * norm.weight + norm.bias
            found.append((read @ model.output.weight.T)[0].softmax(dim=-1).numpy())
    return np.stack(found)


def test_every_layer_is_read_through_the_final_norm_and_the_output(of_norm: Translator):
    trace = of_norm.trace(TEXT, "Der Hund.")
    lens, expected = of_norm.logit_lens(trace), by_hand(of_norm, trace)
    assert lens.tokens == trace.predictions
    assert lens.log_probs.shape == (3, len(trace.predictions))
    choosable = expected.copy()
    choosable[..., :3] = 0
    steps = range(len(trace.predictions))
    for layer in range(3):
        own = expected[layer, steps, trace.predictions.ids]
        np.testing.assert_allclose(np.exp(lens.log_probs[layer]), own, rtol=1e-3)
        assert lens.likeliest[layer].ids == tuple(choosable[layer].argmax(axis=-1).tolist())
        np.testing.assert_allclose(
            np.exp(lens.likeliest_log_probs[layer]), choosable[layer].max(axis=-1), rtol=1e-3
        )
        np.testing.assert_array_equal(
            lens.ranks[layer], 1 + (choosable[layer] > own[:, None] * (1 + 1e-4)).sum(axis=-1)
        )
    assert not np.allclose(lens.log_probs[0], lens.log_probs[2], atol=1e-3)


@pytest.mark.parametrize(
    "under", [Intervention(), Intervention(heads={("cross", 1, 0): 0, ("encoder", 0, 1): 0})]
)
def test_the_last_layer_is_the_model_bit_for_bit(
    translator: Translator, of_norm: Translator, under: Intervention
):
    for each in (translator, of_norm):
        for trace in (each.trace(TEXT, "Der Hund.", under=under), each.trace(TEXT, under=under)):
            lens = each.logit_lens(trace, under=under)
            np.testing.assert_array_equal(lens.log_probs[-1], trace.log_probs)


def test_what_a_model_says_by_heart_ranks_first_in_its_last_layer(translator: Translator):
    for english, _ in PAIRS[:3]:
        lens = translator.logit_lens(translator.trace(english))
        assert set(lens.ranks[-1].tolist()) == {1}
        assert lens.likeliest[-1] == lens.tokens
