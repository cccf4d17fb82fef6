"""The attention shown at each step is that of the heads page, and of the decoding itself."""

import numpy as np
import pytest

from model.paper.search import Search
from model.record.recording import recording
from model.trace.attention_map import AttentionKind, Site
from model.translate.translator import Translator
from viz.decoding.attention import head_mean
from viz.links.head_refs import read_heads
from viz.links.link_interventions import UNCHANGED, Changes

SENTENCE = "The cat sat on the mat."
CROSS, DECODER = AttentionKind.CROSS, AttentionKind.DECODER


@pytest.mark.parametrize("beam", [1, 4])
def test_a_step_shows_what_was_looked_at_when_its_token_was_written(
    translator: Translator, beam: int
) -> None:
    found = translator.decode(SENTENCE, search=Search(beam=beam)).translation
    trace = translator.trace_of(found)
    # Written once more, token by token, each step with its own attention.
    written = Search(beam=1, prefix=found.token_ids)
    with recording() as seen:
        translator.decode(SENTENCE, search=written)
    sites = [site for site in translator.sites if site.kind in (CROSS, DECODER)]
    for site in sites:
        shown = head_mean(trace, site.kind, [(site, 1)])
        for step, call in enumerate(seen.calls(site)):
            row = call.weights[0, 1, 0].numpy()
            np.testing.assert_allclose(shown.weights[step, : len(row)], row, atol=1e-5)
            assert not shown.weights[step, len(row) :].any()
    for kind in (CROSS, DECODER):
        heads = [
            weights for site in sites if site.kind is kind for weights in trace.maps[site].weights
        ]
        np.testing.assert_allclose(
            head_mean(trace, kind, []).weights, sum(heads) / len(heads), atol=1e-6
        )


@pytest.mark.parametrize("changes", [UNCHANGED, Changes(off=read_heads("cross.0.1-decoder.1.0"))])
def test_a_branch_shows_what_was_looked_at_when_its_last_token_was_written(
    translator: Translator, changes: Changes
) -> None:
    decoding = translator.decode(SENTENCE, search=Search(beam=3), under=changes.under)
    found = translator.cross_attention(decoding, under=changes.under)
    assert set(found) == {site for site in translator.sites if site.kind is CROSS}
    assert any(node.fate == "pruned" for node in decoding.nodes)
    for place, node in enumerate(decoding.nodes):
        # Written once more by itself, token by token.
        written = Search(beam=1, prefix=decoding.token_ids(node))
        with recording() as seen:
            translator.decode(SENTENCE, search=written, under=changes.under)
        for site, weights in found.items():
            row = seen.calls(site)[node.step].weights[0, :, 0].numpy()
            np.testing.assert_allclose(weights[:, place], row, atol=1e-5)


def test_what_is_shown_is_said(translator: Translator) -> None:
    trace = translator.trace(SENTENCE)
    first, second = (Site(CROSS, layer) for layer in (0, 1))
    n_heads = trace.maps[first].n_heads
    every = [(site, head) for site in translator.sites for head in range(n_heads)]
    for heads, name in (
        ([(second, 2)], "Cross-attention, layer 1, head 2"),
        ([(second, 2), (first, 0)], "Cross-attention, mean of the heads 0.0, 1.2"),
        (every[:0], f"Cross-attention, mean of all {n_heads * len(trace.layers(CROSS))} heads"),
        # Heads of another kind, and such as there are not, are nobody's choice here.
        ([(Site(DECODER, 0), 0), (first, 99)], head_mean(trace, CROSS, []).name),
        (every, head_mean(trace, CROSS, []).name),
    ):
        assert head_mean(trace, CROSS, heads).name == name
    most = [head for head in every if head[0].kind is CROSS][:-1]
    assert head_mean(trace, CROSS, most).name == f"Cross-attention, mean of {len(most)} heads"
