"""Attention beside torch's, beside the formula in loops, and beside itself rewritten."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from model.checkpoints.layouts import batch_heads, fuse_qkv, split_qkv
from model.paper.attention import (
    SCORINGS,
    AdditiveAttention,
    DotProductAttention,
    LearnedTemperatureAttention,
    ScaledDotProductAttention,
    SharedAdditiveAttention,
    masked_softmax,
)
from model.paper.config import TransformerConfig
from model.paper.masks import causal_allowed, padding_allowed
from model.paper.multi_head import HEAD_LAYOUTS, MultiHead, MultiHeadAttention
from model.paper.transformer import Transformer
from tests.kit.torch_twins import DIRECTIONS, Direction, scatter, twin, weights_seen

D_MODEL, N_HEADS = 12, 3
# Two sentences of five tokens, the second of them with two paddings.
TOKENS = torch.tensor([[4, 5, 6, 7, 8], [4, 5, 6, 0, 0]])

ALLOWED: dict[str, Tensor | None] = {
    "no mask": None,
    "padding": padding_allowed(TOKENS, 0),
    "causal": causal_allowed(5),
    "causal and padding": causal_allowed(5) & padding_allowed(TOKENS, 0),
}


def tiny_config(**overrides: Any) -> TransformerConfig:
    fields = {"vocab_size": 9, "d_model": D_MODEL, "d_ff": 8, "n_heads": N_HEADS, "dropout": 0.0}
    return TransformerConfig(**fields | overrides)


def multi_head(seed: int = 0, **overrides: Any) -> MultiHead:
    torch.manual_seed(seed)
    config = tiny_config(**overrides)
    module = HEAD_LAYOUTS[config.head_layout](config)
    scatter(module)
    return module


def hidden(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def with_weights(module: MultiHead, *args: Any) -> tuple[Tensor, Tensor]:
    with weights_seen(module) as seen:
        output, returned = module(*args)
    assert returned is not None
    assert torch.equal(returned, torch.cat(seen, dim=1))
    return output, returned


# Against nn.MultiheadAttention, with the same parameters.


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mask", ALLOWED)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("fused_qkv", [False, True], ids=["separate", "fused"])
def test_self_attention_is_that_of_torch(
    direction: Direction, mask: str, bias: bool, fused_qkv: bool
) -> None:
    ours = multi_head(attention_bias=bias, fused_qkv=fused_qkv)
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, bias=bias, batch_first=True)
    twin(ours, theirs, direction)
    x, allowed = hidden(2, 5, D_MODEL), ALLOWED[mask]
    forbidden = None
    if allowed is not None:
        forbidden = ~allowed.expand(2, N_HEADS, 5, 5).flatten(0, 1)

    expected, expected_weights = theirs(
        x, x, x, attn_mask=forbidden, need_weights=True, average_attn_weights=False
    )
    output, weights = with_weights(ours, x, x, allowed)

    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights, expected_weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(ours(x, x, allowed)[0], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("fused_qkv", [False, True], ids=["separate", "fused"])
def test_cross_attention_and_its_gradients_are_those_of_torch(
    direction: Direction, fused_qkv: bool
) -> None:
    ours = multi_head(fused_qkv=fused_qkv)
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)
    twin(ours, theirs, direction)
    allowed = padding_allowed(TOKENS, 0)
    grads = []
    for module in (ours, theirs):
        queries = hidden(2, 4, D_MODEL).requires_grad_()
        keys = hidden(2, 5, D_MODEL, seed=2).requires_grad_()
        if module is ours:
            output, weights = with_weights(ours, queries, keys, allowed)
        else:
            output, weights = theirs(
                queries,
                keys,
                keys,
                key_padding_mask=TOKENS == 0,
                need_weights=True,
                average_attn_weights=False,
            )
        output.square().sum().backward()
        grads.append((output, weights, queries.grad, keys.grad))
    for mine, expected in zip(*grads, strict=True):
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-4)


# Against the formula.


def attend_in_loops(
    config: TransformerConfig, module: MultiHead, queries: Tensor, keys: Tensor
) -> tuple[Tensor, Tensor]:
    """Section 3.2.2 for one sentence, a head and a query at a time; the parameters are named."""
    assert isinstance(module, MultiHeadAttention)
    d_k, d_v = config.key_width, config.value_width
    rows, heads = [], []
    for query in queries:
        concatenated = []
        for i in range(config.n_heads):
            wide, narrow = slice(i * d_k, (i + 1) * d_k), slice(i * d_v, (i + 1) * d_v)
            q = project(module.w_q, query, wide)
            scores = [(q @ project(module.w_k, key, wide)).item() / math.sqrt(d_k) for key in keys]
            powers = [math.exp(score) for score in scores]
            weights = [power / sum(powers) for power in powers]
            values = [project(module.w_v, key, narrow) for key in keys]
            concatenated.append(sum(w * v for w, v in zip(weights, values, strict=True)))
            heads.append(weights)
        rows.append(project(module.w_o, torch.cat(concatenated), slice(None)))
    # (query * head, key) -> (head, query, key)
    return torch.stack(rows), torch.tensor(heads).unflatten(0, (len(queries), -1)).transpose(0, 1)


def project(linear: nn.Linear, token: Tensor, rows: slice) -> Tensor:
    product = linear.weight[rows] @ token
    return product if linear.bias is None else product + linear.bias[rows]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"attention_bias": False},
        {"d_k": 5, "d_v": 3},
        {"d_k": 2, "d_v": 7, "attention_bias": False},
        {"d_k": 64},
        {"n_heads": 5, "d_k": 4, "d_v": 4},
    ],
    ids=str,
)
def test_multi_head_attention_is_the_formula_whatever_the_widths_of_a_head(
    overrides: dict[str, Any],
) -> None:
    config, module = tiny_config(**overrides), multi_head(**overrides)
    queries, keys = hidden(4, D_MODEL), hidden(5, D_MODEL, seed=2)
    expected, expected_weights = attend_in_loops(config, module, queries, keys)
    output, weights = with_weights(module, queries[None], keys[None])
    torch.testing.assert_close(output[0], expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(weights[0], expected_weights, atol=1e-5, rtol=1e-4)


def test_without_bias_no_projection_adds_one() -> None:
    for layout in HEAD_LAYOUTS:
        module = multi_head(attention_bias=False, head_layout=layout, d_k=5, d_v=3)
        assert not [name for name, _ in module.named_parameters() if name.endswith("bias")]
        zero = torch.zeros(1, 2, D_MODEL)
        assert not module(zero, zero)[0].any()


@pytest.mark.parametrize("d_k", [1, 4, 64])
def test_the_temperature_is_the_root_of_d_k(d_k: int) -> None:
    q, k = hidden(1, 1, 2, d_k), hidden(1, 1, 3, d_k, seed=2)
    scores = ScaledDotProductAttention().scores(q, k)
    for i, j in itertools.product(range(2), range(3)):
        expected = (q[0, 0, i] * k[0, 0, j]).sum() / math.sqrt(d_k)
        torch.testing.assert_close(scores[0, 0, i, j], expected)


@pytest.mark.parametrize("fused", [True, False])
def test_a_learned_temperature_divides_the_scores_of_its_head(fused: bool) -> None:
    q, k, v = (hidden(1, 2, 3, 16, seed=seed) for seed in range(3))
    learned = LearnedTemperatureAttention(2, 16, fused=fused)
    scaled = ScaledDotProductAttention(fused=False)
    torch.testing.assert_close(learned(q, k, v)[0], scaled(q, k, v)[0], atol=1e-5, rtol=1e-5)
    learned.log_temperature.data = torch.tensor([0.5, 3.0]).log()
    products = torch.einsum("bhqd,bhkd->bhqk", q, k)
    expected = torch.stack([products[:, 0] / 0.5, products[:, 1] / 3.0], dim=1)
    torch.testing.assert_close(learned.scores(q, k), expected)
    output = learned(q, k, v)[0]
    torch.testing.assert_close(output, expected.softmax(-1) @ v, atol=1e-5, rtol=1e-5)
    output.sum().backward()
    assert learned.log_temperature.grad is not None


def test_additive_scores_with_a_shared_v_are_the_formula() -> None:
    function = SharedAdditiveAttention(5, 7)
    q, k = hidden(1, 2, 3, 5), hidden(1, 2, 4, 5, seed=2)
    scores = function.scores(q, k)
    for head, i, j in itertools.product(range(2), range(3), range(4)):
        compared = torch.tanh(function.w.weight @ q[0, head, i] + function.u.weight @ k[0, head, j])
        torch.testing.assert_close(scores[0, head, i, j], function.v @ compared)


def test_dropout_takes_weights_away_in_training_alone_and_scales_the_rest() -> None:
    q, k = hidden(1, 1, 50, 4), hidden(1, 1, 40, 4, seed=2)
    # With these values the output of a head is its weights.
    v = torch.eye(40)[None, None]
    for fused in (True, False):
        function = ScaledDotProductAttention(fused=fused)
        function.dropout = 0.25
        whole = function.eval()(q, k, v)[0]
        dropped = function.train()(q, k, v)[0]
        gone = dropped == 0
        assert 0.2 < gone.float().mean() < 0.3
        torch.testing.assert_close(dropped[~gone], whole[~gone] / 0.75, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "allowed", [None, torch.tensor([[[[True, True, False]]], [[[False] * 3]]])]
)
def test_a_bias_is_added_before_the_mask_in_kernel_and_formula(allowed: Tensor | None) -> None:
    q, k, v = (hidden(2, 2, 3, 16, seed=seed) for seed in range(3))
    bias = hidden(1, 2, 3, 3, seed=4)
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / 4 + bias
    expected = masked_softmax(scores, allowed) @ v
    for fused in (True, False):
        found = ScaledDotProductAttention(fused=fused)(q, k, v, allowed, bias=bias)[0]
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_rows_fused_head_by_head_are_the_same_function() -> None:
    overrides = {"fused_qkv": True, "d_k": 5, "d_v": 3}
    config = tiny_config(**overrides, fused_layout="by_head")
    by_head = multi_head(**overrides, fused_layout="by_head")
    apart = multi_head(d_k=5, d_v=3)
    state = {f"a.{name}": value for name, value in by_head.state_dict().items()}
    split = split_qkv(state, config)
    apart.load_state_dict({name.removeprefix("a."): value for name, value in split.items()})
    # Of head 1, the rows after those of head 0: its queries', keys' and values'.
    own = by_head.w_qkv.weight[13:26].split([5, 5, 3])
    for mine, found in zip(own, apart.projections(1), strict=True):
        assert torch.equal(mine.T, found)
    queries, keys = hidden(1, 4, D_MODEL), hidden(1, 5, D_MODEL, seed=2)
    for pair in ((queries, queries), (queries, keys)):
        torch.testing.assert_close(by_head(*pair)[0], apart(*pair)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_plain_dot_products_have_no_temperature(fused: bool) -> None:
    q, k, v = (hidden(1, 2, 3, 16, seed=seed) for seed in range(3))
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k)
    plain = DotProductAttention(fused=fused)
    torch.testing.assert_close(plain.scores(q, k), scores)
    torch.testing.assert_close(plain(q, k, v)[0], scores.softmax(-1) @ v, atol=1e-5, rtol=1e-5)
    # √16 = 4: the same attention once the queries are four times as long.
    scaled = ScaledDotProductAttention(fused=fused)
    torch.testing.assert_close(scaled(4 * q, k, v)[0], plain(q, k, v)[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("allowed", [None, causal_allowed(3)], ids=["no mask", "causal"])
def test_additive_attention_is_a_one_layer_network_over_query_and_key(
    allowed: Tensor | None,
) -> None:
    torch.manual_seed(0)
    module = AdditiveAttention(n_heads=2, d_k=4)
    q, k, v = hidden(2, 2, 3, 4), hidden(2, 2, 3, 4, seed=2), hidden(2, 2, 3, 5, seed=3)
    output, weights = module(q, k, v, allowed, need_weights=True)
    for b, h, i in itertools.product(range(2), range(2), range(3)):
        keys = [j for j in range(3) if allowed is None or allowed[0, 0, i, j]]
        scores = [module.w[h] @ torch.tanh(q[b, h, i] + k[b, h, j]) for j in keys]
        powers = [math.exp(score.item()) for score in scores]
        expected = torch.zeros(3)
        for j, power in zip(keys, powers, strict=True):
            expected[j] = power / sum(powers)
        torch.testing.assert_close(weights[b, h, i], expected, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(output[b, h, i], expected @ v[b, h], atol=1e-5, rtol=1e-5)


# Properties over sizes and masks.

MASKS: dict[str, Callable[[int, int, int, int, torch.Generator], Tensor | None]] = {
    "none": lambda batch, heads, queries, keys, g: None,
    "per cell": lambda batch, heads, queries, keys, g: (
        torch.rand(batch, heads, queries, keys, generator=g) < 0.4
    ),
    "per sentence": lambda batch, heads, queries, keys, g: (
        torch.rand(batch, 1, queries, keys, generator=g) < 0.4
    ),
    "padding": lambda batch, heads, queries, keys, g: (
        torch.rand(batch, 1, 1, keys, generator=g) < 0.4
    ),
    "causal": lambda batch, heads, queries, keys, g: (
        torch.ones(queries, keys).tril().bool()[None, None]
    ),
    "nothing": lambda batch, heads, queries, keys, g: torch.zeros(
        batch, 1, queries, keys, dtype=torch.bool
    ),
}


@st.composite
def attention_inputs(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    batch, heads = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    queries, keys = draw(st.integers(1, 6)), draw(st.integers(1, 7))
    d_k, d_v = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    q = torch.randn(batch, heads, queries, d_k, generator=generator)
    k = torch.randn(batch, heads, keys, d_k, generator=generator)
    v = torch.randn(batch, heads, keys, d_v, generator=generator)
    make_mask = MASKS[draw(st.sampled_from(list(MASKS)))]
    return q, k, v, make_mask(batch, heads, queries, keys, generator)


def run(
    attention: nn.Module, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None], need_weights: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Output, weights and the gradients of q, k and v."""
    *qkv, allowed = inputs
    leaves = [each.clone().requires_grad_() for each in qkv]
    output, weights = attention(*leaves, allowed, need_weights=need_weights)
    grads = torch.autograd.grad(output.square().sum(), leaves, materialize_grads=True)
    return output.detach(), weights, list(grads)


