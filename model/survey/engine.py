"""The tasks of a survey, and the processes that run them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from tqdm import tqdm

from model.explain.head_rules import findings_to_json
from model.files import write_whole
from model.rules.weight_rules import Lexicon
from model.survey.head_sentences import head_sentences
from model.survey.part import SurveyError, counted, traced
from model.survey.rule_costs import Edits, answers
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator, load

SAMPLED, SOURCED = 1000, 2500
"""About so many sentences are translated without each head, and have the sources of their tokens
looked for; they are spread evenly over those that the model was not trained on."""


@dataclass(frozen=True, slots=True)
class Task:
    """One part that is to be counted.

    Attributes:
        checkpoint: the folder of the model.
        texts: the sentences.
        first: the place of the first one among all sentences.
        held_out: so many of all sentences, the first ones, are not from the model's training.
    """

    checkpoint: str
    texts: tuple[str, ...]
    first: int
    held_out: int

    def __call__(self) -> bytes:
        """The part, as `SurveyPart.to_bytes` writes it."""
        return counted(loaded(self.checkpoint), self.texts, self._sampled, self._sourced).to_bytes()

    def _sampled(self, place: int) -> bool:
        number = self.first + place
        return number < self.held_out and number % max(1, self.held_out // SAMPLED) == 0

    def _sourced(self, place: int) -> bool:
        number = self.first + place
        # Two beside each other: labels are earned on every other sentence, and held to the rest.
        return number < self.held_out and number // 2 % max(1, self.held_out // SOURCED) == 0


@dataclass(frozen=True, slots=True)
class Question:
    """What a model loses or writes under edits of its heads, for some sentences."""

    checkpoint: str
    sources: tuple[str, ...]
    edits: tuple[Edits, ...]
    writes: bool

    def __call__(self) -> bytes:
        """The answers, as JSON."""
        found = answers(loaded(self.checkpoint), self.sources, self.edits, self.writes)
        return json.dumps(found).encode()


@dataclass(frozen=True, slots=True)
class Wording:
    """The rules in words of one kind's heads."""

    checkpoint: str
    sources: tuple[str, ...]
    kind: AttentionKind
    languages: tuple[str, str]
    lexicon: Lexicon | None

    def __call__(self) -> bytes:
        """The rules, as `findings_to_json` gives them."""
        traces = _traced(self.checkpoint, self.sources)
        found = head_sentences(traces, self.kind, self.languages, self.lexicon)
        return json.dumps(findings_to_json(found)).encode()


@dataclass(frozen=True, slots=True)
class Engine:
    """Runs tasks on some processes, and keeps what they give in a folder.

    Attributes:
        workers: processes on this machine; more than 1 need Dask.
        scheduler: the address of a Dask scheduler, such as "tcp://10.0.0.1:8786", in place of
            processes on this machine.
        progress: whether to show progress bars.
    """

    workers: int = 1
    scheduler: str | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise SurveyError(f"workers must be at least 1; it is {self.workers}.")

    def done(
        self, tasks: Mapping[Path, Callable[[], bytes]], sizes: Sequence[int], doing: str = ""
    ) -> list[bytes]:
        """What each task gives, in order; those whose file exists are done.

        Args:
            tasks: by the file that keeps what each gives.
            sizes: sentences of each.
            doing: what this is, for the bar.

        Raises:
            SurveyError: if Dask is needed and missing.
        """
        for folder in {file.parent for file in tasks}:
            folder.mkdir(parents=True, exist_ok=True)
        size = dict(zip(tasks, sizes, strict=True))
        left = {file: task for file, task in tasks.items() if not file.exists()}
        with tqdm(
            total=sum(sizes), unit="sentence", desc=doing or None, disable=not self.progress
        ) as bar:
            bar.update(sum(sizes) - sum(size[file] for file in left))
            if left:
                with self._running() as run:
                    for file, content in run(left):
                        write_whole(file, content)
                        bar.update(size[file])
        return [file.read_bytes() for file in tasks]

    @contextmanager
    def _running(self) -> Iterator[Run]:
        if self.workers == 1 and self.scheduler is None:
            yield lambda tasks: ((file, task()) for file, task in tasks.items())
            return
        try:
            import dask
            from dask.distributed import Client, LocalCluster, as_completed
        except ImportError:
            raise SurveyError(
                "More than one process needs Dask, which is not installed: pip install "
                "distributed, or leave --workers out."
            ) from None

        def run(tasks: Mapping[Path, Callable[[], bytes]]) -> Iterator[tuple[Path, bytes]]:
            # Keys by which Dask would reuse an earlier result are of no use: results are in files.
            futures = {client.submit(task, pure=False): file for file, task in tasks.items()}
            for future in as_completed(futures):
                yield futures[future], future.result()
                future.release()

        with ExitStack() as opened:
            scheduler = self.scheduler
            if scheduler is None:
                # On a machine with other work a process may be silent for minutes and is still at
                # work; one that was killed is noticed by its connection.
                opened.enter_context(dask.config.set({"distributed.scheduler.worker-ttl": None}))
                # No other machine sees it, and its page takes any free port.
                try:
                    local = LocalCluster(
                        host="127.0.0.1",
                        n_workers=self.workers,
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        preload=[__name__],
                    )
                except RuntimeError:
                    raise SurveyError(
                        "Processes did not start. Each begins with the file that is run; put what "
                        'it does below `if __name__ == "__main__":`.'
                    ) from None
                scheduler = opened.enter_context(local).scheduler_address
            try:
                client = opened.enter_context(Client(scheduler))
            except (OSError, ValueError):
                raise SurveyError(
                    f"No scheduler answers at {scheduler}; give its address, such as "
                    "tcp://10.0.0.1:8786."
                ) from None
            yield run


ONE_PROCESS = Engine()
"""Counts here, one task after another."""


def dask_setup(_: object) -> None:
    """Silence the error of a worker that is closed on purpose; Dask calls this in each worker.

    A worker that is closed while it tells the scheduler that it lives logs an error with its
    traceback.
    """
    logging.getLogger("distributed.worker").addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not ("heartbeat" in record.msg and type(error).__name__ == "CommClosedError")


Run = Callable[[Mapping[Path, Callable[[], bytes]]], Iterator[tuple[Path, bytes]]]
"""Does tasks, in any order, and gives what each is for with its result."""


@lru_cache(maxsize=2)
def loaded(checkpoint: str) -> Translator:
    """The model, once for each process, or two that are compared."""
    # One thread for each process: sums in another order would be other bits.
    torch.set_num_threads(1)
    return load(Path(checkpoint), device="cpu")


@lru_cache(maxsize=1)
def _traced(checkpoint: str, sources: tuple[str, ...]) -> list[Trace]:
    """The traces of sentences, for all kinds of attention of a process."""
    traces = dict(traced(loaded(checkpoint), sources))
    return [traces[place] for place in range(len(sources))]
