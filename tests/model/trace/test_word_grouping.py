import numpy as np
import pytest

from model.trace.attention_map import NO_ID, Tokens
from model.trace.token_schemes import special
from model.trace.word_grouping import punctuation, word_weights, words


def grouped(*pieces: str) -> list[str]:
    """The words that these tokens make, each joined by "+"."""
    tokens = Tokens(pieces, tuple(range(len(pieces))))
    return ["+".join(pieces[word]) for word in words(tokens)]


def test_words_are_what_spaces_part_with_the_punctuation_around_them_apart() -> None:
    assert grouped("<s>", "▁I", "▁don", "'", "t", "▁know", ",", "▁Tom", ".", "</s>") == [
        "<s>",
        "▁I",
        "▁don+'+t",
        "▁know",
        ",",
        "▁Tom",
        ".",
        "</s>",
    ]
    assert grouped("▁U", "-", "Bahn", "?", "!") == ["▁U+-+Bahn", "?", "!"]


def test_labels_that_are_no_tokens_stand_alone() -> None:
    tokens = Tokens(("0", "1", "▁a", "b"), (NO_ID, NO_ID, 5, 6))
    assert [(word.start, word.stop) for word in words(tokens)] == [(0, 1), (1, 2), (2, 4)]


def test_keys_are_summed_and_queries_averaged() -> None:
    weights = np.array([[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 1.0, 0.0]]])
    queries, keys = np.array([0, 1]), np.array([0, 2])
    # The second word of the queries has the rows 1 and 2, the first of the keys the columns 0, 1.
    expected = [[[0.1 + 0.2, 0.7], [(0.5 + 0.3 + 0.0 + 1.0) / 2, (0.2 + 0.0) / 2]]]
    np.testing.assert_allclose(word_weights(weights, queries, keys), expected)
    looking = np.array([True, True, False])
    np.testing.assert_allclose(word_weights(weights, queries, keys, looking)[0, 1], [1.8, 0.2])


@pytest.mark.parametrize("token", ["<s>", "</s>", "<pad>"])
def test_special_tokens_stand_for_no_text(token: str) -> None:
    assert special(token)
    assert not punctuation(token)


@pytest.mark.parametrize("token", ["<unk>", "▁<s>", "<0x0A>", "s", "", "▁"])
def test_other_tokens_are_not_special(token: str) -> None:
    assert not special(token)


@pytest.mark.parametrize("token", [".", "▁(", '!"', "…", "。", "'", "▁—", "%"])
def test_tokens_of_punctuation_throughout_are_punctuation(token: str) -> None:
    assert punctuation(token)


@pytest.mark.parametrize("token", ["", "▁", "▁a.", "St.", "5", "▁$", "<unk>", "<0x2E>", "</s>"])
def test_tokens_with_anything_else_in_them_are_not_punctuation(token: str) -> None:
    assert not punctuation(token)