@pytest.mark.parametrize("kind", [ScaledDotProductAttention, DotProductAttention])
@given(inputs=attention_inputs())
def test_the_fused_kernel_and_the_formula_agree_on_output_and_gradient(
    kind: type[ScaledDotProductAttention],
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None],
) -> None:
    fused, no_weights, fused_grads = run(kind(fused=True), inputs, need_weights=False)
    explicit, weights, grads = run(kind(fused=True), inputs, need_weights=True)
    switched_off, _, _ = run(kind(fused=False), inputs, need_weights=False)
    assert no_weights is None
    assert weights is not None
    assert torch.equal(explicit, switched_off)
    torch.testing.assert_close(fused, explicit, atol=1e-5, rtol=1e-5)
    for mine, expected in zip(fused_grads, grads, strict=True):
        torch.testing.assert_close(mine, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("need_weights", [True, False], ids=["weights", "no weights"])
@settings(max_examples=30)
@given(inputs=attention_inputs())
def test_a_query_with_nothing_to_look_at_gives_zeros_and_never_nan(
    scoring: str, need_weights: bool, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None]
) -> None:
    q, k, _, allowed = inputs
    config = tiny_config(scoring=scoring, n_heads=q.shape[1], d_k=q.shape[-1], d_v=1)
    attention = SCORINGS[scoring].of(config, q.shape[1])
    # Anomaly mode looks at every gradient on the way too, not only at where it arrives.
    with torch.autograd.set_detect_anomaly(True):
        output, weights, grads = run(attention, inputs, need_weights)
    assert all(each.isfinite().all() for each in (output, *grads))
    if allowed is None:
        return
    empty = ~allowed.expand(*q.shape[:3], k.shape[2]).any(dim=-1)
    assert not output[empty].any()
    assert not grads[0][empty].any()
    if weights is not None:
        assert not weights[empty].any()


