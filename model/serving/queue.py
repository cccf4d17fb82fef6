"""A fair, bounded queue for a model with many users, which computes nothing twice.

with queue.ask(job, person) as request:
    while not request.wait(0.1):
        ...  # `queue.before(request)` requests come first
    result = request.result()

A job is a value; equal jobs are one request, however many people wait for it. A request that no one
waits for is dropped, unless it is being computed. People take turns: a person's second request
waits for everyone's first.
"""

import copy
import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from model.serving.store import ResultStore

MOST_WAITING = 64
"""The most requests; on two cores, the last is answered after about eight seconds."""

MOST_TOGETHER = 8
"""The most requests computed together; the first is answered with the last."""


class ServiceError(RuntimeError):
    """A valid request without an answer; the message says why."""


class BusyError(ServiceError):
    """Too many waiting requests."""


class WorkerLostError(ServiceError):
    """A worker that ended in the middle of a computation."""


Compute = Callable[[Sequence[Any]], Iterator[tuple[int, Any]]]
"""Gives for each job its index with an outcome: results by job, or an exception to raise.

The results are the job's own and others that came with it. Raises WorkerLostError if it ended
before all were answered.
"""


@dataclass(slots=True, eq=False)
class Request:
    """A job that people wait for."""

    job: Hashable
    people: list[Hashable] = field(default_factory=list)
    losses: int = 0
    _outcome: Any = None
    _done: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether an answer comes within this time; None waits for it."""
        return self._done.wait(seconds)

    def result(self) -> Any:
        """The result, or raises the error; only after the answer."""
        if isinstance(self._outcome, Exception):
            # A copy for each thread, since raising changes an exception.
            raise copy.copy(self._outcome)
        return self._outcome

    def answer(self, outcome: Any) -> None:
        """Give a result or an exception to those who wait."""
        self._outcome = outcome
        self._done.set()


class RequestQueue:
    """A queue of requests with one thread that computes them. Safe to share among threads.

    Args:
        compute: answers jobs; called by one thread.
        store: the recent results, searched first.
        together: whether two jobs can be computed together.
        most_waiting: the most waiting requests.
        most_together: the most jobs in a call of `compute`.
    """

    def __init__(
        self,
        compute: Compute,
        store: ResultStore,
        *,
        together: Callable[[Any, Any], bool] = lambda one, other: False,
        most_waiting: int = MOST_WAITING,
        most_together: int = MOST_TOGETHER,
    ) -> None:
        self._compute = compute
        self._store = store
        self._together = together
        self._most_waiting = most_waiting
        self._most_together = most_together
        self._changed = threading.Condition()
        # By job, running ones included; then by person, in the order of turns.
        self._requests: dict[Hashable, Request] = {}
        self._lines: OrderedDict[Hashable, deque[Request]] = OrderedDict()
        self._lost: deque[Request] = deque()
        self._running: list[Request] = []
        self._thread: threading.Thread | None = None

    @contextmanager
    def ask(self, job: Hashable, person: Hashable) -> Generator[Request]:
        """A request for a job, as long as the block lasts; BusyError if too many wait already."""
        request = self._join(job, person)
        try:
            yield request
        finally:
            self._leave(request, person)

    def before(self, request: Request) -> int:
        """The number of requests before a waiting one; 0 if it is being computed."""
        with self._changed:
            if request in self._running:
                return 0
            waiting = self._in_turn()
            ahead = waiting.index(request) if request in waiting else 0
            return ahead + len(self._running)

    def _join(self, job: Hashable, person: Hashable) -> Request:
        with self._changed:
            result = self._store.find(job)
            if result is not None:
                request = Request(job)
                request.answer(result)
                return request
            request = self._requests.get(job) or self._admit(job)
            request.people.append(person)
            if request not in self._running and request not in self._lost:
                self._lines.setdefault(person, deque()).append(request)
            self._changed.notify()
            return request

    def _admit(self, job: Hashable) -> Request:
        if len(self._requests) - len(self._running) >= self._most_waiting:
            raise BusyError("Too many people are asking at once; please try again in a moment.")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="requests", daemon=True)
            self._thread.start()
        request = self._requests[job] = Request(job)
        return request

    def _leave(self, request: Request, person: Hashable) -> None:
        with self._changed:
            if person not in request.people:
                return
            request.people.remove(person)
            line = self._lines.get(person, ())
            if person not in request.people and request in line:
                self._lines[person].remove(request)
            if not request.people and request not in self._running:
                self._forget(request)
            self._drop_empty_lines()

    def _in_turn(self) -> list[Request]:
        """The waiting requests, next first: everyone's first, then everyone's second, and so on."""
        rounds = itertools.zip_longest(*self._lines.values())
        return list(dict.fromkeys(each for turn in rounds for each in turn if each is not None))

    def _take(self) -> list[Request]:
        with self._changed:
            while not (self._lost or self._lines):
                self._changed.wait()
            if self._lost:
                # Alone, so that a job that ends the worker affects no other.
                batch = [self._lost.popleft()]
            else:
                first, *others = self._in_turn()
                fitting = (each for each in others if self._together(first.job, each.job))
                batch = [first, *itertools.islice(fitting, self._most_together - 1)]
            for request in batch:
                for person in request.people:
                    if person in self._lines:
                        self._lines[person] = deque(
                            each for each in self._lines[person] if each is not request
                        )
                        self._lines.move_to_end(person)
            self._drop_empty_lines()
            self._running = batch
            return batch

    def _work(self) -> None:
        while True:
            batch = self._take()
            try:
                for place, outcome in self._compute([request.job for request in batch]):
                    self._answer(batch[place], outcome)
                left: Exception = RuntimeError("The worker gave no answer.")
            except Exception as error:
                left = error
            self._settle(left)

    def _answer(self, request: Request, outcome: Any) -> None:
        with self._changed:
            self._running = [each for each in self._running if each is not request]
            self._forget(request)
            if isinstance(outcome, Exception):
                request.answer(outcome)
            else:
                self._store.keep(outcome)
                request.answer(outcome[request.job])

    def _settle(self, error: Exception) -> None:
        """Requeue unanswered requests once if the worker was lost; else answer with the error."""
        for request in self._running:
            request.losses += 1
            if isinstance(error, WorkerLostError) and request.losses < 2 and request.people:
                with self._changed:
                    self._lost.append(request)
            else:
                self._answer(request, error)
        with self._changed:
            self._running = []

    def _forget(self, request: Request) -> None:
        self._requests.pop(request.job, None)
        if request in self._lost:
            self._lost.remove(request)

    def _drop_empty_lines(self) -> None:
        for person in [person for person, line in self._lines.items() if not line]:
            del self._lines[person]
