"""Columns that a model adds, drops or moves between scores and values keep their keys' names.

Each spelling either is recorded with the weights that each token's value met, what was added last,
or is refused with a sentence that names the operation.
"""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from model.record.intervention import Intervention
from model.record.mask_rules import MaskError
from model.record.recording import CaptureError
from model.watch import watching
from tests.model.watch.test_silence import BATCH, CAUSAL, HEADS, LENGTH, WIDTH, Spelling, watched

LOW = torch.finfo(torch.float32).min
ALL = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
TURNED = torch.arange(LENGTH).flip(0)
Attend = Callable[["By", Tensor, Tensor, Tensor], Tensor]


class By(Spelling):
    """An attention spelled by a function of queries, keys and values, (batch, head, token, d)."""

    def __init__(self, attend: Attend, *, causal: bool = True) -> None:
        super().__init__()
        self.attend = attend
        self.mask = CAUSAL if causal else ALL
        self.sink = torch.nn.Parameter(torch.randn(1, HEADS, 1, 1))
        self.memory = torch.nn.Parameter(torch.randn(BATCH, HEADS, 2, WIDTH // HEADS))

    def forward(self, x: Tensor) -> Tensor:
        return self.attend(self, *(each.transpose(1, 2) for each in self.split(x)))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q @ k.mT / 2).masked_fill(~self.mask, -torch.inf)

    def sinks(self, like: Tensor) -> Tensor:
        return self.sink.expand(*like.shape[:-1], 1)


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(BATCH, LENGTH, WIDTH)


def off_by_one(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = F.pad(self.scores(q, k), (1, 0)).softmax(dim=-1)
    self.keep(weights.roll(-1, dims=-1))
    return weights[..., 1:] @ v


def off_by_one_in_the_memory_of_einsum(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = torch.einsum("bhkd,bhqd->bhqk", k, q / 2) + torch.where(self.mask, 0.0, LOW)
    weights = F.pad(scores, (1, 0)).softmax(dim=-1)
    self.keep(weights.roll(-1, dims=-1))
    return torch.einsum("bhqk,bhkd->bhqd", weights[..., 1:], v)


def sink_before_the_mask(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT / 2
    scores = torch.cat([self.sinks(scores), scores], dim=-1)
    weights = scores.masked_fill(F.pad(~self.mask, (1, 0)), -torch.inf).softmax(dim=-1)
    self.keep(weights.roll(-1, dims=-1))
    return weights[..., 1:].contiguous() @ v


def sink_after_the_mask(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT / 2 + torch.where(self.mask, 0.0, LOW)
    scores = torch.cat([scores, self.sinks(scores)], dim=-1)
    weights = (scores - scores.amax(dim=-1, keepdim=True)).softmax(dim=-1)
    self.keep(weights)
    return weights[..., :-1] @ v


def sink_with_a_value_in_front(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = F.pad(self.scores(q, k), (1, 0)).softmax(dim=-1)
    self.keep(weights.roll(-1, dims=-1))
    return weights @ F.pad(v, (0, 0, 1, 0), value=0.5)


def sums_of_products(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mixed = (F.pad(self.scores(q, k), (1, 0)).softmax(dim=-1)[..., 1:, None] * v[:, :, None]).sum(
        -2
    )
    self.keep(F.pad(self.scores(q, k), (0, 1)).softmax(dim=-1))
    return mixed


WITH_A_SINK: tuple[Attend, ...] = (
    *(off_by_one, off_by_one_in_the_memory_of_einsum, sink_before_the_mask, sink_after_the_mask),
    *(sink_with_a_value_in_front, sums_of_products),
)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("attend", WITH_A_SINK)
def test_a_column_that_is_no_token_comes_last_under_its_name(attend, context, x):
    module = By(attend)
    with context():
        seen = watched(module, x)
    (site,) = seen.sites
    (call,) = site.calls
    assert str(site.site) == "decoder.0"
    assert not site.notes
    assert call.extra_keys == ("[sink]",)
    torch.testing.assert_close(call.weights, module.used, atol=1e-6, rtol=0)
    allowed = F.pad(CAUSAL, (0, 1), value=True)
    assert torch.equal(call.allowed.expand(call.weights.shape), allowed.expand(call.weights.shape))
    q, k = (each.transpose(1, 2) for each in module.split(x)[:2])
    assert call.scores is not None
    plain = q @ k.mT / 2
    if attend is not sink_after_the_mask:
        torch.testing.assert_close(call.scores[..., :-1], plain.detach(), atol=1e-6, rtol=0)
    assert float(call.scores.min()) > -100
    trace = seen.trace()
    assert trace.attention("decoder", 0).keys.tokens[-1] == "[sink]"


@pytest.mark.parametrize("attend", WITH_A_SINK)
def test_a_mask_in_place_of_the_models_own_is_carried_out_beside_a_sink(attend, x):
    module = By(attend)
    window = CAUSAL & ~CAUSAL.tril(-3)
    with torch.no_grad():
        seen = watched(module, x)
        for mask in (ALL, window, CAUSAL):
            with watching(Intervention(masks={"decoder": mask}), like=seen) as edited:
                output = module(x)
            module.mask = mask
            expected = module(x)
            torch.testing.assert_close(output, expected, atol=1e-6, rtol=0)
            (call,) = edited.sites[0].calls
            torch.testing.assert_close(call.weights, module.used, atol=1e-6, rtol=0)
            assert torch.equal(call.allowed[0, 0, :, :-1], mask)
            module.mask = CAUSAL
        own = seen.sites[0].calls[0].weights
        with watching(weights={("decoder", 0): own}, like=seen):
            torch.testing.assert_close(module(x), module(x), atol=1e-6, rtol=0)


def padded_to_a_multiple(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = F.pad(self.scores(q, k), (0, 2), value=-torch.inf).softmax(dim=-1)
    self.keep(weights)
    return weights @ F.pad(v, (0, 0, 0, 2))


def two_products(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = torch.cat([q @ self.memory.mT, q @ k.mT], dim=-1).softmax(dim=-1)
    self.keep(weights)
    return weights @ torch.cat([self.memory, v], dim=2)


def skewed_bias_first(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    bias = F.pad(q @ k.flip(2).mT, (1, 0)).view(BATCH, HEADS, LENGTH + 1, LENGTH)[:, :, 1:]
    weights = (bias + q @ k.mT).softmax(dim=-1)
    self.keep(weights)
    return weights @ v


def plane_of_keys(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q @ k.mT).view(BATCH, HEADS, LENGTH, 2, 3) + torch.arange(3.0)
    weights = scores.flatten(-2).softmax(dim=-1)
    self.keep(weights)
    return weights @ v


def turned_twice(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (k @ q.mT).mT.contiguous().softmax(dim=-1)
    self.keep(weights)
    return (v.mT @ weights.mT.contiguous()).mT


@pytest.mark.parametrize(
    "attend", [padded_to_a_multiple, two_products, skewed_bias_first, plane_of_keys, turned_twice]
)
def test_columns_that_stay_in_order_are_recorded(attend, x):
    module = By(attend, causal=False)
    (site,) = watched(module, x).sites
    (call,) = site.calls
    assert call.extra_keys == ()
    torch.testing.assert_close(call.weights, module.used, atol=1e-6, rtol=0)
    q, k = (each.transpose(1, 2) for each in module.split(x)[:2])
    if call.k is not None:
        torch.testing.assert_close(call.q, q.detach(), atol=1e-6, rtol=0)
        torch.testing.assert_close(call.k[:, :, :LENGTH], k.detach(), atol=1e-6, rtol=0)


def _buffer(x: Tensor) -> Tensor:
    shifted = torch.zeros_like(x)
    shifted[..., 1:] = x[..., :-1]
    return shifted


def _in_place(x: Tensor) -> Tensor:
    x = x.clone()
    x[..., 1:] = x[..., :-1].clone()
    return x


MOVES: tuple[Callable[[Tensor], Tensor], ...] = (
    lambda x: x.roll(1, dims=-1),
    lambda x: x.flip(-1),
    lambda x: x[..., TURNED],
    lambda x: x.index_select(-1, TURNED),
    lambda x: x.gather(-1, TURNED.expand(x.shape)),
    lambda x: x.scatter(-1, TURNED.expand(x.shape), x),
    lambda x: torch.zeros_like(x).index_copy_(-1, TURNED, x),
    lambda x: torch.cat([x[..., 1:], x[..., :1]], dim=-1),
    lambda x: F.pad(x, (1, -1)),
    lambda x: x.sort(dim=-1).values,
    lambda x: x.topk(LENGTH).values,
    lambda x: x[..., ::2].repeat_interleave(2, dim=-1),
    lambda x: x.mT.contiguous(),
    lambda x: torch.slice_scatter(x, x[..., 1:], dim=-1, end=LENGTH - 1),
    lambda x: F.pad(x, (1, 0)).flatten(2)[..., LENGTH:].view(x.shape),
    _buffer,
    _in_place,
)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad])
@pytest.mark.parametrize("before", [False, True], ids=["weights", "scores"])
@pytest.mark.parametrize("move", MOVES)
def test_columns_that_are_moved_are_refused(move, before, context, x):
    def attend(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if before:
            return move(q @ k.mT).softmax(dim=-1) @ v
        return move((q @ k.mT).softmax(dim=-1)) @ v

    with context():
        seen = watched(By(attend), x)
    if before and move is MOVES[12]:
        # Queries and keys that change places are the keys' attention to queries.
        (site,) = seen.sites
        assert site.calls[0].q is not None
        return
    assert not seen.sites
    (reason,) = {each.reason for each in seen.report().others}
    assert reason != "what it made was multiplied with no values"
    with pytest.raises(CaptureError, match=r"No attention ran.*but a softmax"):
        seen.trace()


def in_two_parts(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    weights = (q @ k.mT).softmax(dim=-1)
    return weights[..., :1] @ v[..., :1, :] + weights[..., 1:] @ v[..., 1:, :]


def without_its_first_token(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT).softmax(dim=-1)[..., 1:] @ v[..., 1:, :]


def heads_of_two_softmaxes(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    first, second = ((q[:, h : h + 1] @ k[:, h : h + 1].mT).softmax(dim=-1) for h in (1, 0))
    return torch.cat([second, first], dim=1) @ v


def sink_among_the_keys(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.mT
    scores = torch.cat([scores[..., :2], self.sinks(scores), scores[..., 2:]], dim=-1)
    return scores.softmax(dim=-1) @ torch.cat([v[:, :, :2], v[:, :, :1], v[:, :, 2:]], dim=2)


@pytest.mark.parametrize(
    ("attend", "reason"),
    [
        (in_two_parts, "some of its keys meet no values"),
        (without_its_first_token, "some of its keys meet no values"),
        (heads_of_two_softmaxes, "cat moves its weights along the axis of keys"),
        (sink_among_the_keys, "keys that are no tokens stand among those of its text"),
    ],
)
def test_columns_whose_keys_are_not_known_are_refused(attend, reason, x):
    seen = watched(By(attend), x)
    assert not seen.sites
    assert any(each.reason.startswith(reason) for each in seen.report().others)


def masked_by_numbers_out_of_sight(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    # Of the keys alone, before any product.
    far = torch.where(self.mask, 0.0, -torch.inf)
    weights = (
        torch.baddbmm(
            far.expand(BATCH * HEADS, -1, -1), *(each.flatten(0, 1) for each in (q, k.mT))
        )
        .add(far)
        .softmax(dim=-1)
    )
    return weights @ v.flatten(0, 1)


def masked_twice(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Once in scores and once in weights."""
    weights = self.scores(q, k).softmax(dim=-1) * self.mask
    weights = weights / weights.sum(dim=-1, keepdim=True)
    self.keep(weights)
    return weights @ v


def test_an_edit_that_would_not_stand_is_refused(x):
    module = By(masked_twice)
    with torch.no_grad():
        seen = watched(module, x)
        with (
            pytest.raises(CaptureError, match=r"so that the edit would not stand"),
            watching(Intervention(masks={"decoder": ALL}), like=seen),
        ):
            module(x)
    module = By(masked_by_numbers_out_of_sight)
    with torch.no_grad():
        seen = watched(module, x)
        module.mask = ALL
        expected = module(x)
        module.mask = CAUSAL
        with watching(Intervention(masks={"decoder": ALL}), like=seen):
            torch.testing.assert_close(module(x), expected, atol=1e-6, rtol=0)


def hidden_by_an_earlier_number(self: By, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """What forbids stands in the product itself: a key that is endlessly far."""
    far = torch.where(self.mask, 0.0, -1e9)
    scores = (
        torch.cat([q, far.expand(BATCH, HEADS, -1, -1)], dim=-1)
        @ torch.cat([k, torch.eye(LENGTH).expand(BATCH, HEADS, -1, -1)], dim=-1).mT
    )
    return scores.softmax(dim=-1) @ v


def test_a_mask_that_cannot_be_carried_out_is_refused(x):
    module = By(hidden_by_an_earlier_number)
    with torch.no_grad():
        seen = watched(module, x)
        assert str(seen.sites[0].site) == "decoder.0"
        with (
            pytest.raises(
                MaskError, match=r"cannot be carried out: head 0 would still give query 0"
            ),
            watching(Intervention(masks={"decoder": ALL}), like=seen),
        ):
            module(x)
