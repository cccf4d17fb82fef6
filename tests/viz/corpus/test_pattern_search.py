"""Patterns drawn on a sentence find the heads that look there, or none."""

from dataclasses import replace

import numpy as np
import pytest

from model.trace.attention_map import AttentionKind, AttentionMap, Site
from model.trace.trace import Trace
from viz.corpus.pattern_search import (
    DRAWN,
    NOT_ALLOWED,
    drawing_panel,
    drawn_sentence,
    matches,
    rule_drawn,
)

PLANTED = Site(AttentionKind.ENCODER, 1), 2


@pytest.fixture
def maps(trace: Trace) -> dict[Site, AttentionMap]:
    """The trace's maps with heads of even weights, but one that looks at the second to last."""
    planted = {}
    for site, each in trace.maps.items():
        weights = np.broadcast_to(
            each.allowed / each.allowed.sum(-1, keepdims=True), each.weights.shape
        )
        planted[site] = replace(each, weights=weights.astype(np.float32))
    site, head = PLANTED
    weights = planted[site].weights.copy()
    weights[head] = np.eye(weights.shape[-1])[[-2]]
    planted[site] = replace(planted[site], weights=weights)
    return planted


def test_a_planted_head_comes_first(maps: dict[Site, AttentionMap]) -> None:
    site, head = PLANTED
    drawn = np.zeros(maps[site].weights.shape[1:], bool)
    drawn[2:5, -2] = True
    best, second, *_ = matches(maps, drawn, AttentionKind.ENCODER)
    assert ((best.site, best.head), best.share, best.is_one) == (PLANTED, 1, True)
    even = 1 / len(maps[site].keys)
    assert second.share == pytest.approx(even)
    assert second.by_chance == pytest.approx(even)
    text = drawn_sentence(matches(maps, drawn, AttentionKind.ENCODER))
    assert text.startswith("1 head of 8 looks there")
    assert f"First: {site.head_name(head)}, with 100% of its weight there" in text


def test_a_random_pattern_finds_nothing_and_says_so(trace: Trace) -> None:
    generator = np.random.default_rng(0)
    shape = trace.maps[Site(AttentionKind.ENCODER, 0)].weights.shape[1:]
    for _ in range(20):
        drawn = np.eye(shape[1], dtype=bool)[generator.integers(shape[1], size=shape[0])]
        found = matches(trace.maps, drawn, AttentionKind.ENCODER)
        assert not any(match.is_one for match in found)
        assert drawn_sentence(found).startswith("No head looks there: of 8, the nearest is")


def test_everything_drawn_is_no_finding_and_nothing_drawn_asks_to_draw(
    maps: dict[Site, AttentionMap],
) -> None:
    shape = maps[PLANTED[0]].weights.shape[1:]
    everything = matches(maps, np.ones(shape, bool), AttentionKind.ENCODER)
    assert not any(match.is_one for match in everything)
    assert matches(maps, np.zeros(shape, bool), AttentionKind.ENCODER) == []
    assert drawn_sentence([]).startswith("Draw on the grid")


def test_a_drawing_is_named_by_the_rule_that_it_follows(trace: Trace) -> None:
    attention = trace.maps[Site(AttentionKind.ENCODER, 0)]
    shape = attention.weights.shape[1:]
    drawn = np.eye(shape[0], shape[1], 2, dtype=np.bool_)
    assert rule_drawn(attention, drawn) == "two_after"
    # A stroke over some rows says the same; one over everything says nothing.
    assert rule_drawn(attention, drawn & (np.arange(shape[0]) < 3)[:, None]) == "two_after"
    assert rule_drawn(attention, np.ones(shape, np.bool_)) is None


def test_the_grid_has_what_is_drawn_and_what_no_head_may_see(trace: Trace) -> None:
    attention = trace.maps[Site(AttentionKind.DECODER, 0)]
    drawn = np.zeros(attention.weights.shape[1:], bool)
    drawn[3, 1] = drawn[0, 4] = True
    panel = drawing_panel(attention, drawn)
    assert panel.values[3, 1] == DRAWN
    assert panel.values[0, 4] == NOT_ALLOWED
    assert "1 cell drawn" in panel.alt
    assert panel.start is not None
    assert not panel.start[3, 1]


def test_cells_that_are_not_allowed_are_hatched_and_no_others(trace: Trace) -> None:
    attention = trace.maps[Site(AttentionKind.DECODER, 0)]
    panel = drawing_panel(attention, np.zeros(attention.weights.shape[1:], bool))
    assert panel.shown is not None
    assert not panel.shown.all()
    np.testing.assert_array_equal(panel.shown, panel.values != NOT_ALLOWED)
