"""Traces from outputs that people already hold: of transformers, and a TransformerLens cache."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from model.trace.attention_map import Tokens, TraceError
from model.trace.trace import Trace
from tests.kit.foreign_folders import save_foreign
from tests.kit.marian_folders import save_marian
from tests.kit.tiny_checkpoint import PAIRS

TEXTS = [PAIRS[2][0], PAIRS[0][0], PAIRS[7][0]]


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    model, tokenizer = save_marian(tmp_path_factory.mktemp("hf") / "marian", steps=120)
    model.set_attn_implementation("eager")
    return model, tokenizer


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    from transformers import AutoTokenizer

    folder: Path = tmp_path_factory.mktemp("hf") / "gpt2"
    model = save_foreign(folder, "gpt2")
    model.set_attn_implementation("eager")
    return model, AutoTokenizer.from_pretrained(folder)


def require_same_pass(trace: Trace, output: Any) -> None:
    """The trace has the weights of one pass over what it names."""
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions"}
    for site, found in trace.maps.items():
        layers = output.get(names.get(site.kind, "cross_attentions"), output.get("attentions"))
        expected = layers[site.layer][0].numpy()
        np.testing.assert_allclose(found.weights, expected, atol=1e-5, err_msg=str(site))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"num_beams": 1},
        {"num_beams": 1, "use_cache": False},
        {"num_beams": 3, "output_scores": True},
        {"num_beams": 3, "num_return_sequences": 2, "output_scores": True},
    ],
    ids=str,
)
def test_what_generate_gives_is_one_pass_over_each_result(marian, settings):
    model, tokenizer = marian
    given = tokenizer(TEXTS, return_tensors="pt", padding=True)
    with torch.no_grad():
        outputs = model.generate(
            **given, **settings, output_attentions=True, return_dict_in_generate=True
        )
    each = settings.get("num_return_sequences", 1)
    for number in range(each * len(TEXTS)):
        text = TEXTS[number // each]
        trace = Trace.from_transformers(outputs, tokenizer, given.input_ids, sentence=number)
        assert trace.source.ids == tuple(tokenizer(text).input_ids)
        assert trace.source_text == text
        assert trace.target.ids[1:] == trace.predictions.ids[:-1]
        assert trace.target.ids[0] == model.config.decoder_start_token_id
        assert trace.predictions.ids == tuple(
            x for x in outputs.sequences[number, 1:].tolist() if x != model.config.pad_token_id
        )
        assert len(trace.maps) == 8
        with torch.no_grad():
            output = model(
                input_ids=torch.tensor([trace.source.ids]),
                decoder_input_ids=torch.tensor([trace.target.ids]),
                output_attentions=True,
            )
        require_same_pass(trace, output)
        causal = trace.attention("decoder", 0).allowed
        assert np.array_equal(causal, np.tril(np.ones_like(causal)))


@pytest.mark.slow
def test_one_pass_of_a_padded_batch_loses_its_padding(marian):
    model, tokenizer = marian
    given = tokenizer(TEXTS, return_tensors="pt", padding=True)
    target = torch.tensor([[model.config.decoder_start_token_id, 5, 6]] * 3)
    with torch.no_grad():
        outputs = model(**given, decoder_input_ids=target, output_attentions=True)
        alone = model(
            input_ids=tokenizer(TEXTS[0], return_tensors="pt").input_ids,
            decoder_input_ids=target[:1],
            output_attentions=True,
        )
    trace = Trace.from_transformers(outputs, tokenizer, given.input_ids, target=target)
    assert len(trace.source) < given.input_ids.shape[1]
    require_same_pass(trace, alone)
    with pytest.raises(TraceError, match="give source and target as the model read them"):
        Trace.from_transformers(outputs, tokenizer, given.input_ids[:, 1:], target=target)


@pytest.mark.slow
def test_a_decoder_alone_generates_and_reads(gpt2):
    model, tokenizer = gpt2
    given = tokenizer("the cat sat", return_tensors="pt")
    with torch.no_grad():
        outputs = model.generate(
            **given,
            max_new_tokens=5,
            do_sample=False,
            output_attentions=True,
            return_dict_in_generate=True,
        )
        trace = Trace.from_transformers(outputs, tokenizer)
        output = model(torch.tensor([trace.target.ids]), output_attentions=True)
    require_same_pass(trace, output)
    assert trace.predictions.ids == tuple(outputs.sequences[0, 1:].tolist())
    read = Trace.from_transformers(output, tokenizer, target=torch.tensor([trace.target.ids]))
    require_same_pass(read, output)
    assert not read.predictions


@pytest.mark.slow
def test_outputs_that_do_not_say_enough_are_refused(marian):
    model, tokenizer = marian
    given = tokenizer(TEXTS[:1], return_tensors="pt")
    with pytest.raises(TraceError, match="hold no attention"):
        Trace.from_transformers(model.generate(**given, return_dict_in_generate=True), tokenizer)
    outputs = model.generate(**given, output_attentions=True, return_dict_in_generate=True)
    outputs = {name: each for name, each in outputs.items() if name != "beam_indices"}
    with pytest.raises(TraceError, match="output_scores=True"):
        Trace.from_transformers(outputs, tokenizer, given.input_ids)


def test_a_cache_by_the_names_of_hooks_is_a_trace():
    draw = np.random.default_rng(0)
    pattern = np.tril(draw.random((2, 3, 4, 4), dtype=np.float32)) + np.eye(4, dtype=np.float32)
    pattern /= pattern.sum(axis=-1, keepdims=True)
    q = draw.random((2, 4, 3, 5), dtype=np.float32)
    cache = {
        "hook_embed": q,
        "blocks.0.attn.hook_pattern": pattern,
        "blocks.0.attn.hook_q": q,
        "blocks.1.attn.hook_pattern": pattern[::-1],
    }
    tokens = Tokens(("▁the", "▁cat", "▁sat", "▁on"), (1, 2, 3, 4))
    trace = Trace.from_transformer_lens(cache, tokens, sentence=1)
    assert trace.layers("decoder") == (0, 1)
    first = trace.attention("decoder", 0)
    np.testing.assert_array_equal(first.weights, pattern[1])
    np.testing.assert_array_equal(first.q, q[1].swapaxes(0, 1))
    assert first.k is None
    assert trace.source_text == "the cat sat on"
    np.testing.assert_array_equal(trace.attention("decoder", 1).weights, pattern[0])
    with pytest.raises(TraceError, match="hook_pattern"):
        Trace.from_transformer_lens({"hook_embed": q}, tokens)
    with pytest.raises(TraceError, match=r"weights of decoder\.0"):
        Trace.from_transformer_lens(cache, tokens[:2])


def test_outputs_may_be_plain_arrays_and_any_object():
    weights = np.full((1, 2, 2, 2), 0.5, np.float32)
    tokenizer = SimpleNamespace(
        pad_token_id=0,
        convert_ids_to_tokens=lambda ids: [f"▁{each}" for each in ids],
        decode=lambda ids, skip_special_tokens: " ".join(map(str, ids)),
    )
    outputs = SimpleNamespace(attentions=(weights, weights))
    trace = Trace.from_transformers(outputs, tokenizer, [5, 6])
    assert trace.layers("encoder") == (0, 1)
    assert trace.attention("encoder", 1).allowed.all()
    assert trace.source_text == "5 6"
