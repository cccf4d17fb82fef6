import math
import pickle

import numpy as np
import pandas as pd
import pytest

from model.explain.agreement import Agreement, mean_agreement, rank_correlation, top_agreement


def test_it_is_spearmans_with_ties_and_without() -> None:
    draw = np.random.default_rng(1)
    one, other = draw.normal(size=(40, 9)), draw.integers(0, 4, size=(40, 9))
    wanted = [
        pd.Series(first).corr(pd.Series(second).rank(), method="pearson")
        for first, second in zip(pd.DataFrame(one).rank(axis=1).to_numpy(), other, strict=True)
    ]
    found = rank_correlation(one, other)
    np.testing.assert_allclose(found.rows, wanted, atol=1e-12)
    assert found.mean == pytest.approx(np.mean(wanted))


def test_equal_orders_give_one_and_opposite_ones_minus_one() -> None:
    rows = rank_correlation([[1, 2, 30], [1, 2, 3]], [[-5, 0, 1], [9, 4, 1]]).rows
    assert rows.tolist() == [1, -1]


def test_constant_rows_are_left_out_and_counted() -> None:
    found = rank_correlation([[1, 2, 3], [4, 4, 4], [1, 2, 3]], [[1, 2, 3], [1, 2, 3], [0, 0, 0]])
    assert found.rows[0] == 1
    assert np.isnan(found.rows[1:]).all()
    assert (found.mean, found.n_left_out) == (1, 2)
    assert math.isnan(rank_correlation([[2, 2]], [[1, 2]]).mean)


def test_maps_of_unequal_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(1, 2\) and \(1, 3\)"):
        rank_correlation([[1, 2]], [[1, 2, 3]])
    with pytest.raises(ValueError, match="same rows and columns"):
        top_agreement([1, 2], [1, 2], least=0)


def test_a_row_agrees_where_the_greatest_cell_is_the_same() -> None:
    truth = [[0.1, 0.9, 0.2]] * 5 + [[0.1, 0.4, 0.2]]
    estimate = [[1, 2, 0], [2, 1, 0], [0, 3, 3], [3, 1, 3], [1, 1, 1], [1, 2, 0]]
    found = top_agreement(estimate, truth, least=0.5)
    assert found.rows[:4].tolist() == [1, 0, 0.5, 0]
    # The fifth estimate is constant, and the last truth is below what it must have.
    assert np.isnan(found.rows[4:]).all()
    assert (found.mean, found.n_left_out) == (0.375, 2)


def test_the_mean_over_sentences_weighs_each_alike_and_leaves_out_those_without() -> None:
    sentences = [Agreement(np.array(rows)) for rows in ([1, np.nan], [0, 0.5], [np.nan])]
    found = mean_agreement(sentences)
    assert found.mean == pytest.approx((1 + 0.25) / 2)
    assert (found.n_sentences, found.n_left_out) == (2, 2)
    # Of two sentences, a quarter of all draws has the one twice, and a quarter the other.
    assert (found.low, found.high) == (0.25, 1)
    assert math.isnan(mean_agreement([]).low)


def test_the_interval_holds_the_true_mean_about_as_often_as_it_says() -> None:
    draw = np.random.default_rng(2)
    held = []
    for _ in range(200):
        sentences = [Agreement(np.array([value])) for value in draw.normal(0.3, 0.1, size=40)]
        found = mean_agreement(sentences, level=0.9)
        held.append(found.low <= 0.3 <= found.high)
    assert 0.83 <= np.mean(held) <= 0.96


def test_a_correlation_is_read_only_in_another_process_too() -> None:
    copy = pickle.loads(pickle.dumps(rank_correlation([[1, 2]], [[1, 2]])))
    with pytest.raises(ValueError, match="read-only"):
        copy.rows[0] = 0
