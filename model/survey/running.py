"""A survey of a checkpoint's heads over many sentences, in parts: resumed, and shared by processes.

    survey = counts("checkpoints/en-de", sentences, Path("runs/survey"), workers=2)

Several processes, on this machine or on others, are run by Dask (https://www.dask.org), which
gives the part of a worker that was killed to another one. What is counted stays in the folder, so
that a survey goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
import logging
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from model.explain.head_rules import HeadRules, findings_from_json, findings_to_json
from model.explain.labels import Sample
from model.files import write_whole
from model.rules.weight_rules import Lexicon
from model.survey.head_sentences import CHOSEN, FITTED, USED, head_sentences
from model.survey.part import SurveyError, SurveyPart, counted, joined, traced
from model.survey.rule_costs import Answers, Ask, Edits, answers
from model.survey.survey_file import weights_digest
from model.trace.attention_map import AttentionKind
from model.trace.trace import Trace
from model.translate.translator import Translator, load

SENTENCES, ANSWERED = 250, 25
"""Of one part of the counting, and of what is asked about rules."""

SAMPLED, SOURCED = 1000, 2500
"""About so many sentences are translated without each head, and have the sources of their tokens
looked for; they are spread evenly over those that the model was not trained on."""

_PLAN = "survey.json"


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
        return counted(
            _loaded(self.checkpoint), self.texts, self._sampled, self._sourced
        ).to_bytes()

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
        found = answers(_loaded(self.checkpoint), self.sources, self.edits, self.writes)
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
                "'headscope[survey]', or leave --workers out."
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
                local = LocalCluster(
                    host="127.0.0.1",
                    n_workers=self.workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    preload=[__name__],
                )
                scheduler = opened.enter_context(local).scheduler_address
            client = opened.enter_context(Client(scheduler))
            yield run


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


def counts(
    checkpoint: Path,
    texts: Sequence[str],
    folder: Path,
    engine: Engine = Engine(),
    *,
    held_out: int | None = None,
) -> SurveyPart:
    """The counts over all sentences.

    Args:
        checkpoint: the folder of the model; on other machines, it is at the same path.
        texts: the sentences.
        folder: keeps what is counted; one that was begun with the same model and sentences is
            continued.
        engine: runs it.
        held_out: so many of the sentences, the first ones, are not from the model's training; None
            for all.

    Raises:
        CheckpointError: if the checkpoint cannot be loaded.
        SurveyError: if Dask is needed and missing, the folder belongs to another survey, or no
            sentence can be read.
    """
    held_out = len(texts) if held_out is None else held_out
    tasks = [
        Task(str(checkpoint), tuple(texts[first : first + SENTENCES]), first, held_out)
        for first in range(0, len(texts), SENTENCES)
    ]
    _begin(folder, checkpoint, texts, held_out)
    done = engine.done(
        {folder / f"part-{task.first:06}.npz": task for task in tasks},
        [len(task.texts) for task in tasks],
        "counting",
    )
    whole = joined([SurveyPart.from_bytes(content) for content in done])
    if not len(whole):
        raise SurveyError("The model can read none of these sentences; give others.")
    return whole


def asking(checkpoint: Path, folder: Path, engine: Engine) -> Ask:
    """What `ruled` asks with, on some processes, and with answers kept in the folder."""

    def ask(doing: str, sources: Sequence[str], edits: Sequence[Edits], writes: bool) -> Answers:
        questions = [
            Question(
                str(checkpoint), tuple(sources[first : first + ANSWERED]), tuple(edits), writes
            )
            for first in range(0, len(sources), ANSWERED)
        ]
        done = engine.done(
            {folder / f"rules-{_digest(pickle.dumps(each))[:24]}.json": each for each in questions},
            [len(each.sources) for each in questions],
            doing,
        )
        return [each for content in done for each in json.loads(content)]

    return ask


def rules_in_words(
    checkpoint: Path,
    sources: Sequence[str],
    languages: tuple[str, str],
    sample: Sample,
    lexicon: Lexicon | None,
    folder: Path,
    engine: Engine,
) -> HeadRules:
    """A rule in words for each head; a kind of attention that is done is not fitted again.

    Args:
        checkpoint: the folder of the model.
        sources: USED sentences that the model can read.
        languages: of source and target; empty for an unknown one.
        sample: the name and the licence of the data.
        lexicon: learned from other sentences; None for none.
        folder: keeps what is found.
        engine: runs it.
    """
    kinds = dict.fromkeys(site.kind for site in _loaded(str(checkpoint)).sites)
    tasks = [
        Wording(
            str(checkpoint),
            tuple(sources),
            kind,
            kind.axes(*languages, ""),
            lexicon if kind is AttentionKind.CROSS else None,
        )
        for kind in kinds
    ]
    done = engine.done(
        {folder / f"words-{_digest(pickle.dumps(each))[:24]}.json": each for each in tasks},
        [len(sources)] * len(tasks),
        "rules in words",
    )
    rules = HeadRules(
        weights_digest(checkpoint),
        sample.data,
        sample.licence,
        FITTED,
        CHOSEN,
        USED - FITTED - CHOSEN,
        languages,
        {head: each for kind in done for head, each in findings_from_json(json.loads(kind))},
    )
    return with_costs(
        rules, sources[FITTED + CHOSEN :], lexicon, asking(checkpoint, folder, engine)
    )


def with_costs(
    rules: HeadRules, sources: Sequence[str], lexicon: Lexicon | None, ask: Ask
) -> HeadRules:
    """Rules with what each costs alone.

    Args:
        rules: of a model's heads.
        sources: sentences that fitted and chose none of them.
        lexicon: as the rules were fitted with.
        ask: asks what edits do.
    """
    alone = [{head: edit} for head, edit in rules.edits(rules.heads, lexicon).items()]
    found = ask("what each rule costs", sources, [{}, *alone], False)
    totals: NDArray[np.float64] = np.array(found)
    costs = (totals[:, :1] - totals[:, 1:]).mean(axis=0).tolist()
    heads = {
        head: replace(finding, cost=cost)
        for (head, finding), cost in zip(rules.heads.items(), costs, strict=True)
    }
    return replace(rules, heads=heads)


@lru_cache(maxsize=1)
def _loaded(checkpoint: str) -> Translator:
    # One thread for each process: sums in another order would be other bits.
    torch.set_num_threads(1)
    return load(Path(checkpoint), device="cpu")


@lru_cache(maxsize=1)
def _traced(checkpoint: str, sources: tuple[str, ...]) -> list[Trace]:
    """The traces of sentences, for all kinds of attention of a process."""
    traces = dict(traced(_loaded(checkpoint), sources))
    return [traces[place] for place in range(len(sources))]


def _begin(folder: Path, checkpoint: Path, texts: Sequence[str], held_out: int) -> None:
    """Write down what is counted in a folder, or make sure that it is the same."""
    plan: Mapping[str, Any] = {
        "weights": weights_digest(checkpoint),
        "texts": _digest("\n".join(texts).encode()),
        "held_out": held_out,
        "sentences": SENTENCES,
        "sampled": [SAMPLED, SOURCED],
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _PLAN
    if file.exists() and json.loads(file.read_text(encoding="utf-8")) != plan:
        raise SurveyError(
            f"{folder} holds a survey of another model or other sentences; name another folder."
        )
    write_whole(file, json.dumps(plan).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
