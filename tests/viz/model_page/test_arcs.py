"""Arcs between words are the trace's own weights, of the head that is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from model.explain.alignment_file import read_alignment
from model.explain.alignment_table import AlignmentTable
from model.trace.attention_map import AttentionKind, AttentionMap, Site, Tokens
from model.trace.trace import Trace
from model.translate.text_models import load_reader
from tests.kit.traces import DECODER_WORDS, ENCODER_WORDS, entries, packed
from viz.model_page.arcs import MOST_BY_LAYER, arcs_of, words_of

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
CROSS = AttentionKind.CROSS


@pytest.fixture(scope="module")
def table(folder: Path) -> AlignmentTable:
    found = read_alignment(folder)
    assert found is not None
    return found


def expected(trace: Trace, weights: np.ndarray, later: int) -> list[list[float]]:
    """Word by word: the mean over a written word's rows of the sum over a source word's columns."""
    written = [word for word in words_of(trace.predictions) if not word.special]
    found = []
    for word in written:
        rows = [row + later for row in range(word.first, word.end) if row + later < len(weights)]
        found.append(
            [
                float(np.mean([weights[row, key.first : key.end].sum() for row in rows]))
                for key in words_of(trace.source)
            ]
        )
    return found


def test_words_are_whole_and_know_their_tokens() -> None:
    tokens = Tokens(("▁Wissen", "schaft", ",", "▁ja", ".", "</s>"), (5, 6, 7, 8, 9, 3))
    words = words_of(tokens)
    assert [word.text for word in words] == ["Wissenschaft", ",", "ja", ".", "</s>"]
    assert words[0].tokens == ("Wissen", "schaft")
    assert [(word.first, word.end) for word in words] == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert [word.joins for word in words] == [False, True, False, True, False]
    assert [word.special for word in words] == [False] * 4 + [True]


def test_the_space_before_a_word_in_pieces_is_drawn_once() -> None:
    words = words_of(Tokens(("▁cat", "▁", "e", "ats", "▁"), (5, 6, 7, 8, 6)))
    assert [word.text for word in words] == ["cat", "eats", "\u00a0"]
    assert words[1].tokens == ("", "e", "ats")
    assert [word.joins for word in words] == [False, False, False]


def test_a_character_of_several_bytes_stands_at_its_last_one() -> None:
    spelled = ("▁I", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0xC3>", "▁you", "!")
    words = words_of(Tokens(spelled, tuple(range(4, 13))))
    assert [word.text for word in words] == ["I", "😀<0xC3>", "you", "!"]
    assert words[1].tokens == ("", "", "", "", "😀", "<0xC3>")


def test_letters_stand_alone_where_words_tell_nothing_apart() -> None:
    tokens = Tokens(("▁", "2", "0", "3", "1", "</s>"), (4, 5, 6, 7, 8, 3))
    assert [word.tokens for word in words_of(tokens)] == [
        ("\u00a0",),
        ("2",),
        ("0",),
        ("3",),
        ("1",),
        ("</s>",),
    ]


def test_the_head_is_the_one_closest_to_alignments_made_by_hand(
    trace: Trace, table: AlignmentTable
) -> None:
    heads = {read: rate.error for read, rate in table.rates.items() if read.head is not None}
    best = min(heads, key=lambda read: heads[read])
    arcs = arcs_of(trace, table)
    assert arcs.head == (Site(CROSS, best.layer), best.head)
    weights = trace.attention(CROSS, best.layer).weights[best.head]
    np.testing.assert_allclose(arcs.weights[0], expected(trace, weights, best.later), atol=1e-6)
    assert f"layer {best.layer}, head {best.head} " in arcs.said
    n_heads = sum(trace.attention(CROSS, layer).n_heads for layer in trace.layers(CROSS))
    assert f" {n_heads} cross-attention heads" in arcs.said


def test_without_a_measurement_it_is_the_mean_while_a_word_is_written(trace: Trace) -> None:
    arcs = arcs_of(trace, None)
    every = np.concatenate([trace.attention(CROSS, each).weights for each in trace.layers(CROSS)])
    np.testing.assert_allclose(arcs.weights[0], expected(trace, every.mean(axis=0), 0), atol=1e-6)
    assert arcs.head is None
    assert f"the mean of its {len(every)} cross-attention heads" in arcs.said


def test_a_table_of_other_heads_than_the_traces_is_no_measurement(table: AlignmentTable) -> None:
    assert arcs_of(_one_head(), table).head is None


def _one_head() -> Trace:
    source, target = Tokens(("▁a", "</s>"), (4, 3)), Tokens(("<s>", "▁b"), (2, 5))
    # The table has the layers 0 to 2.
    seen = AttentionMap(
        Site(CROSS, 9),
        weights=np.full((1, 2, 2), 0.5, np.float32),
        allowed=np.ones((2, 2), bool),
        queries=target,
        keys=source,
    )
    return Trace(
        source=source,
        target=target,
        predictions=Tokens(("▁b", "</s>"), (5, 3)),
        text="b",
        source_text="a",
        maps={seen.site: seen},
    )


def test_an_encoder_alone_has_a_frame_a_layer(tmp_path: Path) -> None:
    file = tmp_path / "encoder.npz"
    file.write_bytes(packed(entries(ENCODER_WORDS, "encoder")))
    trace = Trace.load(file)
    arcs = arcs_of(trace, None)
    assert [word.text for word in arcs.written] == ENCODER_WORDS
    assert arcs.written == arcs.read
    for frame, layer in enumerate(trace.layers(AttentionKind.ENCODER)):
        mean = trace.attention(AttentionKind.ENCODER, layer).weights.mean(axis=0)
        np.testing.assert_allclose(arcs.weights[frame], mean, atol=1e-6)


def test_a_long_text_of_an_encoder_has_one_frame_for_all_layers(tmp_path: Path) -> None:
    words = [f"w{place}" for place in range(MOST_BY_LAYER + 1)]
    file = tmp_path / "long.npz"
    file.write_bytes(packed(entries(words, "encoder")))
    trace = Trace.load(file)
    arcs = arcs_of(trace, None)
    assert len(arcs.weights) == 1
    assert "all 6 heads" in arcs.said
    every = np.concatenate([each.weights for each in trace.maps.values()])
    np.testing.assert_allclose(arcs.weights[0], every.mean(axis=0), atol=1e-6)


def test_a_decoder_alone_looks_back_with_the_mean_of_all_heads(tmp_path: Path) -> None:
    file = tmp_path / "decoder.npz"
    file.write_bytes(packed(entries(DECODER_WORDS, "decoder")))
    trace = Trace.load(file)
    arcs = arcs_of(trace, None)
    maps = [trace.attention(AttentionKind.DECODER, each).weights for each in (0, 1)]
    np.testing.assert_allclose(arcs.weights[0], np.concatenate(maps).mean(axis=0), atol=1e-6)
    assert len(arcs.weights) == 1
    assert "6 heads" in arcs.said


@pytest.mark.parametrize("toy", ["toy-reverse-decoder", "toy-reverse-encoder"])
def test_half_a_transformer_has_arcs_too(toy: str) -> None:
    trace = load_reader(CHECKPOINTS / toy, device="cpu").read("c i c e").trace
    arcs = arcs_of(trace, None)
    assert arcs.weights.shape[1:] == (len(arcs.written), len(arcs.read))
    assert (arcs.weights.sum(axis=-1) <= 1 + 1e-5).all()
