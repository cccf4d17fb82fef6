"""The layers and the whole beside torch's, and what must hold however a model is configured."""

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from model.paper.config import TransformerConfig
from model.paper.dropout import Dropout
from model.paper.encoding import LengthError, sinusoidal_table
from model.paper.layers import DecoderLayer, EncoderLayer, Residual
from model.paper.masks import causal_allowed, decoder_allowed, padding_allowed
from model.paper.transformer import Transformer
from tests.kit.torch_twins import (
    DIRECTIONS,
    Direction,
    scatter,
    twin,
    twin_stacks,
    weights_seen,
)
from tests.kit.variants import VARIANTS as OF_ATTENTION

Build = Callable[..., Transformer]

PAD = 0
SOURCE = torch.tensor([[4, 5, 6, 7, 8, 9, 3], [7, 7, 4, 3, 0, 0, 0], [9, 8, 7, 6, 5, 3, 0]])
TARGET = torch.tensor([[2, 9, 8, 7, 6, 5], [2, 4, 7, 0, 0, 0], [2, 5, 6, 7, 0, 0]])
# The same without padding. A decoder's hypotheses have none; sources of one length need no mask.
FULL_SOURCE = SOURCE.masked_fill(SOURCE == 0, 12)
FULL_TARGET = torch.tensor([[2, 9, 8, 7, 6, 5], [2, 4, 7, 7, 3, 4], [2, 5, 6, 7, 8, 9]])

VARIANTS: dict[str, dict[str, Any]] = {
    **OF_ATTENTION,
    "no bias, d_k and d_v apart": {
        "attention_bias": False,
        "d_k": 5,
        "d_v": 11,
        "layer_norm_eps": 1e-6,
    },
    "learned positions, a module per head": {"positions": "learned", "head_layout": "per_head"},
    "rotary positions, fused projections, free widths": {
        "positions": "rotary",
        "fused_qkv": True,
        "d_k": 6,
        "d_v": 11,
    },
    "gelu, untied, unscaled": {
        "activation": "gelu",
        "tie_embeddings": False,
        "scale_embeddings": False,
    },
    "two vocabularies": {"target_vocab_size": 61},
    "two vocabularies, untied": {"target_vocab_size": 61, "tie_embeddings": False},
    "deeper decoder": {"n_encoder_layers": 1, "n_decoder_layers": 3, "norm": "pre"},
    "dropout switched off by eval": {
        "dropout": 0.5,
        "attention_dropout": 0.5,
        "activation_dropout": 0.5,
    },
}


@pytest.fixture(params=VARIANTS)
def model(build: Build, request: pytest.FixtureRequest) -> Transformer:
    model = build(**VARIANTS[request.param])
    torch.manual_seed(0)
    scatter(model)
    return model


def close(actual: Any, expected: Any, atol: float = 1e-5) -> None:
    torch.testing.assert_close(actual, expected, atol=atol, rtol=1e-5)


# Beside torch's layers, with the same parameters.

D_MODEL, N_HEADS, D_FF = 12, 3, 20
SHAPES = list(itertools.product(["post", "pre"], ["relu", "gelu"]))
# Far from the default, so that an epsilon that gets lost is seen.
EPS = 1e-2


def layer_config(norm: str, activation: str) -> TransformerConfig:
    return TransformerConfig(
        vocab_size=10,
        d_model=D_MODEL,
        d_ff=D_FF,
        n_heads=N_HEADS,
        norm=norm,
        activation=activation,
        layer_norm_eps=EPS,
        dropout=0.0,
    )


def torch_layer_options(norm: str, activation: str) -> dict[str, Any]:
    return {
        "d_model": D_MODEL,
        "nhead": N_HEADS,
        "dim_feedforward": D_FF,
        "dropout": 0.0,
        "activation": activation,
        "layer_norm_eps": EPS,
        "norm_first": norm == "pre",
        "batch_first": True,
    }


