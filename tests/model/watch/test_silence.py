"""Attention that is spelled so that a recorder may take it for something else, and say nothing.

Every spelling keeps the weights that its values met. What is recorded is these, or the report says
in words what is uncertain or why there is no attention.
"""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.record.recording import CaptureError
from model.trace.attention_map import Tokens
from model.watch import Watched, watching

BATCH, HEADS, LENGTH, WIDTH = 3, 2, 6, 8
CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


class Spelling(nn.Module):
    """Projections as all have them, and the weights used as (batch, head, query, key)."""

    def __init__(self, n_heads: int = HEADS) -> None:
        super().__init__()
        self.num_heads = n_heads
        self.w_q, self.w_k, self.w_v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)
        self.used: Tensor | None = None

    def keep(self, weights: Tensor) -> None:
        self.used = weights.detach().clone()

    def split(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(
            each(x).unflatten(-1, (self.num_heads, -1)) for each in (self.w_q, self.w_k, self.w_v)
        )


class HeadsFirst(Spelling):
    """Heads folded before the batch."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.permute(2, 0, 1, 3).flatten(0, 1) for each in self.split(x))
        weights = (q @ k.mT / 2).softmax(dim=-1)
        self.keep(weights.unflatten(0, (HEADS, -1)).transpose(0, 1))
        return (weights @ v).unflatten(0, (HEADS, -1)).permute(1, 2, 0, 3).flatten(2)


class ChunksJoined(Spelling):
    """Heads cut from the width and put below one another, as in early TensorFlow code."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            torch.cat(each(x).chunk(HEADS, dim=2), dim=0) for each in (self.w_q, self.w_k, self.w_v)
        )
        weights = (q @ k.mT / 2).softmax(dim=-1)
        self.keep(weights.unflatten(0, (HEADS, -1)).transpose(0, 1))
        return torch.cat((weights @ v).chunk(HEADS, dim=0), dim=2)


