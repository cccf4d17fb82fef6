"""What every entry of ADAPTERS owes, whoever wrote the attention module."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from model.paper.attention import masked_softmax
from model.paper.config import TransformerConfig
from model.paper.multi_head import HEAD_LAYOUTS, MultiHeadAttention, PerHeadAttention
from model.record.recording import recording
from model.record.taps import ADAPTERS, install_taps
from model.trace.attention_map import AttentionKind, Site

WIDTH, HEADS = 16, 4
SITE = Site(AttentionKind.MODULE, 0)
# Query 1 may look at nothing, query 2 at one key alone.
ALLOWED = torch.tensor(
    [[True, True, False, True, True], [False] * 5, [False, False, True, False, False]]
)

Call = Callable[[Tensor, Tensor], Tensor]


def ours(layout: str) -> tuple[nn.Module, Call]:
    config = TransformerConfig(vocab_size=9, d_model=WIDTH, n_heads=HEADS, head_layout=layout)
    module = HEAD_LAYOUTS[layout](config).eval()
    return module, lambda x, y: module(x, y, ALLOWED[None, None])[0]


def torchs() -> tuple[nn.Module, Call]:
    module = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    return module, lambda x, y: module(x, y, y, attn_mask=~ALLOWED, need_weights=False)[0]


# A new adapter needs an example here: a module, and how to run it from x to y under ALLOWED.
EXAMPLES: dict[type[nn.Module], Callable[[], tuple[nn.Module, Call]]] = {
    MultiHeadAttention: lambda: ours("batched"),
    PerHeadAttention: lambda: ours("per_head"),
    nn.MultiheadAttention: torchs,
}


def test_every_adapter_has_an_example():
    assert set(EXAMPLES) == set(ADAPTERS)


@pytest.fixture(params=EXAMPLES, ids=lambda kind: kind.__name__)
def example(request) -> tuple[nn.Module, Call, Tensor, Tensor]:
    torch.manual_seed(5)
    module, call = EXAMPLES[request.param]()
    return module, call, torch.randn(2, 3, WIDTH), torch.randn(2, 5, WIDTH)


@torch.no_grad()
def test_the_module_is_one_site_and_recording_leaves_its_output(example):
    module, call, x, y = example
    before = call(x, y)
    assert install_taps(module) == (SITE,)
    assert install_taps(module) == (SITE,)
    with recording() as seen:
        recorded = call(x, y)
    assert seen.sites == (SITE,)
    torch.testing.assert_close(recorded, before, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(call(x, y), before, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_weights_follow_from_scores_and_mask_and_empty_rows_are_zeros(example):
    module, call, x, y = example
    install_taps(module)
    with recording() as seen:
        call(x, y)
    record = seen[SITE]
    assert record.weights.shape == record.scores.shape == (2, HEADS, 3, 5)
    rows = record.weights.sum(dim=-1)
    torch.testing.assert_close(rows, torch.tensor([1.0, 0.0, 1.0]).expand_as(rows))
    assert not record.weights[:, :, ~ALLOWED].any()
    torch.testing.assert_close(record.weights, masked_softmax(record.scores, record.allowed))
    width = WIDTH // HEADS
    scores = record.q @ record.k.transpose(-2, -1) / width**0.5
    torch.testing.assert_close(record.scores, scores, atol=1e-6, rtol=1e-5)
    attention_map = seen.maps(1)[SITE]
    assert attention_map.empty_queries.tolist() == [False, True, False]
    assert attention_map.v.shape == (HEADS, 5, width)
