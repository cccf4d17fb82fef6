"""Activation patching: identities to the bit, and against a plain implementation."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from model.paper.log_probs import token_log_probs
from model.paper.search import Search
from model.paper.transformer import Transformer
from model.patching.causal_trace import causal_trace, restored, streams, traced
from model.patching.patch import SentencePair, patch
from model.record.head_edits import HeadEdits
from model.record.intervention import UNCHANGED, Intervention
from model.record.patches import Patch, PatchError, Stream
from model.record.patching import patching, recording_activations
from model.record.recording import CaptureError, recording
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.model.record.test_head_editing import VARIANTS

Build = Callable[..., Transformer]

CAT, DOG = "The cat sat on the mat.", "The dog sat on the mat."
TARGET = "Der Hund saß auf der Matte."
SHORT = "The cat eats."
HEADS = [("encoder", 0, 1), ("encoder", 1, 3), ("decoder", 1, 0), ("cross", 0, 2), ("cross", 1, 1)]
STATES = [
    *(("encoder", stage) for stage in ("embedding", 0, 1, "output")),
    *(("decoder", stage) for stage in ("embedding", 0, 1)),
]
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())


def with_weights(build: Build, translator: Translator, **variant: Any) -> Translator:
    """An untrained model of a variant, which reads and writes the translator's vocabulary."""
    model = build(vocab_size=translator.model.config.vocab_size, **variant)
    # Biases are drawn, too: a bias of zero would hide what a part leaves behind.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.add_(torch.linspace(-0.5, 0.5, parameter.numel()))
    return Translator(model, translator.tokenizer, device="cpu")


def pair_of(translator: Translator, sentence: str, other: str) -> SentencePair:
    """Two sentences that are read with one target: an untrained model would write at length."""
    own, given = (translator.trace(each, TARGET) for each in (sentence, other))
    return SentencePair(translator, sentence, other, own=own, given=given)


def scored(pair: SentencePair, parts: Any) -> Any:
    """The target's log-probabilities under patches, without a translation."""
    source, target, labels = pair.ids
    with torch.inference_mode(), patching([pair.patches(parts)]):
        return token_log_probs(pair.translator.model(source, target), labels)[0].numpy()


@each_variant
def test_a_runs_own_activations_change_no_bit(
    build: Build, translator: Translator, variant: dict[str, Any]
) -> None:
    own = with_weights(build, translator, **variant)
    pair = pair_of(own, CAT, CAT)
    assert scored(pair, [*HEADS, *STATES]).tobytes() == pair.own_run[1].tobytes()


@pytest.mark.parametrize("variant", [{}, {"norm": "pre"}], ids=["post-norm", "pre-norm"])
def test_the_encoders_own_activations_change_no_bit_of_a_translation(
    build: Build, translator: Translator, variant: dict[str, Any]
) -> None:
    own = with_weights(build, translator, **variant)
    patches = pair_of(own, CAT, CAT).patches([*HEADS[:2], *STATES[:4]])
    search = Search(prefix=own.prefix(TARGET))
    under = Intervention(patches=patches)
    found = own.translate(CAT, search=search, under=under)
    assert found.log_probs == own.translate(CAT, search=search).log_probs


@each_variant
@pytest.mark.parametrize(
    "parts",
    [
        [("encoder", "embedding")],
        [("encoder", "output")],
        [("decoder", 1)],
        [(AttentionKind.CROSS, layer, head) for layer in range(2) for head in range(4)],
    ],
    ids=["embedding", "output", "last decoder layer", "every cross head"],
)
def test_whatever_everything_passes_through_gives_the_other_sentences_answer(
    build: Build, translator: Translator, variant: dict[str, Any], parts: list[Any]
) -> None:
    own = with_weights(build, translator, **variant)
    pair = pair_of(own, CAT, DOG)
    assert len(pair.pairs) == len(pair.own.source) == len(pair.given.source)
    np.testing.assert_array_equal(scored(pair, parts), pair.other_run[1])
    assert not np.array_equal(pair.own_run[1], pair.other_run[1])