@given(inputs=attention_inputs(), magnitude=st.sampled_from([1.0, 1e3, 1e6]))
def test_rows_sum_to_one_over_allowed_keys_and_are_zero_elsewhere(
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None], magnitude: float
) -> None:
    q, k, _, allowed = inputs
    scores = magnitude * ScaledDotProductAttention().scores(q, k)
    weights = masked_softmax(scores, allowed)
    visible = torch.ones_like(weights, dtype=torch.bool)
    if allowed is not None:
        visible = allowed.expand_as(weights)
    assert (weights >= 0).all()
    assert not weights[~visible].any()
    torch.testing.assert_close(weights.sum(-1), visible.any(-1).float(), atol=1e-6, rtol=0)


@given(inputs=attention_inputs())
def test_a_forbidden_key_might_as_well_not_be_there(
    inputs: tuple[Tensor, Tensor, Tensor, Tensor | None],
) -> None:
    q, k, _, allowed = inputs
    if allowed is None:
        return
    scores = ScaledDotProductAttention().scores(q, k)
    weights = masked_softmax(scores, allowed)
    for cell in itertools.product(*map(range, scores.shape[:3])):
        keep = allowed.expand_as(scores)[cell]
        alone = scores[cell][keep].softmax(-1)
        torch.testing.assert_close(weights[cell][keep], alone, atol=1e-6, rtol=1e-5)


