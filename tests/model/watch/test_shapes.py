"""Attention as published implementations spell it, each in a few lines of our own.

Every module keeps the weights it used; what is recorded must be these, bit for bit, at their place
in (batch, head, query, key).
"""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from model.paper.attention import masked_softmax
from model.watch import Watched, watching

WIDTH, HEADS, LENGTH = 8, 2, 5
CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()


class Spelling(nn.Module):
    """What all spellings share."""

    def __init__(self) -> None:
        super().__init__()
        self.used: list[Tensor] = []

    def keep(self, weights: Tensor) -> Tensor:
        self.used.append(weights.detach().clone())
        return weights


def split(x: Tensor) -> Tensor:
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


class Batched(Spelling):
    """Projections without bias, a temperature, a mask of zeros and ones filled with -1e9."""

    fill = -1e9

    def __init__(self) -> None:
        super().__init__()
        self.w_q, self.w_k, self.w_v, self.w_o = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)
        )
        self.dropout = nn.Dropout(0.3)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = split(self.w_q(x)), split(self.w_k(memory)), split(self.w_v(memory))
        scores = torch.matmul(q / math.sqrt(q.shape[-1]), k.transpose(2, 3))
        if mask is not None:
            scores = scores.masked_fill(mask[None, None] == 0, self.fill)
        weights = self.keep(torch.softmax(scores, dim=-1))
        return self.w_o(join(self.dropout(weights) @ v))


class FilledWithInfinity(Batched):
    fill = -math.inf


class InPlace(Batched):
    """Everything written over: scaled, masked and dropped out in place."""

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = split(self.w_q(x)), split(self.w_k(memory)), split(self.w_v(memory))
        scores = q @ k.transpose(2, 3)
        scores /= math.sqrt(q.shape[-1])
        if mask is not None:
            scores.masked_fill_(~mask, -math.inf)
        weights = self.keep(scores.softmax(dim=-1))
        weights *= 0.5
        return self.w_o(join(weights @ v))


class AddedMask(Batched):
    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = split(self.w_q(x)), split(self.w_k(memory)), split(self.w_v(memory))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores += (1.0 - mask.float()) * torch.finfo(torch.float32).min
        return self.w_o(join(self.keep(scores.softmax(dim=-1)) @ v))


class Chosen(Batched):
    """The mask by torch.where."""

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = split(self.w_q(x)), split(self.w_k(memory)), split(self.w_v(memory))
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = torch.where(mask, scores, torch.tensor(-1e4))
        return self.w_o(join(self.keep(scores.softmax(dim=-1)) @ v))


class Einsum(Batched):
    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (HEADS, -1))
            for part in (self.w_q(x), self.w_k(memory), self.w_v(memory))
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e20)
        weights = self.keep(scores.softmax(dim=-1))
        return self.w_o(torch.einsum("bhqk,bkhd->bqhd", weights, v).flatten(2))


