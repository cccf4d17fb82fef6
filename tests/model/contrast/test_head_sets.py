"""The smallest set of heads that decides between two words."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from model.contrast.head_sets import found, head_set, random_sets
from model.contrast.pairs import pair_of, rivals, spelled
from model.explain.head_ablation import head_means
from model.paper.log_probs import unsayable
from model.record.head_editing import editing_heads
from model.record.head_edits import MeanAblation
from model.translate.translator import Translator
from tests.kit.tiny_checkpoint import PAIRS
from tests.model.contrast.conftest import Case


def contested(translator: Translator) -> Any:
    """A translation with a word that a few heads keep ahead of the next likeliest."""
    trace = translator.trace(PAIRS[0][0])
    return trace, pair_of(
        translator, trace, 0, spelled(rivals(translator, trace, 0).tokens.tokens[1])
    )


def judged(translator: Translator, trace: Any, pair: Any, heads: Any) -> Any:
    source, target, _ = translator.trace_ids(trace)
    with torch.inference_mode(), editing_heads(heads):
        logits = translator.model(source, target)[0, pair.step]
    sayable = logits.log_softmax(dim=-1) + unsayable(translator.model.config, translator.device)
    log_probs = sayable.numpy()
    return [*log_probs[list(pair.ids)], np.delete(log_probs, pair.ids[0]).max()]


@pytest.mark.parametrize("question", ["remove", "keep"])
def test_a_set_is_what_a_pass_with_it_says(case: Case, question: Any) -> None:
    translator, trace, pair = case
    means = head_means([trace])
    every = [(site, head) for site in translator.sites for head in range(4)]
    result = head_set(translator, trace, pair, question, means)
    for heads, log_probs in (
        (result.heads, result.log_probs),
        (result.single, result.single_log_probs),
    ):
        if question == "remove":
            edits: Any = dict.fromkeys(heads, 0)
        else:
            edits = {
                (site, head): MeanAblation(tuple(means[site][head].tolist()))
                for site, head in every
                if (site, head) not in heads
            }
        np.testing.assert_allclose(log_probs, judged(translator, trace, pair, edits), atol=1e-4)
    np.testing.assert_allclose(
        result.every_log_probs, judged(translator, trace, pair, {}), atol=1e-4
    )
    word, other, best = result.log_probs
    assert (result.likeliest.ids[0] == pair.ids[0]) == bool(word > best)
    assert (result.likeliest.ids[0] == pair.ids[1]) == bool(other > word and other == best)
    assert result.decides == bool(word < other if question == "remove" else word > best)


@pytest.mark.parametrize("question", ["remove", "keep"])
def test_no_head_of_a_set_can_be_spared(translator: Translator, question: Any) -> None:
    trace, pair = contested(translator)
    result = head_set(translator, trace, pair, question)
    assert result.decides
    assert result.heads
    every = [(site, head) for site in translator.sites for head in range(4)]
    for spared in result.heads:
        left = set(result.heads) - {spared}
        off = left if question == "remove" else set(every) - left
        word, other, best = judged(translator, trace, pair, dict.fromkeys(off, 0))
        assert word >= other if question == "remove" else word <= best


def test_random_sets_are_the_same_in_parts(translator: Translator) -> None:
    trace, pair = contested(translator)
    whole = random_sets(translator, trace, pair, 5, numbers=range(8))
    parts = [random_sets(translator, trace, pair, 5, numbers=range(n, n + 4)) for n in (0, 4)]
    np.testing.assert_allclose(whole, np.concatenate(parts), atol=1e-5)
    assert len(np.unique(whole[:, 0])) > 1


def additive(*weights: float, least: float) -> Any:
    """Margins of sets whose things add up, (set,)."""
    return lambda sets: sets @ np.array(weights) - least


def test_of_things_that_add_up_the_fewest_are_found() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        weights = generator.normal(size=8)
        least = float(generator.uniform(0.1, 2))
        chosen, single = found(additive(*weights, least=least), 8, 8)
        fewest = next(
            (
                n
                for n in range(9)
                for each in itertools.combinations(range(8), n)
                if weights[list(each)].sum() > least
            ),
            None,
        )
        if fewest is not None:
            assert len(chosen) == fewest
            assert sorted(chosen) == sorted(single)


def test_a_head_that_a_later_one_replaces_is_put_back() -> None:
    def margins(sets: Any) -> Any:
        # The first is best alone, but two others do it together without it.
        return np.where(
            sets[:, 1] & sets[:, 2], 1.0, -1 + 0.5 * sets[:, 0] + 0.1 * sets.sum(axis=1)
        )

    chosen, _ = found(margins, 3, 3)
    assert sorted(chosen) == [1, 2]


def test_that_none_is_enough_is_an_answer() -> None:
    chosen, _ = found(additive(*[0.1] * 30, least=9), 30, 24)
    assert len(chosen) == 24


def test_nothing_is_needed_where_it_is_decided_already() -> None:
    assert found(additive(1, 1, least=-1), 2, 2) == ([], [])
