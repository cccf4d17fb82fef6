"""Heads that run one after another on one line are heads of one site; parts of a text are not."""

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.record.intervention import Intervention
from model.record.recording import CaptureError
from model.trace.attention_map import Tokens
from model.watch import watching
from tests.model.watch.test_silence import BATCH, CAUSAL, LENGTH, WIDTH, watched

HEADS, EACH = 4, 2
WORDS = Tokens.unnamed("abcdef")
Projected = Callable[["Loop", Tensor], Iterator[tuple[Tensor, Tensor, Tensor]]]


class Loop(nn.Module):
    """A loop over the heads that one projection or several give, (batch, …, token, d)."""

    def __init__(self, projected: Projected, *, fused: bool = False, causal: bool = False) -> None:
        super().__init__()
        self.projected, self.fused = projected, fused
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.each = nn.ModuleList(nn.Linear(WIDTH, 3 * EACH) for _ in range(HEADS))
        self.narrow = nn.ModuleList(nn.Linear(EACH, 3 * EACH) for _ in range(HEADS))
        self.matrices = nn.Parameter(torch.randn(HEADS, WIDTH, 3 * EACH))
        self.mask = CAUSAL if causal else None
        self.masks: Tensor | None = None
        self.used: list[Tensor] = []
        self.gates = [1.0] * HEADS

    def forward(self, x: Tensor) -> Tensor:
        self.used, outputs = [], []
        for n, (q, k, v) in enumerate(self.projected(self, x)):
            outputs.append(self.attend(q, k, v, n) * self.gates[n % HEADS])
        return torch.cat(outputs, dim=-1)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, n: int) -> Tensor:
        scores = q @ k.mT / EACH**0.5
        mask = self.mask if self.masks is None else self.masks[n]
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(dim=-1)
        self.used.append(weights.detach().clone())
        if self.fused:
            return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], mask)[:, 0]
        return weights @ v


