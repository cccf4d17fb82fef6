"""Gates, masks and set weights through watching, beside what the models themselves do for them."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from model.record.head_edits import HeadError, MeanAblation
from model.record.intervention import Intervention, PositionEdit
from model.record.mask_rules import MaskError
from model.record.recording import CaptureError
from model.watch import Watched, watching
from tests.model.watch.test_families import BART, BERT, IDS, MASK, PAIR, TEXT, Family, build

GPT2 = {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}


class Attention(nn.Module):
    """As one writes it by hand: a product, a softmax, a product."""

    def __init__(self, n_heads: int = 2) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)
        self.dropout = nn.Dropout(0.5)
        self.mask: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for each in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.mask is not None:
            scores = scores.masked_fill(~self.mask, -torch.inf)
        weights = self.dropout(scores.softmax(dim=-1))
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class AddedTo(nn.Module):
    """nn.MultiheadAttention in a layer of one's own."""

    def __init__(self, need_weights: bool) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.need_weights = need_weights

    def forward(self, x: Tensor) -> Tensor:
        # Not one tensor, which torch's fast path would take.
        return x + self.attention(x, x * 1, x, need_weights=self.need_weights)[0]


class HeadByHead(nn.Module):
    """One module a head."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Attention(1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([head(x) for head in self.heads], dim=-1)


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(5)
    return torch.randn(2, 6, 8)


def run(model: Any, given: Any, *under: Any, **more: Any) -> tuple[Tensor, Watched]:
    with torch.no_grad(), watching(*under, **more) as seen:
        output = model(**given) if isinstance(given, dict) else model(given)
    return output if isinstance(output, Tensor) else output[0], seen


def without_columns(linear: Any, head: int, width: int) -> None:
    """Zero what a matrix makes of one head's output; GPT-2 keeps its matrices transposed."""
    rows = slice(head * width, (head + 1) * width)
    with torch.no_grad():
        if isinstance(linear, nn.Linear):
            linear.weight[:, rows] = 0
        else:
            linear.weight[rows] = 0


