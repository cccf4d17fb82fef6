import json
import math
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from model.paper.attention import ScaledDotProductAttention, masked_softmax
from model.paper.config import TransformerConfig
from model.paper.masks import causal_allowed, decoder_allowed, padding_allowed
from model.paper.transformer import Transformer
from model.record.mask_presets import PRESETS
from model.record.recording import recording
from model.record.taps import install_taps
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace
from viz.draw import themes
from viz.draw.labels import visible
from viz.draw.word_diff import diff_html, word_diff
from viz.masks.batch_masks import batch_masks, factors, repeated, token_grid
from viz.masks.difference import Compared, Difference, mask_difference
from viz.masks.head_in_batch import HeadInBatch
from viz.masks.log_probs import LogProbs
from viz.masks.mask import Cell, CellArray, Mask, mask_title
from viz.masks.preset_masks import both_masks, edited_mask, preset_mask
from viz.masks.steps import fill_lesson, head_steps, moved_weight
from viz.save.picture import Layout

PAD, BOS, EOS = 0, 2, 3
SOURCES = [[5, 6, 7, 8, 9, 10, EOS], [11, 12, EOS], [13, 14, 15, 16, EOS]]
TARGETS = [[BOS, 20, 21], [BOS, 22, 23, 24, 25, 26], [BOS, 27, 28, 29]]
N_HEADS = 4

ALLOWED = st_numpy.arrays(
    np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.booleans()
)


def named(ids: list[int]) -> Tokens:
    special = {PAD: "<pad>", BOS: "<s>", EOS: "</s>"}
    return Tokens(tuple(special.get(each, f"▁w{each}") for each in ids), tuple(ids))


def padded(sentences: list[list[int]]) -> list[list[int]]:
    width = max(map(len, sentences))
    return [ids + [PAD] * (width - len(ids)) for ids in sentences]


