"""Positional encodings: the paper's formula, and what every registered encoding promises."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.paper.attention import rotated
from model.paper.config import ConfigError, TransformerConfig
from model.paper.encoding import FormulaEncoding, LengthError, PositionalEncoding, sinusoidal_table
from model.paper.positions import (
    ENCODINGS,
    AlibiEncoding,
    DistanceEncoding,
    RelativeBiasEncoding,
    RotaryEncoding,
    alibi_slopes,
    distance_buckets,
)

widths = st.integers(1, 32).map(lambda half: 2 * half)


def encoding(name: str, d_model: int = 8, max_positions: int = 10) -> PositionalEncoding:
    torch.manual_seed(0)
    config = TransformerConfig(
        vocab_size=5,
        d_model=d_model,
        n_heads=1,
        positions=name,
        max_positions=max_positions,
    )
    return ENCODINGS[name].of(config)


def paper(position: int, column: int, d_model: int) -> float:
    """Section 3.5, one number at a time."""
    angle = position / 10000 ** (2 * (column // 2) / d_model)
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


@given(st.integers(1, 40), widths)
def test_the_table_is_the_formula_of_section_3_5(length: int, d_model: int) -> None:
    expected = [[paper(pos, i, d_model) for i in range(d_model)] for pos in range(length)]
    torch.testing.assert_close(
        sinusoidal_table(length, d_model), torch.tensor(expected), atol=1e-6, rtol=0
    )


def test_the_table_is_as_exact_far_out_as_at_its_start() -> None:
    last = sinusoidal_table(20_001, 64)[20_000]
    expected = torch.tensor([paper(20_000, i, 64) for i in range(64)])
    torch.testing.assert_close(last, expected, atol=1e-6, rtol=0)


@given(st.integers(1, 200), widths)
def test_every_row_has_the_norm_root_of_half_d_model(length: int, d_model: int) -> None:
    norms = sinusoidal_table(length, d_model).norm(dim=1)
    torch.testing.assert_close(norms, torch.full_like(norms, math.sqrt(d_model / 2)))


@given(widths, st.integers(0, 30))
def test_dot_products_of_positions_depend_on_their_offset_alone(d_model: int, offset: int) -> None:
    table = sinusoidal_table(80, d_model).double()
    products = (table[: 80 - offset] * table[offset:]).sum(dim=1)
    torch.testing.assert_close(products, products[:1].expand_as(products), atol=1e-4, rtol=0)
    rates = [10000 ** (-2 * i / d_model) for i in range(d_model // 2)]
    assert products[0].item() == pytest.approx(
        sum(math.cos(offset * rate) for rate in rates), abs=1e-4
    )


@given(st.integers(0, 50), st.integers(0, 20))
def test_a_shift_is_the_same_rotation_of_each_pair_wherever_it_starts(
    position: int, offset: int
) -> None:
    # What section 3.5 hopes the model will use: PE(pos + k) is a linear function of PE(pos).
    d_model = 16
    table = sinusoidal_table(position + offset + 1, d_model)
    for i in range(d_model // 2):
        angle = offset * 10000 ** (-2 * i / d_model)
        turn = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        )
        pair = slice(2 * i, 2 * i + 2)
        torch.testing.assert_close(
            turn @ table[position, pair], table[position + offset, pair], atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("d_model", [1, 7])
def test_an_odd_width_is_refused_by_the_table_and_by_the_configuration(d_model: int) -> None:
    with pytest.raises(ConfigError, match=rf"must be even; it is {d_model}\.$"):
        sinusoidal_table(4, d_model)
    with pytest.raises(ConfigError, match=rf"must be even; it is {d_model}\.$"):
        encoding("sinusoidal", d_model=d_model)


def test_learned_positions_may_have_an_odd_width() -> None:
    assert encoding("learned", d_model=7)(3).shape == (3, 7)


def test_sinusoids_reach_past_max_positions_by_the_same_formula() -> None:
    module = encoding("sinusoidal", max_positions=10)
    before = module(10).clone()
    torch.testing.assert_close(module(37), sinusoidal_table(37, 8), atol=0, rtol=0)
    torch.testing.assert_close(module(10), before, atol=0, rtol=0)
    torch.testing.assert_close(module(1, start=500)[0], sinusoidal_table(501, 8)[500])


def test_a_table_extended_while_translating_can_still_be_trained_with() -> None:
    module = encoding("sinusoidal", max_positions=4)
    with torch.inference_mode():
        module(9)
    x = torch.ones(9, 8, requires_grad=True)
    (x * (x + module(9))).sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_sinusoids_keep_the_precision_the_model_was_moved_to() -> None:
    module = encoding("sinusoidal", max_positions=4).to(torch.bfloat16)
    assert module(4).dtype == torch.bfloat16
    assert module(9).dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["sinusoidal", "rotary", "alibi"])
def test_a_formula_is_not_stored_with_the_weights(name: str) -> None:
    module = encoding(name)
    assert isinstance(module, FormulaEncoding)
    assert module.state_dict() == {}
    assert list(module.parameters()) == []


def test_learned_positions_are_trained_and_stored() -> None:
    module = encoding("learned")
    assert [tuple(value.shape) for value in module.state_dict().values()] == [(10, 8)]
    module(6).sum().backward()
    (table,) = module.parameters()
    assert table.grad is not None
    assert table.grad.any(dim=1).tolist() == [True] * 6 + [False] * 4


@pytest.mark.parametrize(("length", "start"), [(11, 0), (1, 10), (5, 6)])
def test_learned_positions_refuse_a_longer_text_in_a_sentence(length: int, start: int) -> None:
    with pytest.raises(
        LengthError, match=rf"learned 10 positions and the text needs {length + start}; shorten"
    ):
        encoding("learned", max_positions=10)(length, start=start)


# Rotary positions.


def turned(x: Tensor, position: int) -> list[float]:
    """Equation 34 of Su et al. 2021, one pair at a time."""
    numbers: list[float] = []
    for i in range(len(x) // 2):
        angle = position / 10000 ** (2 * i / len(x))
        a, b = x[2 * i].item(), x[2 * i + 1].item()
        numbers += [
            a * math.cos(angle) - b * math.sin(angle),
            a * math.sin(angle) + b * math.cos(angle),
        ]
    return numbers


@given(st.integers(0, 30), st.integers(1, 9), st.integers(1, 8).map(lambda half: 2 * half))
def test_rotary_positions_turn_each_pair_by_the_angle_of_its_position(
    start: int, length: int, d_k: int
) -> None:
    module = encoding("rotary", d_model=d_k)
    x = torch.randn(1, 2, length, d_k, generator=torch.Generator().manual_seed(1))
    rotation = module.rotation(length, start)
    assert rotation is not None
    found = rotated(x, rotation)
    for head in range(2):
        for token in range(length):
            expected = torch.tensor(turned(x[0, head, token], start + token))
            torch.testing.assert_close(found[0, head, token], expected, atol=1e-5, rtol=1e-5)


@given(st.integers(0, 300), st.integers(0, 40), st.integers(0, 40))
def test_a_product_of_turned_query_and_key_depends_on_their_distance_alone(
    start: int, query: int, key: int
) -> None:
    module = encoding("rotary", d_model=16)
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(2))

    def product(start: int) -> Tensor:
        here, there = (module.rotation(1, start + place) for place in (query, key))
        assert here is not None
        assert there is not None
        return (rotated(q, here) * rotated(k, there)).sum()

    torch.testing.assert_close(product(start), product(0), atol=2e-4, rtol=0)


def test_rotary_positions_add_nothing_to_the_embeddings() -> None:
    x = torch.randn(2, 5, 8)
    assert torch.equal(encoding("rotary").embed(x), x)


# Positions that change scores.


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (1, [2**-8]),
        (4, [1 / 4, 1 / 16, 1 / 64, 1 / 256]),
        (8, [2**-i for i in range(1, 9)]),
        # Of no power of two: those of 4, then the first and third of 8.
        (6, [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8]),
    ],
)
def test_slopes_are_those_of_the_papers_authors(n_heads: int, slopes: list[float]) -> None:
    assert alibi_slopes(n_heads) == slopes


@given(st.integers(0, 30), st.integers(1, 9))
def test_alibi_takes_slope_times_distance_off_each_score(start: int, length: int) -> None:
    config = TransformerConfig(vocab_size=5, d_model=8, n_heads=2, positions="alibi")
    bias = AlibiEncoding(config).bias(length, start)
    assert bias.shape == (1, 2, length, start + length)
    for head, slope in enumerate((1 / 16, 1 / 256)):
        for query in range(length):
            expected = [-slope * abs(start + query - key) for key in range(start + length)]
            assert bias[0, head, query].tolist() == expected


def bucket(distance: int, *, causal: bool) -> int:
    """T5's bucket as its authors describe it, one distance at a time."""
    count, first = (32, 0) if causal else (16, 16 if distance > 0 else 0)
    behind = max(0, -distance) if causal else abs(distance)
    exact = count // 2
    if behind < exact:
        return first + behind
    grown = math.log(behind / exact) / math.log(128 / exact) * (count - exact)
    # A hair more, for logarithms of powers that a float32 and a float64 round to either side.
    return first + min(count - 1, exact + int(grown + 1e-6))


