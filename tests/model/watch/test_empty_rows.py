"""Queries without any key: NaN in the model, empty in what is recorded, and said."""

import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.record.intervention import Intervention
from model.trace.attention_map import Tokens
from model.trace.trace import Trace
from model.trace.trace_file import TraceError
from model.watch import watching
from tests.model.watch.test_silence import BATCH, HEADS, LENGTH, WIDTH, Spelling, watched

SAID = "queries without any key have weights of NaN in the model; they are empty here"


class Masked(Spelling):
    """Masks by head and sentence, (batch, head, query, key), added or filled."""

    def __init__(self, allowed: Tensor, spelling: str) -> None:
        super().__init__()
        self.allowed, self.spelling = allowed, spelling

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (each.transpose(1, 2) for each in self.split(x))
        far = torch.zeros(self.allowed.shape).masked_fill(~self.allowed, -torch.inf)
        match self.spelling:
            case "fused":
                return F.scaled_dot_product_attention(q, k, v, attn_mask=self.allowed)
            case "added":
                scores = q @ k.mT + far
            case "filled":
                scores = (q @ k.mT).masked_fill(~self.allowed, -torch.inf)
            case "by index":
                scores = q @ k.mT
                scores[~self.allowed.expand(scores.shape)] = -torch.inf
        weights = scores.softmax(dim=-1)
        return F.dropout(weights, 0.0) @ v


class TorchsOwn(nn.Module):
    def __init__(self, allowed: Tensor) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mask = ~allowed.expand(BATCH, HEADS, LENGTH, LENGTH).flatten(0, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x * 1, x, attn_mask=self.mask, need_weights=True)[0]


def a_head() -> Tensor:
    allowed = torch.ones(1, HEADS, LENGTH, LENGTH, dtype=torch.bool)
    allowed[:, 1] = False
    return allowed


def a_sentence() -> Tensor:
    allowed = torch.ones(BATCH, 1, 1, LENGTH, dtype=torch.bool)
    allowed[1] = False
    return allowed


def a_query() -> Tensor:
    return ~torch.eye(LENGTH, dtype=torch.bool).cumsum(1).bool()[None, None]


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(3)
    return torch.randn(BATCH, LENGTH, WIDTH)


@pytest.mark.parametrize("allowed", [a_head(), a_sentence(), a_query()])
@pytest.mark.parametrize("spelling", ["added", "filled", "by index", "fused", "torch's"])
def test_rows_without_keys_are_empty_said_and_saved(spelling, allowed, x):
    module = TorchsOwn(allowed) if spelling == "torch's" else Masked(allowed, spelling)
    with torch.no_grad():
        seen = watched(module, x)
    assert (SAID in str(seen.report())) == (spelling != "fused")
    (site,) = seen.sites
    (call,) = site.calls
    full = allowed.expand(call.weights.shape)
    assert torch.equal(call.allowed.expand(full.shape), full)
    assert torch.equal(call.weights.sum(-1) == 0, ~full.any(-1))
    saved = io.BytesIO()
    trace = seen.trace(
        1, source=Tokens.unnamed(range(LENGTH)), target=Tokens.unnamed(range(LENGTH))
    )
    trace.save(saved)
    saved.seek(0)
    (found,) = Trace.load(saved).maps.values()
    empty = np.broadcast_to(found.empty_queries, found.weights.shape[:2])
    np.testing.assert_array_equal(empty, ~full[1].any(-1).numpy())


def test_a_gate_on_a_head_beside_empty_rows_is_carried_out(x):
    module = Masked(a_head(), "added")
    with torch.no_grad():
        seen = watched(module, x)
        with watching(Intervention(heads={("encoder", 0, 1): 0}), like=seen):
            output = module(x)
    assert bool((output[:, 1] == 0).all())
    assert bool((output[:, 0] != 0).all())


def test_nan_of_the_models_own_numbers_is_said_and_refused_for_what_it_is(x):
    x[1, 2] = torch.nan
    with torch.no_grad():
        seen = watched(Masked(torch.ones(1, 1, 1, LENGTH, dtype=torch.bool), "filled"), x)
    assert "weights are NaN in the model, first those of head 0 and query 0" in str(seen.report())
    seen.trace(0).save(io.BytesIO())
    with pytest.raises(TraceError, match="NaN or infinity, first in head 0 and query 0"):
        seen.trace(1).save(io.BytesIO())
