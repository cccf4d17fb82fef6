import numpy as np
import pytest

from model.trace.attention_map import Tokens
from viz.shell.headline import Headline, headline_of

TOKENS = Tokens(("▁Die", "▁Kat", "ze", "▁schläft", ".", "</s>"), (10, 11, 12, 13, 14, 3))
LOG_PROBS = np.log([0.9, 0.8, 0.6, 0.51, 1.0, 0.9]).astype(np.float32)
TEXT = "Die Katze schläft."


def test_a_words_probability_is_the_product_of_its_tokens_and_below_half_it_is_doubtful() -> None:
    words = headline_of(TEXT, TOKENS, LOG_PROBS).words
    assert [word.text for word in words] == ["Die", "Katze", "schläft", "."]
    assert [word.share for word in words] == pytest.approx([0.9, 0.48, 0.51, 1.0])
    assert [word.is_doubtful for word in words] == [False, True, False, False]
    assert [word.entry["said"] for word in words] == [
        "90% likely",
        "48% likely",
        "51% likely",
        "100% likely",
    ]


def test_words_are_the_text_and_their_ranges_all_of_its_tokens() -> None:
    words = headline_of(TEXT, TOKENS, LOG_PROBS).words
    spelled = "".join(("" if word.joins else " ") + word.text for word in words)
    assert spelled.strip() == TEXT
    assert [(word.first, word.end) for word in words] == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_without_probabilities_no_word_is_doubtful() -> None:
    found = headline_of(TEXT, TOKENS, None)
    assert found.words
    assert not found.is_doubtful
    assert {word.entry["said"] for word in found.words} == {""}


@pytest.mark.parametrize("text", ["", "Die Katze", "Die  Katze schläft.", "<b>Die</b>"])
def test_a_text_that_the_tokens_do_not_make_up_stays_as_it_is(text: str) -> None:
    assert headline_of(text, TOKENS, LOG_PROBS) == Headline(text, ())