class QueriesBeforeHeads(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.split(x)
        weights = torch.einsum("bqhd,bkhd->bqhk", q, k).softmax(dim=-1)
        self.keep(weights.transpose(1, 2))
        return torch.einsum("bqhk,bkhd->bqhd", weights, v).flatten(2)


class HeadsOfTheFusedKernelFirst(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.permute(2, 0, 1, 3) for each in self.split(x))
        self.keep((q @ k.mT / 2).softmax(dim=-1).transpose(0, 1))
        return F.scaled_dot_product_attention(q, k, v).permute(1, 2, 0, 3).flatten(2)


class ByIndex(Spelling):
    """A mask written by index."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        scores = q @ k.mT / 2
        scores[..., ~CAUSAL] = -torch.inf
        weights = scores.softmax(dim=-1)
        self.keep(weights)
        return weights @ v


class MinusHundred(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = (q @ k.mT / 2 + torch.where(CAUSAL, 0.0, -100.0)).softmax(dim=-1)
        self.keep(weights)
        return weights @ v


class Renormalised(Spelling):
    """A triangle taken of the weights, whose rows are then made to add up to 1."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = (q @ k.mT / 2).softmax(dim=-1) * CAUSAL
        weights = weights / weights.sum(dim=-1, keepdim=True)
        self.keep(weights)
        return weights @ v


class HeadMask(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = (q @ k.mT / 2).softmax(dim=-1) * torch.tensor([0.0, 1.0])[:, None, None]
        self.keep(weights)
        return weights @ v


class Differential(Spelling):
    """One softmax less a part of another (Ye et al. 2024)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = (q @ k.mT).softmax(dim=-1) - 0.3 * (q @ k.mT / 3).softmax(dim=-1)
        self.keep(weights)
        return weights @ v


class HardGumbel(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = F.gumbel_softmax(q @ k.mT, hard=True)
        self.keep(weights)
        return weights @ v


EXACT: tuple[Callable[[], Spelling], ...] = (
    *(HeadsFirst, ChunksJoined, QueriesBeforeHeads, HeadsOfTheFusedKernelFirst),
    *(ByIndex, MinusHundred),
)
CHANGED: tuple[Callable[[], Spelling], ...] = (Renormalised, HeadMask, Differential, HardGumbel)
CONTEXTS = (torch.no_grad, torch.inference_mode, torch.enable_grad)


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(BATCH, LENGTH, WIDTH)


def watched(module: nn.Module, *inputs: Tensor) -> Watched:
    with watching() as seen:
        module.eval()(*inputs)
    return seen


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("spelling", EXACT)
def test_axes_are_those_of_the_model(spelling, context, x):
    module = spelling()
    with context():
        seen = watched(module, x)
    (site,) = seen.sites
    torch.testing.assert_close(site.calls[0].weights, module.used, atol=1e-6, rtol=0)
    assert not site.notes


@pytest.mark.parametrize("spelling", [ByIndex, MinusHundred])
def test_a_mask_is_known_however_it_is_written(spelling, x):
    seen = watched(spelling(), x)
    (site,) = seen.sites
    assert str(site.site) == "decoder.0"
    (call,) = site.calls
    assert torch.equal(call.allowed.expand(call.weights.shape), CAUSAL.expand(call.weights.shape))
    assert call.q is not None
    assert call.k is not None


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("spelling", CHANGED)
def test_weights_are_those_that_reach_the_values(spelling, context, x):
    module = spelling()
    with context():
        seen = watched(module, x)
    (site,) = seen.sites
    assert torch.equal(site.calls[0].weights, module.used)
    assert site.notes[0] == (
        "weights changed between softmax and product; shown are those that reach the values"
    )
    assert site.notes[0] in str(seen.report())
    if spelling is Differential:
        with pytest.raises(CaptureError, match=r"no shares of 1; choose other sites="):
            seen.trace()


class LinearAttention(Spelling):
    """Keys over tokens and queries over features (Shen et al. 2018)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        context = k.transpose(-2, -1).softmax(dim=-1) @ v
        return q.softmax(dim=-1) @ context


class ChannelAttention(Spelling):
    """Features attend to features (El-Nouby et al. 2021)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.permute(0, 2, 3, 1) for each in self.split(x))
        return (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT).softmax(dim=-1) @ v


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("spelling", [LinearAttention, ChannelAttention])
@pytest.mark.parametrize("batch", [1, BATCH])
def test_softmaxes_over_features_are_no_attention(spelling, batch, context, x):
    with context():
        seen = watched(spelling(), x[:batch])
    assert not seen.sites
    others = seen.report().others
    assert any("features of a projection" in each.reason for each in others)


class Blocks(Spelling):
    """Each half of the text by itself."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each(x).unflatten(1, (2, -1)) for each in (self.w_q, self.w_k, self.w_v))
        return ((q @ k.mT).softmax(dim=-1) @ v).flatten(1, 2)


class FusedBlocks(Blocks):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each(x).unflatten(1, (2, -1)) for each in (self.w_q, self.w_k, self.w_v))
        return F.scaled_dot_product_attention(q, k, v).flatten(1, 2)


@pytest.mark.parametrize("spelling", [Blocks, FusedBlocks])
def test_blocks_are_no_heads(spelling, x):
    seen = watched(spelling(), x)
    (site,) = seen.sites
    assert site.calls[0].weights.shape == (2 * BATCH, 1, LENGTH // 2, LENGTH // 2)
    assert "each input is read in 2 windows or blocks" in str(seen.report())
    with pytest.raises(CaptureError, match=r"in 2 windows or blocks.*choose sites="):
        seen.trace()
    assert list(map(str, seen.trace(sites=["encoder.0"]).maps)) == ["encoder.0"]
    with pytest.raises(CaptureError, match=r"There is no decoder\.0 here; there is encoder\.0"):
        seen.trace(sites=["decoder.0"])


class Given(nn.Module):
    """Queries and keys that come from outside, heads and batch in one axis."""

    num_heads = 2

    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.mT).softmax(dim=-1) @ x


def test_heads_are_uncertain_where_nothing_tells_them_and_can_be_given():
    x = torch.randn(4, 5, WIDTH)
    seen = watched(Given(), x)
    assert "heads or batch uncertain" in str(seen.report())
    with pytest.raises(CaptureError, match=r"heads or batch uncertain.*give n_heads= to watching"):
        seen.trace()
    for n_heads in (4, {"": 4}):
        with watching(n_heads=n_heads) as seen:
            Given()(x)
        assert seen.sites[0].calls[0].weights.shape == (1, 4, 5, 5)
        assert not seen.sites[0].notes
        seen.trace()


def test_of_one_token_the_kind_is_uncertain_and_can_be_given(x):
    seen = watched(HeadsFirst(), x[:, :1])
    assert "encoder or decoder uncertain" in str(seen.report())
    for kind in ("decoder", {"": "decoder"}):
        with watching(kind=kind) as seen:
            HeadsFirst()(x[:, :1])
        assert str(seen.sites[0].site) == "decoder.0"
        assert not seen.sites[0].notes


class TwoSourcesEach(Spelling):
    """Queries and keys by content and by position, added up (Meng et al. 2021)."""

    def __init__(self) -> None:
        super().__init__()
        self.q_position, self.k_position = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.position = nn.Parameter(torch.randn(1, LENGTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        position = self.position.expand(len(x), -1, -1)
        q = self.w_q(x) + self.q_position(position)
        k = self.w_k(x) + self.k_position(position)
        return (q @ k.mT).softmax(dim=-1) @ self.w_v(x)


def test_queries_and_keys_of_two_sources_each_are_self_attention(x):
    (site,) = watched(TwoSourcesEach(), x).sites
    assert str(site.site) == "encoder.0"


@pytest.mark.parametrize("context", CONTEXTS)
def test_rows_that_a_finite_number_forbids_are_as_the_kernel_has_them(context):
    q, k, v = (torch.randn(1, 2, 4, 8) for _ in range(3))
    mask = torch.zeros(4, 4)
    mask[2] = -1e9
    with context(), watching() as seen:
        output = F.scaled_dot_product_attention(q, k, v, mask)
    (site,) = seen.sites
    torch.testing.assert_close(site.calls[0].weights @ v, output, atol=1e-5, rtol=0)
    assert not site.notes


def test_models_stacked_by_vmap_are_told(x):
    base = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
    parameters, buffers = torch.func.stack_module_state(
        [nn.MultiheadAttention(WIDTH, HEADS, batch_first=True) for _ in range(2)]
    )

    def run(own: dict[str, Tensor], more: dict[str, Tensor]) -> Tensor:
        return torch.func.functional_call(base, (own, more), (x, x * 1, x))[0]

    with torch.no_grad():
        expected = torch.vmap(run)(parameters, buffers)
        with watching() as seen:
            output = torch.vmap(run)(parameters, buffers)
    assert torch.equal(output, expected)
    (site,) = seen.sites
    assert site.notes[0].startswith("heads or batch uncertain: it ran under torch.vmap")


class Padded(Spelling):
    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        allowed = CAUSAL & real[:, None, None, :]
        weights = (q @ k.mT).masked_fill(~allowed, torch.finfo(torch.float32).min).softmax(dim=-1)
        self.keep(weights)
        return weights @ v


def test_a_sentence_with_padding_before_it_is_labelled_without_it(x):
    real = torch.ones(BATCH, LENGTH, dtype=torch.bool)
    real[0, :2] = False
    module = Padded()
    seen = watched(module, x, real)
    words = Tokens.unnamed("abcd")
    found = seen.trace(0, target=words).attention("decoder", 0)
    torch.testing.assert_close(torch.tensor(found.weights), module.used[0, :, 2:, 2:])
    for n in (3, 5):
        with pytest.raises(CaptureError, match=r"has padding before it, at 2 of 6 positions"):
            seen.trace(0, target=Tokens.unnamed(range(n)))
    for sentence, n in ((0, 6), (1, 6), (1, 4)):
        found = seen.trace(sentence, target=Tokens.unnamed(range(n))).attention("decoder", 0)
        torch.testing.assert_close(torch.tensor(found.weights), module.used[sentence, :, :n, :n])


class LocalBlocks(Spelling):
    """An encoder whose blocks see their neighbours, as LongT5's; this text fills one block."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        around = [F.pad(each, (0, 0, LENGTH, LENGTH)) for each in (k, v)]
        inside = F.pad(torch.ones(LENGTH, dtype=torch.bool), (LENGTH, LENGTH))
        weights = (q @ around[0].mT).masked_fill(~inside, -1e9).softmax(dim=-1)
        return weights @ around[1]


def test_queries_that_all_see_the_same_keys_are_no_decoder(x):
    (site,) = watched(LocalBlocks(), x).sites
    assert str(site.site) == "encoder.0"
    assert any("6 queries and 18 keys" in note for note in site.notes)


class OneWordOfSix(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        padding = torch.arange(LENGTH) > 0
        return (q @ k.mT).masked_fill(padding, -1e9).softmax(dim=-1) @ v


def test_of_one_word_and_padding_the_kind_is_uncertain(x):
    (site,) = watched(OneWordOfSix(), x).sites
    assert str(site.site) == "encoder.0"
    assert site.notes[0].startswith("encoder or decoder uncertain")


class ThreeAttentions(nn.Module):
    """A decoder layer that looks at its own text before and after the source."""

    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.before, self.across, self.after = (
            nn.MultiheadAttention(WIDTH, HEADS, batch_first=True) for _ in range(3)
        )

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        n = x.shape[1]
        mask = ~torch.ones(n, n, dtype=torch.bool).tril() if self.causal else None
        x = x + self.before(x, x, x, attn_mask=mask)[0]
        x = x + self.across(x, memory, memory)[0]
        return x + self.after(x, x, x, attn_mask=mask)[0]


class ThreeEach(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.read = nn.Linear(WIDTH, WIDTH)
        self.layers = nn.ModuleList(ThreeAttentions(causal) for _ in range(2))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        memory = self.read(memory)
        for layer in self.layers:
            x = layer(x, memory)
        return x


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("n_target", [1, 4, LENGTH])
def test_a_decoder_may_look_at_its_own_text_twice_a_layer(n_target, causal, x):
    seen = watched(ThreeEach(causal), x[:, :n_target].clone(), x.flip(1))
    assert [str(each.site) for each in seen.sites] == [
        *("decoder.0", "cross.0", "decoder.1", "decoder.2", "cross.1", "decoder.3")
    ]
    assert not any(each.notes for each in seen.sites)


class TalkingHeads(Spelling):
    """Heads mixed by a learned matrix after the softmax (Shazeer et al. 2020)."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Parameter(torch.randn(HEADS, HEADS))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        weights = torch.einsum("bhij,hg->bgij", (q @ k.mT).softmax(dim=-1), self.mix)
        return weights @ v


@pytest.mark.parametrize("context", CONTEXTS)
def test_heads_that_are_mixed_after_the_softmax_are_no_attention_of_one_head(context, x):
    with context():
        seen = watched(TalkingHeads(), x)
    assert not seen.sites
    (other,) = seen.report().others
    assert "mixes its heads" in other.reason


class RelativeLogits(Spelling):
    """Queries times learned positions, added to scores, as in BoTNet and HaloNet."""

    def __init__(self, factor: float, *, causal: bool) -> None:
        super().__init__()
        self.factor, self.causal = factor, causal
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH // HEADS))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        scores = q @ k.mT + self.factor * (q @ self.places.mT)
        if self.causal:
            scores = scores + torch.where(CAUSAL, 0.0, torch.finfo().min)
        return scores.softmax(dim=-1) @ v


@pytest.mark.parametrize("factor", [1, 1e3, 1e5])
def test_scores_are_no_mask_however_low_they_are(factor, x):
    (site,) = watched(RelativeLogits(factor, causal=False), x).sites
    (call,) = site.calls
    assert call.allowed is None
    torch.testing.assert_close(call.scores.softmax(dim=-1), call.weights)


@pytest.mark.parametrize("factor", [1, 1e3, 1e5])
def test_a_mask_is_known_beside_low_scores(factor, x):
    (site,) = watched(RelativeLogits(factor, causal=True), x).sites
    (call,) = site.calls
    assert torch.equal(call.allowed.expand(call.weights.shape), CAUSAL.expand(call.weights.shape))


class StepAndBias(Spelling):
    """A learned bias and −100 in one tensor, as Swin adds to the scores of shifted windows."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self.mask = torch.where(CAUSAL, 0.0, step) + torch.linspace(-6, 6, LENGTH**2).view(
            LENGTH, -1
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        return (q @ k.mT + self.mask).softmax(dim=-1) @ v


@pytest.mark.parametrize(("step", "is_mask"), [(-100.0, True), (-20.0, False)])
def test_a_step_with_a_learned_bias_is_a_mask_if_it_is_deep(step, is_mask, x):
    (site,) = watched(StepAndBias(step), x).sites
    (call,) = site.calls
    if is_mask:
        shape = call.weights.shape
        assert torch.equal(call.allowed.expand(shape), CAUSAL.expand(shape))
    else:
        assert call.allowed is None


class LowBias(Spelling):
    """The same for a fused kernel, which takes them as its mask."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        bias = 1e3 * (q @ q.mT)
        self.keep((q @ k.mT / 2 + bias).softmax(dim=-1))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def test_a_low_bias_of_a_fused_kernel_is_no_mask(x):
    module = LowBias()
    (site,) = watched(module, x).sites
    (call,) = site.calls
    torch.testing.assert_close(call.weights, module.used)
    assert call.allowed is None or bool(call.allowed.all())
    assert not site.notes


class TwoHalvesOfValues(Spelling):
    """The same weights for each half of the values, as DiffLlama calls its attention."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        first = (q @ k.mT).softmax(dim=-1) @ v[..., :2]
        return torch.cat([first, (q @ k.mT).softmax(dim=-1) @ v[..., 2:]], dim=-1)


def test_two_parts_of_one_layer_with_the_same_weights_are_told(x):
    first, second = watched(TwoHalvesOfValues(), x).sites
    assert torch.equal(first.calls[0].weights, second.calls[0].weights)
    for site, other in ((first, second), (second, first)):
        (note,) = site.notes
        assert f"the same weights at {other.site}" in note
        assert "an edit of one" in note
