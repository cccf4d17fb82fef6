"""Masks and heads that a decoding is asked to do differently, as the address has them."""

import numpy as np
import pytest

from model.paper.search import Search
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, BoolArray
from model.translate.translator import Translator
from viz.links.head_refs import read_heads
from viz.links.link_interventions import UNCHANGED, Changes
from viz.links.mask_edits import Edit, write

SENTENCE = "The cat sat on the mat."
CROSS, DECODER, ENCODER = AttentionKind.CROSS, AttentionKind.DECODER, AttentionKind.ENCODER


def every(rows: int, columns: int) -> BoolArray:
    return np.ones((rows, columns), dtype=np.bool_)


def test_the_trace_of_a_decoding_shows_what_it_saw_though_its_mask_looks_ahead(
    translator: Translator,
) -> None:
    n_source = len(translator.trace(SENTENCE).source)
    ahead, blocked = every(6, 6), every(2, n_source)
    ahead[1:, 0] = False
    blocked[:, 1] = False
    changes = Changes(
        write([Edit(DECODER, None, ahead), Edit(CROSS, (1,), blocked)]), read_heads("encoder.0.1")
    )
    assert changes.looks_ahead
    decoding = translator.decode(SENTENCE, search=Search(beam=2), under=changes.under)
    trace = translator.trace_of(decoding.translation, under=changes.under)
    np.testing.assert_allclose(
        np.exp(trace.log_probs), [step.probability for step in decoding.steps], rtol=1e-4
    )
    for layer in trace.layers(DECODER):
        assert not np.triu(trace.attention(DECODER, layer).weights, 1).any()
    # To open what is not there yet changes nothing of what is written.
    opened = Intervention(
        masks={"decoder": ahead, ("cross", 1): blocked}, heads={("encoder", 0, 1): 0}
    )
    written = translator.translate(SENTENCE, search=Search(beam=2), under=opened)
    assert written.token_ids == decoding.translation.token_ids


def test_it_is_named_by_what_is_different() -> None:
    mask = write([Edit(DECODER, None, np.tri(3, dtype=np.bool_))])
    assert (UNCHANGED.name, bool(UNCHANGED)) == ("", False)
    assert Changes(off=read_heads("cross.1.2")).name == ", without Cross 1.2"
    assert Changes(mask, read_heads("cross.1.2-cross.1.3-cross.0.0")).name == (
        ", without 3 heads, under an edited mask"
    )
    assert not Changes(mask).looks_ahead


def test_a_mask_is_for_one_length_of_the_source_and_for_layers_that_there_are(
    translator: Translator,
) -> None:
    sites = translator.sites
    for edit in (Edit(ENCODER, None, every(4, 4)), Edit(CROSS, None, every(9, 4))):
        changes = Changes(write([edit]))
        changes.require_fitting(4, sites)
        with pytest.raises(ValueError, match="for a source of 4 tokens, and this sentence has 5"):
            changes.require_fitting(5, sites)
    # However long it is, a mask over what is written fits.
    Changes(write([Edit(DECODER, None, every(2, 2))])).require_fitting(5, sites)
    with pytest.raises(ValueError, match="for layer 9 of decoder attention"):
        Changes(write([Edit(DECODER, (9,), every(2, 2))])).require_fitting(5, sites)


def test_without_padding_an_edit_is_of_the_sentence_alone() -> None:
    padded = np.arange(5)[None, :] < np.arange(3, 8)[:, None]
    cut = Edit(DECODER, (1,), padded).without_padding(9, 3)
    assert cut is not None
    assert (cut.kind, cut.layers) == (DECODER, (1,))
    np.testing.assert_array_equal(cut.allowed, padded[:3, :3])
    assert Edit(CROSS, None, padded).without_padding(4, 3) is None
