"""What the blocks beside attention did is what the model itself does in the pass of the trace."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.explain.block_outputs import LIKELIEST, block_outputs
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator, load

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
# One normalises before its blocks, one after them.
TOYS = ("toy-copy-pre-norm", "toy-reverse")


@pytest.fixture(scope="module", params=TOYS)
def translator(request: pytest.FixtureRequest) -> Translator:
    return load(CHECKPOINTS / request.param, device="cpu")


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace("c i c e f h")


def test_the_toys_normalise_in_both_places() -> None:
    assert {load(CHECKPOINTS / toy, device="cpu").model.config.norm for toy in TOYS} == {
        "pre",
        "post",
    }


def test_the_chosen_token_has_the_probability_of_the_trace(
    translator: Translator, trace: Trace
) -> None:
    blocks = block_outputs(translator, trace)
    assert trace.log_probs is not None
    assert len(blocks.likeliest) == len(trace.target)
    for step, (likeliest, own) in enumerate(
        zip(blocks.likeliest, trace.predictions.ids, strict=True)
    ):
        assert len(likeliest) == LIKELIEST
        shares = blocks.probabilities[step]
        assert (np.diff(shares) <= 0).all()
        # A beam may write what is not the likeliest.
        share = float(np.exp(trace.log_probs[step]))
        if own in likeliest.ids:
            assert shares[likeliest.ids.index(own)] == pytest.approx(share, rel=1e-4)
        else:
            assert share <= shares[-1] + 1e-6


def test_a_share_is_the_length_added_over_the_length_it_is_added_to(
    translator: Translator, trace: Trace
) -> None:
    blocks = block_outputs(translator, trace)
    model = translator.model
    x = model.embed(model.source_embedding, torch.tensor([trace.source.ids]))
    layer: Any = model.encoder.layers[0]
    with torch.inference_mode():
        x = model.encoder.positions.embed(x)
        x = layer.self_residual(x, lambda y: layer.self_attention(y, y)[0])
        entering = layer.feed_forward_residual.norm(x) if layer.feed_forward_residual.pre else x
        share = layer.feed_forward(entering).norm(dim=-1) / x.norm(dim=-1)
    added = blocks.added[AttentionKind.ENCODER]
    assert added.shape == (len(model.encoder.layers), len(trace.source))
    np.testing.assert_allclose(added[0], share[0].numpy(), rtol=1e-3)
    assert blocks.added[AttentionKind.DECODER].shape[1] == len(trace.target)


def test_nothing_stays_on_the_model(translator: Translator, trace: Trace) -> None:
    def hooks() -> int:
        modules = translator.model.modules()
        return sum(len(each._forward_hooks) + len(each._forward_pre_hooks) for each in modules)

    before = hooks()
    block_outputs(translator, trace)
    assert hooks() == before