@pytest.mark.parametrize("part", [("encoder", "output"), ("encoder", "embedding"), ("decoder", 2)])
def test_the_other_sentences_translation_is_written(translator: Translator, part: Any) -> None:
    found = patch(translator, CAT, DOG, [part])
    assert (found.text, found.other_text) == (
        "Die Katze saß auf der Matte.",
        "Der Hund saß auf der Matte.",
    )
    assert found.patched_text == found.other_text


def test_one_token_is_enough_where_the_sentences_differ(translator: Translator) -> None:
    differs = next(
        place
        for place, other in SentencePair(translator, CAT, DOG).pairs
        if translator.trace(CAT).source.tokens[place] != translator.trace(DOG).source.tokens[other]
    )
    assert "Hund" in patch(translator, CAT, DOG, {("encoder", "embedding"): [differs]}).patched_text
    same = patch(translator, CAT, DOG, {("encoder", "embedding"): [differs - 1]})
    np.testing.assert_array_equal(same.patched_log_probs, same.log_probs)


def test_cross_heads_of_a_sentence_of_another_length_give_its_answer(
    translator: Translator,
) -> None:
    heads = [("cross", layer, head) for layer in range(3) for head in range(4)]
    found = patch(translator, SHORT, DOG, heads)
    np.testing.assert_array_equal(found.patched_log_probs, found.other_log_probs)


@pytest.mark.parametrize("part", [("cross", 1, 2), ("encoder", 1, 0), ("decoder", 1, 3)])
def test_a_head_is_replaced_as_a_plain_hook_replaces_it(
    build: Build, translator: Translator, part: tuple[str, int, int]
) -> None:
    own = with_weights(build, translator, norm="pre")
    kind, layer, head = part
    stack = own.model.encoder if kind == "encoder" else own.model.decoder
    name = "cross_attention" if kind == "cross" else "self_attention"
    w_o = stack.layers[layer].get_submodule(f"{name}.w_o")
    pair = pair_of(own, CAT, DOG)
    source, target, labels = pair.ids
    columns = slice(head * 8, (head + 1) * 8)
    kept = []
    handle = w_o.register_forward_pre_hook(lambda _, args: kept.append(args[0].clone()))
    own.model(own.trace_ids(pair.given)[0], target)
    handle.remove()

    def put(_: Any, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        changed = args[0].clone()
        changed[..., columns] = kept[0][..., columns]
        return (changed,)

    handle = w_o.register_forward_pre_hook(put)
    with torch.inference_mode():
        logits = own.model(source, target)
    handle.remove()
    wanted = logits.log_softmax(-1).gather(2, labels[:, :, None])[0, :, 0]
    found = scored(pair, [part])
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-6)
    assert not np.allclose(found, pair.own_run[1], atol=1e-4)


@each_variant
def test_a_causal_trace_is_one_patch_after_another(
    build: Build, translator: Translator, variant: dict[str, Any]
) -> None:
    own = with_weights(build, translator, **variant)
    pair = pair_of(own, CAT, DOG)
    rows = {each: restored(pair, each) for each in streams(own.model)}
    found = traced(pair.unpatched, pair.given.target, rows)
    np.testing.assert_array_equal(found.log_probs, pair.own_run[1])
    for side, stages in (("encoder", found.encoder), ("decoder", found.decoder)):
        for stage, rows in stages.items():
            for place in (0, 1, 3):
                alone = scored(pair, {(side, stage): [place]})
                np.testing.assert_allclose(rows[place], alone, atol=2e-5)


def test_a_causal_trace_leaves_tokens_without_a_counterpart_open(translator: Translator) -> None:
    longer = "The black cat eats."
    found = causal_trace(translator, longer, SHORT)
    open_places = [
        place
        for place in range(len(found.source))
        if place not in dict(SentencePair(translator, longer, SHORT).pairs)
    ]
    assert open_places
    for rows in found.encoder.values():
        assert np.isnan(rows).all(axis=1).nonzero()[0].tolist() == open_places
    assert not any(np.isnan(rows).any() for rows in found.decoder.values())
    assert found.probabilities("encoder", 0).shape == (3, len(found.source))


