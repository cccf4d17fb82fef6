"""Pictures of one word against another: what they hold, what they say, and their Python."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.contrast.contrast import contrast_of
from model.contrast.head_sets import head_set, random_sets
from model.contrast.logit_terms import logit_terms
from model.contrast.pairs import pair_of
from model.contrast.paths import paths
from model.contrast.results import Contrast
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.effects.contrast_map import ContrastMap, contrast_sentences, replaced_sentence
from viz.effects.contrasted import probability, standing, times
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.logit_waterfall import SHOWN, LogitWaterfall
from viz.effects.path_graph import NARROW_EDGES, PathGraph
from viz.effects.path_places import is_below
from viz.effects.two_words import WordsWithoutTokens
from viz.save.picture import Layout

PLACE, OTHER = 1, "Hund"


@pytest.fixture(scope="module")
def pair(translator: Translator, trace: Trace) -> Any:
    return pair_of(translator, trace, PLACE, OTHER)


@pytest.fixture(scope="module")
def contrast(translator: Translator, trace: Trace, pair: Any) -> Contrast:
    return contrast_of(translator, trace, pair)


@pytest.fixture(scope="module")
def waterfall(translator: Translator, trace: Trace, pair: Any, contrast: Contrast) -> Any:
    return LogitWaterfall(contrast, PLACE, OTHER, logit_terms(translator, trace, pair))


@pytest.fixture(scope="module")
def graph(
    folder: Path, translator: Translator, trace: Trace, pair: Any, contrast: Contrast
) -> PathGraph:
    return PathGraph(contrast, PLACE, OTHER, paths(translator, trace, pair, {}), str(folder))


def deciding(
    folder: Path, translator: Translator, trace: Trace, pair: Any, contrast: Contrast, how: Any
) -> DecidingHeads:
    found = head_set(translator, trace, pair, how, {})
    random = random_sets(translator, trace, pair, len(found.heads), how, {})
    return DecidingHeads(contrast, PLACE, OTHER, found, random, str(folder))


def test_the_map_and_the_tokens_come_back(folder: Path, contrast: Contrast) -> None:
    for picture in (
        ContrastMap(contrast, PLACE, OTHER),
        ContrastMap(contrast, PLACE, OTHER, off=[contrast.ranked()[0][:2]]),
        WordsWithoutTokens(contrast, PLACE, OTHER),
    ):
        require_same(picture, folder, LAYOUTS[:2])
    losses = np.concatenate(list(contrast.losses.values()))
    np.testing.assert_array_equal(values(ContrastMap(contrast, PLACE, OTHER), "loss"), losses)


def test_sum_and_paths_come_back(folder: Path, waterfall: Any, graph: PathGraph) -> None:
    require_same(waterfall, folder, LAYOUTS[:2])
    require_same(graph, folder, LAYOUTS[:2])


@pytest.mark.parametrize("how", ["remove", "keep"])
def test_a_set_comes_back(
    folder: Path, translator: Translator, trace: Trace, pair: Any, contrast: Contrast, how: Any
) -> None:
    picture = deciding(folder, translator, trace, pair, contrast, how)
    require_same(picture, folder, LAYOUTS[:2])
    random, points = picture.figure(Layout()).data
    assert len(random.x) == 200
    assert len(points.x) == 3


def test_each_bar_begins_where_the_last_one_ends(waterfall: LogitWaterfall) -> None:
    (bars,) = waterfall.figure(Layout()).data
    ends = np.add(bars.base, bars.x)
    np.testing.assert_allclose(bars.base[1:-1], ends[:-2], atol=1e-9)
    assert bars.base[0] == bars.base[-1] == 0
    assert bars.x[-1] == pytest.approx(waterfall.contrast.difference, abs=1e-4)
    sizes = [abs(each.value) for each in waterfall.bars[:SHOWN]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(bars.x) == SHOWN + 2


def test_a_bar_of_a_head_says_which(waterfall: LogitWaterfall) -> None:
    (bars,) = waterfall.figure(Layout()).data
    for bar, place in zip(waterfall.bars, bars.customdata, strict=False):
        if bar.head:
            site, head = bar.head
            assert list(place) == [[str(site.kind), site.layer, head]]
        else:
            assert place is None


def test_a_line_is_as_wide_as_its_effect_and_leads_to_its_head(graph: PathGraph) -> None:
    *lines, nodes = graph.figure(Layout()).data
    edges = graph.ways.edges[::-1]
    assert len(lines) == len(edges)
    widths = [each.line.width for each in lines]
    assert widths == sorted(widths)
    for line, edge in zip(lines, edges, strict=True):
        site, head = edge.receiver or edge.sender
        assert list(line.customdata[0]) == [[str(site.kind), site.layer, head]]
        assert line.x[0] < line.x[-1]
    assert len(graph.figure(Layout(narrow=True)).data) == min(NARROW_EDGES, len(edges)) + 1
    assert len(nodes.x) == len({each for edge in edges for each in (edge.sender, edge.receiver)})


def test_no_name_of_a_head_cuts_a_line_and_none_stands_on_the_thicker_one(
    graph: PathGraph,
) -> None:
    for layout in LAYOUTS:
        assert not any(each.bgcolor for each in graph.figure(layout).layout.annotations)
    above, below = (0.0, 0.44, 2.0, 0.44), (0.0, 0.56, 2.0, 0.56)
    elsewhere = (0.0, 0.9, 2.0, 0.9)
    for widths, is_down in (((11.0, 2.0, 11.0), True), ((2.0, 11.0, 11.0), False)):
        assert is_below((1.0, 0.5), [above, below, elsewhere], widths, 300) == is_down
    # Where nothing is in the way, names stand above.
    assert not is_below((1.0, 0.5), [elsewhere], [11.0], 300)


def test_the_caption_says_how_the_lines_agree_with_removal(graph: PathGraph) -> None:
    assert f"rank correlation {graph.ways.correlation:.2f}".replace("-", "−") in graph.more
    unknown = replace(graph, ways=replace(graph.ways, correlation=math.nan))
    assert "rank correlation" not in unknown.more


def test_heads_without_which_the_other_word_is_written_are_named(contrast: Contrast) -> None:
    before = "Die Katze saß auf der Matte."
    site, other = list(contrast.without)[:2]
    after = {
        site: (before, "Der Hund saß auf der Matte."),
        other: ("Die Katze saß auf dem Hund.", "Die Matte."),
    }
    said = replaced_sentence(contrast, before, after)
    assert said == (
        "Without 1 head of 4, one at a time, the model writes “Hund” and not “Katze”: "
        f"{Head(site, 1).short_name}."
    )
    assert replaced_sentence(contrast, before, {other: after[other]}).startswith("No head alone")


def test_probabilities_stand_before_logarithms(contrast: Contrast) -> None:
    text = standing(contrast)
    assert text.startswith(f"“Katze” {probability(float(contrast.log_probs[0]))}, “Hund” ")
    assert f"{times(contrast.difference)} as likely" in text
    first, *_ = contrast_sentences(contrast)
    assert first.startswith("Without ")
    assert "“Katze”" in first


def test_the_likelier_word_is_named_first_whichever_it_is(contrast: Contrast) -> None:
    turned = replace(contrast, log_probs=contrast.log_probs[::-1].copy())
    assert "“Hund” is" in standing(turned)


@pytest.mark.parametrize(
    ("difference", "said"),
    [(0.0, "1.0 times"), (-0.7, "2.0 times"), (4.6, "99 times"), (99, "over a million times")],
)
def test_how_many_times(difference: float, said: str) -> None:
    assert times(difference) == said


def test_a_third_word_that_wins_is_named_and_the_other_only_where_it_wins(
    folder: Path, translator: Translator, trace: Trace, pair: Any, contrast: Contrast
) -> None:
    picture = deciding(folder, translator, trace, pair, contrast, "remove")
    other, third = (
        replace(picture, found=replace(picture.found, decides=True, likeliest=each)).sentences[0]
        for each in (contrast.pieces[1:], contrast.predictions[:1])
    )
    assert "“Hund” overtakes “Katze” and is the likeliest: " in other
    assert "“Hund” overtakes “Katze”: " in third
    assert third.endswith(", while “Die” is likelier than either.")


@pytest.mark.parametrize("without", ["heads", "tokens"])
def test_what_one_head_or_token_changes_names_a_third_word_that_wins(
    contrast: Contrast, without: str
) -> None:
    die = contrast.predictions.at([0] * len(contrast.source))
    site = contrast.ranked()[0][0]
    if without == "heads":
        likeliest = {**contrast.likeliest, site: die[: len(contrast.likeliest[site])]}
        (said,) = contrast_sentences(replace(contrast, likeliest=likeliest), 1)
    else:
        found = replace(contrast, likeliest_deleted=die)
        said, *_ = WordsWithoutTokens(found, PLACE, OTHER).sentences
    assert said.endswith(", while “Die” is likelier than either.")


def test_what_does_not_decide_says_so(
    folder: Path, translator: Translator, trace: Trace, pair: Any, contrast: Contrast
) -> None:
    picture = deciding(folder, translator, trace, pair, contrast, "remove")
    none = replace(picture, found=replace(picture.found, decides=False))
    assert none.sentences == [
        "None of the sets tried, of up to 24 heads, lets “Hund” overtake “Katze”."
    ]