# What heads add, and one set of parameters in several layouts.


@pytest.mark.parametrize("layout", HEAD_LAYOUTS)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("mask", ALLOWED)
def test_what_the_heads_add_and_the_bias_sum_to_the_output(
    layout: str, bias: bool, mask: str
) -> None:
    module = multi_head(head_layout=layout, attention_bias=bias, d_k=5, d_v=3)
    x, allowed = hidden(2, 5, D_MODEL), ALLOWED[mask]
    q, key_value = module.project(x)
    heads, _ = module.attend_heads(q, *key_value, allowed)
    parts = module.head_parts(heads)
    assert parts.shape == (2, N_HEADS, 5, D_MODEL)
    total = parts.sum(dim=1)
    if bias:
        total = total + module.w_o.bias
    torch.testing.assert_close(total, module(x, x, allowed)[0], atol=1e-5, rtol=1e-5)


def test_a_head_adds_what_the_output_loses_when_that_head_is_silent() -> None:
    module = multi_head(d_v=3)
    x = hidden(1, 4, D_MODEL)
    q, key_value = module.project(x)
    heads, _ = module.attend_heads(q, *key_value, None)
    for head in range(N_HEADS):
        silenced = heads.clone()
        silenced[:, head] = 0
        loss = module(x, x)[0] - module.w_o(silenced.transpose(1, 2).flatten(2))
        torch.testing.assert_close(module.head_parts(heads)[:, head], loss, atol=1e-5, rtol=1e-5)