class Fused(Spelling):
    """One projection for queries, keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (split(part) for part in self.qkv(x).chunk(3, dim=-1))
        scores = (q @ k.transpose(-2, -1)) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return self.out(join(self.keep(nn.Softmax(dim=-1)(scores)) @ v))


class FoldedHeads(Batched):
    """Heads folded into the batch, as baddbmm and torch's own attention take them."""

    def __init__(self) -> None:
        super().__init__()
        self.num_heads = HEADS

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (
            split(part).flatten(0, 1) for part in (self.w_q(x), self.w_k(memory), self.w_v(memory))
        )
        added = torch.zeros(len(x[0]), len(memory[0]))
        if mask is not None:
            added = added.masked_fill(~mask, -math.inf)
        scores = torch.baddbmm(added, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        weights = scores.softmax(dim=-1)
        self.keep(weights.unflatten(0, (-1, HEADS)))
        return self.w_o(join((weights @ v).unflatten(0, (-1, HEADS))))


class Head(Spelling):
    def __init__(self) -> None:
        super().__init__()
        self.key, self.query, self.value = (
            nn.Linear(WIDTH, WIDTH // HEADS, bias=False) for _ in range(3)
        )

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        scores = self.query(x) @ self.key(memory).transpose(-2, -1) * (WIDTH // HEADS) ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.keep(scores.softmax(dim=-1)) @ self.value(memory)


class ModuleForEachHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head() for _ in range(HEADS))

    @property
    def used(self) -> list[Tensor]:
        return [torch.stack([head.used[0] for head in self.heads], dim=1)]

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        return torch.cat([head(x, memory, mask) for head in self.heads], dim=-1)


class Additive(Spelling):
    """wᵀ tanh(q + k)."""

    def __init__(self) -> None:
        super().__init__()
        self.of_query, self.of_key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.w = nn.Linear(WIDTH, 1, bias=False)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        summed = torch.tanh(self.of_query(x)[:, :, None] + self.of_key(memory)[:, None])
        scores = self.w(summed).squeeze(-1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = scores.softmax(dim=-1)
        self.keep(weights[:, None])
        return weights @ memory


class TorchInside(Spelling):
    """nn.MultiheadAttention in a layer of one's own."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        forbidden = None if mask is None else ~mask
        query, memory = x.transpose(0, 1), memory.transpose(0, 1)
        output, weights = self.attention(
            query, memory, memory, attn_mask=forbidden, average_attn_weights=False
        )
        self.keep(weights)
        return output.transpose(0, 1)


SPELLINGS: tuple[Callable[[], nn.Module], ...] = (
    *(Batched, FilledWithInfinity, InPlace, AddedMask, Chosen, Einsum, Fused, FoldedHeads),
    *(ModuleForEachHead, Additive, TorchInside),
)
CONTEXTS = (torch.no_grad, torch.inference_mode)


def record(
    spelling: Callable[[], nn.Module], mask: Tensor | None, *, cross: bool = False
) -> tuple[nn.Module, Watched, Tensor, Tensor]:
    torch.manual_seed(6)
    module = spelling().eval()
    x, memory = torch.randn(3, LENGTH, WIDTH), torch.randn(3, LENGTH + 2, WIDTH)
    memory = memory if cross else x
    expected = module(x, memory, mask)
    for each in module.modules():
        if isinstance(each, Spelling):
            each.used.clear()
    with watching() as seen:
        output = module(x, memory, mask)
    assert torch.equal(output, expected)
    return module, seen, x, memory


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_self_attention_is_recorded_as_it_was(spelling, masked, context):
    with context():
        module, seen, _, _ = record(spelling, CAUSAL if masked else None)
    (site,) = seen.sites
    (call,) = site.calls
    assert torch.equal(call.weights, module.used[0])
    assert str(site.site) == ("decoder.0" if masked else "encoder.0")
    if masked:
        assert torch.equal(
            call.allowed.expand(call.weights.shape), CAUSAL.expand(call.weights.shape)
        )
    else:
        assert call.allowed is None
    # Scores are what the softmax was made of, before the mask.
    explained = masked_softmax(call.scores, call.allowed)
    torch.testing.assert_close(call.weights, explained, atol=1e-6, rtol=0)
    report = seen.report()
    assert not report.others
    assert not report.suspicions


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each is not Fused])
def test_cross_attention_is_told_from_self_attention(spelling):
    with torch.no_grad():
        module, seen, _, _ = record(spelling, None, cross=True)
    (site,) = seen.sites
    assert str(site.site) == "cross.0"
    assert torch.equal(site.calls[0].weights, module.used[0])


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each is not Additive])
def test_scores_are_those_of_the_queries_and_keys(spelling):
    with torch.no_grad():
        _, seen, _, _ = record(spelling, CAUSAL)
    (call,) = seen.sites[0].calls
    product = call.q @ call.k.transpose(-2, -1)
    # Some scale queries before the product and others the product.
    torch.testing.assert_close(call.scores, product / 2, atol=1e-5, rtol=0)


def test_values_are_those_mixed():
    with torch.no_grad():
        module, seen, _, memory = record(Batched, CAUSAL)
        (call,) = seen.sites[0].calls
        assert torch.equal(call.v, split(module.w_v(memory)))
        assert torch.equal(call.k, split(module.w_k(memory)))


class Summed(Spelling):
    """One query a sentence, its values weighted and added up without a product of matrices."""

    def forward(self, query: Tensor, memory: Tensor) -> Tensor:
        scores = (memory @ query.unsqueeze(-1)).squeeze(-1)
        weights = self.keep(scores.softmax(dim=-1))
        return (weights.unsqueeze(-1) * memory).sum(dim=1)


def test_weights_times_values_summed_by_hand_are_attention():
    module, memory = Summed(), torch.randn(3, LENGTH, WIDTH)
    with torch.no_grad(), watching() as seen:
        module(memory[:, 0], memory)
    (site,) = seen.sites
    assert torch.equal(site.calls[0].weights, module.used[0][:, None, None])
    assert torch.equal(site.calls[0].v, memory[:, None])


class ByHand(Spelling):
    """A softmax of exponentials and a sum."""

    def forward(self, x: Tensor) -> Tensor:
        powers = (x @ x.transpose(-2, -1)).exp()
        return (powers / powers.sum(dim=-1, keepdim=True)) @ x


class FromLogarithms(Spelling):
    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.transpose(-2, -1)).log_softmax(dim=-1).exp() @ x


@pytest.mark.parametrize("spelling", [ByHand, FromLogarithms])
def test_weights_that_no_softmax_made_are_suspected(spelling):
    x = torch.randn(2, LENGTH, WIDTH)
    with torch.no_grad(), watching() as seen:
        spelling()(x)
    report = seen.report()
    assert not report.sites
    (suspicion,) = report.suspicions
    assert suspicion.shape == (2, LENGTH, LENGTH)
    assert suspicion.place.module == spelling.__name__
    assert suspicion.place.file == __file__
    assert f"{spelling.__name__})" in str(report)


class Router(nn.Module):
    """Experts are chosen by a softmax, and one of them runs."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.expert = nn.Linear(WIDTH, 3), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        best, _ = self.gate(x).softmax(dim=-1).max(dim=-1, keepdim=True)
        return best * self.expert(x)


class Lookup(nn.Module):
    """A soft lookup in a table of parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.scores, self.table = nn.Linear(WIDTH, 3), nn.Parameter(torch.randn(3, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return self.scores(x).softmax(dim=-1) @ self.table


class MiddleAxis(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.transpose(-2, -1)).softmax(dim=1).transpose(1, 2) @ x


class Turned(nn.Module):
    """Queries summed by weights that add up over keys, which no attention does."""

    def forward(self, x: Tensor) -> Tensor:
        return (x @ x.transpose(-2, -1)).softmax(dim=-1).transpose(1, 2) @ x


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (Router, "multiplied with no values"),
        (Lookup, "rows of a parameter"),
        (MiddleAxis, "it runs over axis 1 of 3, and not over the last"),
        (Turned, "not the axis"),
    ],
)
def test_other_softmaxes_are_listed_with_the_reason(module, reason):
    x = torch.randn(2, LENGTH, WIDTH)
    with torch.no_grad(), watching() as seen:
        module()(x)
    report = seen.report()
    assert not report.sites
    (other,) = report.others
    assert reason in other.reason
    assert (other.place.module, other.times) == (module.__name__, 1)
    assert other.place.file == __file__
    assert reason in str(report)


class LowRank(nn.Module):
    """Queries and keys by two maps each, with a norm between."""

    def __init__(self) -> None:
        super().__init__()
        self.to_query, self.to_key = (
            nn.Sequential(nn.Linear(WIDTH, 4), nn.LayerNorm(4), nn.Linear(4, WIDTH))
            for _ in range(2)
        )

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        q, k = split(self.to_query(x)), split(self.to_key(memory))
        return nn.functional.scaled_dot_product_attention(q, k, split(memory))


def test_low_rank_projections_of_one_text_are_self_attention():
    x = torch.randn(2, LENGTH, WIDTH)
    for memory, kind in ((x, "encoder"), (torch.randn(2, LENGTH, WIDTH), "cross")):
        with torch.no_grad(), watching() as seen:
            LowRank()(x, memory)
        assert [str(each.site.kind) for each in seen.sites] == [kind]


def test_heads_that_share_keys_have_them_each():
    q, kv = torch.randn(2, 4, LENGTH, 4), torch.randn(2, 2, LENGTH, 4)
    with torch.no_grad(), watching() as seen:
        nn.functional.scaled_dot_product_attention(q, kv, kv, is_causal=True, enable_gqa=True)
    (call,) = seen.sites[0].calls
    shared = kv[:, [0, 0, 1, 1]]
    scores = q @ shared.transpose(2, 3) / 2
    weights = scores.masked_fill(~CAUSAL, -math.inf).softmax(dim=-1)
    torch.testing.assert_close(call.weights, weights, atol=1e-6, rtol=0)
    assert torch.equal(call.k, shared)
    assert torch.equal(call.v, shared)


class Latents(nn.Module):
    """Learned queries read a text, and then one another."""

    def __init__(self) -> None:
        super().__init__()
        self.latents = nn.Parameter(torch.randn(1, 3, WIDTH))
        self.reading, self.among = (
            nn.MultiheadAttention(WIDTH, HEADS, batch_first=True) for _ in range(2)
        )

    def forward(self, x: Tensor) -> Tensor:
        latents = self.latents.expand(len(x), -1, -1)
        latents = latents + self.reading(latents, x, x)[0]
        return latents + self.among(latents, latents, latents)[0]


def test_learned_queries_are_cross_attention_and_then_self_attention():
    with torch.no_grad(), watching() as seen:
        Latents()(torch.randn(2, LENGTH, WIDTH))
    assert [(each.place.path, str(each.site)) for each in seen.sites] == [
        ("reading", "cross.0"),
        ("among", "encoder.0"),
    ]


class Loop(nn.Module):
    """Three layers by one line of one module."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ParameterList(torch.randn(WIDTH, 3 * WIDTH) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            q, k, v = (x @ layer).chunk(3, dim=-1)
            x = x + (q @ k.transpose(1, 2)).softmax(dim=-1) @ v
        return x


def test_layers_that_no_module_tells_apart_are_calls_of_one_site():
    with torch.no_grad(), watching() as seen:
        Loop()(torch.randn(2, LENGTH, WIDTH))
    assert [len(each.calls) for each in seen.sites] == [3]
