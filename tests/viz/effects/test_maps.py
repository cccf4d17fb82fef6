"""Maps beside the truth and their ranking: what they hold, and what is said of them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from model.explain.agreement import mean_agreement, rank_correlation
from model.explain.attributing import cross_attributions, self_attributions
from model.explain.attribution import METHODS, TELLING, Attributions
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, partly, require_same, values
from tests.kit.tiny_checkpoint import PAIRS
from viz.draw import style
from viz.effects.estimate_vs_deletion import MapBesideTruth
from viz.effects.ranking import MapRanking
from viz.effects.ranking_words import Score, ranking_sentences
from viz.effects.self_maps import SelfMap, no_truth
from viz.effects.view import EffectsView, written_part
from viz.save.picture import Layout

SENTENCE, TARGET = "The cat sat on the mat.", "Der Hund saß auf der Matte."
CROSS, ENCODER, DECODER = (Site(kind, 1) for kind in ("cross", "encoder", "decoder"))


@pytest.fixture(scope="module")
def found(translator: Translator) -> Attributions:
    return cross_attributions(translator, translator.trace(SENTENCE))


def beside(
    found: Attributions,
    method: str,
    site: Site | None = None,
    head: int | None = None,
    **more: Any,
) -> MapBesideTruth:
    return MapBesideTruth(found, SENTENCE, method=method, site=site, head=head, **more)


@pytest.mark.parametrize("method", METHODS)
def test_both_maps_are_drawn_as_they_are_each_on_its_own_scale(
    found: Attributions, method: str
) -> None:
    for site, head in ((None, None), (CROSS, None), (CROSS, 2)):
        estimate = found.map(method, site).of(head)
        for narrow in (False, True):
            figure = beside(found, method, site, head).figure(Layout(narrow=narrow))
            for trace, drawn in zip(figure.data, (found.deletion_losses, estimate), strict=False):
                np.testing.assert_array_equal(trace.z, drawn)
                limit = float(np.abs(drawn).max())
                assert trace.zmax == pytest.approx(limit)
                assert trace.zmin == pytest.approx(-limit if drawn.min() < 0 else 0)


def test_rings_are_where_deletion_costs_most_and_dots_where_the_estimate_is_greatest(
    found: Attributions,
) -> None:
    figure = beside(found, "norms", CROSS, 2).figure(Layout())
    in_truth, in_estimate, dots = figure.data[2:5]
    losses, norms = found.deletion_losses, found.map("norms", CROSS).heads[2]
    rows = [row for row in range(len(losses)) if losses[row].max() >= TELLING]
    assert rows, "no deletion tells anything, so nothing was checked"
    for ring in (in_truth, in_estimate):
        assert list(ring.y) == rows
        assert list(ring.x) == [losses[row].argmax() for row in rows]
    assert (in_truth.xaxis, in_estimate.xaxis, dots.xaxis) == ("x", "x2", "x2")
    assert list(dots.x) == norms.argmax(axis=1).tolist()
    agree = sum(losses[row].argmax() == norms[row].argmax() for row in rows)
    alt = beside(found, "norms", CROSS, 2).alt
    assert f"In {agree} of {style.count_of(len(rows), 'row')}, both" in alt


def test_a_layer_read_one_row_later_has_no_row_for_the_last_token(found: Attributions) -> None:
    figure = beside(found, "weights", CROSS, later=True).figure(Layout())
    weights = found.map("weights", CROSS).together
    np.testing.assert_array_equal(figure.data[1].z[:-1], weights[1:])
    assert np.isnan(figure.data[1].z[-1]).all()
    assert len(found.target) - 1 not in figure.data[4].y
    assert "one row later" in beside(found, "weights", CROSS, later=True).more
    # A gradient is of what a row predicts, wherever its layer looks.
    assert "one row later" not in beside(found, "gradient_times_weight", CROSS, later=True).more
    last = len(found.target) - 1
    by_method = {
        each.method: each
        for each in MapRanking(found, "", site=CROSS, later=True, token=last).scores
    }
    assert np.isnan(by_method["weights"].correlation)
    assert not np.isnan(by_method["gradient_times_weight"].correlation)


def test_a_ranking_says_which_maps_count_a_row_less(found: Attributions) -> None:
    last, later = len(found.target) - 1, MapRanking(found, SENTENCE, site=CROSS, later=True)
    assert "the last target token" in later.more
    for each in MapRanking(found, "", site=CROSS, later=True, token=last).scores:
        uses_gradients = "gradient" in METHODS[each.method].title.lower()
        assert bool(np.isnan(each.correlation)) is not uses_gradients
    for as_usual in (replace(later, later=False), replace(later, site=None)):
        assert "one row later" not in as_usual.more
        ranked = replace(as_usual, token=last).scores
        assert not any(np.isnan(each.correlation) for each in ranked)


def test_one_map_alone_keeps_the_rings_of_the_truth(found: Attributions) -> None:
    alone = beside(found, "weights", alone=True).figure(Layout(narrow=True))
    both = beside(found, "weights").figure(Layout())
    np.testing.assert_array_equal(alone.data[0].z, found.map("weights", None).together)
    assert list(alone.data[1].x) == list(both.data[2].x)
    assert alone.data[1].marker.symbol == "circle-open"
    assert alone.layout.title.text == "Weights of the whole model"


def test_pictures_come_back_with_their_numbers(
    folder: Path, translator: Translator, found: Attributions
) -> None:
    of_target = cross_attributions(translator, translator.trace(SENTENCE, TARGET))
    for picture in (
        MapBesideTruth(found, SENTENCE),
        MapBesideTruth(
            of_target, SENTENCE, TARGET, site=CROSS, head=2, later=True, token=1, method="rollout"
        ),
        MapBesideTruth(found, SENTENCE, alone=True),
    ):
        require_same(picture, folder, LAYOUTS[:2])
        np.testing.assert_array_equal(
            values(picture, "deletion_loss"), picture.attributions.deletion_losses
        )
    pairs = PAIRS[2:5]
    later = {1: True}
    examples = [
        cross_attributions(translator, translator.trace(*pair)).agreements(later=later)
        for pair in pairs
    ]
    for ranked in (
        MapRanking(found, SENTENCE, token=0),
        MapRanking(
            *(of_target, SENTENCE, TARGET),
            **{"site": CROSS, "later": True, "marked": "norms"},
            pairs=pairs,
            examples=examples,
        ),
    ):
        require_same(ranked, folder, LAYOUTS[:2])
        assert sorted(values(ranked, "method").tolist()) == sorted(METHODS)


def test_methods_stand_in_the_order_of_their_rank_correlation(
    translator: Translator, found: Attributions
) -> None:
    examples = [cross_attributions(translator, translator.trace(*pair)) for pair in PAIRS[2:5]]
    ranked = MapRanking(
        found, "", site=CROSS, head=2, examples=[each.agreements() for each in examples]
    ).scores
    assert sorted(each.method for each in ranked) == sorted(METHODS)
    numbers = [each.correlation for each in ranked]
    assert numbers == sorted(numbers, reverse=True)
    for each in ranked:
        truth = found.deletion_losses
        estimate = found.map(each.method, CROSS).heads[2]
        assert each.correlation == rank_correlation(estimate, truth).mean
        assert each.examples
        assert each.examples[0] == mean_agreement(
            [example.correlation(each.method, CROSS, 2) for example in examples]
        )
    bars, tops, means, _ = bars_of(ranked).data
    assert list(bars.x) == numbers
    assert list(tops.x) == [each.top for each in ranked]
    assert list(means.x) == [each.examples[0].mean for each in ranked if each.examples]
    row = MapRanking(found, "", site=CROSS, head=2, token=1).scores[0]
    own = rank_correlation(found.map(row.method, CROSS).heads[2], found.deletion_losses)
    assert row.correlation == own.rows[1]


def bars_of(ranked: list[Score], narrow: bool = False) -> go.Figure:
    picture = partly(MapRanking, scores=ranked, title="T", marked="", token=None)
    return picture.figure(Layout(narrow=narrow))


def score(method: str, correlation: float, top: float) -> Score:
    return Score(method=method, correlation=correlation, top=top)


@pytest.mark.parametrize(
    ("ranked", "said"),
    [
        (
            [score("rollout", 0.5, 0.25), score("weights", -0.25, 0.75)],
            "believe rollout first: .*0.50.*; the plain weights reach −0.25. .* with weights, 75%",
        ),
        (
            [score("norms", 0.5, 1), score("weights", 0.5, 0.5), score("rollout", 0.4, 1)],
            "believe norms and weights first: .*0.50.* No other map .* with norms and rollout, "
            "100%; with the plain weights, 50%",
        ),
        (
            [score("norms", np.nan, np.nan), score("weights", np.nan, np.nan)],
            "no map stands out",
        ),
    ],
)
def test_which_map_to_believe_in_words(ranked: list[Score], said: str) -> None:
    (sentence,) = ranking_sentences(ranked)
    assert re.search(said, sentence)


def test_a_ranking_in_which_nothing_tells_is_drawn_all_the_same() -> None:
    ranked = [score(method, np.nan, np.nan) for method in METHODS]
    figure = bars_of(ranked, narrow=True)
    assert [each.text for each in figure.layout.annotations].count("–") == 2 * len(METHODS)


def test_what_both_maps_say_of_one_token(found: Attributions) -> None:
    losses = found.deletion_losses
    row = int(losses.max(axis=1).argmax())
    source = found.source.tokens[int(losses[row].argmax())].removeprefix("▁")
    picture = MapBesideTruth(found, SENTENCE, token=row)
    assert f"loses most without “{source}”: {losses[row].max():.2f}" in picture.token_sentence
    (frame, _) = picture.figure(LAYOUTS[0]).layout.shapes
    assert (frame.y0, frame.y1) == (row - 0.5, row + 0.5)


def test_a_part_of_the_model_in_an_address() -> None:
    for part in ((None, None), (CROSS, None), (CROSS, 12), (ENCODER, 3)):
        kind = part[0].kind if part[0] else AttentionKind.CROSS
        assert EffectsView(mapped=str(kind), layer_head=written_part(*part)).part == part


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("site", [ENCODER, DECODER], ids=str)
def test_of_self_attention_a_map_stands_beside_the_weights(
    translator: Translator, site: Site, method: str
) -> None:
    found = self_attributions(translator, SENTENCE, site)
    tokens = found.tokens
    trace = translator.trace(SENTENCE)
    assert tokens == (trace.source if site is ENCODER else trace.target)
    for head in (None, 2):
        estimate = found.map(method).of(head)
        picture = SelfMap(found, SENTENCE, head=head, method=method)
        expected = [estimate] if method == "weights" else [found.map("weights").of(head), estimate]
        figure = picture.figure(Layout(narrow=head is None))
        maps = [trace for trace in figure.data if trace.type == "heatmap"]
        grounds = maps[len(expected) :]
        maps = maps[: len(expected)]
        # Of the decoder, what comes later is hatched on every map, and told once.
        later = np.triu(np.ones((len(tokens), len(tokens)), bool), 1)
        assert len(grounds) == (len(expected) if site is DECODER else 0)
        for ground, one in zip(grounds, maps, strict=bool(grounds)):
            np.testing.assert_array_equal(np.isfinite(ground.z), later)
            assert (ground.xaxis, ground.yaxis) == (one.xaxis, one.yaxis)
        told = [each.name for each in figure.data if each.showlegend and each.name == "not allowed"]
        assert len(told) == bool(grounds)
        assert ("Hatched: not allowed." in picture.more) is bool(grounds)
        for drawn, one in zip(maps, expected, strict=True):
            np.testing.assert_array_equal(drawn.z, one)
    dots = [each for each in figure.data if each.type == "scatter" and each.x[0] is not None][-1]
    assert list(zip(dots.y, dots.x, strict=True)) == [
        (row, column)
        for row, each in enumerate(estimate)
        for column in np.flatnonzero((each == each.max()) & (each > each.min()))
    ]


def test_what_is_said_of_a_map_of_self_attention(translator: Translator) -> None:
    of_encoder, of_decoder = (
        self_attributions(translator, SENTENCE, site) for site in (ENCODER, DECODER)
    )
    rows = of_decoder.map("rollout").together.sum(axis=1)
    assert (rows < 1).all(), "no part of a row came from the source, so the caption says too much"
    said = {
        (site, method): SelfMap(found, SENTENCE, head=0, method=method).more
        for site, found in ((ENCODER, of_encoder), (DECODER, of_decoder))
        for method in METHODS
    }
    assert "came from the source" in said[DECODER, "rollout"]
    assert "came from the source" not in said[ENCODER, "rollout"]
    assert "all target tokens together" in said[ENCODER, "gradient_times_weight"]
    assert "the token it predicts" in said[DECODER, "gradient_times_weight"]
    chosen = self_attributions(translator, SENTENCE, ENCODER, token=1)
    of_chosen = SelfMap(chosen, SENTENCE, head=0, method="gradient_times_weight")
    assert "chosen target token" in of_chosen.more
    for method in METHODS:
        one = SelfMap(chosen, SENTENCE, head=0, method=method)
        assert "averaged over the heads" in replace(one, head=None).more
        assert "averaged" not in one.more
    assert "columns are target tokens" in no_truth(AttentionKind.DECODER)
    alike = SelfMap(of_encoder, SENTENCE, method="rollout").alt
    both = [of_encoder.map(each).together.argmax(axis=1) for each in ("weights", "rollout")]
    assert f"In {(both[0] == both[1]).sum()} of {len(both[0])} rows" in alike


def test_pictures_of_self_attention_come_back_with_their_numbers(
    folder: Path, translator: Translator
) -> None:
    decoder = self_attributions(translator, translator.trace(SENTENCE, TARGET), DECODER)
    encoder = self_attributions(translator, SENTENCE, ENCODER, token=2)
    for picture in (
        SelfMap(decoder, SENTENCE, TARGET, 2, 1, "rollout"),
        SelfMap(encoder, SENTENCE, token=2, method="gradient_times_weight", alone=True),
    ):
        require_same(picture, folder, LAYOUTS[:2])
        np.testing.assert_array_equal(
            values(picture, "estimate"), picture.attributions.map(picture.method).of(picture.head)
        )
        assert picture.alone is ("beside" not in picture.title)
    shapes = SelfMap(decoder, SENTENCE, TARGET, token=1).figure(LAYOUTS[0]).layout.shapes
    assert [(each.y0, each.y1) for each in shapes] == [(0.5, 1.5)]
    assert not SelfMap(encoder, SENTENCE, token=1).figure(LAYOUTS[0]).layout.shapes