HUGGING_FACE: list[tuple[Family, tuple[str, int, int], Callable[[Any], Any]]] = [
    (
        Family("GPT2LMHeadModel", "GPT2Config", GPT2, TEXT, ""),
        ("decoder", 1, 0),
        lambda model: model.transformer.h[1].attn.c_proj,
    ),
    (
        Family("BertModel", "BertConfig", BERT, TEXT, ""),
        ("encoder", 0, 1),
        lambda model: model.encoder.layer[0].attention.output.dense,
    ),
    (
        Family("MarianMTModel", "MarianConfig", BART, PAIR, ""),
        ("cross", 1, 1),
        lambda model: model.model.decoder.layers[1].encoder_attn.out_proj,
    ),
    (
        Family("MarianMTModel", "MarianConfig", BART, PAIR, ""),
        ("decoder", 0, 0),
        lambda model: model.model.decoder.layers[0].self_attn.out_proj,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize(("family", "head", "matrix"), HUGGING_FACE)
def test_a_gate_of_zero_is_the_head_without_its_columns_of_the_output_matrix(
    family, head, matrix, attention
):
    model = build(family, attention)
    plain, seen = run(model, family.inputs)
    gated, edited = run(model, family.inputs, Intervention(heads={head: 0}), like=seen)
    same, _ = run(model, family.inputs, Intervention(heads={head: 1}), like=seen)
    assert torch.equal(same, plain)
    without_columns(matrix(model), head[2], 8)
    expected, _ = run(model, family.inputs)
    assert not torch.allclose(plain, expected, atol=1e-3)
    torch.testing.assert_close(gated, expected, atol=2e-6, rtol=0)
    assert [each.site for each in edited.sites] == [each.site for each in seen.sites]


@pytest.mark.parametrize(
    ("model", "matrix"),
    [
        (Attention(), lambda model: model.out),
        (AddedTo(True), lambda model: model.attention.out_proj),
        (AddedTo(False), lambda model: model.attention.out_proj),
    ],
    ids=["by hand", "torch's, with weights", "torch's, fused"],
)
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_gates_on_modules_of_ones_own(model, matrix, context, x):
    model = copy.deepcopy(model).eval()
    plain, seen = run(model, x)
    with context(), watching(Intervention(heads={("encoder", 0, 1): 0}), like=seen) as edited:
        gated = model(x)
    half, _ = run(model, x, Intervention(heads={("encoder", 0, 1): 0.5}), like=seen)
    same, _ = run(model, x, Intervention(heads={("encoder", 0, 1): 1}), like=seen)
    assert torch.equal(same, plain)
    # A gate leaves a head the weights that it had; inference mode rounds otherwise.
    (mine,), (theirs,) = (each.sites[0].calls for each in (edited, seen))
    torch.testing.assert_close(mine.weights, theirs.weights, atol=1e-6, rtol=0)
    without_columns(matrix(model), 1, 4)
    expected, _ = run(model, x)
    torch.testing.assert_close(gated, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(half, (plain + expected) / 2, atol=1e-6, rtol=0)


def test_a_head_that_is_a_module_of_its_own_is_gated_by_its_number(x):
    model = HeadByHead().eval()
    plain, seen = run(model, x)
    gated, _ = run(model, x, Intervention(heads={("encoder", 0, 1): 0}), like=seen)
    assert torch.equal(gated[..., :8], plain[..., :8])
    assert torch.equal(gated[..., 8:], model.heads[1].out.bias.expand(2, 6, 8))


@pytest.mark.parametrize("model", [Attention(), AddedTo(False)], ids=["by hand", "fused"])
def test_a_mean_takes_the_place_of_a_heads_output(model, x):
    model = copy.deepcopy(model).eval()
    _, seen = run(model, x)
    output, _ = run(
        model, x, Intervention(heads={("encoder", 0, h): [0.0] * 4 for h in (0, 1)}), like=seen
    )
    bias = (model.out if isinstance(model, Attention) else model.attention.out_proj).bias
    expected = bias.expand(2, 6, 8) + (0 if isinstance(model, Attention) else x)
    torch.testing.assert_close(output, expected, atol=1e-6, rtol=0)
    with pytest.raises(HeadError, match="has 3 numbers, but the head gives 4"):
        run(model, x, Intervention(heads={("encoder", 0, 0): MeanAblation((0, 0, 1))}), like=seen)


def test_a_mask_is_the_models_own_with_that_mask(x):
    model = Attention().eval()
    _, seen = run(model, x)
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    for mask in (causal, lambda n, m: torch.ones(n, m).tril() > 0):
        masked, edited = run(model, x, Intervention(masks={"encoder": mask}), like=seen)
        model.mask = causal
        expected, own = run(model, x)
        model.mask = None
        torch.testing.assert_close(masked, expected, atol=1e-6, rtol=0)
        call = edited.sites[0].calls[0]
        torch.testing.assert_close(call.weights, own.sites[0].calls[0].weights, atol=1e-6, rtol=0)
        assert torch.equal(call.allowed.expand(2, 2, 6, 6)[1, 1], causal)
        # Called as it was, though it looks like a decoder's now.
        assert str(edited.sites[0].site) == "encoder.0"
    # And back: a mask that allows what the model's own forbids.
    model.mask = causal
    _, seen = run(model, x)
    lifted, _ = run(model, x, Intervention(masks={("decoder", 0): causal | True}), like=seen)
    model.mask = None
    expected, _ = run(model, x)
    torch.testing.assert_close(lifted, expected, atol=1e-6, rtol=0)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_mask_of_a_hugging_face_model_is_its_own_with_that_mask(attention):
    model = build(Family("BertModel", "BertConfig", BERT, TEXT, ""), attention)
    mask = MASK[1:].bool().expand(6, 6)
    expected, _ = run(model, {"input_ids": IDS[1:], "attention_mask": MASK[1:]})
    for own in (torch.ones_like(MASK[1:]), MASK[1:].flip(1)):
        given = {"input_ids": IDS[1:], "attention_mask": own}
        _, seen = run(model, given)
        masked, _ = run(model, given, Intervention(masks={"encoder": mask}), like=seen)
        torch.testing.assert_close(masked, expected, atol=2e-6, rtol=0)


@pytest.mark.parametrize("fused", [False, True])
def test_a_bias_that_comes_with_the_mask_is_not_lost_in_silence(fused, x):
    distance = (torch.arange(6)[:, None] - torch.arange(6)).abs()
    causal = distance.new_ones(6, 6).tril() > 0
    bias = (-0.5 * distance).masked_fill(~causal, -torch.inf)

    class Biased(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x = x[:, None]
            if fused:
                return nn.functional.scaled_dot_product_attention(x, x, x, bias)
            return (x @ x.mT / 8**0.5 + bias).softmax(dim=-1) @ x

    model = Biased()
    _, seen = run(model, x)
    window = causal & (distance < 3)
    narrow, _ = run(model, x, Intervention(masks={"decoder": window}), like=seen)
    bias = bias.masked_fill(~window, -torch.inf)
    torch.testing.assert_close(narrow, run(model, x)[0], atol=1e-6, rtol=0)
    with pytest.raises(MaskError, match=r"adds a bias to the scores of decoder\.0"):
        run(model, x, Intervention(masks={"decoder": causal | True}), like=seen)


@pytest.mark.parametrize("model", [Attention(), AddedTo(True), AddedTo(False), HeadByHead()])
def test_set_weights_are_those_recorded_and_used(model, x):
    model = model.eval()
    plain, seen = run(model, x)
    own = seen.sites[0].calls[0].weights
    same, _ = run(model, x, weights={("encoder", 0): own}, like=seen)
    torch.testing.assert_close(same, plain, atol=1e-6, rtol=0)
    given = torch.rand_like(own).softmax(dim=-1)
    output, edited = run(model, x, weights={("encoder", 0): given}, like=seen)
    assert torch.equal(edited.sites[0].calls[0].weights, given)
    assert not torch.allclose(output, plain, atol=1e-3)
    uniform, _ = run(model, x, weights={("encoder", 0): torch.full((6, 6), 1 / 6)}, like=seen)
    pattern = Intervention(heads={("encoder", 0, h): "uniform" for h in (0, 1)})
    by_pattern, _ = run(model, x, pattern, like=seen)
    torch.testing.assert_close(by_pattern, uniform, atol=1e-6, rtol=0)
    with pytest.raises(HeadError, match=r"have the shape \(5, 5\), but this pass has \(2, 2, 6, 6"):
        run(model, x, weights={("encoder", 0): torch.ones(5, 5)}, like=seen)


@pytest.mark.slow
def test_gates_hold_at_every_step_of_what_is_written():
    model = build(HUGGING_FACE[0][0], "sdpa")
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    with torch.no_grad():
        with watching() as seen:
            model.generate(IDS[:1], **options)
        heads = {("decoder", 1, h): 0 for h in (0, 1)}
        with watching(Intervention(heads=heads), like=seen):
            gated = model.generate(IDS[:1], **options)
        for head in (0, 1):
            without_columns(model.transformer.h[1].attn.c_proj, head, 8)
        assert torch.equal(gated, model.generate(IDS[:1], **options))


def test_gradients_are_refused(x):
    model = Attention().eval()
    _, seen = run(model, x)
    with (
        pytest.raises(CaptureError, match=r"no gradients.*torch.no_grad\(\)"),
        watching(Intervention(heads={("encoder", 0, 0): 0}), like=seen),
    ):
        model(x)


def test_the_fast_path_is_refused_and_says_how_to_leave_it(x):
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    gate = Intervention(heads={("encoder", 0, 0): 0})
    _, seen = run(model, x)
    with pytest.raises(CaptureError, match=r"encoder.0 runs in torch's fast path.*set_fastpath"):
        run(model, x, gate, like=seen)
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with pytest.raises(CaptureError, match=r"Nothing was edited at encoder.0.*Watch.*anew"):
            run(model, x, gate, like=seen)
        _, seen = run(model, x)
        gated, _ = run(model, x, gate, like=seen)
        without_columns(model.self_attn.out_proj, 0, 4)
        torch.testing.assert_close(gated, run(model, x)[0], atol=1e-6, rtol=0)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)


def test_weights_that_dropout_changes_are_refused(x):
    model = Attention().train()
    _, seen = run(model, x)
    with pytest.raises(CaptureError, match=r"as dropout does.*model.eval\(\)"):
        run(model, x, Intervention(heads={("encoder", 0, 0): 0}), like=seen)


@pytest.mark.parametrize(
    ("under", "error", "message"),
    [
        ({"heads": {("encoder", 0, 2): 0}}, HeadError, "no head 2 at encoder.0; choose one from 0"),
        ({"heads": {("decoder", 0, 0): 0}}, HeadError, "This model has no decoder.0"),
        ({"masks": {"cross": torch.ones(2, 2) > 0}}, MaskError, "This model has no cross to mask"),
        (
            {"masks": {"encoder": torch.ones(5, 6) > 0}},
            MaskError,
            r"has the shape \(5, 6\), but this pass has 6 queries and 6 keys",
        ),
        ({"positions": PositionEdit(scale=0)}, CaptureError, "Positions and the order"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(under, error, message, x):
    model = Attention().eval()
    _, seen = run(model, x)
    with pytest.raises(error, match=message):
        run(model, x, Intervention(**under), like=seen)


def test_edits_ask_for_sites_that_were_watched_before(x):
    gate = Intervention(heads={("encoder", 0, 0): 0})
    with pytest.raises(CaptureError, match="watch the model once"):
        run(Attention(), x, gate)
    with watching() as nothing:
        pass
    with pytest.raises(HeadError, match=r"This model has no encoder\.0"):
        run(Attention(), x, gate, like=nothing)