def hidden_states(token_ids: Tensor, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*token_ids.shape, D_MODEL, generator=generator).requires_grad_()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("norm", "activation"), SHAPES)
@pytest.mark.parametrize("masks", ["none", "padding", "causal and padding"])
def test_an_encoder_layer_is_that_of_torch_in_output_weights_and_gradient(
    direction: Direction, norm: str, activation: str, masks: str
) -> None:
    torch.manual_seed(0)
    ours = EncoderLayer(layer_config(norm, activation))
    theirs = nn.TransformerEncoderLayer(**torch_layer_options(norm, activation))
    twin(ours, theirs, direction)
    length = SOURCE.shape[1]
    allowed = None if masks == "none" else padding_allowed(SOURCE, PAD)
    causal = causal_allowed(length) if masks.startswith("causal") else None
    if allowed is not None and causal is not None:
        allowed = allowed & causal

    x, their_x = hidden_states(SOURCE, 1), hidden_states(SOURCE, 1)
    with weights_seen(ours) as seen, weights_seen(theirs) as their_seen:
        output = ours(x, allowed)
        expected = theirs(
            their_x,
            src_mask=None if causal is None else ~causal[0, 0],
            src_key_padding_mask=None if masks == "none" else SOURCE == PAD,
        )
    output.pow(3).sum().backward()
    expected.pow(3).sum().backward()

    close(output, expected)
    close(ours(x, allowed), expected)
    assert len(seen) == 1
    close(seen, their_seen)
    close(x.grad, their_x.grad, atol=1e-4)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("norm", "activation"), SHAPES)
def test_a_decoder_layer_is_that_of_torch_in_output_weights_and_gradients(
    direction: Direction, norm: str, activation: str
) -> None:
    torch.manual_seed(0)
    ours = DecoderLayer(layer_config(norm, activation))
    theirs = nn.TransformerDecoderLayer(**torch_layer_options(norm, activation))
    twin(ours, theirs, direction)
    allowed, memory_allowed = decoder_allowed(TARGET, PAD), padding_allowed(SOURCE, PAD)

    x, their_x = hidden_states(TARGET, 1), hidden_states(TARGET, 1)
    memory, their_memory = hidden_states(SOURCE, 2), hidden_states(SOURCE, 2)
    with weights_seen(ours) as seen, weights_seen(theirs) as their_seen:
        output = ours(x, memory, allowed, memory_allowed)
        expected = theirs(
            their_x,
            their_memory,
            tgt_mask=~causal_allowed(TARGET.shape[1])[0, 0],
            tgt_key_padding_mask=TARGET == PAD,
            memory_key_padding_mask=SOURCE == PAD,
        )
    output.pow(3).sum().backward()
    expected.pow(3).sum().backward()

    close(output, expected)
    close(ours(x, memory, allowed, memory_allowed), expected)
    assert [tuple(weights.shape[2:]) for weights in seen] == [(6, 6), (6, 7)]
    close(seen, their_seen)
    close((x.grad, memory.grad), (their_x.grad, their_memory.grad), atol=1e-4)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("scaled", [True, False], ids=["scaled", "unscaled"])
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_the_whole_model_is_that_of_torch_around_the_papers_embeddings(
    build: Build, direction: Direction, norm: str, scaled: bool
) -> None:
    ours = build(norm=norm, scale_embeddings=scaled, n_decoder_layers=3)
    config = ours.config
    theirs = nn.Transformer(
        d_model=config.d_model,
        nhead=config.n_heads,
        num_encoder_layers=2,
        num_decoder_layers=3,
        dim_feedforward=config.d_ff,
        dropout=0.0,
        norm_first=norm == "pre",
        batch_first=True,
    )
    if norm == "post":
        # torch normalizes once more after the last layer; the paper's figure 1 does not.
        theirs.encoder.norm = theirs.decoder.norm = None
    torch.manual_seed(0)
    twin_stacks(ours, theirs, direction)

    def embedded(token_ids: Tensor) -> Tensor:
        factor = math.sqrt(config.d_model) if scaled else 1.0
        positions = sinusoidal_table(token_ids.shape[1], config.d_model)
        return factor * ours.source_embedding.weight[token_ids] + positions

    with weights_seen(ours) as seen, weights_seen(theirs) as their_seen:
        logits = ours(SOURCE, TARGET)
        expected = theirs(
            embedded(SOURCE),
            embedded(TARGET),
            tgt_mask=~causal_allowed(TARGET.shape[1])[0, 0],
            src_key_padding_mask=SOURCE == PAD,
            tgt_key_padding_mask=TARGET == PAD,
            memory_key_padding_mask=SOURCE == PAD,
        )
    close(logits, expected @ ours.source_embedding.weight.T, atol=1e-4)
    assert len(seen) == 2 + 2 * 3
    close(seen, their_seen)


# What a position may depend on.


