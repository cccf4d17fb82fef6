"""Token-bucketed batches."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.paper.tokenizer import BOS, EOS, PAD
from model.training.batches import BUCKETS, Batches, Sentences, padded

SENTENCES = st.lists(st.lists(st.integers(4, 99), min_size=1, max_size=30), min_size=1, max_size=60)


def batched(sources: list[list[int]], targets: list[list[int]], *, tokens: int) -> Batches:
    return Batches(Sentences.of(sources), Sentences.of(targets), tokens=tokens)


def pairs(seed: int, count: int) -> tuple[list[list[int]], list[list[int]]]:
    random = np.random.default_rng(seed)

    def sentences() -> list[list[int]]:
        return [random.integers(4, 99, random.integers(1, 40)).tolist() for _ in range(count)]

    return sentences(), sentences()


@given(SENTENCES)
def test_every_pair_comes_once_an_epoch_whole_and_in_step(sentences):
    targets = [[*reversed(ids), 100] for ids in sentences]
    batches = batched(sentences, targets, tokens=64)
    seen = []
    for shape, indices in batches.epoch(seed=1, epoch=0):
        batch = batches.build(shape, indices)
        assert batch.source.shape[1] == shape[0]
        assert batch.inputs.shape == batch.labels.shape == (batch.source.shape[0], shape[1])
        for row, index in enumerate(indices):
            seen.append(index)
            source = batch.source[row]
            assert source[source != PAD].tolist() == [*sentences[index], EOS]
            inputs, labels = batch.inputs[row], batch.labels[row]
            assert inputs[inputs != PAD].tolist() == [BOS, *targets[index]]
            assert labels[labels != PAD].tolist() == [*targets[index], EOS]
        assert batch.target_tokens == (batch.labels != PAD).sum()
    assert Counter(seen) == Counter(range(len(sentences)))


def test_shapes_are_few_and_no_batch_holds_more_tokens_than_asked():
    batches = batched(*pairs(3, 4000), tokens=512)
    built = [batches.build(*each) for each in batches.epoch(1, 0)]
    shapes = {tuple(batch.source.shape) + tuple(batch.inputs.shape) for batch in built}
    assert all(max(batch.source.numel(), batch.inputs.numel()) <= 512 for batch in built)
    assert len(shapes) <= len(BUCKETS) ** 2
    assert {shape[1] for shape in shapes} | {shape[3] for shape in shapes} <= set(BUCKETS)
    batches_by_shape = Counter(tuple(batch.source.shape) for batch in built)
    assert sum(batches_by_shape.values()) / len(shapes) > 4


def test_the_order_follows_from_seed_and_epoch_alone():
    sources, targets = pairs(4, 500)
    first, second = (batched(sources, targets, tokens=256) for _ in range(2))

    def order(batches, seed, epoch):
        return [indices.tolist() for _, indices in batches.epoch(seed, epoch)]

    assert order(first, 1, 0) == order(second, 1, 0)
    assert order(first, 1, 0) != order(first, 1, 1)
    assert order(first, 1, 0) != order(first, 2, 0)


def test_pairs_longer_than_the_last_bucket_are_left_out_and_counted():
    long = [5] * BUCKETS[-1]
    batches = batched([long, [5], [5]], [[5], long, [5]], tokens=256)
    assert batches.skipped == 2
    assert sum(len(indices) for _, indices in batches.epoch(1, 0)) == 1


def test_sources_for_decoding_end_with_the_end_token_and_are_padded():
    expected = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD]])
    assert torch.equal(padded([[5, 6, 7], [8]]), expected)


@pytest.mark.parametrize("tokens", [1, 8])
def test_a_sentence_longer_than_a_batch_gets_a_batch_of_its_own(tokens):
    batches = batched([[5] * 20], [[6] * 20], tokens=tokens)
    ((shape, indices),) = batches.epoch(1, 0)
    assert batches.build(shape, indices).source.shape[0] == 1
