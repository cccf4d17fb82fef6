"""Changed masks: what an edit does to a pass, and what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from model.paper.beam_search import beam_search
from model.paper.decoding import greedy
from model.paper.search import Sampling, Search
from model.paper.transformer import Transformer
from model.record.intervention import UNCHANGED, Intervention, PositionEdit, PositionError
from model.record.mask_editing import SentenceLengths, editing
from model.record.mask_edits import Masks
from model.record.mask_presets import PRESETS, causal, everything, first_token
from model.record.mask_rules import MaskError
from model.record.recording import CaptureError, recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, AttentionMap, FloatArray, Site
from model.trace.trace import Trace
from model.translate.sentences import TextError
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS
from tests.kit.variants import some

Build = Callable[..., Transformer]

ENCODER, DECODER, CROSS = AttentionKind.ENCODER, AttentionKind.DECODER, AttentionKind.CROSS
KINDS = (ENCODER, DECODER, CROSS)
TEXT, TARGET = "The cat sat on the mat.", "Die Katze saß auf der Matte."
SIX = [english for english, _ in PAIRS[:6]]
WAYS = {
    "greedy": Search(beam=1),
    "beam": Search(beam=4),
    "sampled": Search(sampling=Sampling(seed=3, temperature=1.4)),
}
VARIANTS = some(
    "as published",
    "explicit formula",
    "one matrix for q, k and v",
    "one module a head",
    "additive",
    "additive, one module a head",
    "without a temperature",
)
each_variant = pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
each_kind = pytest.mark.parametrize("kind", KINDS)


def own_masks(trace: Trace) -> dict[Any, Any]:
    """The masks that the model used by itself, site by site."""
    return {site: seen.allowed for site, seen in trace.maps.items()}


def rules() -> dict[Any, Any]:
    """What the model does by itself with one sentence, as rules for any length."""
    return {ENCODER: everything, CROSS: everything, DECODER: causal}


def log_probs(trace: Trace) -> FloatArray:
    assert trace.log_probs is not None
    return trace.log_probs


def assert_same_bits(found: Trace, expected: Trace) -> None:
    assert found.predictions == expected.predictions
    np.testing.assert_array_equal(log_probs(found), log_probs(expected))
    for site, seen in expected.maps.items():
        for name in ("weights", "allowed", "scores", "q", "k", "v"):
            np.testing.assert_array_equal(getattr(found.maps[site], name), getattr(seen, name))


def masked(masks: Masks) -> Intervention:
    return Intervention(masks=masks)


def close(found: Any, expected: Any, *, atol: float, rtol: float = 1e-7) -> None:
    np.testing.assert_allclose(found, expected, atol=atol, rtol=rtol)


def softmax_over(seen: AttentionMap) -> Any:
    """Weights from the recorded scores and the recorded mask alone; zeros in empty rows."""
    assert seen.scores is not None
    allowed = np.broadcast_to(seen.allowed, seen.scores.shape)
    shifted = np.exp(seen.scores - seen.scores.max(axis=-1, keepdims=True)) * allowed
    total = shifted.sum(axis=-1, keepdims=True)
    return np.divide(shifted, total, out=np.zeros_like(shifted), where=total > 0)


# One cell


@each_kind
def test_a_forbidden_cell_loses_its_weight_and_its_row_shares_it_out(
    translator: Translator, kind: AttentionKind
) -> None:
    before = translator.trace(TEXT, TARGET)
    seen = before.attention(kind, 0)
    query, key = 3, 2
    allowed = seen.allowed.copy()
    allowed[query, key] = False
    changed = translator.trace(TEXT, TARGET, under=masked({(kind, 0): allowed})).attention(kind, 0)
    np.testing.assert_array_equal(changed.allowed, allowed)
    assert seen.weights[:, query, key].all()
    assert not changed.weights[:, query, key].any()
    others = np.delete(np.arange(len(seen.queries)), query)
    np.testing.assert_array_equal(changed.weights[:, others], seen.weights[:, others])
    row, row_before = changed.weights[:, query], seen.weights[:, query]
    factor = 1 / (1 - row_before[:, [key]])
    rest = np.delete(np.arange(len(seen.keys)), key)
    close(row[:, rest], (row_before * factor)[:, rest], rtol=1e-4, atol=1e-7)


@each_kind
def test_layers_before_the_edited_one_keep_every_bit_and_later_ones_change(
    translator: Translator, kind: AttentionKind
) -> None:
    before = translator.trace(TEXT, TARGET)
    layer = before.layers(kind)[-1]
    allowed = first_token(*before.attention(kind, layer).weights.shape[1:])
    after = translator.trace(TEXT, TARGET, under=masked({(kind, layer): allowed}))
    for site in before.maps:
        if site.kind is kind and site.layer < layer:
            np.testing.assert_array_equal(after.maps[site].weights, before.maps[site].weights)
    assert not np.array_equal(log_probs(after), log_probs(before))


@each_kind
def test_forbidding_what_had_no_weight_in_any_head_changes_no_bit(
    build: Build, kind: AttentionKind
) -> None:
    # Keys of one direction and queries along it: every other key's weight underflows to zero.
    model = build(scoring="dot_product", n_encoder_layers=1, n_decoder_layers=1)
    install_taps(model)
    source, target = torch.tensor([[4, 5, 6, 7, 8]]), torch.tensor([[2, 9, 10, 11, 12]])
    stack = "encoder" if kind is ENCODER else "decoder"
    name = "cross_attention" if kind is CROSS else "self_attention"
    attention: Any = model.get_submodule(f"{stack}.layers.0.{name}")
    with torch.no_grad():
        attention.w_q.weight.mul_(40)
        attention.w_k.weight.mul_(40)
        with recording() as seen:
            before = model(source, target)
        site = Site(kind, 0)
        weights = seen.maps()[site].weights
        useless = (weights == 0).all(axis=0)
        assert (useless & seen.maps()[site].allowed).any()
        with recording() as seen, editing({site: ~useless}):
            after = model(source, target)
    np.testing.assert_array_equal(seen.maps()[site].weights, weights)
    np.testing.assert_array_equal(seen.maps()[site].allowed, ~useless)
    with torch.no_grad(), recording():
        assert torch.equal(after, model(source, target))
    torch.testing.assert_close(after, before, atol=0, rtol=0)


# The model's own mask


@each_kind
def test_an_edit_that_is_the_models_own_mask_changes_no_bit_of_a_trace(
    translator: Translator, kind: AttentionKind
) -> None:
    before = translator.trace(TEXT, TARGET)
    own = before.attention(kind, 0).allowed
    by_head = np.broadcast_to(own, (4, *own.shape))
    for mask in (own, by_head, rules()[kind]):
        assert_same_bits(translator.trace(TEXT, TARGET, under=masked({kind: mask})), before)


@each_variant
def test_the_models_own_mask_changes_no_logit_in_any_variant(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(**variant)
    install_taps(model)
    source, target = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
    with torch.no_grad():
        plain = model(source, target)
        with recording() as seen:
            recorded = model(source, target)
        masks = {site: each.allowed for site, each in seen.maps().items()}
        with editing(masks):
            assert torch.equal(model(source, target), plain)
            with recording() as again:
                assert torch.equal(model(source, target), recorded)
    for site, each in seen.maps().items():
        np.testing.assert_array_equal(again.maps()[site].allowed, each.allowed)


@each_way
def test_the_models_own_masks_change_no_bit_of_what_is_decoded(
    translator: Translator, way: Search
) -> None:
    for english in SIX[:3]:
        before = translator.translate(english, keep_distributions=True, search=way)
        trace = translator.trace_of(before)
        for masks in (rules(), own_masks(trace), {DECODER: causal(64, 64)}):
            after = translator.translate(
                english, keep_distributions=True, under=masked(masks), search=way
            )
            assert after.token_ids == before.token_ids
            assert after.log_probs == before.log_probs
            np.testing.assert_array_equal(after.distributions, before.distributions)
            assert_same_bits(translator.trace(english, under=masked(masks), search=way), trace)


def test_keys_let_in_one_by_one_keep_the_source_out_if_the_encoder_is_causal_too(
    translator: Translator,
) -> None:
    one, other = "The cat sat on the mat.", "The cat sat on the mat!"
    pace: dict[Any, Any] = {CROSS: PRESETS["look_ahead"].rule(k=1)}

    def first(source: str, masks: dict[Any, Any]) -> float:
        log_probs = translator.trace(source, TARGET, under=masked(masks)).log_probs
        assert log_probs is not None
        return float(log_probs[0])

    causal_too = pace | {ENCODER: PRESETS["causal"].rule()}
    assert first(one, causal_too) == pytest.approx(first(other, causal_too), abs=1e-6)
    assert abs(first(one, pace) - first(other, pace)) > 1e-3, "a bidirectional encoder tells"


# Free decoding


@each_way
@pytest.mark.parametrize(
    "masks",
    [
        {DECODER: PRESETS["causal_window"].rule(width=1)},
        {DECODER: PRESETS["strictly_causal"].rule(), CROSS: PRESETS["window"].rule(width=2)},
        {CROSS: PRESETS["look_ahead"].rule(k=1)},
        {(CROSS, 1): PRESETS["first_token"].rule(), ENCODER: PRESETS["window"].rule(width=1)},
        {DECODER: PRESETS["causal"].rule() & PRESETS["block_words"].rule(keys=[0, 2])},
    ],
    ids=["window", "strict and cross", "wait", "layers", "blocked"],
)
def test_free_decoding_under_a_mask_equals_the_pass_that_is_recorded_under_it(
    translator: Translator, way: Search, masks: Any
) -> None:
    for english in SIX:
        translation = translator.translate(english, under=masked(masks), search=way)
        trace = translator.trace(english, under=masked(masks), search=way)
        assert trace.predictions.ids == translation.token_ids
        close(trace.log_probs, translation.log_probs, atol=1e-4)


@each_variant
def test_every_variant_decodes_under_masks_by_head_as_its_whole_pass_says(
    build: Build, variant: dict[str, Any]
) -> None:
    model = build(**variant)
    install_taps(model)
    generator = torch.Generator().manual_seed(4)
    source = torch.tensor([[4, 5, 6, 7, 3]])
    masks = {
        DECODER: torch.rand(4, 9, 9, generator=generator) < 0.7,
        CROSS: torch.rand(4, 9, 5, generator=generator) < 0.7,
        ENCODER: torch.rand(4, 5, 5, generator=generator) < 0.7,
    }
    masks[DECODER] &= causal(9, 9)
    with editing(masks):
        found = greedy(model, source, max_length=9, keep_distributions=True)[0]
        beams = beam_search(model, source, beam=3, max_length=9, keep_distributions=True)[0]
    for hypothesis in (found, *beams):
        n = len(hypothesis.token_ids)
        shorter = {DECODER: masks[DECODER][:, :n, :n], CROSS: masks[CROSS][:, :n]}
        inputs = torch.tensor([[2, *hypothesis.token_ids[:-1]]])
        with torch.no_grad(), editing({**masks, **shorter}), recording() as seen:
            logits = model(source, inputs)[0]
        torch.testing.assert_close(
            hypothesis.distributions, logits.log_softmax(-1), atol=1e-4, rtol=0
        )
        for site, each in seen.maps().items():
            wanted = np.asarray({**masks, **shorter}[site.kind])
            np.testing.assert_array_equal(np.broadcast_to(each.allowed, wanted.shape), wanted)
            close(each.weights, softmax_over(each), atol=1e-6)


def test_beyond_a_matrix_that_is_too_small_the_models_own_mask_holds(
    translator: Translator,
) -> None:
    small = np.zeros((2, 2), dtype=bool)
    trace = translator.trace(TEXT, under=masked({DECODER: small}))
    translation = translator.translate(TEXT, under=masked({DECODER: small}))
    close(trace.log_probs, translation.log_probs, atol=1e-4)
    expected = causal(*[len(trace.target)] * 2).numpy()
    expected[:2, :2] = False
    for layer in trace.layers(DECODER):
        seen = trace.attention(DECODER, layer)
        np.testing.assert_array_equal(seen.allowed, expected)
        assert seen.empty_queries.tolist() == [True, True] + [False] * (len(trace.target) - 2)


def test_cross_attention_takes_the_row_of_the_step_and_a_narrower_matrix_leaves_the_rest(
    translator: Translator,
) -> None:
    narrow = np.array([[True, False], [False, False], [False, True]])
    trace = translator.trace(TEXT, under=masked({CROSS: narrow}))
    translation = translator.translate(TEXT, under=masked({CROSS: narrow}))
    close(trace.log_probs, translation.log_probs, atol=1e-4)
    expected = np.ones((len(trace.target), len(trace.source)), dtype=bool)
    expected[:3, :2] = narrow
    np.testing.assert_array_equal(trace.attention(CROSS, 2).allowed, expected)


def test_nothing_looks_ahead_while_decoding_whatever_the_mask_allows(
    translator: Translator,
) -> None:
    plain, lifted = (
        translator.translate(TEXT),
        translator.translate(TEXT, under=masked({DECODER: everything})),
    )
    assert lifted.token_ids == plain.token_ids
    assert lifted.log_probs == plain.log_probs
    ahead = translator.trace(TEXT, under=masked({DECODER: everything})).attention(DECODER, 0)
    assert ahead.allowed.all()
    assert np.triu(ahead.weights, k=1).any()


def test_candidates_are_searched_under_the_masks(translator: Translator) -> None:
    masks = {CROSS: PRESETS["first_token"].rule()}
    candidates = translator.candidates(TEXT, search=Search(beam=3), under=masked(masks))
    assert (
        candidates[0].token_ids
        == translator.translate(TEXT, search=Search(beam=3), under=masked(masks)).token_ids
    )
    for each in candidates:
        trace = translator.trace_of(each, under=masked(masks))
        close(trace.log_probs, each.log_probs, atol=1e-4)


def test_a_rule_is_asked_once_a_step_however_many_layers_there_are(translator: Translator) -> None:
    asked = []

    def rule(n_queries: int, n_keys: int) -> Tensor:
        asked.append((n_queries, n_keys))
        return causal(n_queries, n_keys)

    translation = translator.translate(TEXT, search=Search(beam=1), under=masked({DECODER: rule}))
    assert asked == [(step, step) for step in range(1, len(translation.tokens) + 1)]


# Queries that are left nothing


@each_kind
def test_a_query_without_keys_gets_zeros_and_is_named(
    translator: Translator, kind: AttentionKind
) -> None:
    before = translator.trace(TEXT, TARGET).attention(kind, 0)
    allowed = before.allowed.copy()
    allowed[2] = False
    after = translator.trace(TEXT, TARGET, under=masked({kind: allowed}))
    for layer in after.layers(kind):
        seen = after.attention(kind, layer)
        assert np.flatnonzero(seen.empty_queries).tolist() == [2]
        assert not seen.weights[:, 2].any()
    assert np.isfinite(log_probs(after)).all()


@each_way
def test_decoding_goes_on_where_no_query_has_a_key(translator: Translator, way: Search) -> None:
    nothing = {kind: PRESETS["block_words"].rule(keys=range(64)) for kind in KINDS}
    translation = translator.translate(TEXT, under=masked(nothing), search=way)
    assert np.isfinite(translation.log_probs).all()
    trace = translator.trace_of(translation, under=masked(nothing))
    close(trace.log_probs, translation.log_probs, atol=1e-4)
    for seen in trace.maps.values():
        assert seen.empty_queries.all()
        assert not seen.weights.any()


@each_variant
@settings(max_examples=15)
@given(data=st.data())
def test_weights_are_zero_where_forbidden_and_rows_sum_to_one_or_to_zero(
    build: Build, variant: dict[str, Any], data: st.DataObject
) -> None:
    model = build(**variant)
    install_taps(model)
    n_source, n_target = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    shapes = {
        ENCODER: (n_source, n_source),
        DECODER: (n_target, n_target),
        CROSS: (n_target, n_source),
    }
    heads = data.draw(st.sampled_from([(), (4,)]))
    generator = np.random.default_rng(data.draw(st.integers(0, 999)))
    share = data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    masks = {
        kind: generator.random((*heads, *shapes[kind])) < share
        for kind in data.draw(st.sets(st.sampled_from(KINDS), min_size=1))
    }
    source, target = torch.arange(4, 4 + n_source)[None], torch.arange(9, 9 + n_target)[None]
    with torch.no_grad(), editing(masks):
        silent = model(source, target)
        with recording() as seen:
            recorded = model(source, target)
    assert recorded.isfinite().all()
    torch.testing.assert_close(silent, recorded, atol=1e-4, rtol=0)
    for site, each in seen.maps().items():
        if site.kind in masks:
            wanted = masks[site.kind]
            np.testing.assert_array_equal(np.broadcast_to(each.allowed, wanted.shape), wanted)
        allowed = np.broadcast_to(each.allowed, each.weights.shape)
        assert not each.weights[~allowed].any()
        close(each.weights.sum(-1), allowed.any(-1), atol=1e-5)


# Batches


def test_padding_changes_no_row_of_a_real_token_and_no_translation(translator: Translator) -> None:
    batch = translator.trace_batch(SIX)
    assert len(set(batch.source_lengths)) > 2
    for text, padded, trace, source_length, target_length in zip(
        SIX, batch.padded, batch.traces, batch.source_lengths, batch.target_lengths, strict=True
    ):
        alone = translator.trace(text)
        assert (trace.text, trace.source_text) == (alone.text, text)
        assert (trace.source, trace.target) == (alone.source, alone.target)
        assert trace.predictions == alone.predictions
        assert (len(alone.source), len(alone.target)) == (source_length, target_length)
        close(trace.log_probs, alone.log_probs, atol=1e-5)
        for site, seen in alone.maps.items():
            found, whole = trace.maps[site], padded.maps[site]
            np.testing.assert_array_equal(found.allowed, seen.allowed)
            for name in ("weights", "scores", "q", "k", "v"):
                close(getattr(found, name), getattr(seen, name), atol=1e-5, rtol=1e-5)
            queries, keys = found.weights.shape[1:]
            assert not whole.weights[:, :queries, keys:].any()
            assert not whole.allowed[:queries, keys:].any()


def test_padding_is_labelled_and_every_trace_of_a_batch_has_one_shape(
    translator: Translator,
) -> None:
    batch = translator.trace_batch(SIX[:3], [german for _, german in PAIRS[:3]])
    rows, columns = max(batch.target_lengths), max(batch.source_lengths)
    for i, trace in enumerate(batch.padded):
        real_rows, real_columns = batch.target_lengths[i], batch.source_lengths[i]
        assert (len(trace.target), len(trace.source)) == (rows, columns)
        assert set(trace.target.tokens[real_rows:]) <= {"<pad>"}
        assert set(trace.predictions.tokens[real_rows:]) <= {"<pad>"}
        assert set(trace.source.tokens[real_columns:]) <= {"<pad>"}
        assert trace.target.tokens[0] == "<s>"
        assert trace.predictions.tokens[real_rows - 1] == "</s>"
        assert np.isfinite(log_probs(trace)).all()
        assert trace.text == batch.traces[i].text == PAIRS[i][1]
        assert trace.attention(CROSS, 0).allowed.shape == (rows, columns)
        decoder = trace.attention(DECODER, 0).allowed
        own = causal(rows, rows).numpy() & (np.arange(rows) < real_rows)
        np.testing.assert_array_equal(decoder, own)


def test_in_a_batch_each_sentence_has_its_own_masks_with_or_without_padding(
    translator: Translator,
) -> None:
    texts, targets = SIX[:3], [german for _, german in PAIRS[:3]]
    plain = translator.trace_batch(texts, targets)
    rows, columns = max(plain.target_lengths), max(plain.source_lengths)
    short = plain.source_lengths[2]
    assert short < columns
    window = PRESETS["window"].rule(width=1)
    masks: list[Any] = [
        {},
        {ENCODER: PRESETS["ignore_padding"](columns, columns), (CROSS, 1): window},
        {ENCODER: window(short, short), CROSS: everything(rows, columns), DECODER: causal},
    ]
    edited = translator.trace_batch(texts, targets, under=[masked(own) for own in masks])
    for site, seen in plain.traces[0].maps.items():
        np.testing.assert_array_equal(edited.traces[0].maps[site].weights, seen.weights)
    second, third = edited.padded[1], edited.padded[2]
    assert second.attention(ENCODER, 0).allowed.all()
    own = plain.padded[1].attention(CROSS, 0).allowed
    np.testing.assert_array_equal(second.attention(CROSS, 0).allowed, own)
    expected = own.copy()
    real = (plain.target_lengths[1], plain.source_lengths[1])
    expected[: real[0], : real[1]] = window(*real)
    np.testing.assert_array_equal(second.attention(CROSS, 1).allowed, expected)
    assert third.attention(CROSS, 0).allowed.all()
    assert not third.attention(ENCODER, 0).allowed[:, short:].any()
    np.testing.assert_array_equal(
        third.attention(ENCODER, 0).allowed[:short, :short], window(short, short)
    )
    np.testing.assert_array_equal(
        third.attention(DECODER, 0).allowed, plain.padded[2].attention(DECODER, 0).allowed
    )


def test_padding_that_is_not_masked_takes_weight_from_words(translator: Translator) -> None:
    texts = [SIX[0], "The cat eats."]
    ignored = {kind: PRESETS["ignore_padding"].rule() for kind in (ENCODER, CROSS)}
    batch = translator.trace_batch(texts, under=[UNCHANGED, masked(ignored)])
    alone = translator.trace(texts[1])
    real = batch.source_lengths[1]
    for kind in (ENCODER, CROSS):
        padded, cut = batch.padded[1].attention(kind, 0), batch.traces[1].attention(kind, 0)
        assert padded.allowed.all()
        assert padded.weights[..., real:].any()
        assert (cut.weights.sum(-1) < 1).all()
        close(padded.weights.sum(-1), 1, atol=1e-5)
    assert not np.allclose(log_probs(batch.traces[1])[:1], log_probs(alone)[:1], atol=1e-6)


def test_masks_of_a_batch_hold_while_it_decodes(translator: Translator) -> None:
    rule = PRESETS["causal_window"].rule(width=1)
    each = [
        masked({DECODER: rule}),
        UNCHANGED,
        masked({CROSS: PRESETS["first_token"].rule()}),
    ]
    batch = translator.trace_batch(SIX[:3], under=each)
    for text, own, trace in zip(SIX, each, batch.traces, strict=False):
        alone = translator.trace(text, under=own)
        assert trace.predictions == alone.predictions
        close(trace.log_probs, alone.log_probs, atol=1e-5)


def test_in_a_batch_that_is_decoded_a_matrix_for_any_length_stops_at_the_padding(
    translator: Translator,
) -> None:
    plain = translator.trace_batch(SIX[:3])
    for length in (64, max(plain.target_lengths) - 1):
        batch = translator.trace_batch(SIX[:3], under=masked({DECODER: causal(length, length)}))
        for trace, before in zip(batch.padded, plain.padded, strict=True):
            assert_same_bits(trace, before)


def test_in_a_batch_that_is_decoded_a_matrix_over_the_padded_source_replaces_its_mask(
    translator: Translator,
) -> None:
    texts = [SIX[0], "The cat eats."]
    columns = len(translator.trace_batch(texts).padded[0].source)
    matrices = {ENCODER: everything(columns, columns), CROSS: everything(64, columns)}
    rules_over_padding = {kind: PRESETS["ignore_padding"].rule() for kind in (ENCODER, CROSS)}
    found = translator.trace_batch(texts, under=[UNCHANGED, masked(matrices)]).traces[1]
    assert_same_bits(
        found,
        translator.trace_batch(texts, under=[UNCHANGED, masked(rules_over_padding)]).traces[1],
    )
    assert (found.attention(CROSS, 0).weights.sum(-1) < 1).all()


def test_a_batch_that_is_none_is_refused(translator: Translator) -> None:
    with pytest.raises(TextError, match="list of texts"):
        translator.trace_batch([])
    with pytest.raises(TypeError, match="texts must be a list of strings"):
        translator.trace_batch("The cat eats.")
    with pytest.raises(TextError, match="there are 2 and 1"):
        translator.trace_batch(SIX[:2], ["Die Katze."])
    with pytest.raises(ValueError, match="there are 2 texts and 1 interventions"):
        translator.trace_batch(SIX[:2], under=[UNCHANGED])
    different = [Intervention(positions=PositionEdit(shift=shift)) for shift in (1, 2)]
    with pytest.raises(PositionError, match="share their positions"):
        translator.trace_batch(SIX[:2], under=different)


# Who edits


def test_after_an_error_the_models_own_masks_hold_again(translator: Translator) -> None:
    before = translator.trace(TEXT, TARGET)
    with pytest.raises(MaskError):
        translator.trace(TEXT, TARGET, under=masked({DECODER: causal(2, 2)}))
    with pytest.raises(MaskError):
        translator.translate(TEXT, under=masked({CROSS: causal(90, 90)}))
    assert_same_bits(translator.trace(TEXT, TARGET), before)


# What is refused


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        (
            {(DECODER, 1): causal(3, 4)},
            r"for decoder\.1 has the shape \(3, 4\), but this pass has \d+ queries and \d+ keys",
        ),
        ({CROSS: np.ones((4, 9, 9), dtype=bool)}, r"mask for cross\.0 has the shape \(4, 9, 9\)"),
        ({ENCODER: lambda q, k: np.ones((q, k + 1), dtype=bool)}, r"mask for encoder\.0 has"),
        (
            {ENCODER: lambda q, k: np.ones((3, q, k), dtype=bool)},
            r"encoder\.0 is for 3 heads, but there are 4;",
        ),
        ({ENCODER: lambda q, k: np.ones((q, k))}, r"encoder\.0 must contain True .* float64"),
        (
            {(CROSS, 9): everything},
            r"This model has no cross\.9 to mask; it has encoder\.0",
        ),
        ({"sideways": everything}, "'sideways' is none of these"),
        ({"module": everything}, "This model has no module to mask"),
        ({DECODER: [[0.5]]}, "must contain True"),
        ({DECODER: np.full((2, 2), np.nan)}, "must contain True"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_in_one_sentence(
    translator: Translator, masks: Any, message: str
) -> None:
    with pytest.raises(MaskError, match=message) as refusal:
        translator.trace(TEXT, TARGET, under=masked(masks))
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_while_decoding_a_mask_that_can_never_fit_is_refused(translator: Translator) -> None:
    with pytest.raises(MaskError, match=r"cross\.0 has 60 keys, but the source has \d+ tokens;"):
        translator.translate(TEXT, under=masked({CROSS: everything(3, 60)}))
    with pytest.raises(MaskError, match=r"decoder\.0 is for 3 heads, but there are 4;"):
        translator.translate(TEXT, under=masked({DECODER: np.ones((3, 5, 5), dtype=bool)}))
    with pytest.raises(MaskError, match=r"mask for encoder\.0 has the shape \(2, 2\)"):
        translator.translate(TEXT, under=masked({ENCODER: everything(2, 2)}))


def test_masks_of_a_batch_fit_its_sentences(translator: Translator) -> None:
    texts, targets = SIX[:3], [german for _, german in PAIRS[:3]]
    message = r"encoder\.0 has the shape \(2, 2\).* \(\d+ and \d+ with padding\)"

    def misfit(kind: AttentionKind) -> list[Intervention]:
        return [UNCHANGED, UNCHANGED, masked({kind: everything(2, 2)})]

    with pytest.raises(MaskError, match=message):
        translator.trace_batch(texts, targets, under=misfit(ENCODER))
    with pytest.raises(MaskError, match=r"decoder\.0 has the shape \(2, 2\)"):
        translator.trace_batch(texts, targets, under=misfit(DECODER))


def test_masks_for_single_sentences_fit_the_batch_that_runs(tiny_model: Transformer) -> None:
    install_taps(tiny_model)
    source, target = torch.full((2, 4), 5), torch.full((2, 3), 6)
    both: list[Any] = [None, {ENCODER: everything}, None]
    with pytest.raises(MaskError, match="there are 2 sentences and 3"), editing(both):
        tiny_model(source, target)
    with pytest.raises(MaskError, match="there are 3 and 1"):
        editing(both, lengths=[SentenceLengths(4, 3)]).__enter__()
    with pytest.raises(CaptureError, match="one at a time"), editing([{CROSS: causal}, None]):
        greedy(tiny_model, source)


def test_torchs_own_attention_refuses_an_edit_instead_of_ignoring_it() -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    install_taps(module)
    x, site = torch.zeros(1, 3, 8), Site(AttentionKind.MODULE, 0)
    message = r"module\.0 is a MultiheadAttention, whose mask cannot"
    with pytest.raises(CaptureError, match=message), editing({site: everything}):
        module(x, x, x)
    with torch.no_grad(), recording() as seen:
        module(x, x, x)
    assert seen.sites == (site,)


@pytest.mark.parametrize("place", ["encoder", ("cross", 9), "module"])
def test_an_edit_that_met_no_attention_is_reported_and_not_ignored(
    build: Build, place: Any
) -> None:
    tapped, untapped = build(), build()
    install_taps(tapped)
    model = untapped if place == "encoder" else tapped
    message = "mask changed nothing"
    with torch.no_grad(), pytest.raises(CaptureError, match=message), editing({place: everything}):
        model(torch.tensor([[5, 6]]), torch.tensor([[2]]))
