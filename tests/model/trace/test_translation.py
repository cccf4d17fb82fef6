"""The record of a decoding, against the decoding itself and the teacher-forced pass."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from model.checkpoints.shipped import CHECKPOINTS
from model.paper.search import Sampling, Search, length_penalty
from model.paper.tokenizer import EOS
from model.record.intervention import Intervention
from model.record.recording import recording
from model.trace.attention_map import AttentionKind
from model.translate.translator import Translator, load

TEXT = "The cat eats."
WAYS = (
    Search(),
    Search(beam=1),
    Search(beam=3, length_penalty=1.5, prefix=(9, 12)),
    Search(sampling=Sampling(seed=2, temperature=2.5, n_samples=3)),
)


@pytest.mark.parametrize("search", WAYS, ids=str)
def test_recording_changes_no_bit_of_the_translation(translator: Translator, search: Search):
    for under in (Intervention(), Intervention(heads={("cross", 0, 1): 0})):
        own = translator.translate(TEXT, search=search, under=under)
        found = translator.decode(TEXT, search=search, under=under).translation
        assert (found.token_ids, found.log_probs, found.score) == (
            own.token_ids,
            own.log_probs,
            own.score,
        )


@pytest.mark.parametrize("search", WAYS, ids=str)
def test_steps_are_what_the_model_said_at_each_token(translator: Translator, search: Search):
    decoding = translator.decode(TEXT, search=search)
    translation = decoding.translation
    assert len(decoding.steps) == len(translation.token_ids)
    for place, step in enumerate(decoding.steps):
        log_probs = translation.distributions[place].astype(np.float64)
        token_id = translation.token_ids[place]
        others = [i for i in range(len(log_probs)) if i not in (0, 1, 2)]
        likeliest = sorted(others, key=lambda i: -log_probs[i])[:10]
        assert set(step.likeliest.ids) == set(likeliest)
        assert step.probabilities == pytest.approx(np.exp(log_probs[likeliest]), rel=1e-6)
        assert sum(step.probabilities) + step.rest == pytest.approx(1, abs=1e-5)
        assert step.probability == pytest.approx(math.exp(translation.log_probs[place]), rel=1e-6)
        assert step.rank == 1 + sum(log_probs[i] > log_probs[token_id] for i in others)
        entropy = -(np.exp(log_probs) * np.log2(np.exp(log_probs))).sum()
        assert step.entropy == pytest.approx(entropy, abs=1e-9)
        assert step.forced == (place < len(search.prefix))


def test_greedy_takes_what_ranks_first(translator: Translator):
    decoding = translator.decode(TEXT, search=Search(beam=1))
    assert {step.rank for step in decoding.steps} == {1}
    assert [step.likeliest.ids[0] for step in decoding.steps] == list(
        decoding.translation.token_ids
    )
    assert [node.token_id for node in decoding.nodes] == list(decoding.translation.token_ids)


@pytest.mark.parametrize("search", WAYS, ids=str)
def test_the_best_leaf_of_the_tree_is_the_translation(translator: Translator, search: Search):
    decoding = translator.decode(TEXT, search=search)
    best = decoding.ranked[0]
    assert decoding.token_ids(best) == decoding.translation.token_ids
    assert best.score == pytest.approx(decoding.translation.score, abs=1e-6)
    scores = [node.score for node in decoding.ranked]
    assert scores == sorted(scores, reverse=True)
    candidates = translator.candidates(TEXT, search=search)
    assert [decoding.token_ids(node) for node in decoding.ranked] == [
        each.token_ids for each in candidates
    ]


@pytest.mark.parametrize("beam", [2, 4, 5, 8])
def test_one_search_has_one_best_result(beam: int):
    """The best hypothesis ends several tokens after another has."""
    translator = load(CHECKPOINTS / "en-de", device="cpu")
    text = "I would have been happier wearing a mask."
    search = Search(beam=beam)
    best, *_ = candidates = translator.candidates(text, search=search)
    assert best.score == pytest.approx(-2.0178, abs=1e-3)
    assert translator.translate(text, search=search).token_ids == best.token_ids
    (together,) = translator.translate_batch([text], search=search)
    assert together.token_ids == best.token_ids
    decoding = translator.decode(text, search=search)
    ends = [node.step for node in decoding.nodes if node.fate == "finished"]
    assert decoding.ranked[0].step >= min(ends) + 3
    assert [decoding.token_ids(node) for node in decoding.ranked] == [
        each.token_ids for each in candidates
    ]


def test_samples_that_are_the_same_have_a_place_each(translator: Translator):
    search = Search(sampling=Sampling(top_k=1, n_samples=3))
    decoding = translator.decode(TEXT, search=search)
    assert [node.rank for node in decoding.ranked] == [0, 1, 2]


@pytest.mark.parametrize("search", WAYS[:3], ids=str)
def test_every_hypothesis_has_its_probability_and_one_end(translator: Translator, search: Search):
    decoding = translator.decode(TEXT, search=search)
    extended = {node.parent for node in decoding.nodes}
    last = max(node.step for node in decoding.nodes)
    for place, node in enumerate(decoding.nodes):
        before = None if node.parent is None else decoding.nodes[node.parent]
        assert node.step == (0 if before is None else before.step + 1)
        assert (node.fate == "continued") == (place in extended)
        assert (node.fate == "finished") == (node.token_id == EOS)
        if node.fate == "continued":
            assert node.ended is None
        elif node.fate == "pruned":
            assert node.ended == min(node.step + 1, last)
            assert node.rank is node.score is None
        else:
            assert node.ended == node.step
            penalty = length_penalty(node.step + 1, search.length_penalty)
            assert node.score == pytest.approx(node.log_prob / penalty, abs=1e-6)
    for step in range(last + 1):
        live = [node for node in decoding.nodes if node.step == step and node.token_id != EOS]
        width = search.beam if step >= len(search.prefix) else 1
        assert len(live) <= width
    # What was pruned says the same as the model, asked for it word by word.
    pruned = next((node for node in decoding.nodes if node.fate == "pruned"), None)
    if search.beam > 1:
        forced = Search(beam=1, prefix=decoding.token_ids(pruned))
        found = translator.translate(TEXT, search=forced)
        total = sum(found.log_probs[: pruned.step + 1])
        assert pruned.log_prob == pytest.approx(total, abs=1e-4)


def test_what_the_limit_cuts_is_found_and_called_cut(translator: Translator, monkeypatch):
    monkeypatch.setattr(translator, "_room", lambda *_: 3)
    for search in (Search(beam=3), Search(beam=1)):
        decoding = translator.decode("The cat sat on the mat.", search=search)
        assert {node.fate for node in decoding.ranked} == {"cut"}
        assert decoding.ranked[0].step == 2
        assert len(decoding.ranked) == search.beam


@pytest.mark.parametrize("search", [Search(beam=1), Search(beam=3)], ids=str)
def test_cross_attention_of_a_step_is_the_row_of_the_trace(translator: Translator, search: Search):
    with recording() as seen:
        translation = translator.translate(TEXT, search=search)
    trace = translator.trace_of(translation)
    sites = [site for site in trace.maps if site.kind is AttentionKind.CROSS]
    assert sites
    for site in sites:
        for step in range(len(translation.token_ids)):
            # The hypotheses of a beam are queries of one sentence: (head, beam, source).
            weights = seen.calls(site)[step].weights[0].numpy()
            row = trace.maps[site].weights[:, step]
            assert np.abs(weights - row[:, None]).max(axis=(0, 2)).min() <= 1e-5


def test_a_decoding_without_its_translation_is_a_key(translator: Translator):
    one, other = (translator.decode(TEXT) for _ in range(2))
    assert {one.steps: 1, one.nodes: 2} == {other.steps: 1, other.nodes: 2}
    assert replace(one.steps[0], rank=7) != one.steps[0]
