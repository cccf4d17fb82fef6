"""Traces by watching beside those by taps, and our model's beside its Hugging Face twin's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.paper.transformer import Transformer
from model.record.recording import CaptureError, recording
from model.record.taps import install_taps
from model.trace.attention_map import ARRAYS, Tokens
from model.trace.trace import Trace
from model.translate.translator import Translator
from model.watch import watching
from tests.kit.torch_twins import hugging_face_twin

PAD = 0
SOURCE = torch.tensor([[5, 6, 7, 8, 3], [20, 9, 3, PAD, PAD]])
TARGET = torch.tensor([[2, 31, 11, 12], [2, 14, 38, PAD]])
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "explicit formula": {"fused_attention": False},
    "one matrix for q, k and v": {"fused_qkv": True},
    "one module a head": {"head_layout": "per_head"},
    "one module a head, explicit formula": {"head_layout": "per_head", "fused_attention": False},
    "additive": {"scoring": "additive"},
    "additive, one module a head": {"scoring": "additive", "head_layout": "per_head"},
    "pre-norm, learned positions": {"norm": "pre", "positions": "learned"},
    "rotary positions": {"positions": "rotary"},
    "free widths": {"d_k": 6, "d_v": 5, "attention_bias": False},
}


def labels(ids: Tensor) -> Tokens:
    kept = [int(token_id) for token_id in ids if token_id != PAD]
    return Tokens(tuple(f"t{token_id}" for token_id in kept), tuple(kept))


def traces(seen: Any) -> list[Trace]:
    return [
        seen.trace(sentence, source=labels(SOURCE[sentence]), target=labels(TARGET[sentence]))
        for sentence in range(len(SOURCE))
    ]


def assert_equal(mine: Trace, theirs: Trace, *, but: tuple[str, ...] = (), atol: float) -> None:
    assert tuple(mine.maps) == tuple(theirs.maps)
    for site, expected in theirs.maps.items():
        found = mine.maps[site]
        assert (found.queries, found.keys) == (expected.queries, expected.keys)
        for name in ARRAYS:
            if name in but:
                continue
            ours, other = getattr(found, name), getattr(expected, name)
            if name == "allowed":
                ours, other = (np.broadcast_to(x, expected.weights.shape) for x in (ours, other))
            np.testing.assert_allclose(ours, other, atol=atol, rtol=0, err_msg=f"{site} {name}")


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_watching_gives_the_trace_that_taps_give(
    build: Callable[..., Transformer], variant: dict[str, Any], context: Any
) -> None:
    model = build(**variant)
    with context(), watching() as seen:
        model(SOURCE, TARGET)
    install_taps(model)
    with context(), recording() as tapped:
        model(SOURCE, TARGET)
    # Additive scores are no product of queries and keys, which watching knows by the product.
    but = ("q", "k") if variant.get("scoring") == "additive" else ()
    for mine, theirs in zip(traces(seen), traces(tapped), strict=True):
        assert_equal(mine, theirs, but=but, atol=5e-6)
    for site in seen.sites:
        name = "cross" if site.site.kind == "cross" else "self"
        side = "encoder" if site.site.kind == "encoder" else "decoder"
        assert site.place.path.startswith(f"{side}.layers.{site.site.layer}.{name}_attention")


def test_a_tapped_model_that_also_records_is_watched_alike(tiny_model):
    install_taps(tiny_model)
    with torch.no_grad(), watching() as seen, recording() as tapped:
        tiny_model(SOURCE, TARGET)
    for mine, theirs in zip(traces(seen), traces(tapped), strict=True):
        assert_equal(mine, theirs, atol=0)


def test_a_loaded_translator_is_watched_through_its_packed_weights(translator: Translator) -> None:
    expected = translator.trace("the cat", "die Katze")
    source, target = (torch.tensor([tokens.ids]) for tokens in (expected.source, expected.target))
    with torch.inference_mode(), watching() as seen:
        translator.model(source, target)
    found = seen.trace(source=expected.source, target=expected.target)
    assert_equal(found, expected, atol=5e-6)


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_our_model_and_its_hugging_face_twin_give_equal_traces(
    build: Callable[..., Transformer], norm: str, attention: str
) -> None:
    ours = build(vocab_size=50, norm=norm)
    theirs = hugging_face_twin(ours, attn_implementation=attention)
    install_taps(ours)
    with torch.no_grad(), recording() as tapped:
        logits = ours(SOURCE, TARGET)
    with torch.no_grad(), watching() as seen:
        output = theirs(
            input_ids=SOURCE, attention_mask=(SOURCE != PAD).long(), decoder_input_ids=TARGET
        )
    torch.testing.assert_close(output.logits[0], logits[0], atol=1e-4, rtol=0)
    for mine, theirs_trace in zip(traces(seen), traces(tapped), strict=True):
        # Theirs scale queries where ours scale the product, and so do not count as other scores.
        assert_equal(mine, theirs_trace, but=("q",), atol=1e-5)


def test_a_trace_of_a_pass_without_attention_says_what_to_do():
    with watching() as seen:
        nn.Linear(2, 2)(torch.ones(1, 2))
    with pytest.raises(CaptureError, match=r"No attention ran.*see report.*such as Mamba"):
        seen.trace()


def test_a_trace_of_several_passes_says_what_to_do(tiny_model):
    with torch.no_grad(), watching() as seen:
        tiny_model(SOURCE, TARGET)
        tiny_model(SOURCE, TARGET)
    with pytest.raises(CaptureError, match="ran 2 times in this recording"):
        seen.trace()
