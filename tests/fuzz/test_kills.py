"""A training run killed at any moment and started again ends as if nothing had happened."""

import math
import os
import signal
import sys
from pathlib import Path
from types import FrameType

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


def start(command: list[str], last: float = math.inf) -> tuple[int, int]:
    """A run in a process of its own; torch, which takes longest to load, it has already.

    Args:
        command: of the run.
        last: the call of a function after which it is killed: a moment, however busy the machine.

    Returns:
        How it ended, as `os.waitpid` says, and how many calls it made.
    """
    source, sink = os.pipe()
    process = os.fork()
    if process:
        os.close(sink)
        with open(source) as said:
            calls = int(said.read() or 0)
        return os.waitpid(process, 0)[1], calls
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        # Also before and after what is written in C, such as writing a file.
        calls += event != "return"
        if calls >= last:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    status = train(command)
    sys.setprofile(None)
    os.write(sink, str(calls).encode())
    os._exit(status)


@pytest.mark.skipif(
    hypothesis.settings.get_current_profile_name() != PROFILE,
    reason="make fuzz; test_train.py kills one run",
)
def test_a_run_killed_at_any_moment_has_the_same_loss_curve(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    ended, calls = start(arguments(corpus, tmp_path / "whole", *WHOLE))
    assert ended == 0
    # Runs differ by a few calls.
    moments = np.random.default_rng().integers(1, int(0.98 * calls), KILLS)
    for number, moment in enumerate(moments):
        command = arguments(corpus, tmp_path / str(number), *WHOLE)
        assert start(command, last=moment)[0] == signal.SIGKILL
        assert start(command)[0] == 0, f"killed after {moment:,} of {calls:,} calls"
        assert_equal(final_weights(tmp_path / str(number)), final_weights(tmp_path / "whole"))
        curve = logged_scores(tmp_path / "whole")
        assert logged_scores(tmp_path / str(number))[: len(curve)] == curve
