"""The pictures of the decoding page: what they hold, and the Python that makes them again."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.paper.search import Sampling, Search
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, Site, Tokens
from model.trace.translation import Decoding
from model.translate.translator import Translator
from tests.kit.pictures import LAYOUTS, require_same, values
from viz.decoding.certainty import Certainty, certainty_html, hesitant
from viz.decoding.lens import LayerLens, settled
from viz.decoding.search_results import ComparedSearches, SearchWidths
from viz.decoding.search_tree import SearchTree
from viz.decoding.steps import OneStep
from viz.draw.labels import visible
from viz.links.head_refs import read_heads
from viz.links.link_interventions import Changes
from viz.links.mask_edits import Edit, write
from viz.links.searches import of_every_width

SENTENCE = "The cat sat on the mat."
NARROW = Search(beam=2)


@pytest.fixture(scope="module")
def decoding(translator: Translator) -> Decoding:
    return translator.decode(SENTENCE, search=NARROW)


def test_a_step_comes_back_and_holds_its_probabilities_and_weights(
    folder: Path, translator: Translator, decoding: Decoding
) -> None:
    trace = translator.trace_of(decoding.translation)
    cross, own = (Site(kind, 1) for kind in (AttentionKind.CROSS, AttentionKind.DECODER))
    for place, heads in ((0, []), (2, [(cross, 3), (own, 0)])):
        step = decoding.steps[place]
        picture = OneStep(decoding, trace, NARROW, place, heads)
        require_same(picture, folder, LAYOUTS[:2])
        assert values(picture, "probability").tolist() == list(step.probabilities)
    np.testing.assert_array_equal(values(picture, "cross"), trace.maps[cross].weights[3, 2])
    np.testing.assert_array_equal(values(picture, "decoder"), trace.maps[own].weights[0, 2, :3])
    source, target, bars = picture.figure(LAYOUTS[0]).data
    np.testing.assert_array_equal(source.z, trace.maps[cross].weights[3, 2][np.newaxis])
    assert len(target.z[0]) == 3
    assert list(bars.x) == list(step.probabilities)
    assert len(set(bars.marker.color)) == 2


def test_certainty_comes_back_and_marks_what_another_token_was_likelier_than(
    folder: Path, decoding: Decoding
) -> None:
    picture = Certainty(decoding, NARROW)
    require_same(picture, folder, LAYOUTS[:2])
    for name in ("probability", "rank", "entropy"):
        assert values(picture, name).tolist() == [getattr(step, name) for step in decoding.steps]
    other = replace(decoding.steps[0], rank=2)
    steps = (other, *decoding.steps[1:])
    figure = replace(picture, decoding=replace(decoding, steps=steps)).figure(LAYOUTS[0])
    bars, entropy = figure.data[:2]
    assert list(bars.y) == [step.probability for step in decoding.steps]
    assert list(entropy.y) == [step.entropy for step in decoding.steps]
    assert [text for text in bars.text if text] == [
        f"rank {step.rank}" for step in (other, *decoding.steps[1:]) if step.rank > 1
    ]
    assert bars.marker.color[0] == figure.data[3].marker.color


def test_the_sentence_is_coloured_by_what_was_missing_to_certainty(decoding: Decoding) -> None:
    hostile = Tokens(("▁<b>x", "y"), (10, 11))
    steps = [replace(decoding.steps[0], probability=share) for share in (1.0, 0.25)]
    found = certainty_html(hostile, steps, dark=False)
    assert "<b>&lt;b&gt;x</b><small>100%</small>" in found
    assert re.findall(r"([\d.]+)%, transparent", found) == ["0.0", "33.8"]


def test_hesitation_is_a_likelier_or_a_missing_half_and_nothing_that_was_forced(
    decoding: Decoding,
) -> None:
    step = replace(decoding.steps[0], probability=0.9, rank=1, forced=False)
    steps = [
        step,
        replace(step, probability=0.4, rank=2),
        replace(step, probability=0.3),
        replace(step, probability=0.1, rank=9, forced=True),
    ]
    assert hesitant(steps) == [2, 1]


def test_the_map_of_layers_comes_back_and_agrees_where_it_says_so(
    folder: Path, translator: Translator, decoding: Decoding
) -> None:
    lens = translator.logit_lens(translator.trace_of(decoding.translation))
    picture = LayerLens(lens, SENTENCE, NARROW, final_norm=True)
    require_same(picture, folder, LAYOUTS[:2])
    np.testing.assert_array_equal(values(picture, "rank"), lens.ranks)
    figure = picture.figure(LAYOUTS[0])
    colored = figure.data[0].z
    bold = [note.text.startswith("<b>") for note in figure.layout.annotations]
    assert bold == (colored == 2).ravel().tolist()
    for layer, likeliest in enumerate(lens.likeliest):
        for step, token_id in enumerate(lens.tokens.ids):
            says = likeliest.ids[step] == token_id
            assert (colored[layer, step] == 2) == says
            assert (colored[layer, step] == 1) == (not says and lens.ranks[layer, step] <= 10)
    assert "read through it" in picture.more
    assert "read as it is" in replace(picture, final_norm=False).more


def test_every_picture_under_changes_comes_back_and_names_them(
    folder: Path, translator: Translator
) -> None:
    blocked = np.ones((4, len(translator.trace(SENTENCE).source)), dtype=np.bool_)
    blocked[:, 1] = False
    mask = Edit(AttentionKind.CROSS, None, blocked)
    changes = Changes(write([mask]), read_heads("cross.1.2-encoder.0.1"))
    under = Intervention(masks={"cross": blocked}, heads={("cross", 1, 2): 0, ("encoder", 0, 1): 0})
    decoding = translator.decode(SENTENCE, search=NARROW, under=under)
    trace = translator.trace_of(decoding.translation, under=under)
    lens = translator.logit_lens(trace, under=under)
    heads = [(Site(AttentionKind.CROSS, 1), 2)]
    for picture in (
        OneStep(decoding, trace, NARROW, 1, heads, changes),
        Certainty(decoding, NARROW, changes),
        LayerLens(lens, SENTENCE, NARROW, translator.has_final_norm, changes),
        SearchTree(decoding, NARROW, changes=changes),
        ComparedSearches((decoding, decoding), (NARROW, NARROW), changes),
        SearchWidths(
            [
                translator.decode(SENTENCE, search=each, under=under)
                for each in of_every_width(NARROW)
            ],
            NARROW,
            changes,
        ),
    ):
        require_same(picture, folder, LAYOUTS[:1])
        for said in (picture.title, picture.alt, picture.figure(LAYOUTS[0]).layout.title.text):
            whole = said.replace("<br>", " ")
            assert ", without Cross 1.2 and Encoder 0.1, under an edited mask" in whole


def test_all_samples_are_compared_with_another_search_and_come_back(
    folder: Path, translator: Translator, decoding: Decoding
) -> None:
    sampling = Search(sampling=Sampling(seed=3, n_samples=3, temperature=2.0), length_penalty=0)
    drawn = translator.decode(SENTENCE, search=sampling)
    picture = ComparedSearches((decoding, drawn), (NARROW, sampling))
    require_same(picture, folder, LAYOUTS[:2])
    found = translator.candidates(SENTENCE, search=sampling)
    # Among them are bytes that are no characters, however many stand for them.
    assert any("<0x" in token for each in found for token in each.tokens)
    texts = [re.sub("�+", "�", visible(each.text)) for each in found]
    assert values(picture, "mark").tolist() == ["A", "B, 1", "B, 2", "B, 3"]
    shown = [re.sub("�+", "�", each) for each in values(picture, "translation")]
    assert shown == [decoding.translation.text, *texts]
    bars = picture.figure(LAYOUTS[0]).data[0]
    assert list(bars.x) == [decoding.ranked[0].log_prob, *(each.log_prob for each in drawn.ranked)]
    assert "the best sample of B" in picture.words


def test_widths_that_find_the_same_stand_together_and_the_best_stands_out(
    folder: Path, translator: Translator
) -> None:
    decodings = [translator.decode(SENTENCE, search=each) for each in of_every_width(Search())]
    require_same(SearchWidths(decodings, Search()), folder, LAYOUTS[:2])
    one, other = decodings[0], translator.decode("The woman sees the dog.")
    best = one if one.ranked[0].score > other.ranked[0].score else other
    picture = SearchWidths([one, one, other], Search())
    assert values(picture, "mark").tolist() == ["1–2", "3"]
    assert values(picture, "score").tolist() == [each.ranked[0].score for each in (one, other)]
    assert [each.best for each in picture.results] == [best is one, best is other]
    figure = picture.figure(LAYOUTS[0])
    assert one.translation.text in figure.layout.annotations[0].text
    assert len(set(figure.data[0].marker.color)) == 2


def test_a_layer_settles_a_token_if_all_after_it_say_the_same(
    translator: Translator, decoding: Decoding
) -> None:
    lens = translator.logit_lens(translator.trace_of(decoding.translation))
    ranks = np.array([[1, 2, 1, 5], [3, 1, 1, 5], [1, 1, 1, 2]])
    assert settled(replace(lens, ranks=ranks)) == [2, 1, 0, 3]
