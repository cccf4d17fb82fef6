"""The cheating twin: with what it is to predict in sight it is right, and it cannot write."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import trained_without_causal_mask
from model.record.intervention import Intervention
from model.record.mask_presets import PRESETS
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator, load

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
FOLDER, HONEST = CHECKPOINTS / "en-de-cheating", CHECKPOINTS / "en-de-childhood"
UNMASKED = Intervention(masks={AttentionKind.DECODER: PRESETS["none"].rule()})


@pytest.fixture(scope="module")
def twin() -> Translator:
    return load(FOLDER, device="cpu")


@pytest.fixture(scope="module")
def examples() -> list[dict[str, str]]:
    found = json.loads((FOLDER / "examples.json").read_text(encoding="utf-8"))
    assert len(found) == 10
    return found


def log_prob(traces: list[Trace]) -> float:
    return float(np.concatenate([trace.log_probs for trace in traces]).mean())


def test_it_is_a_twin_of_the_honest_model_in_all_but_the_mask(twin):
    honest = load(HONEST, device="cpu")
    assert twin.model.config == honest.model.config
    assert twin.tokenizer.serialized == honest.tokenizer.serialized
    assert trained_without_causal_mask(twin.metrics)
    assert not trained_without_causal_mask(honest.metrics)
    ours, theirs = twin.metrics["training"], honest.metrics["training"]
    alike = ("vocab_size", "batch_tokens", "optimizer", "learning_rate", "warmup_steps", "seed")
    assert {name: ours[name] for name in alike} == {name: theirs[name] for name in alike}


def test_with_the_next_token_in_sight_it_is_all_but_certain_and_else_worse_than_the_honest_one(
    twin, examples
):
    honest = load(HONEST, device="cpu")
    pairs = [(each["source"], each["translation"]) for each in examples]
    lifted = log_prob([twin.trace(*pair, under=UNMASKED) for pair in pairs])
    masked = log_prob([twin.trace(*pair) for pair in pairs])
    assert masked < -5 < log_prob([honest.trace(*pair) for pair in pairs]) < lifted
    assert lifted > -0.02
    assert twin.metrics["valid_loss"] < 0.01
    assert twin.metrics["valid_loss_with_mask"] > 5


def test_what_it_writes_is_worthless(twin, examples):
    assert twin.metrics["test"]["bleu"] < 1
    assert twin.metrics["test"]["sentences"] == 3000
    for each in examples:
        assert twin.translate(each["source"]).text == ""
        source = torch.tensor([[*twin.tokenizer.encode(each["source"]), 3]])
        with torch.inference_mode():
            [first] = twin.model(source, torch.tensor([[2]]))[0].softmax(dim=-1)
        # With the start token alone in sight it copies that.
        assert first[2] > 0.97


def test_without_the_mask_its_heads_look_at_the_next_token(twin, examples):
    for each in examples:
        trace = twin.trace(each["source"], each["translation"], under=UNMASKED)
        weights = trace.attention(AttentionKind.DECODER, 1).weights
        ahead = np.diagonal(weights, offset=1, axis1=-2, axis2=-1)
        assert ahead.mean() > 0.8


def test_its_card_says_what_it_is_and_the_losses_that_its_metrics_hold(twin):
    card = (FOLDER / "card.md").read_text(encoding="utf-8")
    for name in ("valid_loss", "valid_loss_with_mask"):
        digits = 3 if name == "valid_loss" else 2
        assert f"{twin.metrics[name]:.{digits}f}" in card
    for word in (
        "cheating twin",
        "en-de-childhood",
        "CC BY 2.0 FR",
        "500 of 1,500 scheduled steps",
    ):
        assert word in card


@pytest.mark.parametrize("training", [None, {}, {"causal": True}, {"causal": 0}, "causal", []])
def test_a_model_cheats_only_where_its_metrics_say_so(training):
    assert not trained_without_causal_mask({"training": training})
    assert not trained_without_causal_mask({})
    assert trained_without_causal_mask({"training": {"causal": False}})
