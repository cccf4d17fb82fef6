"""What a GPU computes beside the CPU, rehearsed on a CPU."""

import torch

from model.training.device_checks import compared
from model.translate.translator import load
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint


def test_a_device_is_compared_with_another_within_bounds(tmp_path):
    tiny = write_tiny_checkpoint(tmp_path / "tiny")
    one, other = load(tiny, device="cpu"), load(tiny, device="cpu")
    sentences = [source for source, _ in PAIRS[:2]]
    same = compared(one, other, sentences)
    assert same["passed"]
    assert same["equal_translations"] == 2
    with torch.no_grad():
        other.model.encoder.layers[0].self_attention.w_o.weight.mul_(1.5)
    assert not compared(one, other, sentences)["passed"]