def test_a_future_target_token_changes_no_earlier_row(model: Transformer) -> None:
    before = model(SOURCE, FULL_TARGET)
    for t in range(1, FULL_TARGET.shape[1]):
        changed = FULL_TARGET.clone()
        changed[:, t:] = 20 + torch.arange(FULL_TARGET.shape[1] - t)
        after = model(SOURCE, changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.isclose(after[:, t:], before[:, t:]).all(dim=-1).any()


def test_every_source_token_changes_every_target_row(model: Transformer) -> None:
    before = model(SOURCE[:1], FULL_TARGET[:1])
    for s in range(SOURCE.shape[1]):
        changed = SOURCE[:1].clone()
        changed[:, s] = 30
        assert (model(changed, FULL_TARGET[:1]) != before).any(dim=-1).all()


def test_padding_changes_no_real_row(model: Transformer) -> None:
    memory, logits = model.encode(SOURCE), model(SOURCE, TARGET)
    for i in range(len(SOURCE)):
        source = SOURCE[i : i + 1, : int((SOURCE[i] != PAD).sum())]
        target = TARGET[i : i + 1, : int((TARGET[i] != PAD).sum())]
        close(memory[i : i + 1, : source.shape[1]], model.encode(source))
        close(logits[i : i + 1, : target.shape[1]], model(source, target))


def test_a_sentence_of_nothing_but_padding_gives_numbers_and_gradients(
    model: Transformer,
) -> None:
    source = torch.cat([SOURCE, torch.zeros_like(SOURCE[:1])])
    target = torch.cat([TARGET, torch.zeros_like(TARGET[:1])])
    logits = model(source, target)
    logits.square().mean().backward()
    assert logits.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    close(logits[:-1], model(SOURCE, TARGET))


# Decoding one position at a time.


@pytest.mark.parametrize("source", [SOURCE, FULL_SOURCE], ids=["padded", "unpadded"])
@torch.no_grad()
def test_step_by_step_decoding_equals_the_teacher_forced_pass(
    model: Transformer, source: Tensor
) -> None:
    expected = model(source, FULL_TARGET)
    state = model.start(source)
    for t in range(FULL_TARGET.shape[1]):
        close(model.step(FULL_TARGET[:, t], state), expected[:, t])
    assert state.position == FULL_TARGET.shape[1]


@torch.no_grad()
def test_a_long_decoding_forgets_nothing_as_its_cache_grows(model: Transformer) -> None:
    source, length = SOURCE, 56
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(4, 50, (len(source), length), generator=generator)
    expected = model(source, target)
    state = model.start(source)
    others = torch.tensor([2, 0, 1])
    for t in range(length):
        close(model.step(target[:, t], state), expected[:, t])
        # Sentences change places all the way, so also just before and after it grows.
        state.select(others, others)
        target, expected = target[others], expected[others]


@pytest.mark.parametrize("source", [SOURCE, FULL_SOURCE], ids=["padded", "unpadded"])
@torch.no_grad()
def test_steps_follow_hypotheses_through_every_reordering(
    model: Transformer, source: Tensor
) -> None:
    state = model.start(source)
    prefixes = torch.full((3, 1), 2)
    close(model.step(prefixes[:, -1], state), model(source, prefixes)[:, -1])

    # Widened to two beams a sentence, crossed over, and at last without sentence 1.
    moves: list[tuple[list[int], list[int] | None]] = [
        ([0, 0, 1, 1, 2, 2], None),
        ([1, 0, 3, 3, 4, 5], None),
        ([0, 0, 2, 3, 5, 4], None),
        ([1, 1, 5, 4], [0, 2]),
        ([0, 1, 3, 2], None),
        ([2, 3], [1]),
    ]
    for number, (kept, sentences) in enumerate(moves):
        rows = torch.tensor(kept)
        state.select(rows, None if sentences is None else torch.tensor(sentences))
        # Each row is another hypothesis: its newest token is its own.
        newest = 10 + 6 * number + torch.arange(len(rows))
        prefixes = torch.cat([prefixes[rows], newest[:, None]], dim=1)
        source = source[rows]
        close(model.step(newest, state), model(source, prefixes)[:, -1])


@torch.no_grad()
def test_a_first_step_may_already_have_several_beams(model: Transformer) -> None:
    tokens = torch.tensor([2, 11, 12, 2, 13, 14, 2, 15, 16])
    logits = model.step(tokens, model.start(SOURCE))
    close(logits, model(SOURCE.repeat_interleave(3, dim=0), tokens[:, None])[:, 0])


@torch.no_grad()
def test_two_decodings_of_one_model_do_not_meet(model: Transformer) -> None:
    first, second = model.start(SOURCE[:1]), model.start(SOURCE[2:])
    for t in range(FULL_TARGET.shape[1]):
        ours = model.step(FULL_TARGET[:1, t], first)
        others = model.step(FULL_TARGET[2:, t], second)
        close(ours, model(SOURCE[:1], FULL_TARGET[:1, : t + 1])[:, -1])
        close(others, model(SOURCE[2:], FULL_TARGET[2:, : t + 1])[:, -1])


def test_a_text_longer_than_the_learned_table_is_refused_on_either_side(build: Build) -> None:
    model = build(positions="learned", max_positions=6)
    model(SOURCE[:, :6], TARGET)
    with pytest.raises(LengthError, match="learned 6 positions and the text needs 7"):
        model(SOURCE, TARGET)
    state = model.start(SOURCE[:, :6])
    for _ in range(6):
        model.step(torch.full((3,), 4), state)
    with pytest.raises(LengthError, match="learned 6 positions and the text needs 7"):
        model.step(torch.full((3,), 4), state)


# Embeddings, parameters, dropout.


def test_tied_embeddings_are_one_parameter_and_stay_so_in_training(build: Build) -> None:
    model = build(tie_embeddings=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(SOURCE, TARGET).logsumexp(-1).mean().backward()
    optimizer.step()
    assert model.source_embedding.weight is model.target_embedding.weight is model.output.weight
    names = [name for name, p in model.named_parameters() if p is model.output.weight]
    assert names == ["source_embedding.weight"]


def test_untied_embeddings_are_three_parameters(build: Build) -> None:
    model = build(tie_embeddings=False)
    weights = [model.source_embedding.weight, model.target_embedding.weight, model.output.weight]
    for one, other in itertools.combinations(weights, 2):
        assert one is not other
        assert one.data_ptr() != other.data_ptr()
        assert not torch.equal(one, other)
    tied = sum(p.numel() for p in build(tie_embeddings=True).parameters())
    untied = sum(p.numel() for p in model.parameters())
    assert untied - tied == 2 * weights[0].numel()


def test_source_and_target_are_read_through_their_own_embeddings(build: Build) -> None:
    model = build(tie_embeddings=False)
    model(SOURCE, TARGET).square().sum().backward()
    for embedding, tokens in ((model.source_embedding, SOURCE), (model.target_embedding, TARGET)):
        assert embedding.weight.grad is not None
        used = embedding.weight.grad.any(dim=1).nonzero().flatten().tolist()
        # Whether padding is among them depends on who reads its rows, which nobody should.
        assert set(used) - {PAD} == set(tokens.unique().tolist()) - {PAD}


@pytest.mark.parametrize(("scaled", "factor"), [(True, math.sqrt(32)), (False, 1.0)])
def test_embeddings_are_scaled_by_the_root_of_d_model_if_configured(
    build: Build, scaled: bool, factor: float
) -> None:
    model = build(scale_embeddings=scaled)
    read: list[Tensor] = []
    for stack in (model.encoder, model.decoder):
        stack.register_forward_pre_hook(lambda _, args: read.append(args[0]))
    model(SOURCE, TARGET)
    weight = model.source_embedding.weight
    close(read, [factor * weight[SOURCE], factor * weight[TARGET]])


def test_encoding_without_a_mask_forbids_padding(build: Build) -> None:
    model = build()
    assert torch.equal(model.encode(SOURCE), model.encode(SOURCE, padding_allowed(SOURCE, PAD)))
    assert not torch.equal(
        model.encode(SOURCE)[1], model.encode(SOURCE, torch.ones(1, 1, 1, 7).bool())[1]
    )


def expected_parameters(vocab_size: int, d_model: int, d_ff: int, layers: int) -> int:
    """Section 3 written as sums: weights plus biases, norms with gain and bias, one embedding."""
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model
    norm = 2 * d_model
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + layers * (encoder_layer + decoder_layer)


@pytest.mark.parametrize(
    ("shape", "exactly", "table_3"),
    [
        ({}, 63_082_496, 65e6),
        ({"d_model": 1024, "d_ff": 4096, "n_heads": 16}, 214_245_376, 213e6),
    ],
    ids=["base", "big"],
)
def test_the_papers_models_have_the_papers_number_of_parameters(
    shape: dict[str, int], exactly: int, table_3: float
) -> None:
    with torch.device("meta"):
        model = Transformer(TransformerConfig(vocab_size=37_000, **shape))
    config = model.config
    count = sum(p.numel() for p in model.parameters())
    assert count == exactly
    assert count == expected_parameters(37_000, config.d_model, config.d_ff, 6)
    # Table 3 counts in millions, with a vocabulary of "about 37000".
    assert count == pytest.approx(table_3, rel=0.03)


@pytest.mark.parametrize("overrides", VARIANTS.values(), ids=VARIANTS)
def test_every_parameter_takes_part_in_the_answer(build: Build, overrides: dict[str, Any]) -> None:
    model = build(**overrides)
    torch.manual_seed(0)
    scatter(model)
    model(SOURCE, TARGET).square().sum().backward()
    for name, parameter in model.named_parameters():
        # A bias on keys adds the same to every score of a row, which the softmax takes out.
        if not name.endswith("w_k.bias"):
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name


RATE = 0.3


def with_dropout_of_section_5_4(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """The pass in training, with each dropout the paper names written out and no other."""
    drop = Dropout(RATE)

    def sublayer(residual: Residual, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        if model.config.norm == "pre":
            return x + drop(function(residual.norm(x)))
        return residual.norm(x + drop(function(x)))

    def attend(attention: nn.Module, keys: Tensor | None, allowed: Tensor) -> Any:
        return lambda x: attention(x, x if keys is None else keys, allowed)[0]

    def embedded(embedding: nn.Embedding, positions: nn.Module, token_ids: Tensor) -> Tensor:
        scaled = embedding(token_ids) * math.sqrt(model.config.d_model)
        return drop(scaled + positions(token_ids.shape[1]))

    source_allowed, allowed = padding_allowed(source, PAD), decoder_allowed(target, PAD)
    memory = embedded(model.source_embedding, model.encoder.positions, source)
    for layer in model.encoder.layers:
        attention = attend(layer.self_attention, None, source_allowed)
        memory = sublayer(layer.self_residual, memory, attention)
        memory = sublayer(layer.feed_forward_residual, memory, layer.feed_forward)
    memory = model.encoder.final_norm(memory)
    x = embedded(model.target_embedding, model.decoder.positions, target)
    for layer in model.decoder.layers:
        x = sublayer(layer.self_residual, x, attend(layer.self_attention, None, allowed))
        attention = attend(layer.cross_attention, memory, source_allowed)
        x = sublayer(layer.cross_residual, x, attention)
        x = sublayer(layer.feed_forward_residual, x, layer.feed_forward)
    return model.output(model.decoder.final_norm(x))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("layout", ["batched", "per_head"])
def test_dropout_is_on_sublayer_outputs_and_embedding_sums_and_nowhere_else(
    build: Build, norm: str, layout: str
) -> None:
    model = build(norm=norm, head_layout=layout, dropout=RATE)
    # Its modules are in eval mode: a dropout inside one of them is missing from what they give.
    reference = copy.deepcopy(model)
    model.train()
    for seed in range(3):
        # The same seed draws the same zeros, as long as they are drawn for the same tensors.
        torch.manual_seed(seed)
        actual = model(SOURCE, TARGET)
        torch.manual_seed(seed)
        close(actual, with_dropout_of_section_5_4(reference, SOURCE, TARGET))
    assert not torch.allclose(actual, reference(SOURCE, TARGET), atol=0.1)


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.25, 0.5, 0.999])
@pytest.mark.parametrize("shape", [(1_000_000,), (333, 1001, 3), (999_999, 1)], ids=str)
def test_dropout_zeroes_its_share_and_keeps_the_expectation(
    rate: float, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    x = torch.full(shape, 3.0, requires_grad=True)
    dropped = Dropout(rate)(x)
    assert dropped.shape == shape
    share = (dropped == 0).float().mean().item()
    # One byte a number rounds the rate to 1/256.
    assert share == pytest.approx(rate, abs=1 / 512 + 0.002)
    # What is kept is scaled by what was really kept, so that its mean over many draws is x.
    kept = dropped[dropped != 0]
    assert (kept == kept[0]).all()
    deviation = 3 * math.sqrt(rate / (1 - rate) / x.numel())
    assert dropped.mean().item() == pytest.approx(3.0, abs=4 * deviation)
    (grad,) = torch.autograd.grad(dropped.sum(), x)
    close(grad, dropped.detach() / 3)


def test_dropout_draws_every_number_by_itself() -> None:
    torch.manual_seed(0)
    zeros = (Dropout(0.5)(torch.ones(512, 512)) == 0).float() - 0.5
    for neighbour in (zeros.roll(1, 0), zeros.roll(1, 1), zeros.roll(8, 1), zeros.T):
        # Four standard deviations of what independent draws give.
        assert abs((4 * zeros * neighbour).mean().item()) < 4 / 512


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_dropout_leaves_everything_in_evaluation_and_at_rate_zero(rate: float) -> None:
    module, x = Dropout(rate), torch.randn(5, 7)
    assert torch.equal(module.eval()(x), x)
    assert torch.equal(module.train()(x), x) is (rate == 0)


def test_evaluation_is_the_same_every_time(build: Build) -> None:
    model = build(dropout=RATE)
    assert torch.equal(model(SOURCE, TARGET), model(SOURCE, TARGET))
    assert not torch.equal(model.train()(SOURCE, TARGET), model(SOURCE, TARGET))
