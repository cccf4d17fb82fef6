"""Hugging Face's models, watched as they are: every attention, and their own weights.

Tiny models with random parameters. What counts as an attention is told by hooks on their attention
modules, which know nothing of the recording; the weights by `output_attentions` of the eager twin.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.trace.attention_map import Tokens
from model.watch import Watched, watching

pytestmark = pytest.mark.slow

IDS = torch.tensor([[5, 6, 7, 8, 9, 2], [11, 12, 13, 2, 1, 1]])
MASK = torch.tensor([[1] * 6, [1] * 4 + [0] * 2])
PIXELS = torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)

BART = {
    "vocab_size": 40,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 32,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
}
BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 32,
    "pad_token_id": 1,
}
LLAMA = {**BERT, "num_key_value_heads": 1, "head_dim": 8, "bos_token_id": 0, "eos_token_id": 2}
VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 16,
    "patch_size": 8,
}
TEXT = {"input_ids": IDS, "attention_mask": MASK}
PAIR = {**TEXT, "decoder_input_ids": torch.tensor([[2, 5, 6, 7], [2, 8, 9, 10]])}


@dataclass(frozen=True)
class Family:
    """A class of models: its name, its configuration's, what that is told, and its inputs.

    Attributes:
        kinds: of the sites, in order.
        tolerance: of weights, where the fused kernel rounds otherwise.
        others: how many other softmaxes run: routers.
        has_sdpa: whether it has attention by torch's fused kernel.
        attentions: the weights that it gives itself, in the order of sites; None for those it
            does not give.
    """

    model: str
    config: str
    options: dict[str, Any]
    inputs: dict[str, Tensor]
    kinds: str
    tolerance: float = 5e-7
    others: int = 0
    has_sdpa: bool = True
    attentions: Callable[[Any], list[Tensor | None]] = field(
        default=lambda output: list(output.attentions)
    )


def pairs(output: Any) -> list[Tensor | None]:
    """Of encoder, then of decoder and cross in turn, as they ran."""
    between = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return [*output.encoder_attentions, *(each for layer in between for each in layer)]


BOTH = "encoder encoder decoder cross decoder cross"
FAMILIES = (
    Family("MarianMTModel", "MarianConfig", BART, PAIR, BOTH, attentions=pairs),
    Family("PegasusForConditionalGeneration", "PegasusConfig", BART, PAIR, BOTH, attentions=pairs),
    Family("BartForConditionalGeneration", "BartConfig", BART, PAIR, BOTH, attentions=pairs),
    Family("M2M100ForConditionalGeneration", "M2M100Config", BART, PAIR, BOTH, attentions=pairs),
    Family(
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        {**BART, "num_mel_bins": 8, "max_source_positions": 8, "max_target_positions": 16},
        {
            "input_features": torch.linspace(-1, 1, 2 * 8 * 16).reshape(2, 8, 16),
            "decoder_input_ids": PAIR["decoder_input_ids"],
        },
        BOTH,
        attentions=pairs,
    ),
    Family(
        "T5ForConditionalGeneration",
        "T5Config",
        {
            "vocab_size": 40,
            "d_model": 16,
            "d_kv": 8,
            "d_ff": 24,
            "num_layers": 2,
            "num_heads": 2,
            "decoder_start_token_id": 0,
        },
        PAIR,
        BOTH,
        tolerance=1e-4,
        attentions=pairs,
    ),
    Family("BertModel", "BertConfig", BERT, TEXT, "encoder encoder"),
    Family("RobertaModel", "RobertaConfig", BERT, TEXT, "encoder encoder"),
    Family(
        "DistilBertModel",
        "DistilBertConfig",
        {"vocab_size": 40, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24},
        TEXT,
        "encoder encoder",
    ),
    # One layer of parameters, run twice.
    Family("AlbertModel", "AlbertConfig", {**BERT, "embedding_size": 8}, TEXT, "encoder"),
    Family(
        "DebertaV2Model",
        "DebertaV2Config",
        {**BERT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
        TEXT,
        "encoder encoder",
        has_sdpa=False,
    ),
    Family(
        "XLNetModel",
        "XLNetConfig",
        {"vocab_size": 40, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24},
        TEXT,
        "encoder encoder",
        has_sdpa=False,
    ),
    Family(
        "BigBirdModel",
        "BigBirdConfig",
        {**BERT, "attention_type": "original_full"},
        TEXT,
        "encoder encoder",
        has_sdpa=False,
    ),
    Family(
        "GPT2LMHeadModel",
        "GPT2Config",
        {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
        TEXT,
        "decoder decoder",
    ),
    Family("LlamaForCausalLM", "LlamaConfig", LLAMA, TEXT, "decoder decoder"),
    Family("MistralForCausalLM", "MistralConfig", LLAMA, TEXT, "decoder decoder"),
    Family("GemmaForCausalLM", "GemmaConfig", LLAMA, TEXT, "decoder decoder"),
    Family("Gemma2ForCausalLM", "Gemma2Config", LLAMA, TEXT, "decoder decoder", has_sdpa=False),
    Family("Qwen2ForCausalLM", "Qwen2Config", LLAMA, TEXT, "decoder decoder"),
    Family(
        "MixtralForCausalLM",
        "MixtralConfig",
        {**LLAMA, "num_local_experts": 3},
        TEXT,
        "decoder decoder",
        others=2,
    ),
    Family("ViTModel", "ViTConfig", VISION, {"pixel_values": PIXELS}, "encoder encoder"),
    Family(
        "SwinModel",
        "SwinConfig",
        {
            "image_size": 16,
            "patch_size": 2,
            "embed_dim": 8,
            "depths": [2, 1],
            "num_heads": [2, 2],
            "window_size": 2,
        },
        {"pixel_values": PIXELS},
        "encoder encoder encoder",
        # It gives those of the last block of each stage.
        attentions=lambda output: [None, *output.attentions],
    ),
    Family(
        "CLIPModel",
        "CLIPConfig",
        {
            "text_config": {**BERT, "eos_token_id": 2},
            "vision_config": VISION,
            "projection_dim": 8,
        },
        {**TEXT, "pixel_values": PIXELS},
        "encoder encoder decoder decoder",
        attentions=lambda output: [
            *output.vision_model_output.attentions,
            *output.text_model_output.attentions,
        ],
    ),
    # Its pooling reads the image with a learned query.
    Family(
        "SiglipVisionModel",
        "SiglipVisionConfig",
        VISION,
        {"pixel_values": PIXELS},
        "encoder encoder cross",
        attentions=lambda output: [*output.attentions, None],
    ),
    Family(
        "GptOssForCausalLM",
        "GptOssConfig",
        {**LLAMA, "num_local_experts": 3, "num_experts_per_tok": 2, "layer_types": None},
        TEXT,
        "decoder decoder",
        others=2,
        has_sdpa=False,
    ),
)


def build(family: Family, attention: str) -> Any:
    import transformers

    # A configuration is written to where it is used: each model has its own.
    options = copy.deepcopy(family.options)
    config = getattr(transformers, family.config)(**options, attn_implementation=attention)
    torch.manual_seed(7)
    model = getattr(transformers, family.model)(config).eval()
    assert model.config._attn_implementation == attention
    with torch.no_grad():
        for parameter in model.parameters():
            # Freshly made, heads look everywhere alike.
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return model


def called(model: nn.Module) -> list[str]:
    """Names of attention modules as they are called; of one inside another, the outer."""
    calls: list[str] = []
    outer: list[str] = []
    for name, module in model.named_modules():
        kind = type(module).__name__
        if not kind.endswith("Attention") or any(name.startswith(f"{each}.") for each in outer):
            continue
        outer.append(name)
        module.register_forward_hook(lambda *_, name=name: calls.append(name))
    return calls


def watched(model: nn.Module, inputs: dict[str, Tensor], **more: Any) -> tuple[Any, Watched]:
    with torch.no_grad(), watching() as seen:
        output = model(**inputs, **more)
    return output, seen


CASES = [
    pytest.param(family, attention, id=f"{family.model}-{attention}")
    for family in FAMILIES
    for attention in ("eager", "sdpa")
    if attention == "eager" or family.has_sdpa
]


@pytest.mark.parametrize(("family", "attention"), CASES)
def test_every_attention_is_seen_with_its_own_weights(family, attention):
    with torch.no_grad():
        given = build(family, "eager")(**family.inputs, output_attentions=True)
        model = build(family, attention)
        expected = model(**family.inputs)[0]
    calls = called(model)
    output, seen = watched(model, family.inputs)
    report = seen.report()
    assert torch.equal(output[0], expected)
    assert " ".join(each.site.kind for each in seen.sites) == family.kinds, str(report)
    found = [call for site in seen.sites for call in site.calls]
    assert len(found) == len(calls), str(report)
    assert all(any(each.place.path.startswith(name) for name in calls) for each in seen.sites), str(
        report
    )
    assert sum(other.times for other in report.others) == family.others, str(report)
    assert not report.suspicions, str(report)
    for call, theirs in zip(found, family.attentions(given), strict=True):
        if theirs is not None:
            mine = call.weights[..., : call.n_keys]
            torch.testing.assert_close(mine, theirs, atol=family.tolerance, rtol=0)


def test_attention_in_windows_that_is_not_seen_is_told_as_another_softmax():
    family = Family(
        "LongformerModel", "LongformerConfig", {**BERT, "attention_window": 4}, TEXT, ""
    )
    model = build(family, "eager")
    calls = called(model)
    _, seen = watched(model, family.inputs)
    report = seen.report()
    assert len(report.sites) + sum(other.times for other in report.others) == len(calls) == 2
    assert not report.sites


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_text_written_with_a_cache_gives_a_call_each_step(attention):
    family = next(each for each in FAMILIES if each.model == "MarianMTModel")
    model = build(family, attention)
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
    with torch.no_grad():
        expected = model.generate(**TEXT, **options)
        with watching() as seen:
            written = model.generate(**TEXT, **options)
    assert torch.equal(written, expected)
    # Only the first step tells self- from cross-attention, and layers are named from the model on.
    assert " ".join(each.site.kind for each in seen.sites) == BOTH
    assert [len(each.calls) for each in seen.sites] == [1, 1, 4, 4, 4, 4]
    assert seen.sites[0].place.path == "model.encoder.layers.0.self_attn"
    assert seen.sites[2].place.path == "model.decoder.layers.0.self_attn"
    with torch.no_grad():
        truth = model.set_attn_implementation("eager") or model(
            **TEXT, decoder_input_ids=written[:, :-1], output_attentions=True
        )
    for site, theirs in zip(seen.sites[2:], pairs(truth)[2:], strict=True):
        for step, call in enumerate(site.calls):
            torch.testing.assert_close(
                call.weights[:, :, 0], theirs[:, :, step, : call.n_keys], atol=1e-6, rtol=0
            )


def test_a_text_continued_is_read_at_once_and_then_token_by_token():
    family = next(each for each in FAMILIES if each.model == "GPT2LMHeadModel")
    model = build(family, "sdpa")
    with torch.no_grad(), watching() as seen:
        model.generate(IDS[:1], max_new_tokens=3, min_new_tokens=3, do_sample=False, pad_token_id=0)
    for site in seen.sites:
        assert str(site.site.kind) == "decoder"
        assert [tuple(call.weights.shape[2:]) for call in site.calls] == [(6, 6), (1, 7), (1, 8)]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "LlamaForCausalLM"])
@pytest.mark.parametrize("new_tokens", [1, 3])
def test_a_batch_continued_after_padding_is_labelled_without_it(name, attention, new_tokens):
    family = next(each for each in FAMILIES if each.model == name)
    model = build(family, attention)
    ids = torch.tensor([[5, 6, 7, 8, 9, 2], [1, 1, 1, 11, 12, 13]])
    options = {"max_new_tokens": new_tokens, "min_new_tokens": new_tokens, "do_sample": False}
    with torch.no_grad(), watching() as seen:
        written = model.generate(ids, attention_mask=(ids != 1).long(), pad_token_id=1, **options)
    for sentence, n_padding in ((0, 0), (1, 3)):
        real = written[sentence, n_padding:-1]
        with torch.no_grad(), watching() as alone:
            model(real[None])
        trace = seen.trace(sentence, target=Tokens.unnamed(range(len(real))))
        truth = alone.trace(target=Tokens.unnamed(range(len(real))))
        for site, each in truth.maps.items():
            np.testing.assert_allclose(trace.maps[site].weights, each.weights, atol=1e-5)
            np.testing.assert_array_equal(trace.maps[site].allowed, each.allowed)


def test_weights_that_a_class_gives_cut_or_averaged_are_recorded_whole():
    """CpmAnt leaves out its prompt, and WavLM gives a mean of heads."""
    prompt = 3
    cut = Family(
        "CpmAntModel",
        "CpmAntConfig",
        {
            "vocab_size": 40,
            "hidden_size": 16,
            "num_attention_heads": 2,
            "dim_head": 8,
            "dim_ff": 24,
            "num_hidden_layers": 2,
            "prompt_length": prompt,
            "prompt_types": 4,
            "segment_types": 4,
        },
        {"input_ids": IDS},
        "encoder encoder",
    )
    averaged = Family(
        "WavLMModel",
        "WavLMConfig",
        {
            **{key: VISION[key] for key in VISION if not key.endswith("_size")},
            "hidden_size": 16,
            "intermediate_size": 24,
            "conv_dim": (8, 8),
            "conv_kernel": (4, 4),
            "conv_stride": (4, 4),
            "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 4,
            "num_conv_pos_embedding_groups": 2,
        },
        {"input_values": torch.linspace(-1, 1, 2 * 160).reshape(2, 160).sin()},
        "encoder encoder",
    )
    for family in (cut, averaged):
        given, seen = watched(build(family, "eager"), family.inputs, output_attentions=True)
        for site, theirs in zip(seen.sites, given.attentions, strict=True):
            assert str(site.site.kind) == "encoder"
            mine = site.calls[0].weights
            if family is cut:
                mine = mine[:, :, prompt:, prompt:]
            else:
                mine = mine.mean(dim=1, keepdim=True).expand_as(theirs)
            torch.testing.assert_close(mine, theirs, atol=5e-7, rtol=0)


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_two_parts_of_a_layer_of_diffllama_are_told(attention):
    config = {**LLAMA, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}
    family = Family("DiffLlamaForCausalLM", "DiffLlamaConfig", config, TEXT, "")
    _, seen = watched(build(family, attention), TEXT)
    for other, site in zip((1, 0, 3, 2), seen.sites, strict=True):
        assert any(f"the same weights at decoder.{other}," in note for note in site.notes)
