"""A training run killed at any moment and started again ends as if nothing had happened."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import hypothesis
import numpy as np
import pytest

from model.training.train import main as train
from tests.kit.fuzz import PROFILE
from tests.kit.toy_training import (
    WHOLE,
    arguments,
    assert_equal,
    final_weights,
    logged_scores,
    write_corpus,
)

KILLS = 50


def start(command: list[str]) -> int:
    """The process of a run; torch, which takes longest to load, it has already."""
    process = os.fork()
    if process:
        return process
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os._exit(train(command))


@pytest.mark.skipif(
    hypothesis.settings.get_current_profile_name() != PROFILE,
    reason="make fuzz; test_train.py kills one run",
)
def test_a_run_killed_at_any_moment_has_the_same_loss_curve(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    began = time.monotonic()
    assert os.waitpid(start(arguments(corpus, tmp_path / "whole", *WHOLE)), 0)[1] == 0
    duration = time.monotonic() - began
    for number, moment in enumerate(np.random.default_rng().uniform(0, duration, KILLS)):
        command = arguments(corpus, tmp_path / str(number), *WHOLE)
        process = start(command)
        time.sleep(moment)
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert os.waitpid(start(command), 0)[1] == 0, f"killed after {moment:.2f} s"
        assert_equal(final_weights(tmp_path / str(number)), final_weights(tmp_path / "whole"))
        curve = logged_scores(tmp_path / "whole")
        assert logged_scores(tmp_path / str(number))[: len(curve)] == curve