def test_sentences_of_a_batch_have_their_own_patches(translator: Translator) -> None:
    pair = SentencePair(translator, CAT, DOG)
    source, target, _ = pair.ids
    patches = pair.patches([("cross", 1, 0)])
    with torch.inference_mode(), patching([(), patches]):
        plain, patched = translator.model(source.expand(2, -1), target.expand(2, -1))
    with torch.inference_mode(), patching([patches]):
        alone = translator.model(source, target)[0]
    torch.testing.assert_close(patched, alone)
    assert not torch.allclose(plain, patched)


def test_a_patch_is_recorded_and_edits_come_before_it(translator: Translator) -> None:
    pair = SentencePair(translator, CAT, DOG)
    patches = pair.patches([("cross", 1, 0)])
    removed = HeadEdits({("cross", 1, 0): 0})
    both = Intervention(patches=patches, heads=removed)
    alone = Intervention(patches=patches)
    assert translator.translate(CAT, under=both).log_probs == (
        translator.translate(CAT, under=alone).log_probs
    )


def test_recording_activations_leaves_attention_as_it_is(translator: Translator) -> None:
    source, target, _ = translator.trace_ids(translator.trace(CAT))
    with torch.inference_mode():
        plain = translator.model(source, target)
        with recording_activations() as activations:
            seen = translator.model(source, target)
        with recording() as recorded:
            translator.model(source, target)
    assert torch.equal(plain, seen)
    record = recorded[Site(AttentionKind.CROSS, 2)]
    assert record.v is not None
    torch.testing.assert_close(activations[("cross", 2, 3)], (record.weights @ record.v)[:, 3])


def test_a_patch_is_a_value() -> None:
    values = np.ones((2, 3), np.float32)
    one, same = (Patch(("encoder", 1), [0, 4], values) for _ in range(2))
    values[0] = 2
    assert one == same == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(same)
    assert one != Patch(("encoder", 1), [0, 4], values)
    assert Intervention(patches=[one]) != UNCHANGED
    assert Intervention(patches=[one]).of_encoder == Intervention(patches=[one])
    cross = Patch(("cross", 0, 1), [0], np.ones((1, 2)))
    assert Intervention(patches=[cross]).of_encoder == UNCHANGED
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 0


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (("decoder", "output"), "none of these"),
        (("encoder", -1), "none of these"),
        (("sideways", 2), "none of these"),
        (("cross", 2, -1), "is neither"),
        ("encoder", "is neither"),
        (("cross", 1, 2, 3), "is neither"),
        (7, "is neither"),
    ],
)
def test_an_unknown_part_is_refused(key: Any, message: str) -> None:
    with pytest.raises(PatchError, match=message):
        Patch(key, [0], np.ones((1, 2)))


def test_impossible_patches_are_refused(translator: Translator) -> None:
    with pytest.raises(PatchError, match="no such part"):
        hs.patch(translator, CAT, DOG, [("cross", 3, 0)])
    with pytest.raises(PatchError, match="no such part"):
        hs.patch(translator, CAT, DOG, [("cross", 0, 9)])
    with pytest.raises(PatchError, match="Token 99 has no counterpart"):
        hs.patch(translator, CAT, DOG, {("encoder", 1): [99]})
    with pytest.raises(PatchError, match="join their positions"):
        hs.patch(translator, CAT, DOG, [("cross", 1, 0), (Site(AttentionKind.CROSS, 1), 0)])
    with pytest.raises(PatchError, match="each once"):
        Patch(("encoder", 1), [1, 1], np.ones((2, 3)))
    with pytest.raises(PatchError, match="needs its row"):
        Patch(("encoder", 1), [1], np.ones((2, 3)))
    with pytest.raises(PatchError, match="finite"):
        Patch(("encoder", 1), [1], np.full((1, 3), np.nan))
    wide = Patch(Stream("encoder", 1), [0], np.ones((1, 3)))
    with pytest.raises(PatchError, match="same model"):
        translator.translate(CAT, under=Intervention(patches=[wide]))
    far = Patch(Stream("encoder", 1), [60], np.ones((1, 48)))
    with pytest.raises(PatchError, match="no token 60"):
        translator.translate(CAT, under=Intervention(patches=[far]))
    missing = Patch(Stream("encoder", 9), [0], np.ones((1, 48)))
    with pytest.raises(CaptureError, match="did not run"):
        translator.translate(CAT, under=Intervention(patches=[missing]))
