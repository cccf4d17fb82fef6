"""Muon in float32 does what torch's does in bf16."""

import pytest
import torch
from torch import nn

from model.training.muon import Float32Muon

SHAPES = [(48, 16), (16, 48), (32, 32)]


def trained(kind: type[torch.optim.Muon], steps: int = 5) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    parameters = [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    frozen = nn.Parameter(torch.ones(4, 4))
    optimizer = kind(
        [*parameters, frozen], lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
    )
    for _ in range(steps):
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    assert torch.equal(frozen, torch.ones(4, 4)), "has no gradient"
    return [parameter.detach() for parameter in parameters]


def test_it_takes_the_steps_of_torchs_own_muon_but_for_their_rounding():
    unmoved = trained(Float32Muon, steps=0)
    for start, mine, theirs in zip(
        unmoved, trained(Float32Muon), trained(torch.optim.Muon), strict=True
    ):
        moved = (theirs - start).norm()
        assert moved > 0.1
        # Rounded to 8 bits, the iteration ends at other singular values between 0.7 and 1.2.
        assert (mine - theirs).norm() < 0.03 * moved


@pytest.mark.parametrize("shape", SHAPES)
def test_an_update_has_singular_values_near_one_and_the_size_of_adams(shape):
    parameter = nn.Parameter(torch.zeros(shape))
    optimizer = Float32Muon([parameter], lr=1.0, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    parameter.grad = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    optimizer.step()
    found = torch.linalg.svdvals(parameter.detach()) / (0.2 * max(shape) ** 0.5)
    assert found.min() > 0.3
    assert found.max() < 1.3
    assert parameter.detach().square().mean().sqrt().item() == pytest.approx(0.2, rel=0.25)


def test_a_closure_is_called_with_gradients_and_its_loss_given_back():
    parameter = nn.Parameter(torch.ones(4, 4))
    optimizer = Float32Muon([parameter], lr=0.1, adjust_lr_fn="match_rms_adamw")

    def closure() -> float:
        loss = parameter.square().sum()
        loss.backward()
        return loss.item()

    assert optimizer.step(closure) == pytest.approx(16)
    assert not torch.equal(parameter, torch.ones(4, 4))
