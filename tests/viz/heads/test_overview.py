"""All heads at once, held to the trace they came from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from model.explain.reading import read, selected_maps, site_map
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from viz.heads.every_head import EveryHead
from viz.save.picture import Layout


def test_the_overview_holds_every_weight_of_every_head_in_its_place(trace: Trace) -> None:
    maps, heads = selected_maps(read(trace), "decoder")
    figure = EveryHead(read(trace), AttentionKind.DECODER).figure(Layout())
    drawn = figure.data[0].z
    n = len(trace.target)
    step = n + max(1, round(0.08 * n))
    for row, seen in enumerate(maps):
        for head in heads:
            tile = drawn[row * step : row * step + n, head * step : head * step + n]
            np.testing.assert_array_equal(tile, seen.weights[head])
    assert np.isnan(drawn).sum() == drawn.size - len(maps) * len(heads) * n * n
    assert np.nansum(figure.data[1].z) == len(maps) * len(heads) * np.sum(~maps[0].allowed)


def test_a_layer_or_a_head_that_there_is_not_is_named_with_those_there_are(trace: Trace) -> None:
    seen = read(trace)
    with pytest.raises(IndexError, match="no layer 7 of cross attention; choose one of 0, 1, 2"):
        selected_maps(seen, "cross", 7)
    with pytest.raises(IndexError, match="heads 0 to 3; there is no head 4"):
        selected_maps(seen, "cross", None, 4)
    with pytest.raises(IndexError, match="no layer -1 of cross attention; choose one of 0, 1, 2"):
        site_map(seen, "cross", -1)


def test_layers_of_different_tokens_are_not_drawn_together(trace: Trace) -> None:
    seen = read(trace)
    maps = {each.site: each for each in selected_maps(seen, "decoder")[0]}
    shorter = seen.maps[Site("encoder", 0)]
    maps[Site("decoder", 9)] = replace(shorter, site=Site("decoder", 9))
    with pytest.raises(ValueError, match="layers of one kind of attention with the same tokens"):
        EveryHead(replace(seen, maps=maps), AttentionKind.DECODER).figure(Layout())
