import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.serving.process import WorkerProcess
from model.serving.queue import RequestQueue, ServiceError
from model.serving.store import ResultStore
from tests.kit.signals import end_group, heed_interrupts

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 60


@pytest.fixture
def process() -> Iterator[WorkerProcess]:
    worker = WorkerProcess("tests.kit.worker")
    yield worker
    worker.close()


def one(process: WorkerProcess, *job: Any) -> Any:
    ((place, outcome),) = process([job])
    assert place == 0
    if isinstance(outcome, Exception):
        raise outcome
    return outcome[job]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def has_ended(pid: int) -> bool:
    deadline = time.monotonic() + SECONDS
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(pid)


def test_arrays_errors_and_texts_come_over_whole(process: WorkerProcess) -> None:
    for size in (0, 3, 5_000_000):
        found = one(process, "array", size)
        assert np.array_equal(found["array"], np.arange(size, dtype=np.float32))
        assert found["name"] == "ä"
        assert not found["array"].flags.writeable
    with pytest.raises(ValueError, match="Not this"):
        one(process, "refuse", "Not this.")
    with pytest.raises(RuntimeError, match="could not be sent"):
        one(process, "lambda", 0)
    # What is printed there does not come between the answers.
    assert one(process, "print", "x" * 100_000) == one(process, "pid", 0)


def test_it_is_another_process_and_stays_the_same_one(process: WorkerProcess) -> None:
    assert len({one(process, "pid", number) for number in range(3)}) == 1
    assert one(process, "pid", 0) != os.getpid()


def test_a_process_that_is_killed_comes_back_and_whoever_waits_is_answered(
    process: WorkerProcess,
) -> None:
    pid = one(process, "pid", 0)
    queue = RequestQueue(process, ResultStore(100, 10, 10**9), together=lambda *_: True)
    with ExitStack() as stack:
        jobs = [("sleep", 1), *(("pid", number) for number in range(1, 8))]
        requests = [stack.enter_context(queue.ask(job, job)) for job in jobs]
        os.kill(pid, signal.SIGKILL)
        assert all(each.wait(SECONDS) for each in requests)
        assert {each.result() for each in requests} == {one(process, "pid", 0)} != {pid}


def test_a_job_that_ends_its_process_twice_is_refused_and_the_next_is_answered(
    process: WorkerProcess,
) -> None:
    queue = RequestQueue(process, ResultStore(100, 10, 10**9), together=lambda *_: True)
    with ExitStack() as stack:
        jobs = [("pid", 1), ("die", 0), ("pid", 2)]
        requests = [stack.enter_context(queue.ask(job, job)) for job in jobs]
        assert all(each.wait(SECONDS) for each in requests)
        with pytest.raises(ServiceError, match="ended twice"):
            requests[1].result()
        assert requests[0].result()
        assert requests[2].result() == process.start().pid


def test_many_people_at_once_each_get_their_own(process: WorkerProcess) -> None:
    queue = RequestQueue(process, ResultStore(100, 10, 10**9), together=lambda *_: True)

    def ask(size: int) -> int:
        with queue.ask(("array", size), threading.get_ident()) as request:
            assert request.wait(SECONDS)
            return len(request.result()["array"])

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(300))) == list(range(300))


HOLDER = """
from model.serving.process import WorkerProcess
try:
    process = WorkerProcess("tests.kit.worker")
    print(process.start().pid, flush=True)
    for _ in process([("pid", 0)]):
        print("stands", flush=True)
    list(process([("sleep", 600)]))
except KeyboardInterrupt:
    pass
"""


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[str]]:
    """A process that has another one work for ten minutes."""
    command = [sys.executable, "-c", HOLDER]
    # In a group of its own, to which a terminal's Ctrl+C goes.
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interrupts,
    )
    yield started
    end_group(started.pid)
    started.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_whoever_started_it_and_without_a_word(
    holder: subprocess.Popen[str], number: signal.Signals
) -> None:
    assert holder.stdout is not None
    pid = int(holder.stdout.readline())
    assert holder.stdout.readline() == "stands\n"
    os.killpg(holder.pid, number)
    _, said = holder.communicate(timeout=SECONDS)
    assert has_ended(pid)
    assert said == ""
