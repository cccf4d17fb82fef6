"""Lines between words as a figure: which there are, from where to where, and how strong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from tests.kit.readings import seen_of
from viz.heads.lines import FAINTEST, POINTS, STEPS, HeadLines
from viz.save.picture import Layout


def seen(weights: Any) -> AttentionMap:
    values = np.array(weights, dtype=np.float32)
    _, n_queries, n_keys = values.shape
    return AttentionMap(
        Site(AttentionKind.CROSS, 3),
        weights=values,
        allowed=np.ones((n_queries, n_keys), dtype=np.bool_),
        queries=Tokens.unnamed([f"q{place}" for place in range(n_queries)]),
        keys=Tokens.unnamed([f"<k>{place}" for place in range(n_keys)]),
    )


def lines_figure(one: AttentionMap, head: int) -> Any:
    return HeadLines(seen_of(one), one.site, head).figure(Layout())


def ends(figure: Any) -> list[tuple[float, float, float]]:
    """The strength of every line, and where it begins and ends."""
    found = []
    for trace in figure.data:
        if trace.mode == "lines":
            lines = np.asarray(trace.y).reshape(-1, POINTS + 1)
            assert np.isnan(lines[:, -1]).all()
            found += [(trace.opacity, line[0], line[-2]) for line in lines.tolist()]
    return sorted(found, reverse=True)


def test_every_weight_that_counts_has_one_line_as_strong_as_it_is() -> None:
    found = ends(lines_figure(seen([[[0.9, 0.1], [0, 1]]]), 0))
    assert [(left, right) for _, left, right in found] == [(1, 1), (0, 0), (0, 1)]
    for (strength, *_), weight in zip(found, (1, 0.9, 0.1), strict=True):
        assert strength == pytest.approx(weight, abs=1 / STEPS)


def test_faint_weights_have_no_line() -> None:
    assert not ends(lines_figure(seen([[[FAINTEST * 0.99]]]), 0))


def test_a_shorter_column_stands_in_the_middle_of_the_longer_one() -> None:
    figure = lines_figure(seen(np.ones((1, 1, 3)) / 3), 0)
    assert {left for _, left, _ in ends(figure)} == {1}


def test_words_are_texts_and_never_markup() -> None:
    figure = lines_figure(seen([[[1.0]]]), 0)
    texts = [text.strip() for trace in figure.data if trace.mode == "text" for text in trace.text]
    assert texts == ["q0", "&lt;k&gt;0"]


def test_a_head_that_there_is_not_is_refused_in_a_sentence() -> None:
    with pytest.raises(IndexError, match="no head 1"):
        lines_figure(seen([[[1.0]]]), 1)