@pytest.mark.parametrize("causal", [True, False])
def test_buckets_are_exact_when_near_and_logarithmic_when_far(causal: bool) -> None:
    distances = [d for d in range(-300, 301) if abs(d) not in (16, 32, 64, 128)]
    found = distance_buckets(torch.tensor(distances, dtype=torch.float32), causal=causal)
    assert found.tolist() == [bucket(d, causal=causal) for d in distances]


@pytest.mark.parametrize("causal", [True, False])
def test_a_relative_bias_is_the_number_of_its_bucket(causal: bool) -> None:
    config = TransformerConfig(vocab_size=5, d_model=8, n_heads=2, positions="relative_bias")
    module = RelativeBiasEncoding.of(config, causal=causal)
    assert [name for name, _ in module.named_parameters()] == ["buckets"]
    bias = module.bias(3, start=4)
    for head, query, key in itertools.product(range(2), range(3), range(7)):
        expected = module.buckets[head, bucket(key - 4 - query, causal=causal)]
        assert bias[0, head, query, key] == expected


@pytest.mark.parametrize("name", ["alibi", "relative_bias"])
def test_what_changes_scores_depends_on_distances_alone_and_adds_nothing(name: str) -> None:
    module = encoding(name)
    assert isinstance(module, DistanceEncoding)
    assert module.rotation(4) is None
    x = torch.randn(2, 5, 8)
    assert torch.equal(module.embed(x), x)
    assert torch.equal(module.bias(3, 7)[..., -3:], module.bias(3))
    assert module.limit is None


