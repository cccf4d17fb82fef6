"""The pictures of the heads page: their Python makes them again, their numbers are exact."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.explain.facts import head_facts
from model.explain.measures import Facts
from model.explain.reading import AS_RECORDED, Reading, ReadTrace, read
from model.trace.attention_map import AttentionKind, Site
from model.trace.trace import Trace
from model.translate.translator import load
from tests.kit.pictures import LAYOUTS, require_files, require_same, values
from viz.heads.matrices import WeightMatrices
from viz.heads.one_head import OneHead
from viz.heads.pictures_to_save import pictures_to_save
from viz.heads.query_key import QueryKey
from viz.heads.whole_view import HeadMeasures, WholeView
from viz.save.notebook import code
from viz.save.picture import Layout, Picture

CROSS, DECODER, ENCODER = AttentionKind.CROSS, AttentionKind.DECODER, AttentionKind.ENCODER
ONE = (Site(CROSS, 1),)


def facts_of(seen: ReadTrace, *kinds: AttentionKind) -> Facts:
    return {site: head_facts(each) for site, each in seen.maps.items() if site.kind in kinds}


def offered(
    trace: Trace,
    reading: Reading = AS_RECORDED,
    sites: Sequence[Site] = ONE,
    target: str = "",
    **selection: str,
) -> list[Picture]:
    """What the page offers with the third head of layers selected."""
    usual = {"attention": str(sites[0].kind), "layer": "1", "head": "2", "compare": ""}
    seen = read(trace, reading)
    view = WholeView(trace, seen, {}, {}, "A title", usual | {"view": "heatmap"} | selection)
    return pictures_to_save(view, sites, 2, target=target)


def test_a_head_and_every_head_come_back_as_they_are_read(trace: Trace, folder: Path) -> None:
    for reading in (AS_RECORDED, Reading(words=True, specials=False, predicted=True)):
        seen = read(trace, reading)
        head, every, view = offered(trace, reading)
        require_same(head, folder)
        require_same(every, folder, LAYOUTS[:2])
        found = seen.maps[Site(CROSS, 1)]
        np.testing.assert_array_equal(values(head, "weight"), found.weights[2])
        np.testing.assert_array_equal(values(every, "weight")[1], found.weights)
        assert (view.formats, view.has("page")) == (["html"], True)
        assert head.texts == ({"reading": " ".join(seen.notes)} if seen.notes else {})


def test_a_head_under_a_target_of_ones_own_comes_back(trace: Trace, folder: Path) -> None:
    target = "Der Hund schläft."
    [head, *_] = offered(load(folder, device="cpu").trace(trace.source_text, target), target=target)
    require_same(head, folder, LAYOUTS[:1])


def test_a_head_that_is_shown_as_lines_is_saved_as_lines_first(trace: Trace, folder: Path) -> None:
    first, second, *_ = offered(trace, Reading(predicted=True), view="lines")
    assert (first.name, second.name) == ("cross-layer1-head2-lines", "cross-layer1-head2")
    require_same(first, folder, LAYOUTS[:2])
    weights = trace.attention("cross", 1).weights[2]
    np.testing.assert_array_equal(values(first, "weight"), weights)


def test_compared_heads_stand_side_by_side(trace: Trace, folder: Path) -> None:
    picture, *_ = offered(trace, compare="1.2-0.3-2.0")
    require_same(picture, folder)
    for layer, head in ((1, 2), (0, 3), (2, 0)):
        weights = trace.attention("cross", layer).weights[head]
        np.testing.assert_array_equal(values(picture, f"layer_{layer}_head_{head}"), weights)


@pytest.mark.parametrize("compare", ["", "1.2", "0.3-2.0", "1.2-9.9"])
def test_what_the_heads_view_does_not_compare_is_not_offered(trace: Trace, compare: str) -> None:
    names = [each.name for each in offered(trace, compare=compare)]
    assert names == ["cross-layer1-head2", "cross-every-head", "heads"]


def test_all_three_kinds_come_back_in_one_square(trace: Trace, folder: Path) -> None:
    sites = (Site(ENCODER, 1), Site(CROSS, 1), Site(DECODER, 1))
    picture, *single = offered(trace, sites=sites, attention="joint")
    require_same(picture, folder, LAYOUTS[:2])
    drawn = picture.figure(Layout()).data[0].z
    n = len(trace.source)
    np.testing.assert_array_equal(drawn[:n, :n], trace.attention("encoder", 1).weights[2])
    np.testing.assert_array_equal(drawn[n:, :n], trace.attention("cross", 1).weights[2])
    np.testing.assert_array_equal(drawn[n:, n:], trace.attention("decoder", 1).weights[2])
    for site in sites:
        seen = trace.maps[site]
        np.testing.assert_array_equal(values(picture, f"{site.kind}_weight"), seen.weights[2])
    assert [each.name for each in single[:3]] == [f"{site.kind}-layer1-head2" for site in sites]


def test_a_layer_that_the_encoder_lacks_leaves_its_part_of_the_square_empty(
    trace: Trace, folder: Path
) -> None:
    picture, *_ = offered(trace, sites=(Site(CROSS, 2), Site(DECODER, 2)), attention="joint")
    require_same(picture, folder, LAYOUTS[:1])


def test_one_weight_from_the_inside_comes_back(trace: Trace, folder: Path) -> None:
    picture = QueryKey(read(trace), Site(CROSS, 1), 2, 3, 1)
    require_same(picture, folder, LAYOUTS[:2])
    weights = trace.attention("cross", 1).weights[2, 3]
    np.testing.assert_array_equal(values(picture, "weight"), weights)


@pytest.mark.parametrize("site", [Site(ENCODER, 1), Site(CROSS, 0), Site(DECODER, 2)])
def test_the_weight_matrices_of_a_head_come_back(folder: Path, site: Site) -> None:
    model = load(folder, device="cpu")
    matrices = model.head_matrices(site, 3)
    picture = WeightMatrices(matrices, site, 3)
    require_same(picture, folder, LAYOUTS[:2])
    for trace, drawn in zip(
        picture.figure(Layout()).data,
        (matrices.w_q.T, matrices.w_k.T, matrices.w_v.T, matrices.w_o),
        strict=True,
    ):
        np.testing.assert_array_equal(trace.z, drawn)
    d_model, d_k = matrices.w_q.shape
    assert f"{d_model} numbers" in picture.caption
    assert f"{d_k} numbers each" in picture.caption
    with pytest.raises(ValueError, match="no cross attention in layer 9"):
        model.head_matrices(Site(CROSS, 9), 0)


def test_values_of_another_size_than_keys_are_told(folder: Path) -> None:
    found = load(folder, device="cpu").head_matrices(ONE[0], 0)
    fewer = replace(found, w_v=found.w_v[:, :2], w_o=found.w_o[:2])
    picture = WeightMatrices(fewer, ONE[0], 0)
    d_k = found.w_q.shape[1]
    assert f"{d_k}, {d_k} and 2 numbers" in picture.caption
    assert f"queries and keys have {d_k} numbers, values 2" in picture.alt
    assert len(picture.figure(Layout()).data[3].z) == 2


def test_the_measures_of_heads_are_saved_as_numbers_alone(trace: Trace) -> None:
    seen = read(trace)
    facts = facts_of(seen, CROSS)
    picture = HeadMeasures(seen, facts)
    assert picture.formats == ["csv", "json", "npz"]
    require_files(picture)
    np.testing.assert_array_equal(values(picture, "entropy")[2], facts[Site(CROSS, 2)]["entropy"])
    every = HeadMeasures(seen, facts_of(seen, ENCODER, CROSS))
    assert values(every, "encoder_entropy").shape == (2, 4)
    assert values(every, "cross_entropy").shape == (3, 4)


def test_a_sentence_in_the_python_is_a_text_and_never_code(trace: Trace) -> None:
    sentence = "\"'''); import os; os.abort() # \\ {x}\nnew line"
    seen = replace(read(trace), source_text=sentence)
    lines = OneHead(seen, Site(CROSS, 1), 2, target=sentence).python(Layout())
    [strings] = re.findall(r"^sentence, target = (.*)$", code(lines, checkpoint="x"), re.MULTILINE)
    assert eval(strings) == (sentence, sentence)


def test_names_of_files_hold_nothing_of_the_sentence(trace: Trace) -> None:
    for picture in offered(trace, compare="1.2-0.3", view="lines"):
        assert picture.name.replace("-", "").isalnum(), picture.name
        assert picture.name.isascii(), picture.name
