"""A survey of a checkpoint's heads over many sentences, in parts: resumed, and shared by processes.

    survey = counts("checkpoints/en-de", sentences, Path("runs/survey"), workers=2)

Several processes, on this machine or on others, are run by Dask (https://www.dask.org), which
gives the part of a worker that was killed to another one. What is counted stays in the folder, so
that a survey goes on where it was stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from model.files import write_whole
from model.survey.part import Part, SurveyError, counted, joined
from model.translate.translator import Translator, load

SENTENCES = 250
"""Of one part."""

SAMPLE = 20
"""Of so many sentences, one is translated without each head."""

_PLAN = "survey.json"


@dataclass(frozen=True, slots=True)
class Task:
    """One part that is to be counted.

    Attributes:
        checkpoint: the folder of the model.
        texts: the sentences.
        first: the place of the first one among all sentences.
    """

    checkpoint: str
    texts: tuple[str, ...]
    first: int

    def __call__(self) -> bytes:
        """The part, as `Part.to_bytes` writes it."""
        translator = _loaded(self.checkpoint)
        return counted(
            translator, self.texts, lambda place: (self.first + place) % SAMPLE == 0
        ).to_bytes()


def counts(
    checkpoint: Path,
    texts: Sequence[str],
    folder: Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    progress: bool = False,
) -> Part:
    """The counts over all sentences.

    Args:
        checkpoint: the folder of the model; on other machines, it is at the same path.
        texts: the sentences.
        folder: keeps what is counted; one that was begun with the same model and sentences is
            continued.
        workers: processes on this machine; more than 1 need Dask.
        scheduler: the address of a Dask scheduler, such as "tcp://10.0.0.1:8786", in place of
            processes on this machine.
        progress: whether to show a progress bar.

    Raises:
        CheckpointError: if the checkpoint cannot be loaded.
        SurveyError: if Dask is needed and missing, the folder belongs to another survey, or no
            sentence can be read.
    """
    tasks = [
        Task(str(checkpoint), tuple(texts[first : first + SENTENCES]), first)
        for first in range(0, len(texts), SENTENCES)
    ]
    files = {folder / f"part-{task.first:06}.npz": task for task in tasks}
    _begin(folder, checkpoint, texts)
    left = {file: task for file, task in files.items() if not file.exists()}
    with (
        _engine(workers, scheduler) as run,
        tqdm(total=len(texts), unit="sentence", disable=not progress) as bar,
    ):
        bar.update(sum(len(task.texts) for file, task in files.items() if file not in left))
        for file, content in run(left):
            write_whole(file, content)
            bar.update(len(left[file].texts))
    whole = joined([Part.from_bytes(file.read_bytes()) for file in files])
    if not len(whole):
        raise SurveyError("The model can read none of these sentences; give others.")
    return whole


Run = Callable[[Mapping[Path, Task]], Iterator[tuple[Path, bytes]]]
"""Does tasks, in any order, and gives what each is for with its result."""


@contextmanager
def _engine(workers: int, scheduler: str | None) -> Iterator[Run]:
    if workers == 1 and scheduler is None:
        yield lambda tasks: ((file, task()) for file, task in tasks.items())
        return
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError:
        raise SurveyError(
            "More than one process needs Dask, which is not installed: pip install "
            "'headscope[survey]', or leave --workers out."
        ) from None

    def run(tasks: Mapping[Path, Task]) -> Iterator[tuple[Path, bytes]]:
        # Keys by which Dask would reuse an earlier result are of no use: results are in files.
        futures = {client.submit(task, pure=False): file for file, task in tasks.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()
            future.release()

    with ExitStack() as opened:
        if scheduler is None:
            local = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            scheduler = opened.enter_context(local).scheduler_address
        client = opened.enter_context(Client(scheduler))
        yield run


@lru_cache(maxsize=1)
def _loaded(checkpoint: str) -> Translator:
    # One thread for each process: sums in another order would be other bits.
    torch.set_num_threads(1)
    return load(Path(checkpoint), device="cpu")


def _begin(folder: Path, checkpoint: Path, texts: Sequence[str]) -> None:
    """Write down what is counted in a folder, or make sure that it is the same."""
    plan: Mapping[str, Any] = {
        "weights": [
            _digest(file.read_bytes()) for file in sorted(checkpoint.glob("*.safetensors"))
        ],
        "texts": _digest("\n".join(texts).encode()),
        "sentences": SENTENCES,
        "sample": SAMPLE,
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
