"""Two runs side by side: what is aligned, what the pictures show, and what an address holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from model.patching.patch import SentencePair
from model.record.patches import Stream
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from tests.kit.pictures import require_same
from tests.kit.trace_payload import Decoded
from viz.compare.head_pair import HeadPair
from viz.compare.heads import HeadDifferences
from viz.compare.paired import PairedTraces, matched
from viz.compare.payload import pack_pair
from viz.compare.tracing import TracedWord, written_patch
from viz.compare.view import VIEW, CompareView, by_part, listed, part_name, written_part
from viz.compare.words import PatchedWords
from viz.save.picture import Layout

CAT, DOG, LONGER = "The cat sat on the mat.", "The dog sat on the mat.", "The man eats."
CROSS = Site(AttentionKind.CROSS, 1)
LAYOUTS = (Layout(), Layout(narrow=True, dark=True))


@pytest.fixture(scope="module")
def pair(translator: Translator) -> PairedTraces:
    return PairedTraces(translator.trace(CAT), translator.trace(DOG))


def test_a_difference_is_the_second_weight_less_the_first(pair: PairedTraces) -> None:
    rows, columns = zip(*pair.target, strict=True), zip(*pair.source, strict=True)
    (first_rows, second_rows), (first_columns, second_columns) = map(list, (rows, columns))
    one = pair.first.maps[CROSS].weights[2][np.ix_(first_rows, first_columns)]
    other = pair.second.maps[CROSS].weights[2][np.ix_(second_rows, second_columns)]
    np.testing.assert_array_equal(pair.difference((CROSS, 2)), other - one)


def test_a_sentence_beside_itself_differs_nowhere(translator: Translator) -> None:
    same = PairedTraces(translator.trace(CAT), translator.trace(CAT))
    assert same.left_out == 0
    assert set(same.moved.values()) == {0.0}


def test_words_in_which_two_sentences_differ_share_a_place(pair: PairedTraces) -> None:
    source, _ = pair.labels(AttentionKind.ENCODER)
    assert "cat/dog" in " ".join(source.tokens)
    assert "mat" in source.tokens


def test_tokens_without_a_counterpart_are_left_out_and_counted(translator: Translator) -> None:
    pair = PairedTraces(translator.trace(CAT), translator.trace(LONGER))
    assert pair.left_out > 0
    assert "without a counterpart" in HeadDifferences(pair).more
    queries, keys = pair.labels(AttentionKind.CROSS)
    assert pair.difference((CROSS, 0)).shape == (len(queries), len(keys))


def test_heads_that_changed_places_are_found_again(translator: Translator) -> None:
    trace = translator.trace(CAT)
    moved = {
        site: hs.AttentionMap(
            site,
            weights=each.weights[::-1],
            allowed=each.allowed,
            queries=each.queries,
            keys=each.keys,
        )
        for site, each in trace.maps.items()
    }
    other = hs.Trace(
        source=trace.source,
        target=trace.target,
        predictions=trace.predictions,
        text=trace.text,
        source_text=trace.source_text,
        maps=moved,
    )
    partners = matched(trace, other)
    assert partners == {
        (site, head): (site, each.n_heads - 1 - head)
        for site, each in trace.maps.items()
        for head in range(each.n_heads)
    }
    pair = PairedTraces(trace, other, "model", partners)
    assert max(pair.moved.values()) == 0
    assert PairedTraces(trace, other, "model").moved[pair.most_moved] > 0


def test_tiles_are_the_differences_of_their_heads(pair: PairedTraces) -> None:
    head = CROSS, 3
    figure = HeadDifferences(pair, framed=head).figure(Layout())
    cross = next(each for each in figure.data if each.name == AttentionKind.CROSS.full_name)
    queries, keys = map(len, pair.labels(AttentionKind.CROSS))
    top, left = (queries + 1) * 1, (keys + 1) * 3
    np.testing.assert_array_equal(
        cross.z[top : top + queries, left : left + keys], pair.difference(head)
    )
    clear = next(each for each in figure.data if each.meta == "cross")
    assert clear.customdata[1][3][0] == "cross.1.3"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_traced_word_shows_every_patch_and_marks_those_in_place(
    translator: Translator, layout: Layout
) -> None:
    trace = hs.causal_trace(translator, CAT, DOG)
    picture = TracedWord(trace, marked=(("encoder", 1, 1),))
    encoder, decoder, *_ = picture.figure(layout).data
    np.testing.assert_array_equal(encoder.z, trace.probabilities("encoder", trace.telling))
    np.testing.assert_array_equal(decoder.z, trace.probabilities("decoder", trace.telling))
    assert encoder.customdata[2][1][0] == "encoder.1.at1"
    assert len(picture.figure(layout).layout.shapes) == 1
    before, after = picture.ends
    assert after > 0.5 > before
    side, stage, token, value = picture.best
    assert trace.probabilities(side, trace.telling).max() == pytest.approx(value)
    alone = SentencePair(translator, CAT, DOG).patched({(side, stage): [token]})
    assert np.exp(alone.patched_log_probs[trace.telling]) == pytest.approx(value, abs=1e-4)


def test_every_cell_of_the_map_is_a_legal_patch_in_the_address() -> None:
    written = [written_patch(*each) for each in (("encoder", "embedding", 2), ("decoder", 1, 0))]
    view = CompareView(patched="-".join(written))
    assert view.patches == ((Stream("encoder", "embedding"), 2), (Stream("decoder", 1), 0))
    (parameter,) = (each for each in VIEW.parameters if each.name == "patched")
    assert parameter.parse(view.patched) == view.patched


def test_parts_are_written_and_read_alike() -> None:
    view = CompareView(patched="cross.1.3-encoder.1.at4-encoder.1.at2-encoder.output")
    assert "-".join(written_part(*each) for each in view.patches) == view.patched
    assert by_part(view.patches) == {
        (CROSS, 3): None,
        Stream("encoder", 1): [4, 2],
        Stream("encoder", "output"): None,
    }
    names = [part_name(*each, ["a", "b", "c", "d", "e"], []) for each in view.patches]
    assert listed(names) == (
        "cross 1.3, encoder layer 1 at “e”, encoder layer 1 at “c” and encoder output"
    )


@pytest.mark.parametrize(
    "written", ["decoder.output", "decoder.embedding", "module.1.2", "cross.1"]
)
def test_parts_that_no_model_has_are_refused(written: str) -> None:
    (parameter,) = (each for each in VIEW.parameters if each.name == "patched")
    with pytest.raises(ValueError, match="parts such as"):
        parameter.parse(written)


WRITTEN = "cross.1.2-encoder.1.at1-encoder.1.at2"
MIXED = {("cross", 1, 2): None, ("encoder", 1): [1, 2]}


def test_pictures_have_python_numbers_and_words(translator: Translator, folder: Path) -> None:
    pair = PairedTraces(translator.trace(CAT), translator.trace(DOG))
    patched = hs.patch(translator, CAT, DOG, [("encoder", "output")])
    first, second = (translator.trace(CAT, text) for text in (pair.first.text, pair.second.text))
    searches = PairedTraces(first, second, "search")
    for picture in (
        HeadDifferences(searches),
        HeadPair(searches),
        HeadDifferences(pair, framed=(CROSS, 1)),
        HeadPair(pair, chosen=(CROSS, 1)),
        TracedWord(hs.causal_trace(translator, CAT, DOG), 1),
        PatchedWords(
            hs.patch(translator, CAT, DOG, MIXED), "cross.1.2-encoder.1.at1-encoder.1.at2"
        ),
    ):
        require_same(picture, folder, LAYOUTS)
        assert picture.alt
        assert picture.caption
    words = PatchedWords(patched, "encoder.output")
    assert words.caption.endswith("with encoder output from the second.")
    for layout in LAYOUTS:
        _, first, second, put = words.figure(layout).data
        np.testing.assert_allclose(first.y, np.exp(patched.log_probs), rtol=1e-6)
        np.testing.assert_allclose(put.y, second.y, rtol=1e-6)


def test_more_weights_are_sent_as_bytes(
    pair: PairedTraces, monkeypatch: pytest.MonkeyPatch
) -> None:
    def packed() -> dict[str, Any]:
        lines = [("<b>", "The cat", "The dog")]
        sent = pack_pair(pair, names=(CAT, DOG), lines=lines, heard=0, shown=pair.most_moved)
        return Decoded(sent).header

    exact = packed()
    assert exact["lines"] == [["<b>", [["same", "The"], ["removed", " cat"], ["added", " dog"]]]]
    monkeypatch.setattr("viz.compare.payload.EXACT", 0)
    coarse = packed()
    for one, other in zip(exact["kinds"], coarse["kinds"], strict=True):
        for sharp, blunt in zip(one["heads"], other["heads"], strict=True):
            for weights, steps in zip(sharp["weights"], blunt["weights"], strict=True):
                assert steps.dtype == np.uint8
                np.testing.assert_allclose(weights, steps / 255, atol=0.5 / 255 + 1e-6)
