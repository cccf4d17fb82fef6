"""Packed weights give the same product, and follow the parameters."""

import copy

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from model.paper.linear import Linear, pack_linears, packed_rows_are_apart
from tests.kit.packing import needs_packing


def half_layer(inputs: int, outputs: int, *, bias: bool = True, seed: int = 1) -> Linear:
    torch.manual_seed(seed)
    layer = Linear(inputs, outputs, bias=bias)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(parameter.half().float())
    layer.pack()
    return layer


@needs_packing
@given(
    st.integers(1, 70), st.integers(1, 70), st.integers(1, 40), st.booleans(), st.integers(0, 99)
)
def test_the_product_is_the_one_of_unpacked_weights(inputs, outputs, rows, bias, seed):
    layer = half_layer(inputs, outputs, bias=bias, seed=seed)
    x = torch.randn(2, rows, inputs)
    with torch.inference_mode():
        found = layer(x)
    assert layer.is_packed
    torch.testing.assert_close(found, F.linear(x, layer.weight, layer.bias).detach())


@needs_packing
def test_rows_alone_are_the_rows_of_all():
    layer = half_layer(16, 30)
    x = torch.randn(3, 16)
    with torch.inference_mode():
        torch.testing.assert_close(layer.rows(x, 7, 19), layer(x)[:, 7:19])
        torch.testing.assert_close(layer.rows(x, 7, 19), F.linear(x, *part(layer, 7, 19)))


@needs_packing
def test_whether_rows_are_apart_is_what_products_of_few_rows_and_of_many_say():
    layer = half_layer(64, 96)
    x = torch.randn(60, 64)
    with torch.inference_mode():
        few = [
            torch.cat([layer(part) for part in x.split(size)]) for size in (1, 2, 3, 4, 5, 7, 12)
        ]
        apart = all(torch.equal(each, layer(x)) for each in few)
    assert packed_rows_are_apart() == apart


def part(layer: Linear, start: int, stop: int) -> tuple[torch.Tensor, torch.Tensor]:
    return layer.weight[start:stop], layer.bias[start:stop]


@needs_packing
def test_changed_parameters_are_packed_anew():
    layer = half_layer(8, 8)
    x = torch.randn(2, 8)
    with torch.inference_mode():
        before = layer(x)
    with torch.no_grad():
        layer.weight.mul_(2)
        layer.bias.zero_()
    with torch.inference_mode():
        torch.testing.assert_close(layer(x), F.linear(x, layer.weight))
        assert not torch.equal(layer(x), before)


@needs_packing
def test_weights_that_half_precision_would_round_are_not_packed():
    torch.manual_seed(1)
    layer = Linear(8, 8)
    layer.pack()
    x = torch.randn(2, 8)
    with torch.inference_mode():
        assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))
    assert not layer.is_packed


@needs_packing
def test_a_copy_made_in_inference_mode_works_unpacked():
    layer = half_layer(8, 8)
    x = torch.randn(2, 8)
    with torch.inference_mode():
        twin = copy.deepcopy(layer)
        assert torch.equal(twin(x), F.linear(x, layer.weight, layer.bias))


def test_training_uses_the_parameters_themselves():
    layer = half_layer(8, 8)
    x = torch.randn(2, 8)
    assert torch.equal(layer(x), F.linear(x, layer.weight, layer.bias))
    layer(x).sum().backward()
    assert layer.weight.grad is not None


@needs_packing
def test_a_copy_of_a_packed_layer_works_by_itself():
    layer = half_layer(8, 8)
    x = torch.randn(2, 8)
    with torch.inference_mode():
        expected = layer(x)
    twin = copy.deepcopy(layer)
    with torch.inference_mode():
        assert torch.equal(twin(x), expected)
    with torch.no_grad():
        twin.weight.zero_()
    with torch.inference_mode():
        assert torch.equal(layer(x), expected)
        assert not torch.equal(twin(x), expected)


@needs_packing
def test_a_packed_model_gives_the_logits_of_an_unpacked_one(build):
    model = build(fused_qkv=True).half().float()
    torch.manual_seed(1)
    source, target = torch.randint(4, 50, (2, 9)), torch.randint(4, 50, (2, 7))
    with torch.inference_mode():
        expected = model(source, target)
        pack_linears(model)
        torch.testing.assert_close(model(source, target), expected, atol=1e-5, rtol=1e-5)
    assert all(each.is_packed for each in model.modules() if isinstance(each, Linear))


@needs_packing
def test_parameters_put_in_the_place_of_others_are_packed_anew():
    layer, other = half_layer(8, 8), half_layer(8, 8, seed=2)
    x = torch.randn(2, 8)
    with torch.inference_mode():
        layer(x)
    layer.load_state_dict(other.state_dict(), assign=True)
    with torch.inference_mode():
        torch.testing.assert_close(layer(x), F.linear(x, other.weight, other.bias).detach())
