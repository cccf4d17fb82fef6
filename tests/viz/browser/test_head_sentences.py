import numpy as np
import pytest

from model.explain.facts import head_facts
from model.explain.reading import AS_RECORDED, Reading
from model.trace.attention_map import (
    AttentionKind,
    AttentionMap,
    BoolArray,
    FloatArray,
    Site,
    Tokens,
)
from viz.browser.head_sentences import HeadWords, head_words

ENCODER, DECODER, CROSS = (Site(kind, 0) for kind in list(AttentionKind)[:3])
HIDDEN = Reading(specials=False)


def words(
    weights: FloatArray,
    site: Site = ENCODER,
    reading: Reading = AS_RECORDED,
    *,
    allowed: BoolArray | None = None,
    end: str = "",
) -> HeadWords:
    """What is said of one head with these weights, (query, key)."""
    full = np.asarray(weights, dtype=np.float32)[None]
    names = [f"▁word{place}" for place in range(max(full.shape))]

    def axis(count: int, last: str = "") -> Tokens:
        return Tokens((*names[: count - bool(last)], *([last] if last else [])), (1,) * count)

    seen = AttentionMap(
        site,
        weights=full,
        allowed=np.ones(full.shape[1:], dtype=np.bool_) if allowed is None else allowed,
        queries=axis(full.shape[1]),
        keys=axis(full.shape[2], end),
    )
    (found,) = head_words(seen, head_facts(seen), reading)
    return found


def mixed(count: int, most: FloatArray, share: float) -> FloatArray:
    """So much of the weight on one key a row, and the rest on all keys alike."""
    return share * most + (1 - share) * np.full((count, most.shape[1]), 1 / most.shape[1])


BEFORE, ITSELF = np.eye(8, k=-1) + np.eye(8)[[0]].T * np.eye(8)[[7]], np.eye(8)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (np.eye(8), "A row looks at about one token, mostly at itself."),
        (mixed(8, BEFORE, 0.8), "A row looks at about two tokens, mostly at the one before it."),
        (mixed(8, BEFORE, 0.4), "A row looks at about six tokens, often at the one before it."),
        (
            mixed(8, BEFORE, 0.1),
            "A row spreads its weight almost evenly over the tokens it may look at.",
        ),
        (np.eye(8)[[3] * 8], "A row looks at about one token."),
    ],
)
def test_a_head_is_said_in_words(weights: FloatArray, sentence: str) -> None:
    assert words(weights).sentence == sentence


@pytest.mark.parametrize(
    ("order", "manner"),
    [
        (range(8), "; rows look at different ones, roughly in order"),
        ([3, 7, 0, 5, 1, 6, 2, 4], "; rows look at different ones"),
        ([3] * 8, "; all rows look at nearly the same ones"),
    ],
)
def test_a_head_of_cross_attention_is_told_by_how_its_rows_differ(
    order: list[int], manner: str
) -> None:
    assert (
        words(np.eye(8)[list(order)], CROSS).sentence == f"A row looks at about one token{manner}."
    )


def test_a_place_that_chance_explains_is_no_leaning() -> None:
    # Of two tokens, half of the weight is on the end already where a head has no preference.
    few = np.tile([0.56, 0.44], (4, 1))
    assert "sentence end" not in words(few, CROSS, end="</s>").sentence
    many = np.tile([*[0.05] * 7, 0.65], (4, 1))
    assert words(many, CROSS, end="</s>").sentence.endswith(", mostly at the sentence end.")


def test_pairs_are_the_strongest_rows_with_a_choice_and_stand_out() -> None:
    weights = np.full((4, 8), 0.125)
    weights[1], weights[2], weights[3] = 0, 0.01, 0.02
    weights[1, 6], weights[2, 0], weights[3, 5] = 1.0, 0.93, 0.86
    assert words(weights, CROSS).pairs == ((1, 6), (2, 0), (3, 5))
    assert words(np.full((4, 8), 0.125), CROSS).pairs == ()
    causal = np.tril(np.ones((3, 3), dtype=bool))
    first = np.array([[1, 0, 0], [0, 1, 0], [0.4, 0.3, 0.3]])
    assert words(first, DECODER, allowed=causal).pairs == ((1, 1),)


def test_what_gets_less_than_a_fifth_of_its_even_share_is_ignored() -> None:
    row = np.array([0.55, 0.24, 0.04, 0.17])
    assert words(np.tile(row, (5, 1)), CROSS).ignored == (2,)
    assert words(np.tile(row[::-1], (5, 1)), CROSS).ignored == (1,)
    even = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    assert words(even, DECODER, allowed=np.tril(np.ones((6, 6), dtype=bool))).ignored == ()


def test_weight_on_hidden_special_tokens_is_not_passed_over() -> None:
    left = mixed(8, ITSELF, 0.8) * 0.3
    said = words(left, ENCODER, HIDDEN).sentence
    assert said.startswith("Most of its weight is on hidden special tokens; otherwise a row looks")
    assert "hidden" not in words(left / 0.3, ENCODER, HIDDEN).sentence


def test_whole_words_are_counted_as_words() -> None:
    said = words(np.eye(8), reading=Reading(words=True)).sentence
    assert said == "A row looks at about one word, mostly at itself."


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_axes_without_tokens_leave_nothing_to_describe(shape: tuple[int, int]) -> None:
    assert words(np.zeros(shape), CROSS) == HeadWords("There is no row to describe.", (), ())


def test_a_single_token_leaves_no_choice() -> None:
    found = words(np.ones((1, 1)))
    assert found == HeadWords("A row has only one token to look at.", (), ())