@pytest.mark.parametrize("name", ["sinusoidal", "learned"])
def test_added_positions_turn_nothing(name: str) -> None:
    module = encoding(name)
    assert module.relative(4) == (None, None)
    x = torch.randn(2, 4, 8)
    torch.testing.assert_close(module.embed(x, start=3), x + module(4, start=3))


# The contract: whatever is registered keeps it.


@pytest.fixture(params=ENCODINGS)
def registered(request: pytest.FixtureRequest) -> PositionalEncoding:
    return encoding(request.param)


@pytest.mark.parametrize("length", [1, 2, 10])
def test_an_encoding_gives_a_finite_row_per_position(
    registered: PositionalEncoding, length: int
) -> None:
    table = registered(length)
    widths = {RotaryEncoding: 4, AlibiEncoding: 1, RelativeBiasEncoding: 1}
    assert table.shape == (length, widths.get(type(registered), 8))
    assert table.dtype == torch.float32
    assert table.isfinite().all()


@pytest.mark.parametrize("start", range(10))
def test_a_position_has_the_same_row_whether_fed_alone_or_in_a_sentence(
    registered: PositionalEncoding, start: int
) -> None:
    whole: Tensor = registered(10)
    assert torch.equal(registered(1, start=start), whole[start : start + 1])
    assert torch.equal(registered(10 - start, start=start), whole[start:])


def test_no_two_positions_share_a_row(registered: PositionalEncoding) -> None:
    distances = torch.cdist(registered(10), registered(10))
    assert (distances + torch.eye(10) > 0.05).all()


def test_an_encoding_is_the_same_in_training_and_evaluation(
    registered: PositionalEncoding,
) -> None:
    assert torch.equal(registered.train()(10), registered.eval()(10))


def test_an_encoding_moves_with_its_model(registered: PositionalEncoding) -> None:
    assert registered.to(torch.float64)(3).dtype == torch.float64
    assert registered.to("meta")(3).device.type == "meta"
