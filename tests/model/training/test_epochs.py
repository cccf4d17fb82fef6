"""An epoch's pairs, drawn, varied and encoded."""

from itertools import islice

import numpy as np
import pytest

from model.checkpoints.checkpoint import read_tokenizer
from model.survey.parallel_text import Pair
from model.training.epochs import Epochs
from model.training.settings import TrainingSettings
from tests.kit.tiny_checkpoint import PAIRS, write_tiny_checkpoint

KNOWN = [Pair(*pair) for pair in PAIRS] * 5


@pytest.fixture
def epochs(tmp_path):
    tokenizer = read_tokenizer(write_tiny_checkpoint(tmp_path, steps=0), separate=False)

    def make(weights: list[float] | None = None, **settings) -> Epochs:
        return Epochs(KNOWN, weights, tokenizer, TrainingSettings(batch_tokens=64, **settings))

    return make


def ids(batches) -> list[list[int]]:
    return sorted(
        row.tolist()
        for shape, indices in batches.epoch(1, 0)
        for row in batches.build(shape, indices).source
        if row.any()
    )


@pytest.mark.slow
def test_processes_prepare_what_one_alone_would(epochs):
    alone, shared = (
        [ids(each) for each in islice(epochs(capital_share=0.5, workers=n).follow(3), 4)]
        for n in (0, 2)
    )
    assert alone == shared
    assert alone[0] != alone[1]


def test_without_variation_an_epoch_is_prepared_once(epochs):
    first, second = islice(epochs().follow(0), 2)
    assert first is second
    assert len(ids(first)) == len(KNOWN)


def test_an_epoch_has_each_pair_as_often_as_its_weight(epochs):
    weights = [3.0 if "cat" in pair.source else 0.0 for pair in KNOWN]
    found = next(epochs(weights).follow(0))
    assert len(ids(found)) == int(np.sum(weights))
