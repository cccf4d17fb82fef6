"""Masks, cell by cell: True means "may attend"."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.paper.masks import causal_allowed, decoder_allowed, padding_allowed, rows_without_keys
from model.record.mask_edits import MaskEdits
from model.record.mask_presets import (
    PRESETS,
    block_words,
    causal,
    first_token,
    sentence_lengths,
    window,
)
from model.record.mask_rules import MaskError
from model.trace.attention_map import AttentionKind, Site

PAD = 7

token_ids = st.tuples(st.integers(1, 4), st.integers(1, 9)).flatmap(
    lambda shape: st.lists(
        st.lists(st.sampled_from([0, 3, PAD, PAD]), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(torch.tensor)
)


def broadcast(allowed: Tensor, n_heads: int, queries: int) -> Tensor:
    scores = torch.empty(allowed.shape[0], n_heads, queries, allowed.shape[-1])
    return allowed.expand_as(scores)


@given(token_ids, st.integers(1, 3), st.integers(1, 5))
def test_every_head_and_query_may_look_at_words_and_never_at_padding(
    tokens: Tensor, n_heads: int, queries: int
) -> None:
    allowed = padding_allowed(tokens, PAD)
    assert allowed.dtype == torch.bool
    assert allowed.shape == (tokens.shape[0], 1, 1, tokens.shape[1])
    for sentence, row in zip(tokens.tolist(), broadcast(allowed, n_heads, queries), strict=True):
        for cells in row.flatten(0, 1).tolist():
            assert cells == [token != PAD for token in sentence]


@given(st.integers(1, 12))
def test_a_position_may_look_at_itself_and_backwards(length: int) -> None:
    allowed = causal_allowed(length)
    assert allowed.dtype == torch.bool
    assert allowed.shape == (1, 1, length, length)
    for query in range(length):
        assert allowed[0, 0, query].tolist() == [key <= query for key in range(length)]


@given(token_ids)
def test_the_decoder_looks_neither_forward_nor_at_padding(tokens: Tensor) -> None:
    batch, length = tokens.shape
    allowed = decoder_allowed(tokens, PAD)
    assert allowed.shape == (batch, 1, length, length)
    for sentence in range(batch):
        for query in range(length):
            for key in range(length):
                # The first token is the start token, which is the padding token in Marian.
                may = key <= query and (key == 0 or tokens[sentence, key].item() != PAD)
                assert allowed[sentence, 0, query, key].item() is may


@given(token_ids)
def test_a_row_counts_as_empty_exactly_if_no_key_in_it_is_allowed(tokens: Tensor) -> None:
    allowed = decoder_allowed(tokens, PAD)
    empty = rows_without_keys(allowed)
    assert empty.shape == (*allowed.shape[:-1], 1)
    assert empty.squeeze(-1).flatten().tolist() == [
        not any(row) for row in allowed.flatten(0, 2).tolist()
    ]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_mask_lies_on_the_device_of_its_tokens(device: str) -> None:
    tokens = torch.zeros(2, 3, dtype=torch.long, device=device)
    for allowed in (padding_allowed(tokens, PAD), decoder_allowed(tokens, PAD)):
        assert allowed.device.type == device


# Presets, each against its definition cell by cell.

DEFINITIONS: dict[str, tuple[dict[str, Any], Callable[[int, int], bool]]] = {
    "none": ({}, lambda query, key: True),
    "causal": ({}, lambda query, key: key <= query),
    "strictly_causal": ({}, lambda query, key: key < query),
    "look_ahead": ({"k": 2}, lambda query, key: key <= query + 2),
    "window": ({"width": 1}, lambda query, key: abs(query - key) <= 1),
    "causal_window": ({"width": 2}, lambda query, key: query - 2 <= key <= query),
    "first_token": ({}, lambda query, key: key == 0),
    "ignore_padding": ({}, lambda query, key: True),
    "block_words": ({"keys": (1, 4, 99)}, lambda query, key: key not in (1, 4)),
    "block_diagonal": (
        {"lengths": (2, 1, 3), "key_lengths": (1, 4)},
        lambda query, key: (0 if query < 2 else 1 if query < 3 else 2) == (0 if key < 1 else 1),
    ),
}
each_preset = pytest.mark.parametrize("name", PRESETS)


def test_every_preset_has_a_definition_here() -> None:
    assert set(DEFINITIONS) == set(PRESETS)


@each_preset
@given(n_queries=st.integers(0, 9), n_keys=st.integers(0, 9))
def test_a_preset_allows_exactly_what_its_definition_says(
    name: str, n_queries: int, n_keys: int
) -> None:
    settings, may = DEFINITIONS[name]
    allowed = PRESETS[name](n_queries, n_keys, **settings)
    assert allowed.dtype == torch.bool
    assert allowed.device.type == "cpu"
    assert allowed.shape == (n_queries, n_keys)
    assert allowed.tolist() == [
        [may(query, key) for key in range(n_keys)] for query in range(n_queries)
    ]
    assert torch.equal(PRESETS[name].rule(**settings)(n_queries, n_keys), allowed)


@each_preset
def test_a_preset_describes_itself_in_one_line_and_names_its_kinds(name: str) -> None:
    preset = PRESETS[name]
    assert preset.title
    assert preset.description.endswith(".")
    assert "\n" not in preset.description
    assert preset.kinds
    assert AttentionKind.MODULE not in preset.kinds
    assert set(DEFINITIONS[name][0]) == set(preset.settings)


@each_preset
def test_two_masks_of_a_preset_share_no_memory(name: str) -> None:
    preset, settings = PRESETS[name], DEFINITIONS[name][0]
    preset(3, 3, **settings).zero_()
    assert torch.equal(preset(3, 3, **settings), preset.rule(**settings)(3, 3))


def test_the_causal_preset_is_the_models_own_mask() -> None:
    assert torch.equal(causal(7, 7), causal_allowed(7)[0, 0])


def test_the_first_row_of_the_strictly_causal_mask_is_empty_and_no_other() -> None:
    empty = rows_without_keys(PRESETS["strictly_causal"](5, 5))
    assert empty.squeeze(-1).tolist() == [True, False, False, False, False]


def test_rules_joined_by_and_allow_what_both_allow() -> None:
    joined = PRESETS["causal"].rule() & PRESETS["block_words"].rule(keys=[0])
    assert torch.equal(joined(4, 4), causal(4, 4) & block_words(4, 4, keys=[0]))
    assert not joined.over_padding
    assert (PRESETS["causal"].rule() & PRESETS["ignore_padding"].rule()).over_padding


def test_a_rule_can_be_pickled() -> None:
    rule = PRESETS["causal"].rule() & PRESETS["window"].rule(width=1)
    assert torch.equal(pickle.loads(pickle.dumps(rule))(3, 3), rule(3, 3))


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        (
            "window",
            {"width": -1},
            "The window width must be a whole number of at least 0; it is -1",
        ),
        ("window", {"width": 1.5}, "it is 1.5"),
        ("window", {}, "The preset 'Window' takes width; you gave none"),
        ("causal", {"width": 1}, "The preset 'Causal' takes no setting; you gave width"),
        ("look_ahead", {"k": True}, "it is True"),
        ("block_words", {"keys": [1, -1]}, "blocked word"),
        ("block_diagonal", {"lengths": []}, "There must be a block"),
        ("block_diagonal", {"lengths": [2, 0]}, "at least one position"),
        ("block_diagonal", {"lengths": [2, 0.5]}, "length of a block"),
    ],
)
def test_settings_that_make_no_mask_are_refused_in_one_sentence(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(MaskError, match=message) as refusal:
        PRESETS[name].rule(**settings)
    assert str(refusal.value).endswith(".")


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(MaskError, match="number of keys must be a whole number"):
        PRESETS["none"](3, -1)


@pytest.mark.parametrize(
    ("tokens", "lengths"),
    [
        ("", ()),
        ("▁Go ▁on", (2,)),
        ("▁Go . ▁Come ▁back ! </s>", (2, 4)),
        ('▁He ▁said ▁" no . " ▁I ▁left . </s>', (6, 4)),
        ("<s> ▁It ▁costs ▁3 . 1 4 ▁euros .", (9,)),
        ("▁Why ? ▁Because ... ▁So", (2, 2, 1)),
        ("▁Wait… ▁( no .) ▁Yes", (1, 3, 1)),
    ],
)
def test_a_text_is_cut_after_what_ends_a_sentence(tokens: str, lengths: tuple[int, ...]) -> None:
    assert sentence_lengths(tokens.split()) == lengths


def test_blocks_of_sentences_keep_each_sentence_to_itself() -> None:
    tokens = ["▁Go", ".", "▁Come", "▁back", "!", "</s>"]
    allowed = PRESETS["block_diagonal"](6, 6, lengths=sentence_lengths(tokens))
    assert allowed[:2].tolist() == [[True] * 2 + [False] * 4] * 2
    assert allowed[2:].tolist() == [[False] * 2 + [True] * 4] * 4


# Edits: masks and what they are for.


def test_a_mask_for_one_layer_comes_before_one_for_its_kind() -> None:
    edits = MaskEdits({"cross": causal(2, 3), ("cross", 1): first_token(2, 3)})
    for layer, allowed in enumerate((causal(2, 3), first_token(2, 3))):
        found = edits.at(Site(AttentionKind.CROSS, layer))
        assert np.asarray(found).tolist() == allowed.tolist()
    assert edits.at(Site(AttentionKind.ENCODER, 0)) is None
    assert list(map(str, edits)) == ["cross", "cross.1"]


def test_a_mask_that_its_maker_changes_later_stays_as_it_was() -> None:
    allowed = np.ones((2, 2), dtype=bool)
    edits = MaskEdits({"encoder": allowed})
    allowed[:] = False
    assert np.asarray(edits.at(Site(AttentionKind.ENCODER, 0))).all()


@pytest.mark.parametrize(
    "allowed",
    [[[True, False]], [[1, 0]], np.array([[1, 0]], dtype=np.uint8), torch.tensor([[1, 0]])],
)
def test_whatever_holds_true_and_false_is_a_mask(allowed: Any) -> None:
    edits = MaskEdits({Site(AttentionKind.ENCODER, 0): allowed})
    assert np.asarray(edits.at(Site(AttentionKind.ENCODER, 0))).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"cross": [[1.0, 0.0]]}, r"mask for cross must contain True .* not float64; compare"),
        ({("cross", 2): np.full((2, 2), np.nan)}, r"mask for cross\.2 must contain True"),
        ({"cross": np.zeros((2, 2), dtype=np.float32)}, "not float32"),
        ({"cross": [[2, 1]]}, "not int64"),
        ({"cross": [["yes"]]}, "must contain True"),
        ({"cross": [[True], [True, False]]}, "rows of equal length"),
        ({"cross": None}, "must contain True"),
        ({"cross": True}, r"shape \(query, key\) or \(head, query, key\); its shape is \(\)"),
        ({"cross": [True]}, r"its shape is \(1,\)"),
        ({"crosses": [[True]]}, r"'crosses' is none of these"),
        ({("cross", -1): [[True]]}, "is none of these"),
        ({("cross", 1.5): [[True]]}, "is none of these"),
        ({("cross", 1, 2): [[True]]}, "is none of these"),
        ({3: [[True]]}, "3 is none of these"),
        ({("cross", 0): [[True]], Site(AttentionKind.CROSS, 0): [[True]]}, "two masks for cross.0"),
        (
            {("cross", 7): [[True]]},
            r"This model has no cross\.7 to mask; it has encoder\.0, encoder\.2, cross\.0",
        ),
        ({"decoder": [[True]]}, "This model has no decoder to mask"),
        ({"cross": window}, "numbers of queries and keys"),
        ({"cross": PRESETS["window"]}, "takes width"),
        ([[True]], "what they are for"),
    ],
)
def test_what_is_no_edit_is_refused_in_one_sentence(masks: Any, message: str) -> None:
    kinds = (AttentionKind.ENCODER, AttentionKind.CROSS)
    with pytest.raises(MaskError, match=message) as refusal:
        MaskEdits(masks).require_sites([Site(kind, layer) for kind in kinds for layer in (0, 2)])
    sentence = str(refusal.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