def transformer(**overrides: Any) -> Transformer:
    torch.manual_seed(3)
    config = tiny_config(n_encoder_layers=2, n_decoder_layers=2, max_positions=16, **overrides)
    model = Transformer(config)
    scatter(model)
    return model.eval()


CONVERTIBLE: dict[str, dict[str, Any]] = {
    "plain": {},
    "no bias, d_k and d_v apart": {"attention_bias": False, "d_k": 5, "d_v": 3},
    "additive": {"scoring": "additive", "d_k": 5, "d_v": 3},
    "pre-norm": {"norm": "pre", "positions": "learned"},
}
SOURCE = torch.tensor([[4, 5, 6, 7, 3], [8, 4, 3, 0, 0]])
TARGET = torch.tensor([[2, 7, 6, 5], [2, 4, 8, 0]])


@pytest.mark.parametrize("overrides", CONVERTIBLE.values(), ids=CONVERTIBLE)
def test_fused_projections_compute_what_separate_ones_do(overrides: dict[str, Any]) -> None:
    separate = transformer(**overrides)
    fused = transformer(fused_qkv=True, **overrides)
    fused.load_state_dict(fuse_qkv(separate.state_dict()), strict=True)
    torch.testing.assert_close(
        fused(SOURCE, TARGET), separate(SOURCE, TARGET), atol=1e-5, rtol=1e-5
    )
    with weights_seen(fused) as seen, weights_seen(separate) as expected:
        fused(SOURCE, TARGET), separate(SOURCE, TARGET)
    torch.testing.assert_close(seen, expected, atol=1e-6, rtol=1e-5)


def test_one_attention_module_alone_is_fused_and_split_as_a_whole_model_is() -> None:
    separate, fused = multi_head(), multi_head(fused_qkv=True)
    fused.load_state_dict(fuse_qkv(separate.state_dict()))
    x = hidden(2, 5, D_MODEL)
    torch.testing.assert_close(fused(x, x)[0], separate(x, x)[0], atol=1e-6, rtol=1e-5)
    split = split_qkv(fused.state_dict(), tiny_config())
    for name, value in separate.state_dict().items():
        assert torch.equal(split[name], value), name


