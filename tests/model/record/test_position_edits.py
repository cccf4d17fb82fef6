"""Positions edited, taken away and taken apart, while the model stays as it is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.explain.position_measures import by_offset, row_norms
from model.paper.encoding import LengthError, sinusoidal_table
from model.paper.positions import ENCODINGS
from model.paper.search import Sampling, Search
from model.paper.transformer import Transformer
from model.record.intervention import UNCHANGED, Intervention, PositionEdit, PositionError, ordered
from model.record.mask_editing import edited_rows
from model.record.position_editing import editing_positions
from model.record.recording import CaptureError
from model.trace.attention_map import FloatArray
from model.trace.terms import TERMS
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from viz.positions.table import Positions
from viz.save.picture import Layout

SENTENCE = "The cat sat on the mat."
OTHER = "The woman sees the cat."
TARGET = "Die Katze saß auf der Matte."
LONGER = "She told me that she had never seen such a beautiful garden."
FOLDERS = sorted(
    config.parent
    for config in (Path(__file__).parents[3] / "checkpoints").glob("??-??*/config.json")
)
AT_REST = PositionEdit(scale=1, shift=0, reverse=False)
WITHOUT = PositionEdit(scale=0)
ADDED = [name for name, encoding in ENCODINGS.items() if encoding.is_added]
INSIDE = [name for name in ENCODINGS if name not in ADDED]


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def shipped(request: pytest.FixtureRequest) -> Translator:
    return load(request.param, device="cpu")


@pytest.fixture
def variant(build: Callable[..., Transformer], translator: Translator) -> Callable[..., Translator]:
    """Makes an untrained translator; keyword arguments change its TransformerConfig."""

    def build_translator(**overrides: Any) -> Translator:
        model = build(vocab_size=len(translator.tokenizer), **overrides)
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            # Norms and biases as training leaves them, or their terms would all be zero.
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
        return Translator(model, translator.tokenizer)

    return build_translator


def moved(positions: PositionEdit) -> Intervention:
    return Intervention(positions=positions)


def known(array: FloatArray | None) -> FloatArray:
    assert array is not None
    return array


def assert_same_trace(one: Any, other: Any) -> None:
    assert one.target == other.target
    assert np.array_equal(one.log_probs, other.log_probs)
    for site, seen in one.maps.items():
        for name in ("weights", "scores", "q", "k", "v"):
            assert np.array_equal(getattr(seen, name), getattr(other.maps[site], name)), site


# The table.


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_plotted_table_is_the_models_own_bit_for_bit(shipped: Translator, side: Any) -> None:
    table = shipped.position_table(side=side)
    own = getattr(shipped.model, side).positions.table.detach().float().numpy()
    assert table.shape == (shipped.max_tokens, shipped.model.config.d_model)
    assert np.array_equal(table, own[: shipped.max_tokens])
    figure = Positions(table, None).figure(Layout())
    assert np.array_equal(figure.data[0].z, own[: shipped.max_tokens])


def test_shipped_sinusoids_have_equal_norms_and_products_that_depend_on_the_offset_alone(
    shipped: Translator,
) -> None:
    if shipped.model.config.positions != "sinusoidal":
        pytest.skip("its positions were learned")
    table = shipped.position_table()
    np.testing.assert_allclose(row_norms(table), np.sqrt(table.shape[1] / 2), atol=1e-4)
    likenesses = by_offset(table)
    assert (likenesses.high - likenesses.low).max() <= 1e-4


def test_a_table_beyond_the_training_limit_leaves_the_models_own_as_it_is(
    variant: Callable[..., Translator],
) -> None:
    translator = variant()
    before = translator.model.encoder.positions.table
    table = translator.position_table(200)
    assert np.array_equal(table, sinusoidal_table(200, 32).numpy())
    assert translator.model.encoder.positions.table is before


def test_a_table_is_a_copy_that_nobody_can_write_to(translator: Translator) -> None:
    table = translator.position_table()
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1
    assert not np.shares_memory(table, translator.model.encoder.positions.table.detach().numpy())


def test_learned_positions_have_no_table_beyond_the_last_row(
    variant: Callable[..., Translator],
) -> None:
    translator = variant(positions="learned")
    assert translator.position_table(64).shape == (64, 32)
    with pytest.raises(PositionError, match=r"learned 64 positions and has no table of 65; choose"):
        translator.position_table(65)


@pytest.mark.parametrize(
    ("longest", "reached"),
    [
        ({"source": 12, "target": 9}, (12, 9)),
        ({"source": 900, "target": 64}, (64, 64)),
        (None, (None, None)),
        (12, (None, None)),
        ({"source": 12}, (None, None)),
        ({"source": 0, "target": 9}, (None, None)),
        ({"source": "12", "target": True}, (None, None)),
    ],
)
def test_the_rows_that_training_reached_are_those_that_the_checkpoint_tells_of(
    variant: Callable[..., Translator], longest: Any, reached: tuple[int | None, int | None]
) -> None:
    for positions, expected in (("learned", reached), ("sinusoidal", (None, None))):
        translator = variant(positions=positions)
        translator.metrics = {"longest": longest}
        found = translator.trained_positions(), translator.trained_positions("decoder")
        assert found == expected


def test_the_shipped_learned_table_is_as_it_was_drawn_where_no_sentence_reached() -> None:
    learned = load(Path(__file__).parents[3] / "checkpoints" / "en-de-learned", device="cpu")
    for side in ("encoder", "decoder"):
        reached = learned.trained_positions(side)
        norms = row_norms(learned.position_table(side=side))
        # Drawn with a deviation of 1/√d_model, rows have norms about 1, of a deviation of 0.044.
        assert abs(norms[reached:] - 1).max() < 0.2
        assert norms[:reached].mean() > 4
        assert norms[reached - 1] > 1.05


def test_an_unknown_side_and_an_empty_table_are_refused(translator: Translator) -> None:
    with pytest.raises(PositionError, match=r"no side 'both'; choose encoder or decoder\.$"):
        translator.position_table(side="both")  # type: ignore[arg-type]
    with pytest.raises(PositionError, match=r"at least 1 position, not 0\.$"):
        translator.position_table(0)


# Edits at rest.


@pytest.mark.parametrize("positions", ENCODINGS)
def test_an_edit_at_rest_changes_no_bit(variant: Callable[..., Translator], positions: str) -> None:
    translator = variant(positions=positions)
    for search in (Search(beam=1), Search(beam=3), Search(sampling=Sampling(seed=7))):
        plain = translator.translate(SENTENCE, search=search)
        with editing_positions(AT_REST):
            edited = translator.translate(SENTENCE, search=search)
        assert plain.token_ids == edited.token_ids
        assert plain.log_probs == edited.log_probs
    plain_trace, plain_rows = translator.trace(SENTENCE, TARGET), translator.encode(SENTENCE)
    with editing_positions(AT_REST):
        assert_same_trace(plain_trace, translator.trace(SENTENCE, TARGET))
        assert np.array_equal(plain_rows, translator.encode(SENTENCE))


def test_the_order_of_the_text_changes_no_bit(translator: Translator) -> None:
    n_words = len(translator.encode(SENTENCE)) - 1
    plain = translator.trace(SENTENCE)
    assert_same_trace(
        plain, translator.trace(SENTENCE, under=Intervention(source_order=range(n_words)))
    )


# What an edit does.


@given(
    st.sampled_from(["sinusoidal", "learned"]),
    st.floats(-2, 2),
    st.integers(-70, 40),
    st.booleans(),
    st.integers(1, 20),
)
def test_each_token_gets_the_scaled_row_of_its_reversed_and_shifted_position(
    build: Callable[..., Transformer],
    positions: str,
    scale: float,
    shift: int,
    reverse: bool,
    length: int,
) -> None:
    encoding = build(positions=positions).encoder.positions
    edit = PositionEdit(scale=scale, shift=shift, reverse=reverse)
    order = range(length - 1, -1, -1) if reverse else range(length)
    with torch.no_grad():
        expected = [scale * encoding.table[max(0, place + shift)] for place in order]
        torch.testing.assert_close(edited_rows(edit, encoding, length), torch.stack(expected))


@pytest.mark.parametrize(
    "edit",
    [
        PositionEdit(scale=0.3),
        WITHOUT,
        PositionEdit(shift=9),
        PositionEdit(shift=-3),
        PositionEdit(scale=0.5, shift=2, side="decoder"),
        PositionEdit(reverse=True, side="encoder"),
    ],
    ids=str,
)
@pytest.mark.parametrize("positions", ["sinusoidal", *INSIDE])
def test_step_by_step_decoding_computes_what_the_recorded_pass_does(
    variant: Callable[..., Translator], positions: str, edit: PositionEdit
) -> None:
    translator = variant(positions=positions)
    for beam in (1, 4):
        translation = translator.translate(SENTENCE, search=Search(beam=beam), under=moved(edit))
        trace = translator.trace_of(translation, under=moved(edit))
        decoded = np.array(translation.log_probs)
        np.testing.assert_allclose(known(trace.log_probs), decoded, atol=1e-4)
        assert_same_trace(
            trace, translator.trace(SENTENCE, search=Search(beam=beam), under=moved(edit))
        )


@pytest.mark.parametrize(("side", "other"), [("encoder", "decoder"), ("decoder", "encoder")])
def test_an_edit_of_one_side_leaves_the_other_sides_first_layer_alone(
    translator: Translator, side: Any, other: str
) -> None:
    plain = translator.trace(SENTENCE, TARGET)
    edited = translator.trace(SENTENCE, TARGET, under=moved(PositionEdit(scale=0.5, side=side)))
    for kind, stays in ((other, True), (side, False)):
        before, after = (known(seen.attention(kind, 0).q) for seen in (plain, edited))
        assert np.array_equal(before, after) is stays


def test_a_given_target_can_be_read_with_reversed_positions(translator: Translator) -> None:
    edit = PositionEdit(reverse=True, side="decoder")
    edited = translator.trace(SENTENCE, TARGET, under=moved(edit))
    plain = translator.trace(SENTENCE, TARGET)
    assert not np.array_equal(known(edited.log_probs), known(plain.log_probs))


@pytest.mark.parametrize(
    "search", [Search(beam=1), Search(beam=4), Search(sampling=Sampling(seed=1))]
)
def test_what_is_being_decoded_cannot_be_reversed(translator: Translator, search: Search) -> None:
    for edit in (PositionEdit(reverse=True), PositionEdit(reverse=True, side="decoder")):
        with pytest.raises(
            PositionError, match=r"length is unknown, .* reverse the encoder's alone"
        ):
            translator.candidates(SENTENCE, under=moved(edit), search=search)


def test_a_shift_beyond_the_positions_of_the_model_is_refused_in_a_sentence(
    translator: Translator,
) -> None:
    for positions in (PositionEdit(shift=60), PositionEdit(shift=500, side="decoder")):
        with pytest.raises(PositionError, match=r"has positions 0 to 63; shift by less\.$"):
            translator.trace(SENTENCE, TARGET, under=moved(positions))
    with pytest.raises(PositionError, match=r"A shift by 64 moves position 0 to 64,"):
        translator.translate(SENTENCE, under=moved(PositionEdit(shift=64, side="decoder")))


@pytest.mark.parametrize(
    "search", [Search(beam=1), Search(beam=3), Search(sampling=Sampling(seed=1))]
)
@pytest.mark.parametrize("positions", ENCODINGS)
def test_a_translation_ends_where_a_shift_leaves_the_decoder_no_position(
    variant: Callable[..., Translator], positions: str, search: Search
) -> None:
    translator = variant(positions=positions)
    edit = PositionEdit(shift=60, side="decoder")
    translation = translator.translate(SENTENCE, under=moved(edit), search=search)
    assert len(translation.tokens) <= 4
    translator.trace_of(translation, under=moved(edit))


def test_scaled_sinusoids_still_reach_past_the_positions_of_training(
    build: Callable[..., Transformer],
) -> None:
    encoding = build(max_positions=4).encoder.positions
    torch.testing.assert_close(
        edited_rows(PositionEdit(scale=0.5), encoding, 3, start=5),
        0.5 * sinusoidal_table(8, 32)[5:],
    )
    learned = build(max_positions=4, positions="learned").encoder.positions
    with pytest.raises(LengthError, match="learned 4 positions and the text needs 8"):
        edited_rows(PositionEdit(scale=0.5), learned, 3, start=5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scale": float("nan")}, "scale of positions must be a finite number; it is nan."),
        ({"scale": float("inf")}, "scale of positions must be a finite number; it is inf."),
        ({"scale": "1"}, "scale of positions must be a finite number; it is '1'."),
        ({"scale": True}, "scale of positions must be a finite number; it is True."),
        ({"shift": 1.5}, "shift of positions must be a whole number; it is 1.5."),
        ({"shift": True}, "shift of positions must be a whole number; it is True."),
        ({"reverse": 1}, "reverse must be True or False; it is 1."),
        ({"side": "left"}, "no side 'left'; choose one of both, encoder, decoder."),
    ],
)
def test_an_edit_with_an_impossible_field_is_refused(fields: Any, message: str) -> None:
    with pytest.raises(PositionError) as refused:
        PositionEdit(**fields)
    assert str(refused.value).endswith(message)


def test_an_edit_takes_numpys_numbers_and_cannot_be_changed() -> None:
    edit = PositionEdit(scale=np.float32(0.5), shift=np.int64(3))  # type: ignore[arg-type]
    assert edit == PositionEdit(scale=0.5, shift=3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        edit.shift = 4  # type: ignore[misc]


# Positions that are added to nothing.


@pytest.mark.parametrize("positions", INSIDE)
@pytest.mark.parametrize(
    ("method", "arguments"),
    [("embedding_parts", (SENTENCE,)), ("score_terms", (SENTENCE,)), ("position_table", ())],
)
def test_a_model_that_adds_no_positions_has_no_table_and_no_parts_of_them(
    variant: Callable[..., Translator], method: str, arguments: tuple[str, ...], positions: str
) -> None:
    acts = re.escape(ENCODINGS[positions].acts)
    with pytest.raises(PositionError, match=rf"{acts}; nothing is added"):
        getattr(variant(positions=positions), method)(*arguments)


@pytest.mark.parametrize("positions", INSIDE)
def test_moving_every_token_alike_changes_nothing_where_only_distances_count(
    variant: Callable[..., Translator], positions: str
) -> None:
    translator = variant(positions=positions)
    plain = translator.trace(SENTENCE, TARGET)
    shifted = translator.trace(SENTENCE, TARGET, under=moved(PositionEdit(shift=7)))
    for site, seen in plain.maps.items():
        np.testing.assert_allclose(shifted.maps[site].weights, seen.weights, atol=1e-5)
    q, turned = (known(each.attention("encoder", 0).q) for each in (plain, shifted))
    assert (np.abs(q - turned).max() > 0.1) == (positions == "rotary")


# Shuffled words.


@pytest.mark.parametrize("positions", ENCODINGS)
@pytest.mark.parametrize("seed", range(5))
def test_without_positions_shuffled_words_give_the_same_rows_in_another_order(
    variant: Callable[..., Translator], positions: str, seed: int
) -> None:
    translator = variant(positions=positions)
    rows = translator.encode(SENTENCE, under=moved(WITHOUT))
    order = np.random.default_rng(seed).permutation(len(rows) - 1)
    shuffled = translator.encode(
        SENTENCE, under=Intervention(positions=WITHOUT, source_order=order)
    )
    np.testing.assert_allclose(shuffled, rows[[*order, len(rows) - 1]], atol=1e-5)


def test_without_positions_a_shipped_encoder_does_not_know_the_order_of_words(
    shipped: Translator,
) -> None:
    rows = shipped.encode(LONGER, under=moved(WITHOUT))
    order = np.random.default_rng(1).permutation(len(rows) - 1)
    shuffled = shipped.encode(LONGER, under=Intervention(positions=WITHOUT, source_order=order))
    np.testing.assert_allclose(shuffled, rows[[*order, len(rows) - 1]], atol=1e-5)
    known = shipped.encode(LONGER, under=Intervention(source_order=order))
    assert np.abs(known - shipped.encode(LONGER)[[*order, len(rows) - 1]]).max() > 0.1


def test_a_shuffled_sentence_is_translated_and_traced_in_its_order(translator: Translator) -> None:
    plain = translator.trace(SENTENCE)
    n_words = len(plain.source) - 1
    order = list(range(n_words - 1, -1, -1))
    trace = translator.trace(SENTENCE, under=Intervention(source_order=order))
    assert trace.source.tokens == (*plain.source.tokens[:-1][::-1], "</s>")
    assert trace.source_text == SENTENCE
    for translation in (
        translator.translate(SENTENCE, under=Intervention(source_order=order)),
        translator.candidates(SENTENCE, under=Intervention(source_order=order))[0],
    ):
        assert translation.source == trace.source
        assert translation.text == trace.text
    given_target = translator.trace(SENTENCE, TARGET, under=Intervention(source_order=order))
    assert given_target.source == trace.source


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [1, 2, 3], [0, 1, 2, 3], [0.0, 1, 2], "012"])
def test_an_order_that_is_no_permutation_is_refused(order: Any) -> None:
    with pytest.raises(PositionError, match=r"each of the 3 tokens before </s> once, from 0 to 2"):
        ordered([10, 11, 12, 3], order)


def test_a_text_that_cannot_be_encoded_is_refused_as_everywhere(translator: Translator) -> None:
    for read in (translator.encode, translator.embedding_parts, translator.score_terms):
        with pytest.raises(TextError, match="The text is empty"):
            read("  ")


# Where position meets the word.


def first_layer_input(translator: Translator, text: str) -> np.ndarray:
    taken: list[torch.Tensor] = []
    layer = translator.model.encoder.layers[0]
    handle = layer.register_forward_pre_hook(lambda module, args: taken.append(args[0]))
    try:
        translator.encode(text)
    finally:
        handle.remove()
    return taken[0][0].numpy()


@pytest.mark.parametrize("positions", ADDED)
@pytest.mark.parametrize("scaled", [True, False])
def test_the_sum_of_the_parts_is_what_the_first_layer_reads_bit_for_bit(
    variant: Callable[..., Translator], positions: str, scaled: bool
) -> None:
    translator = variant(positions=positions, scale_embeddings=scaled)
    parts = translator.embedding_parts(SENTENCE)
    assert np.array_equal(parts.sum, first_layer_input(translator, SENTENCE))
    assert np.array_equal(parts.scaled + parts.position, parts.sum)
    factor = np.float32(np.sqrt(32)) if scaled else np.float32(1)
    np.testing.assert_allclose(parts.scaled, parts.word * factor, rtol=1e-6)
    assert np.array_equal(parts.position, translator.position_table(len(parts.tokens)))
    assert parts.tokens == translator.trace(SENTENCE, TARGET).source


def test_parts_follow_an_edit_of_the_encoder_and_not_one_of_the_decoder(
    translator: Translator,
) -> None:
    plain = translator.embedding_parts(SENTENCE)
    halved = translator.embedding_parts(SENTENCE, under=moved(PositionEdit(scale=0.5)))
    assert np.array_equal(halved.position, plain.position / 2)
    decoder = PositionEdit(scale=0.5, side="decoder")
    assert np.array_equal(translator.embedding_parts(SENTENCE, under=moved(decoder)).sum, plain.sum)
    assert np.array_equal(
        translator.encode(SENTENCE, under=moved(decoder)), translator.encode(SENTENCE)
    )


def assert_terms_add_up(translator: Translator, text: str, under: Intervention = UNCHANGED) -> None:
    found = translator.score_terms(text, under=under)
    assert tuple(found.terms) == TERMS
    total = np.sum(list(found.terms.values()), axis=0)
    np.testing.assert_allclose(total, found.scores, atol=1e-4, rtol=0)


@pytest.mark.parametrize("positions", ADDED)
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    "layout",
    [
        {},
        {"fused_qkv": True},
        {"head_layout": "per_head"},
        {"attention_bias": False},
        {"scoring": "dot_product"},
    ],
    ids=str,
)
def test_the_terms_add_up_to_the_recorded_scores(
    variant: Callable[..., Translator], positions: str, norm: str, layout: dict[str, Any]
) -> None:
    translator = variant(positions=positions, norm=norm, **layout)
    assert_terms_add_up(translator, SENTENCE)
    assert_terms_add_up(translator, SENTENCE, moved(PositionEdit(scale=0.4, shift=2)))
    recorded = translator.trace(SENTENCE, TARGET).attention("encoder", 0).scores
    assert np.array_equal(translator.score_terms(SENTENCE).scores, known(recorded))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_without_positions_no_term_of_a_position_is_left(
    variant: Callable[..., Translator], norm: str
) -> None:
    found = variant(norm=norm).score_terms(SENTENCE, under=moved(WITHOUT))
    for name in TERMS:
        assert bool(found.terms[name].any()) is ("position" not in name), name


def test_a_post_norm_term_is_the_product_that_its_name_says(
    variant: Callable[..., Translator],
) -> None:
    translator = variant(norm="post", attention_bias=False, n_heads=1)
    parts = translator.embedding_parts(SENTENCE)
    attention: Any = translator.model.encoder.layers[0].self_attention
    w_q, w_k = (x.weight.detach().numpy().T for x in (attention.w_q, attention.w_k))
    terms = translator.score_terms(SENTENCE).terms
    expected = (parts.scaled @ w_q) @ (parts.position @ w_k).T / np.sqrt(32)
    np.testing.assert_allclose(terms["word-position"][0], expected, atol=1e-4)
    assert not terms["bias"].any()


def test_additive_scores_are_refused_because_they_do_not_split(
    variant: Callable[..., Translator],
) -> None:
    with pytest.raises(PositionError, match="no product of query and key"):
        variant(scoring="additive").score_terms(SENTENCE)


# One shared model.


def test_an_edit_that_meets_no_encoding_says_so(tiny_model: Transformer) -> None:
    with (
        pytest.raises(CaptureError, match=r"encoding did not run, .* call install_taps"),
        editing_positions(WITHOUT),
    ):
        tiny_model.encode(torch.tensor([[5, 6, 3]]))


def test_positions_and_masks_can_be_edited_together(translator: Translator) -> None:
    n_target = len(translator.trace(SENTENCE, TARGET).target)
    diagonal = np.eye(n_target, dtype=bool)
    edit = PositionEdit(scale=0.5)
    trace = translator.trace(
        SENTENCE, TARGET, under=Intervention(masks={"decoder": diagonal}, positions=edit)
    )
    assert np.array_equal(trace.attention("decoder", 1).allowed, diagonal)
    only_moved = translator.trace(SENTENCE, TARGET, under=moved(edit))
    assert np.array_equal(
        known(trace.attention("decoder", 0).q), known(only_moved.attention("decoder", 0).q)
    )
