"""Every published variant learns here to turn sequences round that it has never seen."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from model.paper.transformer import Transformer
from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, Site

PAD, BOS, EOS = 0, 2, 3
# A task that one layer a side learns in seconds: a model of more would not show more.
SYMBOLS = range(4, 10)
LENGTHS = range(3, 6)
N_UNSEEN, N_SEEN = 500, 3500
STEPS, BATCH, WARMUP, LEARNING_RATE = 500, 64, 40, 7e-3
SHAPE = {
    "vocab_size": len(SYMBOLS) + 4,
    "max_positions": 16,
    "n_encoder_layers": 1,
    "n_decoder_layers": 1,
}

VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm relu sinusoidal, the paper's": {},
    "plain dot products, no bias, d_k and d_v apart, epsilon 1e-6": {
        "scoring": "dot_product",
        "attention_bias": False,
        "d_k": 8,
        "d_v": 24,
        "layer_norm_eps": 1e-6,
    },
    "pre-norm, learned positions, a module per head": {
        "norm": "pre",
        "positions": "learned",
        "head_layout": "per_head",
    },
    "rotary positions, fused projections": {"positions": "rotary", "fused_qkv": True},
    "additive scoring": {"scoring": "additive"},
    "ALiBi": {"positions": "alibi"},
    "T5's relative bias": {"positions": "relative_bias"},
    "additive scoring with a shared v": {"scoring": "additive_shared", "d_a": 24},
    "a learned temperature, every dropout, a final norm, projections fused head by head": {
        "scoring": "learned_temperature",
        "attention_dropout": 0.05,
        "activation_dropout": 0.05,
        "final_norm": True,
        "fused_qkv": True,
        "fused_layout": "by_head",
    },
}

Sequence = tuple[int, ...]


@pytest.fixture(scope="module")
def sequences() -> tuple[list[Sequence], list[Sequence]]:
    """Sequences to train on, and others to be tested on."""
    draw = random.Random(2017)
    drawn: dict[Sequence, None] = {}
    while len(drawn) < N_UNSEEN + N_SEEN:
        drawn[tuple(draw.choices(SYMBOLS, k=draw.choice(LENGTHS)))] = None
    # Keys are distinct, so no sequence is on both sides.
    distinct = list(drawn)
    return distinct[N_UNSEEN:], distinct[:N_UNSEEN]


def padded(rows: list[Sequence]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + (PAD,) * (longest - len(row)) for row in rows])


def pairs(rows: list[Sequence]) -> tuple[Tensor, Tensor, Tensor]:
    """Source, decoder input and what the decoder is to predict."""
    turned = [row[::-1] for row in rows]
    return (
        padded([(*row, EOS) for row in rows]),
        padded([(BOS, *row) for row in turned]),
        padded([(*row, EOS) for row in turned]),
    )


def train(model: Transformer, seen: list[Sequence]) -> None:
    source, target, expected = pairs(seen)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, 1) * (1 - step / STEPS)
    )
    batches = torch.Generator().manual_seed(1)
    model.train()
    for _ in range(STEPS):
        rows = torch.randint(len(seen), (BATCH,), generator=batches)
        logits = model(source[rows], target[rows])
        loss = F.cross_entropy(logits.transpose(1, 2), expected[rows], ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def turned_round(model: Transformer, rows: list[Sequence]) -> list[Sequence]:
    """What the model makes of each row, by greedy decoding, up to the end it sets itself."""
    source = padded([(*row, EOS) for row in rows])
    state, tokens, steps = model.start(source), torch.full((len(rows),), BOS), []
    for _ in range(source.shape[1]):
        tokens = model.step(tokens, state).argmax(dim=-1)
        steps.append(tokens)
    written = torch.stack(steps, dim=1).tolist()
    return [tuple(row[: row.index(EOS)]) if EOS in row else tuple(row) for row in written]


@pytest.mark.learning
@pytest.mark.parametrize("overrides", VARIANTS.values(), ids=VARIANTS)
def test_a_variant_learns_to_reverse_unseen_sequences_and_can_be_recorded(
    build: Callable[..., Transformer],
    sequences: tuple[list[Sequence], list[Sequence]],
    overrides: dict[str, Any],
) -> None:
    seen, unseen = sequences
    assert set(seen).isdisjoint(unseen)
    model = build(**SHAPE, **overrides)
    train(model, seen)

    written = turned_round(model, unseen)
    right = sum(mine == row[::-1] for mine, row in zip(written, unseen, strict=True))
    # ALiBi tells near from far, and not one place from the next, so one layer reverses less well.
    share = 0.9 if overrides.get("positions") == "alibi" else 0.99
    assert right >= share * len(unseen)

    check_recording(model, unseen[:50])


@torch.no_grad()
def check_recording(model: Transformer, rows: list[Sequence]) -> None:
    source, target, _ = pairs(rows)
    unrecorded = model(source, target)
    install_taps(model)
    with recording() as recorded:
        logits = model(source, target)
    torch.testing.assert_close(logits, unrecorded, atol=1e-4, rtol=1e-4)

    axes = {
        AttentionKind.ENCODER: (source, source),
        AttentionKind.DECODER: (target, target),
        AttentionKind.CROSS: (target, source),
    }
    assert set(recorded.sites) == {Site(kind, 0) for kind in axes}
    for site in recorded.sites:
        queries, keys = axes[site.kind]
        weights = recorded[site].weights
        assert weights.shape == (len(rows), model.config.n_heads, queries.shape[1], keys.shape[1])
        allowed = (keys != PAD)[:, None, None, :].expand_as(weights)
        if site.kind is AttentionKind.DECODER:
            allowed = allowed.tril()
        assert not weights[~allowed].any()
        sums = weights.sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones_like(sums), atol=1e-5, rtol=0)