@pytest.mark.parametrize("overrides", CONVERTIBLE.values(), ids=CONVERTIBLE)
def test_fusing_and_splitting_projections_gives_every_number_back(
    overrides: dict[str, Any],
) -> None:
    separate, fused = transformer(**overrides), transformer(fused_qkv=True, **overrides)
    for state, round_trip in (
        (separate.state_dict(), split_qkv(fuse_qkv(separate.state_dict()), separate.config)),
        (fused.state_dict(), fuse_qkv(split_qkv(fused.state_dict(), fused.config))),
    ):
        assert set(round_trip) == set(state)
        for name, value in state.items():
            assert torch.equal(round_trip[name], value), name


@pytest.mark.parametrize("overrides", CONVERTIBLE.values(), ids=CONVERTIBLE)
def test_one_module_per_head_computes_what_one_batched_product_does(
    overrides: dict[str, Any],
) -> None:
    apart = transformer(head_layout="per_head", **overrides)
    batched = transformer(**overrides)
    batched.load_state_dict(batch_heads(apart.state_dict(), apart.config), strict=True)
    torch.testing.assert_close(batched(SOURCE, TARGET), apart(SOURCE, TARGET), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mask", ALLOWED)
@pytest.mark.parametrize("scoring", [name for name in SCORINGS if name != "additive_shared"])
def test_every_head_of_both_layouts_has_the_same_weights(mask: str, scoring: str) -> None:
    widths: dict[str, Any] = {"scoring": scoring, "d_k": 5, "d_v": 3}
    apart, batched = multi_head(head_layout="per_head", **widths), multi_head(**widths)
    batched.load_state_dict(batch_heads(apart.state_dict(), tiny_config(**widths)))
    x, allowed = hidden(2, 5, D_MODEL), ALLOWED[mask]
    for mine, expected in zip(
        with_weights(apart, x, x, allowed), with_weights(batched, x, x, allowed), strict=True
    ):
        torch.testing.assert_close(mine, expected, atol=1e-6, rtol=1e-5)


def test_every_head_of_both_layouts_heeds_a_mask_of_its_own() -> None:
    allowed = torch.rand(2, N_HEADS, 5, 5, generator=torch.Generator().manual_seed(0)) < 0.5
    for layout in HEAD_LAYOUTS:
        x = hidden(2, 5, D_MODEL)
        _, weights = with_weights(multi_head(head_layout=layout), x, x, allowed)
        assert torch.equal(weights > 0, allowed)


def test_fused_projections_start_out_as_large_as_separate_ones() -> None:
    # Xavier's bound depends on a matrix's shape, and a stacked matrix is taller than its parts.
    torch.manual_seed(0)
    model = Transformer(tiny_config(fused_qkv=True, d_model=48, d_k=16, d_v=64))
    for name, weight in model.named_parameters():
        if name.endswith("w_qkv.weight"):
            for block in weight.split([48, 48, 192]):
                bound = math.sqrt(6 / sum(block.shape))
                assert 0.97 * bound < block.abs().max() <= bound


@pytest.mark.parametrize(
    ("layout", "fused_qkv"), [("batched", False), ("batched", True), ("per_head", False)]
)
def test_a_head_alone_is_computed_from_its_four_matrices(layout: str, fused_qkv: bool) -> None:
    module = multi_head(
        head_layout=layout, fused_qkv=fused_qkv, d_k=5, d_v=3, attention_bias=False
    ).eval()
    x = hidden(1, 4, D_MODEL)
    parts = []
    for head in range(N_HEADS):
        w_q, w_k, w_v, w_o = module.head_matrices(head)
        weights = (x @ w_q @ (x @ w_k).transpose(1, 2) / math.sqrt(5)).softmax(dim=-1)
        parts.append(weights @ (x @ w_v) @ w_o)
    torch.testing.assert_close(sum(parts), module(x, x)[0], atol=1e-5, rtol=1e-5)
    with pytest.raises(IndexError, match="choose one from 0 to 2"):
        module.head_matrices(N_HEADS)