def slices(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    q, k, v = self.qkv(x).chunk(3, dim=-1)
    for h in range(HEADS):
        yield tuple(each[..., h * EACH : (h + 1) * EACH] for each in (q, k, v))


def scaled_slices(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for q, k, v in slices(self, x):
        yield q.contiguous() * 0.7, k.contiguous(), v


def heads_as_an_axis(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    split = [each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1)]
    for h in range(HEADS):
        yield tuple(each[:, h] for each in split)


def modules(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for linear in self.each:
        yield linear(x).chunk(3, dim=-1)


def matrices(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for matrix in self.matrices:
        yield (x @ matrix).chunk(3, dim=-1)


def parts_of_the_width(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for part, linear in zip(x.chunk(HEADS, dim=-1), self.narrow, strict=True):
        yield linear(part).chunk(3, dim=-1)


SPELLINGS = (slices, scaled_slices, heads_as_an_axis, modules, matrices, parts_of_the_width)


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(BATCH, LENGTH, WIDTH)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("projected", SPELLINGS)
def test_a_loop_over_heads_is_one_site_of_as_many_heads(projected, causal, fused, context, x):
    module = Loop(projected, fused=fused, causal=causal)
    with context():
        seen = watched(module, x)
    (site,) = seen.sites
    (call,) = site.calls
    torch.testing.assert_close(call.weights, torch.stack(module.used, dim=1), atol=1e-6, rtol=0)
    assert site.notes == ("its 4 heads ran in 4 calls, one after another, which are joined",)
    trace = seen.trace(1, **{"target" if causal else "source": WORDS})
    (found,) = trace.maps.values()
    assert str(found.site) == ("decoder.0" if causal else "encoder.0")
    assert found.n_heads == HEADS
    if causal:
        assert torch.equal(torch.tensor(found.allowed), CAUSAL)


class Pairs(nn.Module):
    """Two heads at a time, in two layers that share their modules."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.used: list[Tensor] = []

    def layer(self, x: Tensor) -> Tensor:
        q, k, v = (
            each.unflatten(-1, (HEADS, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1)
        )
        outputs = []
        for h in range(0, HEADS, 2):
            part = slice(h, h + 2)
            weights = (q[:, part] @ k[:, part].mT).softmax(dim=-1)
            self.used.append(weights.detach().clone())
            outputs.append((weights @ v[:, part]).transpose(1, 2).flatten(2))
        return x + torch.cat(outputs, dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(self.layer(x))


def test_slices_of_heads_in_shared_layers_are_layers_of_all_heads(x):
    module = Pairs()
    seen = watched(module, x)
    trace = seen.trace(0, source=WORDS)
    assert list(map(str, trace.maps)) == ["encoder.0", "encoder.1"]
    for layer, found in enumerate(trace.maps.values()):
        expected = torch.cat(module.used[2 * layer : 2 * layer + 2], dim=1)[0]
        torch.testing.assert_close(torch.tensor(found.weights), expected)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("projected", [slices, modules])
def test_an_edit_of_a_head_in_a_loop_is_of_this_head(projected, fused, x):
    module = Loop(projected, fused=fused, causal=True)
    with torch.no_grad():
        seen = watched(module, x)
        with watching(Intervention(heads={("decoder", 0, 2): 0}), like=seen):
            gated = module(x)
        module.gates[2] = 0.0
        torch.testing.assert_close(gated, module(x), atol=1e-6, rtol=0)
        module.gates[2] = 1.0
        masks = torch.stack([CAUSAL, CAUSAL | True, CAUSAL & ~CAUSAL.tril(-2), CAUSAL])
        with watching(Intervention(masks={"decoder": masks}), like=seen):
            masked = module(x)
        module.masks = masks
        torch.testing.assert_close(masked, module(x), atol=1e-6, rtol=0)
        module.masks = None
        own = seen.sites[0].calls[0].weights
        with watching(weights={("decoder", 0): own.flip(1)}, like=seen) as edited:
            module(x)
        assert torch.equal(edited.sites[0].calls[0].weights, own.flip(1))


def blocks_of_queries(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    q, k, v = self.qkv(x).chunk(3, dim=-1)
    for part in q.chunk(2, dim=1):
        yield part, k, v


def blocks_of_the_text(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    yield from zip(*(each.chunk(2, dim=1) for each in self.qkv(x).chunk(3, dim=-1)), strict=True)


def blocks_before_they_are_projected(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for part, linear in zip(x.chunk(2, dim=1), self.each, strict=False):
        yield linear(part).chunk(3, dim=-1)


def blocks_of_keys(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    q, k, v = self.qkv(x).chunk(3, dim=-1)
    for keys, values in zip(k.chunk(2, dim=1), v.chunk(2, dim=1), strict=True):
        yield q, keys, values


def sentences(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    yield from zip(*(each.split(1) for each in self.qkv(x).chunk(3, dim=-1)), strict=True)


@pytest.mark.parametrize(
    "projected",
    [
        *(blocks_of_queries, blocks_of_the_text, blocks_before_they_are_projected),
        *(blocks_of_keys, sentences),
    ],
)
def test_parts_of_a_text_are_no_heads(projected, x):
    seen = watched(Loop(projected), x * 1)
    assert all(call.weights.shape[1] == 1 for site in seen.sites for call in site.calls)
    with pytest.raises(CaptureError, match="on parts of one text"):
        seen.trace()


def of_two_texts(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
    for n, keys in enumerate((x * 2, x * 3)):
        q, _, v = self.each[n](x).chunk(3, dim=-1)
        yield q, self.each[n](keys)[..., :EACH], v


def test_the_same_queries_on_two_texts_are_no_heads(x):
    (site,) = watched(Loop(of_two_texts), x * 1).sites
    assert [call.weights.shape[1] for call in site.calls] == [1, 1]


def test_a_text_read_twice_is_no_second_head(x):
    def twice(self: Loop, x: Tensor) -> Iterator[tuple[Tensor, ...]]:
        for _ in range(2):
            yield self.each[0](x).chunk(3, dim=-1)

    (site,) = watched(Loop(twice), x * 1).sites
    assert [call.weights.shape[1] for call in site.calls] == [1, 1]
