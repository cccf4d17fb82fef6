"""What every shipped checkpoint promises: it loads, it translates its examples, its maps add up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from model import Translator, load
from model.capture import recording
from model.trace import AttentionKind, Site

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
FOLDERS = sorted(folder for folder in CHECKPOINTS.iterdir() if folder.is_dir())
SENTENCE = "She told me that she had never seen such a beautiful garden."


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def folder(request) -> Path:
    return request.param


@pytest.fixture(scope="module")
def shipped(folder) -> Translator:
    return load(folder, device="cpu")


def examples(folder: Path) -> list[dict[str, str]]:
    return json.loads((folder / "examples.json").read_text(encoding="utf-8"))


def test_at_least_one_checkpoint_is_shipped():
    assert "en-de" in [folder.name for folder in FOLDERS]


def test_files_are_small_enough_for_a_code_host(folder):
    sizes = [file.stat().st_size for file in folder.iterdir()]
    assert max(sizes) < 50_000_000
    assert sum(sizes) < 120_000_000


def test_every_example_is_translated_exactly_as_promised(folder, shipped):
    promised = {each["source"]: each["translation"] for each in examples(folder)}
    found = {source: shipped.translate(source).text for source in promised}
    assert found == promised
    assert all(each["shows"] for each in examples(folder))


def test_the_metrics_hold_a_score_that_can_be_repeated(shipped):
    test = shipped.metrics["test"]
    assert test["bleu"] >= 28
    assert test["beam"] == 4
    assert "case:mixed" in test["signature"]
    assert "tok:13a" in test["signature"]
    assert test["sentences"] == 3000


def test_the_card_names_data_licences_scores_and_weaknesses(folder, shipped):
    card = (folder / "card.md").read_text(encoding="utf-8")
    for word in ("CC BY 2.0 FR", "sacrebleu", "Bad at", "hardware", str(shipped.metrics["steps"])):
        assert word.lower() in card.lower(), word
    assert f"{shipped.metrics['test']['bleu']:.1f}" in card


def test_weights_are_those_of_softmax_over_the_recorded_scores(shipped):
    trace = shipped.trace(SENTENCE)
    config = shipped.model.config
    assert len(trace.maps) == config.n_encoder_layers + 2 * config.n_decoder_layers
    for seen in trace.maps.values():
        scores = np.where(seen.allowed, seen.scores, -np.inf)
        shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
        np.testing.assert_allclose(
            seen.weights, shifted / shifted.sum(axis=-1, keepdims=True), atol=1e-6
        )
        rebuilt = seen.q @ seen.k.swapaxes(-2, -1) / np.sqrt(seen.q.shape[-1])
        np.testing.assert_allclose(seen.scores, rebuilt, atol=1e-3, rtol=1e-4)


def test_the_heads_parts_add_up_to_each_modules_output(shipped):
    encoder, decoder = shipped.model.encoder.layers, shipped.model.decoder.layers
    modules = {
        **{Site(AttentionKind.ENCODER, i): each.self_attention for i, each in enumerate(encoder)},
        **{Site(AttentionKind.DECODER, i): each.self_attention for i, each in enumerate(decoder)},
        **{Site(AttentionKind.CROSS, i): each.cross_attention for i, each in enumerate(decoder)},
    }
    outputs = {}

    def keep(site):
        return lambda module, inputs, output: outputs.update({site: output[0]})

    handles = [module.register_forward_hook(keep(site)) for site, module in modules.items()]
    try:
        trace = shipped.trace(SENTENCE)
    finally:
        for handle in handles:
            handle.remove()
    assert set(outputs) == set(trace.maps)
    for site, seen in trace.maps.items():
        heads = torch.from_numpy(seen.weights @ seen.v)[None]
        with torch.inference_mode():
            total = modules[site].head_parts(heads).sum(dim=1) + modules[site].w_o.bias
        torch.testing.assert_close(total, outputs[site], atol=1e-4, rtol=1e-4)


def test_recording_changes_no_more_than_rounding(shipped):
    translation = shipped.translate(SENTENCE)
    source = torch.tensor([translation.source.ids])
    target = torch.tensor([[shipped.model.config.bos_id, *translation.token_ids[:-1]]])
    with torch.inference_mode():
        plain = shipped.model(source, target)
        with recording():
            recorded = shipped.model(source, target)
    torch.testing.assert_close(recorded, plain, atol=1e-5 * float(plain.abs().max()), rtol=1e-5)


def test_the_recorded_pass_equals_step_by_step_decoding(shipped):
    translation = shipped.translate(SENTENCE)
    trace = shipped.trace_of(translation)
    np.testing.assert_allclose(trace.log_probs, translation.log_probs, atol=1e-3)


def test_a_source_of_512_tokens_is_recorded_in_what_its_matrices_take(shipped):
    words = SENTENCE.replace(".", " .").split() * 60
    count = len(words)
    while len(shipped.tokenizer.encode(" ".join(words[:count]))) + 1 > shipped.max_tokens:
        count -= 1
    text = " ".join(words[:count])
    source = len(shipped.tokenizer.encode(text)) + 1
    assert source > shipped.max_tokens - 4
    target_text = "Die Katze saß auf der Matte."
    trace = shipped.trace(text, target=target_text)
    config = shipped.model.config
    target = len(trace.target)
    cells = config.n_encoder_layers * source**2 + config.n_decoder_layers * (
        target**2 + target * source
    )
    # Two float32 matrices a head, one boolean mask a site, and the vectors of every token.
    matrices = cells * (2 * 4 * config.n_heads + 1)
    tokens = config.n_encoder_layers * 3 * source + config.n_decoder_layers * (
        3 * target + target + 2 * source
    )
    vectors = tokens * config.n_heads * config.key_width * 4
    assert trace.nbytes <= 1.05 * (matrices + vectors)
    np.testing.assert_allclose(trace.attention("encoder", 0).weights.sum(axis=-1), 1, atol=1e-4)
