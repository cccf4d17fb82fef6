"""Masks, cell by cell: True means "may attend"."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from model.masks import causal_allowed, decoder_allowed, padding_allowed, rows_without_keys

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
                may = key <= query and tokens[sentence, key].item() != PAD
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