@cache
def a_batch() -> tuple[Trace, ...]:
    """Three sentences of different lengths, recorded in one pass with all of their padding."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = Transformer(
            TransformerConfig(
                vocab_size=40,
                d_model=32,
                d_ff=64,
                n_heads=N_HEADS,
                n_encoder_layers=2,
                n_decoder_layers=2,
                dropout=0.0,
                max_positions=32,
            )
        ).eval()
    install_taps(model)
    sources, targets = padded(SOURCES), padded(TARGETS)
    with torch.inference_mode(), recording() as seen:
        model(torch.tensor(sources), torch.tensor(targets))
    return tuple(
        seen.trace(sentence, source=named(source), target=named(target))
        for sentence, (source, target) in enumerate(zip(sources, targets, strict=True))
    )


def with_allowed(trace: Trace, site: Site, allowed: np.ndarray) -> Trace:
    """The trace as if another mask had been recorded at a site."""
    return replace(trace, maps={**trace.maps, site: replace(trace.maps[site], allowed=allowed)})


def words(count: int, stem: str = "w") -> Tokens:
    return Tokens(tuple(f"▁{stem}{i}" for i in range(count)), tuple(range(3, 3 + count)))


def a_mask(cells: list[list[int]]) -> Mask:
    grid = np.array(cells, dtype=np.uint8)
    queries, keys = words(grid.shape[0], "q"), words(grid.shape[1], "k")
    return Mask("A mask", "Mask", None, grid, queries, keys, "(2, 2)", "How to read it.")


# The masks of a batch.


@pytest.mark.parametrize("sentence", range(3))
def test_the_masks_are_those_of_the_model(sentence: int) -> None:
    masks = batch_masks(a_batch(), sentence)
    sources, targets = torch.tensor(padded(SOURCES)), torch.tensor(padded(TARGETS))
    source, target = padding_allowed(sources, PAD), padding_allowed(targets, PAD)
    expected = {
        "source-padding": source[sentence, 0],
        "target-padding": target[sentence, 0],
        "causal": causal_allowed(6)[0, 0],
        "decoder": decoder_allowed(targets, PAD)[sentence, 0],
        "encoder": source[sentence, 0].expand(7, 7),
        "cross": source[sentence, 0].expand(6, 7),
    }
    assert masks.keys() == expected.keys()
    for name, mask in masks.items():
        assert np.array_equal(mask.allowed, expected[name].numpy()), name


@pytest.mark.parametrize("sentence", range(3))
@pytest.mark.parametrize("layer", [0, 1])
def test_the_masks_are_those_that_were_recorded(sentence: int, layer: int) -> None:
    masks = batch_masks(a_batch(), sentence, layer=layer)
    for kind in ("encoder", "decoder", "cross"):
        seen = a_batch()[sentence].attention(kind, layer)
        assert np.array_equal(masks[kind].allowed, seen.allowed)
        assert masks[kind].kind == kind
        assert (masks[kind].queries, masks[kind].keys) == (seen.queries, seen.keys)
        assert "edited" not in masks[kind].name
        assert Cell.OTHER not in masks[kind].cells


def test_every_forbidden_cell_says_why() -> None:
    cells = batch_masks(a_batch(), 0)["decoder"].cells
    for query, key in np.ndindex(6, 6):
        future, padding = key > query, key >= len(TARGETS[0])
        assert (
            cells[query, key]
            == {
                (False, False): Cell.ALLOWED,
                (True, False): Cell.FUTURE,
                (False, True): Cell.PADDING,
                (True, True): Cell.BOTH,
            }[future, padding]
        )
    assert set(batch_masks(a_batch(), 0)["cross"].cells.ravel()) == {Cell.ALLOWED}
    assert set(batch_masks(a_batch(), 1)["cross"].cells.ravel()) == {Cell.ALLOWED, Cell.PADDING}


def test_shapes_are_written_as_the_model_holds_them() -> None:
    masks = batch_masks(a_batch(), 1)
    sources, targets = torch.tensor(padded(SOURCES)), torch.tensor(padded(TARGETS))
    held = {
        "source-padding": padding_allowed(sources, PAD),
        "target-padding": padding_allowed(targets, PAD),
        "causal": causal_allowed(6),
        "decoder": decoder_allowed(targets, PAD),
        "encoder": padding_allowed(sources, PAD),
        "cross": padding_allowed(sources, PAD),
    }
    for name, tensor in held.items():
        assert masks[name].shape.endswith(f" = {tuple(tensor.shape)}"), name
        assert str(tensor.dtype) == f"torch.{masks[name].dtype}"
        assert masks[name].meaning.endswith(".")
        assert "\n" not in masks[name].meaning
    assert masks["decoder"].shape == "(batch, 1, query, key) = (3, 1, 6, 6)"


def test_a_recorded_edit_shows_with_what_it_alone_forbids() -> None:
    trace = a_batch()[0]
    site = Site(AttentionKind.DECODER, 0)
    allowed = trace.maps[site].allowed.copy()
    allowed[2, 0] = False
    allowed[0, 1] = True
    edited = with_allowed(trace, site, allowed)
    masks = batch_masks([edited, *a_batch()[1:]], 0)
    own = batch_masks(a_batch(), 0)["decoder"]
    decoder = masks["decoder"]
    assert decoder.name == "Decoder self-attention: causal and not padding, edited"
    assert decoder.shape == own.shape
    assert np.array_equal(decoder.allowed, allowed)
    assert decoder.cells[2, 0] == Cell.OTHER
    assert decoder.cells[0, 1] == Cell.ALLOWED
    unchanged = np.ones_like(allowed)
    unchanged[2, 0] = unchanged[0, 1] = False
    assert np.array_equal(decoder.cells[unchanged], own.cells[unchanged])
    assert "edited" not in masks["causal"].name
    # Another layer was not edited.
    assert "edited" not in batch_masks([edited, *a_batch()[1:]], 0, layer=1)["decoder"].name


def test_where_heads_differ_a_cell_is_allowed_if_any_head_may_attend() -> None:
    trace = a_batch()[1]
    site = Site(AttentionKind.CROSS, 1)
    allowed = np.zeros((N_HEADS, 6, 7), dtype=np.bool_)
    allowed[0, 0, 0] = allowed[3, 2, 1] = True
    masks = batch_masks([with_allowed(trace, site, allowed)], 0, layer=1)
    assert np.argwhere(masks["cross"].allowed).tolist() == [[0, 0], [2, 1]]
    assert masks["cross"].shape == f"(batch, head, query, key) = (1, {N_HEADS}, 6, 7)"


def test_a_mask_edited_for_single_heads_is_named_edited_though_together_they_allow_the_same() -> (
    None
):
    trace = a_batch()[1]
    site = Site(AttentionKind.CROSS, 1)
    own = batch_masks(a_batch(), 1, layer=1)["cross"]
    allowed = np.repeat(own.allowed[None], N_HEADS, axis=0)
    allowed[2, :, 0] = False
    batch = [a_batch()[0], with_allowed(trace, site, allowed), a_batch()[2]]
    cross = batch_masks(batch, 1, layer=1)["cross"]
    assert cross.name == "Cross-attention: not padding of the source, edited"
    assert cross.shape == f"(batch, head, query, key) = (3, {N_HEADS}, 6, 7)"
    assert np.array_equal(cross.cells, own.cells)
    assert "any head" in cross.meaning
    # Heads that were given the model's own mask, each for itself, have not been edited.
    unchanged = with_allowed(trace, site, np.repeat(own.allowed[None], N_HEADS, axis=0))
    assert batch_masks([unchanged], 0, layer=1)["cross"].name == own.name


def test_a_kind_that_was_not_recorded_follows_the_rule() -> None:
    trace = replace(a_batch()[0], maps={})
    for mask, own in zip(
        batch_masks([trace], 0).values(), batch_masks(a_batch()[:1], 0).values(), strict=True
    ):
        assert np.array_equal(mask.cells, own.cells)


@pytest.mark.parametrize("sentence", [-1, 3])
def test_a_sentence_that_is_not_in_the_batch_is_refused(sentence: int) -> None:
    with pytest.raises(IndexError, match=f"holds 3 sentences.*no sentence {sentence}"):
        batch_masks(a_batch(), sentence)
    with pytest.raises(IndexError, match="holds 0 sentences"):
        batch_masks([], 0)


def test_sentences_of_different_lengths_are_no_batch() -> None:
    longer = Trace(
        source=words(9),
        target=words(6),
        predictions=Tokens(),
        text="",
        source_text="",
        maps={},
    )
    with pytest.raises(ValueError, match="these have the source lengths 7, 9"):
        batch_masks([a_batch()[0], longer], 0)
    with pytest.raises(ValueError, match="these have the source lengths 7, 9"):
        token_grid([a_batch()[0], longer], "source")


@pytest.mark.parametrize("sentence", range(3))
def test_the_factors_of_the_decoders_mask_align_and_make_it(sentence: int) -> None:
    masks = batch_masks(a_batch(), sentence)
    causal, padding, both = factors(masks)
    assert causal.cells.shape == padding.cells.shape == both.cells.shape
    assert causal.queries == padding.queries == both.queries
    assert causal.keys == padding.keys == both.keys
    assert np.array_equal(both.allowed, causal.allowed & padding.allowed)
    assert np.array_equal(both.cells, masks["decoder"].cells)
    for query, key in np.ndindex(both.cells.shape):
        assert both.cells[query, key] == causal.cells[query, key] | padding.cells[query, key]


def test_the_factors_are_the_models_own_after_an_edit() -> None:
    site = Site(AttentionKind.DECODER, 0)
    edited = with_allowed(a_batch()[0], site, np.ones((6, 6), dtype=np.bool_))
    both = factors(batch_masks([edited, *a_batch()[1:]], 0))[2]
    own = batch_masks(a_batch(), 0)["decoder"]
    assert np.array_equal(both.cells, own.cells)
    assert (both.name, both.shape) == (own.name, own.shape)


def test_a_batch_is_a_grid_of_tokens_that_knows_its_padding() -> None:
    texts, is_padding = token_grid(a_batch(), "source")
    assert texts[1] == ["w11", "w12", "</s>", "<pad>", "<pad>", "<pad>", "<pad>"]
    assert is_padding.tolist() == [[place >= len(ids) for place in range(7)] for ids in SOURCES]
    texts, is_padding = token_grid(a_batch(), "target")
    assert texts[0] == ["<s>", "w20", "w21", "<pad>", "<pad>", "<pad>"]
    assert is_padding.sum(axis=1).tolist() == [3, 0, 2]
    assert token_grid([], "source")[0] == []


# Masks of their own.


def cells_of(
    name: str, kind: AttentionKind, queries: Tokens, keys: Tokens, settings: dict[str, object]
) -> tuple[CellArray, CellArray, Mask]:
    """The forbidden cells of a preset over padding and elsewhere, and the preset as a mask."""
    preset = PRESETS[name]
    is_padding = np.array([token == "<pad>" for token in keys])
    allowed = preset(len(queries), len(keys), **settings).numpy() & ~is_padding
    mask = preset_mask(
        preset.title,
        allowed,
        queries,
        keys,
        kind=kind,
        reason=preset.reason,
        causal=preset.causal,
    )
    assert np.array_equal(mask.allowed, allowed)
    words_only = np.where(is_padding, Cell.ALLOWED, mask.cells)
    return mask.cells[:, is_padding], words_only[words_only > 0], mask


SETTINGS: dict[str, dict[str, object]] = {
    "look_ahead": {"k": 1},
    "window": {"width": 1},
    "causal_window": {"width": 1},
    "block_words": {"keys": (0,)},
    "block_diagonal": {"lengths": (2, 1), "key_lengths": (2, 1)},
}


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("name", PRESETS)
def test_the_forbidden_cells_of_a_preset_have_its_own_reason(name: str, kind: str) -> None:
    """Nothing is future in an encoder, and nothing is edited in a preset."""
    if kind not in PRESETS[name].kinds:
        return
    source, target = (named(padded(texts)[0]) for texts in (SOURCES[::-1], TARGETS))
    queries = source if kind == "encoder" else target
    keys = target if kind == "decoder" else source
    padding, forbidden, mask = cells_of(
        name, AttentionKind(kind), queries, keys, SETTINGS.get(name, {})
    )
    keeps_to_future = kind == "decoder" and PRESETS[name].causal
    assert set(padding.ravel()) <= {Cell.PADDING, Cell.BOTH if keeps_to_future else Cell.PADDING}
    expected = {
        "none": set(),
        "ignore_padding": set(),
        "causal": {Cell.FUTURE} if keeps_to_future else {Cell.OTHER},
    }.get(name, {Cell.OTHER} | ({Cell.FUTURE} if keeps_to_future else set()))
    assert set(forbidden) == expected
    assert "edit" not in " ".join(mask.cell_names)
    if expected:
        assert PRESETS[name].reason
        assert mask.cell_names[Cell.OTHER] == f"forbidden: {PRESETS[name].reason}"


def test_the_causal_preset_has_the_reasons_of_the_decoders_own_mask() -> None:
    target = named(padded(TARGETS)[0])
    *_, mask = cells_of("causal", AttentionKind.DECODER, target, target, {})
    assert np.array_equal(mask.cells, batch_masks(a_batch(), 0)["decoder"].cells)
    *_, strict = cells_of("strictly_causal", AttentionKind.DECODER, target, target, {})
    assert set(np.diagonal(strict.cells)[:3]) == {Cell.OTHER}
    assert strict.cells[0, 1] == Cell.FUTURE


@given(ALLOWED)
def test_a_preset_and_an_edit_allow_what_they_are_given(allowed: np.ndarray) -> None:
    queries, keys = words(allowed.shape[0], "q"), words(allowed.shape[1], "k")
    mask = preset_mask("any", allowed, queries, keys)
    assert np.array_equal(mask.allowed, allowed)
    assert np.array_equal(edited_mask(mask, ~allowed).allowed, ~allowed)


@given(st.data())
def test_an_edit_keeps_the_reasons_of_what_stays_forbidden(data: st.DataObject) -> None:
    base = batch_masks(a_batch(), data.draw(st.integers(0, 2)))["decoder"]
    allowed = data.draw(st_numpy.arrays(np.bool_, base.cells.shape, elements=st.booleans()))
    cells = edited_mask(base, allowed).cells
    stays = ~base.allowed & ~allowed
    left = cells[stays] & base.cells[stays]
    assert np.array_equal(cells[stays], left)
    assert (left > 0).all()
    alone = stays & (base.cells != Cell.BOTH)
    assert np.array_equal(cells[alone], base.cells[alone])
    assert set(cells[base.allowed & ~allowed]) <= {Cell.OTHER}
    assert set(cells[allowed]) <= {Cell.ALLOWED}


@pytest.mark.parametrize("left", ["causal", "target-padding"])
def test_what_one_factor_forbids_alone_is_drawn_and_named_as_that_factor(left: str) -> None:
    masks = batch_masks(a_batch(), 0)
    factor = repeated(masks[left], masks["decoder"].queries)
    assert (masks["decoder"].cells == Cell.BOTH).any()
    shown = edited_mask(masks["decoder"], factor.allowed)
    assert np.array_equal(shown.cells, factor.cells)
    assert mask_title(shown) == mask_title(factor) == {"causal": "Causal"}.get(left, "Padding")


def test_a_mask_is_named_by_what_it_hides() -> None:
    masks, other = batch_masks(a_batch(), 0), batch_masks(a_batch(), 1)
    assert mask_title(masks["decoder"]) == "Causal and padding"
    # The longest sentence has no padding.
    assert [mask_title(each["encoder"]) for each in (masks, other)] == ["No mask", "Padding"]
    target = masks["decoder"].queries
    *_, window = cells_of("window", AttentionKind.DECODER, target, target, {"width": 1})
    assert mask_title(window, "Window") == "Window and padding"
    everything = np.ones_like(masks["decoder"].allowed)
    assert mask_title(edited_mask(masks["decoder"], everything)) == "No mask"


def test_two_masks_together_have_both_reasons() -> None:
    masks = batch_masks(a_batch(), 0)
    causal, padding, both = factors(masks)
    assert np.array_equal(both_masks(causal, padding).cells, both.cells)
    closed = edited_mask(causal, np.zeros_like(causal.allowed))
    assert set(both_masks(closed, padding).cells.ravel()) <= {*Cell}
    assert not both_masks(closed, padding).allowed.any()


def test_masks_that_do_not_fit_are_refused() -> None:
    base = batch_masks(a_batch(), 0)["cross"]
    with pytest.raises(ValueError, match=r"has the shape \(7, 6\), and \(6, 7\) is needed"):
        edited_mask(base, np.ones((7, 6), dtype=np.bool_))
    with pytest.raises(ValueError, match=r"A mask is boolean.* of float64"):
        edited_mask(base, np.ones((6, 7)))
    with pytest.raises(ValueError, match=r"has the shape \(2, 3\), and \(3, 2\) is needed"):
        preset_mask("none", np.ones((2, 3), dtype=np.bool_), words(3), words(2))
    with pytest.raises(ValueError, match=r"“A mask” has the shape \(2,\), and \(2, 1\)"):
        replace(a_mask([[0], [0]]), cells=np.zeros(2, dtype=np.uint8))
    with pytest.raises(ValueError, match="holds 5, which is no cell"):
        a_mask([[0, 5]])


def test_a_mask_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        a_mask([[0, 1]]).cells[0, 0] = 1


def test_queries_without_a_key_are_listed_by_place_and_name() -> None:
    strict = preset_mask(
        "strictly causal", np.tri(4, k=-1, dtype=np.bool_), words(4, "a<b>"), words(4)
    )
    assert strict.empty_queries == {0: "a<b>0"}
    assert not a_mask([[0, 1], [0, 0]]).empty_queries


# Two masks beside each other.


def texts(difference: Difference) -> list[list[str]]:
    """What is said of each cell."""
    n_queries, n_keys = difference.cells.shape
    return [[difference.text(query, key) for key in range(n_keys)] for query in range(n_queries)]


def test_a_difference_says_who_allows_what() -> None:
    a, b = a_mask([[0, 1, 0, 1]]), a_mask([[0, 2, 4, 0]])
    difference = mask_difference(a, b)
    assert difference.cells.tolist() == [
        [
            Compared.BOTH_ALLOW,
            Compared.BOTH_FORBID,
            Compared.ONLY_A_ALLOWS,
            Compared.ONLY_B_ALLOWS,
        ]
    ]
    assert texts(difference) == [
        [
            "A and B allow",
            "A forbids: later word; B forbids: padding",
            "A allows; B forbids: closed by the edit",
            "A forbids: later word; B allows",
        ]
    ]
    same = mask_difference(a_mask([[3, 4]]), a_mask([[3, 4]]))
    assert texts(same) == [
        ["A and B forbid: later word and padding", "A and B forbid: closed by the edit"]
    ]
    preset = replace(a_mask([[4, 4]]), reason="outside the window")
    assert texts(mask_difference(a_mask([[4, 0]]), preset)) == [
        [
            "A forbids: closed by the edit; B forbids: outside the window",
            "A allows; B forbids: outside the window",
        ]
    ]


@given(st.data())
def test_every_cell_of_a_difference_has_its_sentence(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    cells = st_numpy.arrays(np.uint8, shape, elements=st.integers(0, 4))
    a, b = (a_mask(data.draw(cells).tolist()) for _ in "ab")
    difference = mask_difference(a, b)
    for query, key in np.ndindex(*shape):
        text = difference.text(query, key)
        assert text == difference.sentences[difference.sentence_ids[query, key]]
        a_allows, b_allows = bool(a.allowed[query, key]), bool(b.allowed[query, key])
        assert ("A allows" in text or text == "A and B allow") == a_allows
        assert ("B allows" in text or text == "A and B allow") == b_allows
        assert (
            difference.cells[query, key]
            == {
                (True, True): Compared.BOTH_ALLOW,
                (False, False): Compared.BOTH_FORBID,
                (True, False): Compared.ONLY_A_ALLOWS,
                (False, True): Compared.ONLY_B_ALLOWS,
            }[a_allows, b_allows]
        )
    with pytest.raises(IndexError, match="there is no cell of query -1 and key 0"):
        difference.text(-1, 0)


def test_masks_of_two_sizes_are_not_compared() -> None:
    masks = batch_masks(a_batch(), 0)
    with pytest.raises(
        ValueError, match="“Causal” is 6 × 6 and “Encoder self-attention: not padding” is 7 × 7"
    ):
        mask_difference(masks["causal"], masks["encoder"])


# What a mask does to a head.


def test_the_weight_that_moved_is_what_left_its_keys_or_came_to_others() -> None:
    seen = a_batch()[0].attention("encoder", 0)
    rows = {
        "stays": ([0.5, 0.5, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0, 0], 0.0),
        "moves a quarter": ([0.5, 0.5, 0, 0, 0, 0, 0], [0.5, 0.25, 0.25, 0, 0, 0, 0], 0.25),
        "moves all": ([1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], 1.0),
        "has nothing left": ([0.5, 0.5, 0, 0, 0, 0, 0], [0] * 7, 1.0),
        "had nothing": ([0] * 7, [0, 0, 1, 0, 0, 0, 0], 1.0),
    }
    before, after = (
        replace(
            seen,
            weights=np.array(
                [[row[side] for row in rows.values()] + 2 * [rows["moves all"][side]]] * N_HEADS,
                dtype=np.float32,
            ),
        )
        for side in (0, 1)
    )
    expected = np.mean([share for *_, share in rows.values()])
    np.testing.assert_allclose(moved_weight(before, after, len(rows)), [expected] * N_HEADS)
    np.testing.assert_allclose(moved_weight(before, after, 2), [0.125] * N_HEADS)
    assert not moved_weight(before, before, 7).any()


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_steps_lead_from_the_recorded_scores_to_the_recorded_weights(kind: str) -> None:
    for sentence in range(3):
        seen = a_batch()[sentence].attention(kind, 1)
        for head in range(N_HEADS):
            found = head_steps(seen, head)
            assert np.array_equal(found.scores, seen.scores[head])
            assert np.array_equal(found.allowed, seen.allowed)
            assert np.array_equal(np.isnan(found.masked), ~seen.allowed)
            assert np.array_equal(found.masked[seen.allowed], found.scores[seen.allowed])
            np.testing.assert_allclose(found.weights, seen.weights[head], rtol=0, atol=1e-6)
            parts = found.weights[:, :, None] * seen.v[head]
            np.testing.assert_allclose(
                found.contributions, np.linalg.norm(parts, axis=-1), atol=1e-5
            )
            np.testing.assert_allclose(
                found.outputs, np.linalg.norm(parts.sum(axis=1), axis=-1), atol=1e-5
            )


def test_the_recorded_mask_given_again_changes_no_bit() -> None:
    seen = a_batch()[0].attention("decoder", 0)
    again, recorded = head_steps(seen, 2, seen.allowed), head_steps(seen, 2)
    for name in ("masked", "weights", "contributions", "outputs"):
        assert getattr(again, name).tobytes() == getattr(recorded, name).tobytes()


@given(st.data())
def test_any_mask_gives_the_weights_that_the_model_would_give(data: st.DataObject) -> None:
    seen = a_batch()[0].attention("decoder", 0)
    allowed = data.draw(st_numpy.arrays(np.bool_, (6, 6), elements=st.booleans()))
    found = head_steps(seen, 1, allowed)
    expected = masked_softmax(torch.tensor(seen.scores)[None], torch.tensor(allowed))[0, 1]
    np.testing.assert_allclose(found.weights, expected.numpy(), rtol=0, atol=1e-6)
    assert not found.weights[~allowed].any()
    empty = ~allowed.any(axis=1)
    assert not found.outputs[empty].any()
    assert not found.contributions[empty].any()
    np.testing.assert_allclose(found.weights.sum(axis=1), ~empty, atol=1e-6)


def test_heads_with_masks_of_their_own_are_taken_with_these() -> None:
    scores = np.zeros((2, 2, 2), dtype=np.float32)
    seen = AttentionMap(
        Site(AttentionKind.ENCODER, 0),
        weights=np.array([[[1, 0], [1, 0]], [[0.5, 0.5], [0, 0]]], dtype=np.float32),
        allowed=np.array([[[1, 0], [1, 0]], [[1, 1], [0, 0]]], dtype=np.bool_),
        queries=words(2),
        keys=words(2),
        scores=scores,
        v=np.ones((2, 2, 3), dtype=np.float32),
    )
    assert head_steps(seen, 0).weights.tolist() == [[1, 0], [1, 0]]
    assert head_steps(seen, 1).weights.tolist() == [[0.5, 0.5], [0, 0]]
    assert head_steps(seen, 1).outputs.tolist() == [pytest.approx(math.sqrt(3)), 0]


def test_steps_that_cannot_be_computed_are_refused() -> None:
    seen = a_batch()[0].attention("encoder", 0)
    for lacking in ("scores", "v"):
        with pytest.raises(ValueError, match="were not recorded"):
            head_steps(replace(seen, **{lacking: None}), 0)
    biased = replace(seen, scores=seen.scores + np.arange(7, dtype=np.float32))
    with pytest.raises(ValueError, match="not the softmax"):
        head_steps(biased, 0)
    with pytest.raises(ValueError, match=r"has the shape \(3, 3\), and \(7, 7\) is needed"):
        head_steps(seen, 0, np.ones((3, 3), dtype=np.bool_))
    with pytest.raises(IndexError, match="there is no head 4"):
        head_steps(seen, N_HEADS)


# What is written over forbidden scores.


def test_a_row_without_a_key_is_nan_uniform_or_zeros() -> None:
    scores = np.array([3.0, -1.0, 0.5, 2.0], dtype=np.float32)
    lesson = fill_lesson(scores, np.zeros(4, dtype=np.bool_))
    assert np.isnan(lesson.minus_infinity).all()
    assert lesson.large_negative.tolist() == [0.25] * 4
    assert lesson.model.tolist() == [0] * 4
    assert "1/4, as if all were allowed and scored the same." in lesson.explanation
    # Only with equal scores: these, all allowed, give other weights.
    allowed = fill_lesson(scores, np.ones(4, dtype=np.bool_))
    assert not np.allclose(allowed.large_negative, lesson.large_negative, atol=0.1)
    assert "NaN" in lesson.explanation
    assert len(re.findall(r"\.(?= |$)", lesson.explanation)) == 2


@given(
    scores=st_numpy.arrays(np.float32, st.integers(1, 12), elements=st.floats(-50, 50, width=32)),
    data=st.data(),
)
def test_a_row_with_a_key_is_the_same_in_all_three_ways(
    scores: np.ndarray, data: st.DataObject
) -> None:
    allowed = data.draw(st_numpy.arrays(np.bool_, scores.shape, elements=st.booleans()))
    allowed[data.draw(st.integers(0, len(scores) - 1))] = True
    lesson = fill_lesson(scores, allowed)
    weights, _ = ScaledDotProductAttention(fused=False)(
        torch.ones(1, 1, 1, 1),
        torch.tensor(scores)[None, None, :, None],
        torch.eye(len(scores))[None, None],
        torch.tensor(allowed),
    )
    for _, row in lesson.rows:
        np.testing.assert_allclose(row, weights[0, 0, 0].numpy(), rtol=0, atol=1e-6)
    assert "all three give the same" in lesson.explanation
    assert len(re.findall(r"\.(?= |$)", lesson.explanation)) == 2


def test_a_lesson_needs_a_row() -> None:
    with pytest.raises(ValueError, match=r"at least one key; these have the shape \(0,\)"):
        fill_lesson(np.zeros(0, dtype=np.float32), np.zeros(0, dtype=np.bool_))
    with pytest.raises(ValueError, match=r"has the shape \(3,\), and \(2,\) is needed"):
        fill_lesson(np.zeros(2, dtype=np.float32), np.zeros(3, dtype=np.bool_))


# What changed in a translation.


def test_a_changed_word_stands_beside_the_one_it_replaced() -> None:
    assert word_diff("Der Hund schläft.", "Der Mann schläft.") == [
        ("same", "Der"),
        ("removed", " Hund"),
        ("added", " Mann"),
        ("same", " schläft."),
    ]


def test_punctuation_is_no_part_of_a_word() -> None:
    assert word_diff("Er liest.", "Er liest!") == [
        ("same", "Er liest"),
        ("removed", "."),
        ("added", "!"),
    ]
    assert word_diff("„Ja“", "Ja") == [("removed", "„"), ("same", " Ja"), ("removed", "“")]
    assert word_diff("It's 3.5", "It's 3.6")[0] == ("same", "It's")


def test_texts_that_are_the_same_or_empty_have_nothing_changed() -> None:
    assert word_diff("Eine Frau.", "Eine  Frau.") == [("same", "Eine Frau.")]
    assert word_diff("", " ") == []
    assert word_diff("", "Ja.") == [("added", "Ja.")]
    assert word_diff("Ja.", "") == [("removed", "Ja.")]


def test_texts_that_repeat_themselves_keep_all_that_they_share() -> None:
    changes = word_diff("a " * 512, "b a " * 256)
    assert sum(text.count("a") for change, text in changes if change == "same") == 256


SENTENCES = st.text(alphabet="ab .,“<&\u0301\u00a0", max_size=30)


@given(SENTENCES, SENTENCES)
def test_the_runs_give_both_texts_back(before: str, after: str) -> None:
    changes = word_diff(before, after)
    kept = "".join(text for change, text in changes if change != "removed")
    assert kept.strip(" ") == " ".join(after.split())
    old = "".join(text for change, text in changes if change != "added")
    assert old.replace(" ", "") == "".join(before.split())
    assert all(text for _, text in changes)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert [name for name, _ in attrs] == ["style"]
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(SENTENCES, st.sampled_from(["<script>x</script>", "<b onclick=x>", "&lt;", '"><img>']))
def test_nothing_in_a_text_acts_as_markup(before: str, attack: str) -> None:
    parsed = _Tags()
    parsed.feed(diff_html(before, attack))
    parsed.close()
    assert set(parsed.tags) <= {"ins", "del"}
    written = "".join(visible(text.strip(" ")) for _, text in word_diff(before, attack))
    assert parsed.text.replace(" ", "") == written.replace(" ", "")


@pytest.mark.parametrize("dark", [False, True])
def test_changes_differ_by_more_than_their_colour(dark: bool) -> None:
    shown = diff_html("Der Hund schläft.", "Der Mann schläft.", dark=dark)
    theme = themes.page(dark)
    removed, added = re.findall(r'<(?:del|ins) style="([^"]+)">', shown)
    assert "line-through" in removed
    assert theme.heads[0] in removed
    assert "underline" in added
    assert theme.heads[1] in added
    assert re.sub(r' style="[^"]+"', "", shown) == "Der <del>Hund</del> <ins>Mann</ins> schläft."


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert "⟨U+202E⟩" in diff_html("", "a\u202eb")


# In words.


def test_a_mask_is_told_in_words() -> None:
    assert batch_masks(a_batch(), 0)["decoder"].alt == (
        "Decoder self-attention: causal and not padding: 6 queries by 6 keys; 15 of 36 cells are "
        "allowed; forbidden are 3 (later word), 6 (padding), 12 (later word and padding)."
    )
    assert a_mask([[0, 4]]).alt == (
        "A mask: 1 query by 2 keys; 1 of 2 cells are allowed; forbidden are 1 (closed by the edit)."
    )
    assert a_mask([[0]]).alt == "A mask: 1 query by 1 key; 1 of 1 cell is allowed."


def test_queries_without_a_key_are_told_in_words() -> None:
    assert a_mask([[1, 1], [0, 0]]).alt.endswith("1 query has no allowed key: q0 (0).")
    words_of_all = a_mask([[4]] * 7).alt
    assert "7 queries have no allowed key: q0 (0), " in words_of_all
    assert words_of_all.endswith("q4 (4) and 2 more.")


def test_a_difference_is_told_in_words() -> None:
    told = mask_difference(a_mask([[0, 1, 0]]), a_mask([[0, 0, 2]])).alt
    assert told == (
        "Mask A, “A mask”, and mask B, “A mask”: 1 query by 3 keys; of 3 cells both allow 1, both "
        "forbid 0, only A allows 1, only B allows 1. The first difference is at query q0 (0) and "
        "key k1 (1): A forbids: later word; B allows."
    )
    same = mask_difference(a_mask([[0, 3]]), a_mask([[0, 2]]))
    assert same.alt.endswith("They are the same.")


# Log-probabilities side by side.

NAMES = ("Own mask", "No mask")
FIRST = Tokens(("▁Die", "▁Katze", "▁sa", "ß", ".", "</s>"), (5, 6, 7, 8, 9, 3))
SECOND = Tokens(("▁Der", "▁<b>", "ß", ".", ".", "</s>"), (15, 16, 8, 9, 9, 3))
FIRST_LOG_PROBS = np.array([-0.5, -1, -0.25, -2, -0.1, 0], dtype=np.float32)
SECOND_LOG_PROBS = np.array([-1, -3, -0.5, -0.2, -4, -0.3], dtype=np.float32)


def log_probs(one: tuple, other: tuple, names: tuple[str, str] = NAMES) -> LogProbs:
    at = HeadInBatch(("A sentence.",), 0, "", AttentionKind.DECODER, 0, 0)
    return LogProbs(at, SimpleNamespace(names=names), (one, other))


def bars(one: tuple, other: tuple, names: tuple[str, str] = NAMES, **layout: bool) -> go.Figure:
    return log_probs(one, other, names).figure(Layout(**layout))


ONE, OTHER = (FIRST, FIRST_LOG_PROBS), (SECOND, SECOND_LOG_PROBS)


def test_one_target_has_two_bars_a_token() -> None:
    figure = bars(ONE, (FIRST, SECOND_LOG_PROBS))
    one, other = figure.data
    assert one.y.tolist() == FIRST_LOG_PROBS.tolist()
    assert other.y.tolist() == SECOND_LOG_PROBS.tolist()
    assert list(figure.layout.xaxis.ticktext) == [
        "Die",
        "Katze",
        "sa",
        "…ß",
        ".",
        "&lt;/s&gt;",
    ]
    assert one.name == "Own mask: sum −3.85"
    assert one.customdata[1].tolist() == ["Katze (1)", "Own mask", pytest.approx(math.exp(-1))]


def test_two_targets_are_aligned_where_they_agree() -> None:
    figure = bars(ONE, OTHER)
    one, other = figure.data
    assert one.y.tolist() == [
        pytest.approx(value, nan_ok=True) for value in (-0.5, -1, -0.25, -2, -0.1, math.nan, 0)
    ]
    assert other.y.tolist() == [
        pytest.approx(value, nan_ok=True) for value in (-1, -3, math.nan, -0.5, -0.2, -4, -0.3)
    ]
    plain = [re.sub(r"<span[^>]*>■</span> ", "", label) for label in figure.layout.xaxis.ticktext]
    assert plain == [
        "Die<br>Der",
        "Katze<br>&lt;b&gt;",
        "sa<br>–",
        "…ß",
        ".",
        "–<br>.",
        "&lt;/s&gt;",
    ]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_no_token_is_lost_or_moved_by_aligning(first: list[str], second: list[str]) -> None:
    tokens = [Tokens(tuple(names), tuple(range(len(names)))) for names in (first, second)]
    numbers = [-np.arange(1, 1 + len(names), dtype=np.float32) for names in (first, second)]
    picture = log_probs(*zip(tokens, numbers, strict=True))
    assume(first or second)
    figure = picture.figure(Layout())
    for bar, expected in zip(figure.data, numbers, strict=True):
        assert bar.y[~np.isnan(bar.y)].tolist() == expected.tolist()
    assert len(figure.data[0].y) == len(figure.data[1].y) <= len(first) + len(second)
    assert picture.alt


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("narrow", [False, True])
def test_bars_have_their_colours_axes_and_the_whole_range(dark: bool, narrow: bool) -> None:
    figure = bars(ONE, OTHER, narrow=narrow, dark=dark)
    heads = themes.page(dark).heads
    assert [each.marker.color for each in figure.data] == list(heads[:2])
    said = figure.layout.title.subtitle if narrow else figure.layout.yaxis.title
    assert "log-probability (base e)" in said.text
    low, high = figure.layout.yaxis.range
    assert low < -4
    assert high == 0
    assert figure.layout.xaxis.title.text == ("" if narrow else "Target token")
    assert all(color in figure.layout.xaxis.ticktext[0] for color in heads[:2])
    json.loads(figure.to_json())


def test_labels_thin_out_where_there_are_many() -> None:
    many = words(120), np.full(120, -0.5, dtype=np.float32)
    wide, narrow = bars(many, many), bars(many, many, narrow=True)
    assert len(narrow.layout.xaxis.ticktext) <= 10 < len(wide.layout.xaxis.ticktext) <= 28


def test_names_and_tokens_are_text_and_no_markup() -> None:
    figure = bars(OTHER, OTHER, ("<b>%{y}</b>", "No mask"))
    assert figure.data[0].name.startswith("&lt;b&gt;%{y}&lt;/b&gt;: sum")
    assert "%{y}" not in figure.data[0].hovertemplate
    assert figure.data[0].customdata[1][0] == "&lt;b&gt; (1)"


def test_numbers_that_are_not_finite_have_no_bar() -> None:
    side = words(3), np.array([-1, np.nan, -np.inf], dtype=np.float32)
    figure = bars(side, side)
    assert np.isnan(figure.data[0].y).tolist() == [False, True, True]
    assert figure.data[0].name == "Own mask: sum −1.00"
    assert np.isfinite(figure.layout.yaxis.range).all()
    nothing = words(3), np.full(3, np.nan, dtype=np.float32)
    empty = bars(nothing, nothing)
    assert np.isfinite(empty.layout.yaxis.range).all()


def test_without_tokens_there_is_one_sentence() -> None:
    nothing = Tokens(), np.zeros(0, dtype=np.float32)
    figure = bars(nothing, nothing)
    assert "no token" in figure.layout.annotations[0].text
    assert not figure.layout.xaxis.visible


def test_as_many_numbers_as_tokens_are_needed() -> None:
    picture = log_probs((FIRST, FIRST_LOG_PROBS[:5]), OTHER)
    for draw in (lambda: picture.figure(Layout()), lambda: picture.alt):
        with pytest.raises(ValueError, match=r"there are 6 tokens and .* the shape \(5,\)"):
            draw()


def test_the_bars_are_told_in_words() -> None:
    assert log_probs(ONE, OTHER).alt == (
        "Log-probability of each target token: Own mask, 6 tokens, sum −3.85; No mask, 6 tokens, "
        "sum −9.00. The largest change is at …ß (3): −2.00 and −0.50."
    )
    assert "–" in log_probs(ONE, OTHER).more
    assert "differ" not in log_probs(ONE, ONE).more
