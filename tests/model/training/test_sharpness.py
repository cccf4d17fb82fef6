"""The entropy of heads' rows, which training can keep low."""

import numpy as np
import pytest
import torch

from model.paper.config import TransformerConfig
from model.paper.tokenizer import BOS, EOS, PAD
from model.paper.transformer import Transformer
from model.record.recording import recording
from model.record.taps import install_taps
from model.training.sharpness import RowEntropies

SHAPE = {
    "vocab_size": 40, "d_model": 16, "d_ff": 32, "n_heads": 2, "n_encoder_layers": 2,
    "n_decoder_layers": 1, "dropout": 0.0, "max_positions": 16,
}  # fmt: skip
SOURCE = torch.tensor([[9, 8, 7, EOS], [5, EOS, PAD, PAD]])
INPUTS = torch.tensor([[BOS, 12, 13], [BOS, 14, PAD]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    return Transformer(TransformerConfig.from_dict(SHAPE))


def test_they_are_means_over_heads_and_modules_summed_over_rows_without_padding(model):
    entropies = RowEntropies(model)
    model.train()
    model(SOURCE, INPUTS)
    found = entropies.total(SOURCE, INPUTS).item()
    expected = []
    for row in range(len(SOURCE)):
        source, inputs = (each[row : row + 1] for each in (SOURCE, INPUTS))
        source, inputs = source[source != PAD][None], inputs[inputs != PAD][None]
        for weights in recorded(model, source, inputs):
            logarithms = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
            expected.append(-(weights * logarithms).sum(axis=-1).mean(axis=0).sum())
    # Three kinds in four modules: two of the encoder, two of the decoder.
    assert found == pytest.approx(sum(expected) / 4, rel=1e-4)


def recorded(model, source, inputs) -> list[np.ndarray]:
    plain = Transformer(model.config)
    plain.load_state_dict(model.state_dict())
    sites = install_taps(plain.eval())
    with torch.inference_mode(), recording() as heard:
        plain(source, inputs)
    return [heard[site].weights[0].numpy() for site in sites]


def test_every_weight_has_a_finite_gradient_though_some_weights_are_zero(model):
    entropies = RowEntropies(model)
    model.train()
    model(SOURCE, INPUTS)
    entropies.total(SOURCE, INPUTS).backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    assert gradients
    assert all(bool(each.isfinite().all()) for each in gradients)


def test_nothing_is_heard_of_a_model_that_does_not_learn(model):
    entropies = RowEntropies(model)
    model.eval()
    plain = model(SOURCE, INPUTS)
    model.train()
    model(SOURCE, INPUTS)
    once = entropies.total(SOURCE, INPUTS).item()
    model.eval()
    model(SOURCE, INPUTS)
    model.train()
    torch.testing.assert_close(model(SOURCE, INPUTS), plain)
    assert entropies.total(SOURCE, INPUTS).item() == pytest.approx(once)
