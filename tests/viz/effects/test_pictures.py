"""The maps of effects: what they hold, how they are read, and the Python that makes them again."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.colors import hex_to_rgb, unlabel_rgb

from model.explain.ablation_results import Effects, ExamplesRemoval, Removal
from model.explain.head_ablation import effects_of, removal, rewritten
from model.explain.removal_file import read_removal, save_removal
from model.record.head_edits import MeanAblation
from model.record.intervention import Intervention
from model.survey.over_texts import effects
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.head import Head
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, partly, require_same, values
from viz.draw import themes
from viz.draw.labels import lower_first
from viz.effects.effect_map import (
    EffectMap,
    WordMap,
    change_words,
    changed_words,
    effect_sentences,
)
from viz.effects.head_map import CHANGED, LOSS, HeadMap, by_kind, cross_colors
from viz.effects.removal_curve import ExamplesCurve, RemovalCurve
from viz.effects.view import VIEW, EffectsView
from viz.links.head_refs import KINDS
from viz.save.picture import Layout

SENTENCE, TARGET = "The cat sat on the mat.", "Der Hund saß auf der Matte."


def drawn(
    values_of: Mapping[Site, FloatArray],
    title: str = "T",
    unit: str = LOSS,
    off: Sequence[Head] = (),
    numbered: bool = True,
    narrow: bool = False,
) -> go.Figure:
    """The figure of a map of whatever values."""
    picture = partly(HeadMap, values=values_of, title=title, unit=unit, off=off, numbered=numbered)
    return picture.figure(Layout(narrow=narrow))


@pytest.fixture(scope="module")
def found(translator: Translator) -> Effects:
    return effects(translator, SENTENCE)


def test_a_map_comes_back_and_holds_every_loss(
    folder: Path, translator: Translator, found: Effects
) -> None:
    of_target = effects(translator, SENTENCE, TARGET)
    for picture in (
        EffectMap(found),
        EffectMap(found, 2),
        EffectMap(of_target, 0, TARGET),
        EffectMap(found, numbered=False),
        EffectMap(found, off=[(Site(AttentionKind.CROSS, 1), 3)]),
    ):
        require_same(picture, folder, LAYOUTS[:2])
        losses = np.concatenate(list(picture.effects.losses.values()))
        np.testing.assert_array_equal(values(picture, "loss"), losses)
    for place, (site, head) in enumerate(
        (site, head) for site in found.losses for head in range(4)
    ):
        named = [values(EffectMap(found), name)[place] for name in ("attention", "layer", "head")]
        assert named == [str(site.kind), site.layer, head]


def test_each_kind_is_a_heatmap_of_layers_and_heads_on_one_scale(found: Effects) -> None:
    for token in (None, 1):
        values_of = found.of(token)
        for narrow in (False, True):
            figure = drawn(values_of, narrow=narrow)
            maps, numbers = figure.data[:3], figure.data[3:]
            for kind, trace in zip(KINDS, maps, strict=True):
                assert trace.name == kind.full_name
                rows = [values_of[site] for site in sorted(values_of) if site.kind is kind]
                np.testing.assert_array_equal(trace.z, np.stack(rows))
            limit = max(float(np.abs(each).max()) for each in values_of.values())
            scale = figure.layout.coloraxis
            assert (scale.cmin, scale.cmax) == pytest.approx((-limit, limit))
            for trace, written in zip(maps, numbers, strict=True):
                large = np.argwhere(np.abs(trace.z) >= 0.1 * limit)
                np.testing.assert_array_equal(np.stack([written.y, written.x], axis=1), large)
                losses = [trace.z[layer, head] for layer, head in large]
                assert [text.replace("−", "-") for text in written.text] == [
                    f"{loss:.2f}" for loss in losses
                ]
            bare = drawn(values_of, numbered=False, narrow=narrow)
            assert len(bare.data) == 3


@pytest.mark.parametrize("unit", [LOSS, CHANGED])
def test_heads_that_are_off_bear_a_cross_in_place_of_a_number(found: Effects, unit: str) -> None:
    values_of = {site: np.abs(each) for site, each in found.of().items()}
    site, head, _ = found.ranked()[0]
    off = [(site, head), (Site(AttentionKind.ENCODER, 1), 2), (Site(AttentionKind.ENCODER, 0), 1)]
    bare, crossed = (drawn(values_of, "T", unit, off=each) for each in ((), off))
    marks = [*crossed.select_traces({"mode": "markers"})]
    assert len(crossed.data) == len(bare.data) + len(marks)
    maps = {each.xaxis: each for each in crossed.data[:3]}
    places = [
        (maps[each.xaxis].meta, layer, head)
        for each in marks
        for layer, head in zip(each.y, each.x, strict=True)
    ]
    assert sorted(places) == sorted((str(each.kind), each.layer, number) for each, number in off)
    place = KINDS.index(site.kind)
    written = [
        [*zip(each.data[3 + place].y, each.data[3 + place].x, strict=True)]
        for each in (bare, crossed)
    ]
    assert (site.layer, head) in written[0]
    assert set(written[0]) - set(written[1]) >= {(site.layer, head)}
    assert (site.layer, head) not in written[1]


def test_maps_lie_beside_each_other_where_there_is_room_and_else_below(found: Effects) -> None:
    wide, narrow = (drawn(found.of(), narrow=narrow).layout for narrow in (False, True))
    axes = ("", "2", "3")
    across = [wide[f"xaxis{each}"].domain for each in axes]
    assert all(left[1] < right[0] for left, right in pairwise(across))
    down = [narrow[f"yaxis{each}"].domain for each in axes]
    assert all(upper[0] > lower[1] for upper, lower in pairwise(down))
    assert all(0 <= end <= 1 for domain in (*across, *down) for end in domain)


@pytest.mark.parametrize("n_layers", [1, 2, 3, 4, 12])
def test_a_map_of_few_layers_leaves_its_colour_bar_whole(n_layers: int) -> None:
    layers = {Site(AttentionKind.CROSS, layer): np.ones(4) for layer in range(n_layers)}
    layout = drawn(layers).layout
    plot = layout.height - layout.margin.t - layout.margin.b
    assert plot >= max(150, 44 * n_layers)


def test_a_map_without_any_effect_is_drawn_all_the_same() -> None:
    site = Site(AttentionKind.CROSS, 0)
    figure = drawn({site: np.zeros(2)})
    np.testing.assert_array_equal(figure.data[0].z, [[0, 0]])
    with pytest.raises(ValueError, match="same number of heads"):
        drawn({})
    with pytest.raises(ValueError, match="same number of heads"):
        drawn({site: np.zeros(2), Site(AttentionKind.CROSS, 1): np.zeros(3)})


def test_the_greatest_effects_are_said_in_numbers_that_hold(
    translator: Translator, found: Effects
) -> None:
    before = translator.trace(SENTENCE)
    assert before.log_probs is not None
    site, head, loss = found.ranked(1)[0]
    under = Intervention(heads={(site, head): 0})
    after = translator.trace_of(translator.translate(SENTENCE), under=under)
    assert after.log_probs is not None
    sentence = effect_sentences(found, 1)[0]
    assert sentence.startswith(f"Without {lower_first(site.head_name(head))}, “")
    was, became = (float(np.exp(each.log_probs[1])) for each in (before, after))
    if f"{was:.2f}" != f"{became:.2f}":
        assert f"from {was:.2f} to {became:.2f}." in sentence
        assert ("falls" in sentence) is (loss > 0)
    whole = effect_sentences(found, None, 3)
    assert len(whole) == 3
    assert "the translation’s log-probability" in whole[0]
    site, head, loss = found.ranked()[0]
    assert site.head_name(head)[1:] in whole[0]
    assert site.head_name(head)[1:] in EffectMap(found).alt


@pytest.mark.parametrize(
    ("log_prob", "loss", "words"),
    [
        (np.log(0.93), np.log(0.93 / 0.12), "falls from 0.93 to 0.12"),
        (np.log(0.2), np.log(0.2 / 0.5), "rises from 0.20 to 0.50"),
        (np.log(0.9), 0.001, "stays at 0.90"),
        # As written, and no less than that.
        (np.log(0.904), np.log(0.904 / 0.906), "rises from 0.90 to 0.91"),
    ],
)
def test_a_change_of_probability_in_words(log_prob: float, loss: float, words: str) -> None:
    assert change_words(log_prob, loss) == words


def test_tokens_are_no_markup_in_a_title(found: Effects) -> None:
    figure = drawn(found.of(), "<b>&</b>")
    assert figure.layout.title.text == "&lt;b&gt;&amp;&lt;/b&gt;"


def test_a_map_of_words_comes_back(folder: Path, translator: Translator) -> None:
    after = {
        site: tuple(each.text for each in rewritten(translator, SENTENCE, site))
        for site in translator.sites
    }
    before = translator.translate(SENTENCE).text
    picture = WordMap(SENTENCE, before, after, [(Site(AttentionKind.ENCODER, 0), 1)])
    require_same(picture, folder, LAYOUTS[:2])
    assert "cross" in picture.more
    texts = [text for each in after.values() for text in each]
    assert values(picture, "translation").tolist() == texts
    changed = values(picture, "words_changed")
    assert [bool(count) for count in changed] == [text != before for text in texts]
    assert picture.alt
    assert picture.caption
    scale = picture.figure(LAYOUTS[0]).layout.coloraxis
    assert scale.cmin == 0


def test_the_curve_of_removal_comes_back(folder: Path, translator: Translator) -> None:
    trace = translator.trace(SENTENCE, TARGET)
    removed = removal(translator, trace, effects_of(translator, trace))
    picture = RemovalCurve(removed, SENTENCE, TARGET)
    require_same(picture, folder, LAYOUTS[:2])
    assert values(picture, "at_random") is removed.at_random
    least, mean, low, high = picture.figure(LAYOUTS[0]).data
    np.testing.assert_array_equal(least.y, removed.least_first)
    np.testing.assert_array_equal(mean.y, removed.at_random.mean(axis=0))
    np.testing.assert_array_equal(low.y, removed.at_random.min(axis=0))
    np.testing.assert_array_equal(high.y, removed.at_random.max(axis=0))
    assert least.x == removed.removed
    assert f"{len(removed.at_random)} random orders" in picture.full_caption
    assert f"With {removed.removed[6]} heads removed" in picture.alt


def test_curves_over_examples_come_back(folder: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    log_prob, chrf = (
        Removal((0, 9, 32), low + size * random.random(3), low + size * random.random((5, 3)))
        for low, size in ((-4, 4), (0, 100))
    )
    save_removal(tmp_path, ExamplesRemoval(7, log_prob, chrf, "nrefs:1"))
    found = read_removal(tmp_path, 32)
    assert found is not None
    for measure, curves in (("log_prob", found.log_prob), ("chrf", found.chrf)):
        picture = ExamplesCurve(found, measure, str(tmp_path))
        require_same(picture, folder, LAYOUTS[:2])
        figure = picture.figure(LAYOUTS[0])
        np.testing.assert_array_equal(figure.data[0].y, curves.least_first)
        assert figure.layout.yaxis.title.text == picture.value
        assert "7 examples" in picture.full_caption
        assert "5 random orders" in picture.full_caption
        assert picture.title in picture.alt


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("Der Hund schläft.", "Der Hund schläft.", 0),
        ("Der Hund schläft.", "Die Katze schläft.", 2),
        ("Der Hund schläft.", "Der Hund.", 1),
        ("Der Hund.", "Der alte Hund schläft.", 2),
        ("", "Der Hund", 2),
    ],
)
def test_changed_words_are_counted_once(before: str, after: str, count: int) -> None:
    assert changed_words(before, after) == count


def test_heads_in_an_address_become_an_intervention() -> None:
    (off,) = (each for each in VIEW.parameters if each.name == "off")
    heads = tuple(map(Head.of, ("cross.2.3", "encoder.0.1")))
    assert off.parse("cross.2.3-encoder.0.1-cross.2.3") == heads
    assert off.write(heads) == "cross.2.3-encoder.0.1"
    view = EffectsView(off=heads, gate=25)
    assert view.intervention({}) == Intervention(heads=dict.fromkeys(heads, 0.25))
    assert EffectsView(off=view.off, way="first").intervention({}) == Intervention(
        heads=dict.fromkeys(heads, "first")
    )
    means = {site: np.arange(8.0).reshape(4, 2) for site, _ in heads}
    assert EffectsView(off=view.off, way="mean").intervention(means) == Intervention(
        heads={heads[0]: MeanAblation((6, 7)), heads[1]: MeanAblation((2, 3))}
    )
    assert EffectsView().intervention({}) == Intervention()


def test_a_cross_stands_on_the_colour_of_its_cell(found: Effects) -> None:
    values_of = found.of(None)
    for dark in (False, True):
        colors = cross_colors(values_of, dark=dark)
        assert {kind: np.shape(each) for kind, each in colors.items()} == {
            str(kind): (*each.shape, 2) for kind, each in by_kind(values_of).items()
        }
        site, head, loss = max(found.ranked(), key=lambda each: abs(each[2]))
        fill, ink = colors[str(site.kind)][site.layer][head]
        theme = themes.page(dark)
        _, end = theme.signed_colorscale[-1 if loss > 0 else 0]
        expected = hex_to_rgb(end) if end.startswith("#") else unlabel_rgb(end)
        np.testing.assert_allclose(unlabel_rgb(fill), expected, atol=1)
        assert ink == theme.signed_ink(float(loss > 0))
