import gc
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from model.serving.queue import (
    BusyError,
    Request,
    RequestQueue,
    ServiceError,
    WorkerLostError,
)
from model.serving.store import ResultStore

SECONDS = 60


class Worker:
    """Computes one set of jobs for each `go()`; `log` holds what it was given."""

    def __init__(self, outcome: Callable[[Any], Any] = lambda job: f"answer to {job}") -> None:
        self.log: list[list[Any]] = []
        self._outcome = outcome
        self._may = threading.Semaphore(0)
        self._taken = threading.Semaphore(0)

    def __call__(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        self.log.append(list(jobs))
        self._taken.release()
        assert self._may.acquire(timeout=SECONDS)
        for place, job in enumerate(jobs):
            outcome = self._outcome(job)
            yield place, outcome if isinstance(outcome, Exception) else {job: outcome}

    def has_begun(self) -> None:
        assert self._taken.acquire(timeout=SECONDS)

    def go(self, times: int = 1) -> None:
        self._may.release(times)


def a_queue(worker: Any, **settings: Any) -> RequestQueue:
    return RequestQueue(worker, ResultStore(1000, 10, 10**9), **settings)


def ask(queue: RequestQueue, stack: ExitStack, job: Any, person: Any = "one") -> Request:
    return stack.enter_context(queue.ask(job, person))


def test_equal_jobs_are_computed_once_and_then_kept() -> None:
    worker = Worker()
    queue = a_queue(worker)
    with ExitStack() as stack:
        requests = [ask(queue, stack, "job", person) for person in range(20)]
        worker.go()
        for request in requests:
            assert request.wait(SECONDS)
            assert request.result() == "answer to job"
        assert ask(queue, stack, "job").wait(0)
    assert worker.log == [["job"]]


def test_a_request_that_nobody_waits_for_any_more_is_not_computed() -> None:
    worker = Worker()
    queue = a_queue(worker)
    with ExitStack() as stack:
        ask(queue, stack, "first")
        worker.has_begun()
        with ExitStack() as gone:
            ask(queue, gone, "typed on")
            ask(queue, gone, "shared", "one")
            shared = ask(queue, stack, "shared", "other")
        last = ask(queue, stack, "last")
        worker.go(3)
        assert last.wait(SECONDS)
        assert shared.wait(SECONDS)
    assert worker.log == [["first"], ["shared"], ["last"]] or worker.log == [
        ["first"],
        ["last"],
        ["shared"],
    ]


def test_what_is_being_computed_is_kept_though_its_person_left() -> None:
    worker = Worker()
    queue = a_queue(worker)
    with queue.ask("left", "one"):
        worker.has_begun()
    with queue.ask("other", "one") as other:
        worker.go(2)
        assert other.wait(SECONDS)
    with queue.ask("left", "other") as kept:
        assert kept.wait(0)
        assert kept.result() == "answer to left"


def test_people_take_turns_however_much_one_of_them_asks() -> None:
    worker = Worker()
    queue = a_queue(worker)
    with ExitStack() as stack:
        ask(queue, stack, "running", "zealous")
        worker.has_begun()
        asked = [ask(queue, stack, f"zealous {number}", "zealous") for number in range(5)]
        asked += [ask(queue, stack, f"{name} {number}", name) for number in "12" for name in "ab"]
        worker.go(10)
        assert all(request.wait(SECONDS) for request in asked)
    assert [job for (job,) in worker.log] == [
        *("running", "zealous 0", "a 1", "b 1", "zealous 1", "a 2", "b 2"),
        *("zealous 2", "zealous 3", "zealous 4"),
    ]


def test_whoever_waits_is_told_how_many_are_before_them() -> None:
    worker = Worker()
    queue = a_queue(worker)
    with ExitStack() as stack:
        running = ask(queue, stack, "running", "zealous")
        worker.has_begun()
        zealous = [ask(queue, stack, f"zealous {number}", "zealous") for number in range(3)]
        other = ask(queue, stack, "other", "other")
        assert queue.before(running) == 0
        assert [queue.before(each) for each in zealous] == [1, 3, 4]
        assert queue.before(other) == 2
        # Whoever asks what another asks waits no longer than for a turn of their own.
        assert queue.before(ask(queue, stack, "zealous 2", "third")) == 3
        worker.go(5)
        assert all(each.wait(SECONDS) for each in zealous)


def test_more_than_can_wait_are_refused_in_a_sentence_and_the_next_are_not() -> None:
    worker = Worker()
    queue = a_queue(worker, most_waiting=3)
    with ExitStack() as stack:
        first = ask(queue, stack, "first")
        worker.has_begun()
        waiting = [ask(queue, stack, number, number) for number in range(3)]
        with pytest.raises(BusyError, match=r"Too many people .* try again in a moment\."):
            ask(queue, stack, "too many")
        # What is asked already costs nothing more.
        ask(queue, stack, 2, "other")
        worker.go(5)
        assert all(each.wait(SECONDS) for each in (first, *waiting))
        last = ask(queue, stack, "later")
        assert last.wait(SECONDS)


def test_jobs_that_fit_are_handed_over_together_in_turn() -> None:
    worker = Worker()
    queue = a_queue(worker, together=lambda one, other: one[0] == other[0], most_together=3)
    with ExitStack() as stack:
        ask(queue, stack, "z", "zealous")
        worker.has_begun()
        jobs = ("a1", "a2", "a3", "a4", "b1"), ("b2",), ("a5",)
        asked = [ask(queue, stack, job, person) for person, own in enumerate(jobs) for job in own]
        worker.go(5)
        assert all(each.wait(SECONDS) for each in asked)
    assert worker.log == [["z"], ["a1", "a5", "a2"], ["b2", "b1"], ["a3", "a4"]]


def test_what_goes_wrong_is_raised_for_everybody_who_waits_and_no_other() -> None:
    worker = Worker(lambda job: ValueError("Not this.") if job == "bad" else job)
    queue = a_queue(worker, together=lambda *_: True)
    with ExitStack() as stack:
        ask(queue, stack, "running")
        worker.has_begun()
        bad = [ask(queue, stack, "bad", person) for person in range(3)]
        good = ask(queue, stack, "good")
        worker.go(2)
        raised = []
        for request in bad:
            assert request.wait(SECONDS)
            with pytest.raises(ValueError, match="Not this") as error:
                request.result()
            raised.append(error.value)
        assert good.wait(SECONDS)
        assert good.result() == "good"
        assert len({id(each) for each in raised}) == 3
        # It is not kept: the next who asks has it computed again.
        worker.go()
        assert ask(queue, stack, "bad").wait(SECONDS)
    assert len(worker.log) == 3


def test_a_worker_that_is_lost_takes_only_the_job_along_that_loses_it_twice() -> None:
    log: list[list[str]] = []

    def compute(jobs: Sequence[str]) -> Iterator[tuple[int, Any]]:
        log.append(list(jobs))
        begun.set()
        assert may.wait(SECONDS)
        for place, job in enumerate(jobs):
            if job == "deadly":
                raise WorkerLostError("It ended twice.")
            yield place, {job: job.upper()}

    begun, may = threading.Event(), threading.Event()
    queue = a_queue(compute, together=lambda *_: True)
    with ExitStack() as stack:
        ask(queue, stack, "running")
        assert begun.wait(SECONDS)
        before, deadly, after = (ask(queue, stack, job, job) for job in ("b", "deadly", "a"))
        may.set()
        assert all(each.wait(SECONDS) for each in (before, deadly, after))
        assert before.result() == "B"
        assert after.result() == "A"
        with pytest.raises(ServiceError, match="It ended twice"):
            deadly.result()
    assert log == [["running"], ["b", "deadly", "a"], ["deadly"], ["a"]]


def test_an_error_that_no_job_explains_is_raised_and_the_next_is_answered() -> None:
    broken = [True]

    def compute(jobs: Sequence[str]) -> Iterator[tuple[int, Any]]:
        if broken.pop() if broken else False:
            raise OSError("A bug.")
        yield 0, {jobs[0]: "fine"}

    queue = a_queue(compute)
    with queue.ask("one", "one") as request:
        assert request.wait(SECONDS)
        with pytest.raises(OSError, match="A bug"):
            request.result()
    with queue.ask("one", "one") as request:
        assert request.wait(SECONDS)
        assert request.result() == "fine"


def test_nobody_sees_what_another_asked_and_nothing_is_left() -> None:
    worker = Worker(lambda job: f"answer to {job}")
    worker.go(10_000)
    queue = a_queue(worker, together=lambda *_: True)

    def person(name: int) -> None:
        draw = random.Random(name)
        for number in range(150):
            job = (draw.choice(("own", "shared")), draw.randrange(30))
            if job[0] == "own":
                job = (f"of {name}", number)
            with queue.ask(job, name) as request:
                if draw.random() < 0.3:
                    continue  # typed on
                assert request.wait(SECONDS)
                assert request.result() == f"answer to {job}"

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(person, range(16)))
    with queue.ask("last", "last") as request:
        assert request.wait(SECONDS)
    del request
    gc.collect()
    alive = [str(each.job) for each in gc.get_objects() if type(each) is Request]
    assert not [job for job in alive if job.startswith(("('of ", "('shared'"))]
