"""Every toy: the variant of the Transformer that learns a task, and the pairs that it sees."""

import tomllib
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from model.checkpoints.checkpoint import METRICS
from model.checkpoints.folder_files import read_json
from model.checkpoints.toy_tasks import TASKS, Task
from model.survey.parallel_text import Pair, read_pairs
from model.training.command import Program
from model.training.evaluate import reversed_columns
from model.training.tables import TABLES

N_UNSEEN, N_SEEN = 1000, 9000
SEED = 2017
TOY_DATA, TOY_LICENCE = "inputs drawn by the rule of its task", "none, nobody owns them"
"""The sentences on which heads earn labels."""


@dataclass(frozen=True, slots=True)
class Toy:
    """A task with the variant of the Transformer that learns it, and what it shows in a few words.

    The task may have fewer than `n_seen` pairs to train on.
    """

    task: str
    shows: str
    variant: dict[str, Any]
    steps: int = 1200
    n_seen: int = N_SEEN


TOYS = {
    name: Toy(**fields)
    for name, fields in tomllib.loads((TABLES / "toys.toml").read_text(encoding="utf-8")).items()
}
"""Every toy by the name of its checkpoint."""


def pairs_of(task: Task, seed: int, n_seen: int = N_SEEN) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on, then pairs to test on; no source is in both."""
    random, distinct = Random(seed), dict[str, None]()
    # Some tasks have fewer sources.
    for _ in range(20 * (n_seen + N_UNSEEN)):
        distinct[task.draw(random)] = None
        if len(distinct) == n_seen + N_UNSEEN:
            break
    sources = list(distinct)
    random.shuffle(sources)
    pairs = [Pair(source, task.solve(source)) for source in sources]
    return pairs[N_UNSEEN:], pairs[:N_UNSEEN]


def pairs_to_choose_by(task: Task, seed: int, n_seen: int = N_SEEN) -> list[Pair]:
    """Pairs outside training and test, for comparing recipes; none if the task has too few."""
    known = {pair.source for pairs in pairs_of(task, seed, n_seen) for pair in pairs}
    others = [pair for pairs in pairs_of(task, seed + 1) for pair in pairs]
    return [pair for pair in others if pair.source not in known][:N_UNSEEN]


def toy_pairs(directory: Path, toy: Toy, count: int = 4000) -> list[Pair]:
    """Unseen inputs of a toy with their outputs; fewer than `count` for a task with few inputs."""
    task, seed = TASKS[toy.task], read_json(directory / METRICS)["training"]["seed"]
    trained_pairs, unseen = pairs_of(task, seed, toy.n_seen)
    trained, random = {pair.source for pair in trained_pairs}, Random(seed + 2)
    sources = dict.fromkeys(pair.source for pair in unseen)
    sources |= dict.fromkeys(task.draw(random) for _ in range(count))
    return [Pair(source, task.solve(source)) for source in sources if source not in trained]


UNSEEN = ".tsv or .tsv.xz files of sentences that the model was not trained on; a toy needs none"
"""What --data is of a program that measures a checkpoint on such sentences."""


def unseen_pairs(program: Program, arguments: Namespace) -> tuple[list[Pair], bool]:
    """The pairs of --data, or the unseen inputs of a toy; and whether they are a toy's."""
    if arguments.data:
        reverse = reversed_columns(arguments.checkpoint)
        return read_pairs(arguments.data, reverse=reverse), False
    if (toy := TOYS.get(arguments.checkpoint.name)) is None:
        program.error("--data is needed: only a toy draws its own sentences")
    return toy_pairs(arguments.checkpoint, toy), True
