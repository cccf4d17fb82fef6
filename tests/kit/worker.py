"""A process that computes what tests need: `python -m tests.kit.worker`."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from model.serving.process import serve


def compute(job: tuple[str, Any]) -> dict[Any, Any]:
    match job:
        case "array", size:
            return {job: {"array": np.arange(size, dtype=np.float32), "name": "ä"}}
        case "refuse", said:
            raise ValueError(said)
        case "print", text:
            print(text)
            sys.stdout.flush()
        case "sleep", seconds:
            time.sleep(seconds)
        case "lambda", _:
            return {job: lambda: None}
        case "die", _:
            os.kill(os.getpid(), signal.SIGKILL)
    return {job: os.getpid()}


def one_by_one(jobs: Sequence[tuple[str, Any]]) -> Iterator[tuple[int, Any]]:
    for place, job in enumerate(jobs):
        try:
            yield place, compute(job)
        except ValueError as error:
            yield place, error


if __name__ == "__main__":
    serve(one_by_one)
