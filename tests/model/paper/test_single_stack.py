"""An encoder and a decoder alone: beside their plain formula, cached, recorded, saved and read."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model.checkpoints.checkpoint import load_checkpoint, save_checkpoint
from model.checkpoints.folder_files import read_tensors
from model.checkpoints.shipped import CheckpointError
from model.checkpoints.toy_tasks import TASKS
from model.paper.config import ConfigError, TransformerConfig
from model.paper.decoding_cache import LayerCache
from model.paper.encoding import sinusoidal_table
from model.paper.single_stack import DecoderOnly, EncoderOnly, SingleStack, single_stack
from model.paper.transformer import Transformer
from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, Site
from model.trace.text_result import Purpose
from model.training.toys import tokenizer_of
from model.translate.sentences import TextError
from model.translate.text_models import StackReader, is_reader, load_reader, reader_facts
from tests.kit.tiny_checkpoint import write_tiny_checkpoint
from tests.model.conftest import TINY
from tests.model.paper.test_transformer import VARIANTS as WHOLE

VARIANTS = {name: each for name, each in WHOLE.items() if "target_vocab_size" not in each}
ENCODER, DECODER = {"n_decoder_layers": 0}, {"n_encoder_layers": 0}
HALVES = pytest.mark.parametrize("half", [ENCODER, DECODER], ids=["encoder", "decoder"])
TOKENS = torch.tensor([[2, 9, 8, 7, 6, 5], [2, 4, 7, 8, 3, 0], [2, 5, 6, 0, 0, 0]])


def make(half: dict[str, int], **overrides: Any) -> SingleStack:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2017)
        return single_stack(TransformerConfig(**{**TINY, **overrides, **half})).eval()


def plain(model: SingleStack, ids: list[int]) -> Tensor:
    """Logits of one text, head by head and token by token, as the papers write it."""
    config, length, width = model.config, len(ids), model.config.d_model // model.config.n_heads
    x = model.embedding.weight[ids] * math.sqrt(config.d_model)
    x = x + sinusoidal_table(length, config.d_model)
    for layer in model.stack.layers:
        attention, norms = layer.self_attention, (layer.self_residual, layer.feed_forward_residual)

        def attend(y: Tensor, attention: Any = attention) -> Tensor:
            q, k, v = (
                projection(y) for projection in (attention.w_q, attention.w_k, attention.w_v)
            )
            rows = []
            for i in range(length):
                seen = range(i + 1 if isinstance(model, DecoderOnly) else length)
                parts = []
                for head in range(config.n_heads):
                    own = slice(head * width, (head + 1) * width)
                    scores = torch.stack([q[i, own] @ k[j, own] for j in seen]) / math.sqrt(width)
                    weights = scores.exp() / scores.exp().sum()
                    parts.append(sum(w * v[j, own] for w, j in zip(weights, seen, strict=True)))
                rows.append(torch.cat(parts))
            return attention.w_o(torch.stack(rows))

        def feed(y: Tensor, network: Any = layer.feed_forward) -> Tensor:
            return network.w_2(network.w_1(y).clamp(min=0))

        for residual, sublayer in zip(norms, (attend, feed), strict=True):
            pre = config.norm == "pre"
            x = x + sublayer(residual.norm(x)) if pre else residual.norm(x + sublayer(x))
    return model.stack.final_norm(x) @ model.embedding.weight.T


@HALVES
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_it_is_its_plain_formula_and_padding_changes_nothing(half, norm):
    model = make(half, norm=norm)
    assert isinstance(model, EncoderOnly if half is ENCODER else DecoderOnly)
    with torch.no_grad():
        logits = model(TOKENS)
        for row, text in zip(logits, TOKENS, strict=True):
            ids = [each for each in text.tolist() if each]
            torch.testing.assert_close(row[: len(ids)], plain(model, ids), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("overrides", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_of_a_decoder_decodes_with_the_cache_as_without(overrides):
    model = make(DECODER, **overrides)
    text = TOKENS[:1]
    with torch.no_grad():
        at_once, caches = model(text), [LayerCache([]) for _ in model.stack.layers]
        for position in range(text.shape[1]):
            step = model.step(text[:, position], position, caches)
            torch.testing.assert_close(step, at_once[:, position], atol=1e-4, rtol=1e-4)
        written = model.write(text, 5)
        assert written[:, : text.shape[1]].equal(text)
        for length in range(text.shape[1], written.shape[1]):
            likeliest = model(written[:, :length])[:, -1].argmax(dim=-1)
            assert likeliest.equal(written[:, length])


@pytest.mark.parametrize("overrides", VARIANTS.values(), ids=VARIANTS)
def test_only_an_encoder_looks_ahead(overrides):
    changed = TOKENS[:1].clone()
    changed[0, -1] = 11
    for half in (ENCODER, DECODER):
        model = make(half, **overrides)
        with torch.no_grad():
            before, after = (model(each)[0, :-1] for each in (TOKENS[:1], changed))
        assert torch.equal(before, after) == (half is DECODER)


@HALVES
def test_it_is_recorded_as_what_it_is(half):
    model = make(half)
    kind = AttentionKind.ENCODER if half is ENCODER else AttentionKind.DECODER
    assert install_taps(model) == (Site(kind, 0), Site(kind, 1))
    with recording() as seen, torch.no_grad():
        model(TOKENS)
    for site in seen:
        weights = seen[site].weights
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
        assert bool(weights.triu(1).any()) == (half is ENCODER)


def test_each_wants_its_own_configuration():
    with pytest.raises(ConfigError, match="both 0"):
        TransformerConfig(vocab_size=9, n_encoder_layers=0, n_decoder_layers=0)
    with pytest.raises(ConfigError, match="n_encoder_layers must be a whole number of at least 0"):
        TransformerConfig(vocab_size=9, n_encoder_layers=-1)
    with pytest.raises(ConfigError, match="describes a decoder alone, but this model needs"):
        Transformer(TransformerConfig(**{**TINY, **DECODER}))
    with pytest.raises(
        ConfigError, match="describes an encoder alone, but this model is a decoder"
    ):
        DecoderOnly(TransformerConfig(**{**TINY, **ENCODER}))
    with pytest.raises(
        ConfigError, match="describes a whole Transformer, but this model is an encoder"
    ):
        EncoderOnly(TransformerConfig(**TINY))


@pytest.fixture(params=[ENCODER, DECODER], ids=["encoder", "decoder"])
def saved(request, tmp_path) -> tuple[dict[str, int], Path]:
    tokenizer = tokenizer_of(TASKS["reverse"])
    model = make(request.param, vocab_size=len(tokenizer))
    save_checkpoint(tmp_path / "half", model, tokenizer, metrics={"steps": 1}, bits=32)
    return request.param, tmp_path / "half"


def test_a_folder_is_read_as_it_was_saved(saved):
    half, folder = saved
    kept = read_tensors(folder / "model.safetensors")
    assert "output.weight" not in kept
    assert is_reader(folder)
    reader = load_reader(folder, device="cpu")
    assert isinstance(reader, StackReader)
    for name, value in make(half, vocab_size=len(reader.tokenizer)).state_dict().items():
        assert reader.model.state_dict()[name].equal(value), name
    answer = reader.read("a b c d")
    given = ["▁a", "▁b", "▁c", "▁d", "</s>"]
    if half is ENCODER:
        assert list(answer.trace.source.tokens) == given
        assert answer.trace.target.tokens == ()
        assert answer.purpose is Purpose.LABEL
    else:
        assert list(answer.trace.target.tokens[:6]) == ["<s>", *given]
        assert answer.trace.source.tokens == ()
        assert answer.purpose is Purpose.CONTINUE
    assert answer.trace.text == reader.write("a b c d")
    assert answer.finished == (half is ENCODER or answer.trace.predictions.ids[-1] == 3)
    with pytest.raises(TextError, match="empty"):
        reader.read(" ")
    with pytest.raises(TextError, match=r"71 tokens|72 tokens"):
        reader.read("a " * 70)


def test_what_is_opened_the_wrong_way_says_how_it_is_opened(saved, tmp_path):
    half, folder = saved
    name = "an encoder alone" if half is ENCODER else "a decoder alone"
    assert reader_facts(folder).architecture == name
    assert dict(reader_facts(folder).sizes)["d_model"] == 32
    with pytest.raises(CheckpointError, match=f"has {name}; open it"):
        load_checkpoint(folder)
    whole = write_tiny_checkpoint(tmp_path / "whole")
    assert not is_reader(whole)
    assert not is_reader(tmp_path / "nothing")
    with pytest.raises(CheckpointError, match="an encoder and a decoder; open it in the app"):
        load_reader(whole)


def test_weights_of_the_other_half_are_refused(saved):
    _, folder = saved
    config = json.loads((folder / "config.json").read_text())
    config["n_encoder_layers"], config["n_decoder_layers"] = 2, 2
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="do not fit"):
        load_checkpoint(folder)
