from pathlib import Path

import numpy as np
import pytest

from model.explain.alignment_error import alignment_error_rate, read_aligned
from model.explain.word_alignment import diagonal, mutual_argmax, row_argmax, word_map
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace
from model.translate.translator import load

ROOT = Path(__file__).parents[3]
CROSS = Site(AttentionKind.CROSS, 0)


def tokens(*pieces: str) -> Tokens:
    return Tokens(pieces, tuple(range(len(pieces))))


SOURCE = tokens("▁The", "▁play", "ground", ".", "</s>")
TARGET = tokens("<s>", "▁Spiel", "platz", ".")
PREDICTIONS = tokens("▁Spiel", "platz", ".", "</s>")
WEIGHTS = np.array(
    [
        [0.1, 0.2, 0.3, 0.1, 0.3],
        [0.3, 0.3, 0.2, 0.1, 0.1],
        [0.0, 0.1, 0.1, 0.7, 0.1],
        [0.2, 0.0, 0.0, 0.6, 0.2],
    ]
)
"""Rows for what TARGET has read; each predicts the token beside it in PREDICTIONS."""


def a_trace() -> Trace:
    seen = AttentionMap(
        CROSS,
        weights=WEIGHTS[None].astype(np.float32),
        allowed=np.ones(WEIGHTS.shape, dtype=bool),
        queries=TARGET,
        keys=SOURCE,
    )
    return Trace(
        source=SOURCE,
        target=TARGET,
        predictions=PREDICTIONS,
        text="",
        source_text="",
        maps={CROSS: seen},
    )


def test_a_word_sums_its_keys_and_averages_the_rows_that_predict_its_tokens() -> None:
    expected = [
        # Spielplatz is predicted by the rows 0 and 1; The, playground and the full stop.
        [(0.1 + 0.3) / 2, (0.2 + 0.3 + 0.3 + 0.2) / 2, (0.1 + 0.1) / 2],
        [0.0, 0.1 + 0.1, 0.7],
    ]
    found = word_map(a_trace(), WEIGHTS[None])
    np.testing.assert_allclose(found, [expected])


def test_one_row_later_are_the_rows_that_have_read_the_tokens() -> None:
    expected = [
        [(0.3 + 0.0) / 2, (0.3 + 0.2 + 0.1 + 0.1) / 2, (0.1 + 0.7) / 2],
        [0.2, 0.0, 0.6],
    ]
    np.testing.assert_allclose(word_map(a_trace(), WEIGHTS[None], later=True), [expected])


def test_values_of_other_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 4, 4\).*\(head, 4, 5\)"):
        word_map(a_trace(), WEIGHTS[None, :, :4])


def test_links_are_where_the_largest_weights_are() -> None:
    weights = np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.1, 0.2, 0.7]])
    assert row_argmax(weights) == {(0, 0), (0, 1), (2, 2)}
    # Source word 0 has its largest weight with target word 0, source word 1 with target word 1.
    assert mutual_argmax(weights) == {(0, 0), (2, 2)}


def test_links_are_given_as_source_and_target() -> None:
    weights = np.array([[0.1, 0.2, 0.7]])
    assert row_argmax(weights) == mutual_argmax(weights) == {(2, 0)}


def test_the_diagonal_goes_from_the_first_words_to_the_last() -> None:
    assert diagonal(4, 4) == {(0, 0), (1, 1), (2, 2), (3, 3)}
    assert diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert diagonal(3, 1) == {(1, 0)}


def test_a_head_of_the_shipped_model_aligns_better_than_order_alone() -> None:
    # On all pairs its error rate is 16% one row later and 76% in the output row; see
    # benchmarks/alignment.py.
    gold = read_aligned(ROOT / "benchmarks" / "gold" / "en-de.tsv")[:12]
    model = load(ROOT / "checkpoints" / "en-de", device="cpu")
    traces = [model.trace(pair.source, pair.target) for pair in gold]
    errors = {}
    for later in (False, True):
        maps = [
            word_map(each, each.attention("cross", 0).weights, later=later)[5] for each in traces
        ]
        for pair, each in zip(gold, maps, strict=True):
            assert each.shape == (len(pair.target_words), len(pair.source_words))
        errors[later] = alignment_error_rate([row_argmax(each) for each in maps], gold).error
    floor = [diagonal(len(pair.source_words), len(pair.target_words)) for pair in gold]
    assert errors[True] < 0.3 < alignment_error_rate(floor, gold).error < errors[False]
