"""Every toy: the variant of the Transformer that learns a task, and the pairs that it sees."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from model.checkpoints.checkpoint import METRICS, read_json
from model.checkpoints.toy_tasks import TASKS, Task
from model.survey.parallel_text import Pair

N_UNSEEN, N_SEEN = 1000, 9000
MANY = 40_000
"""Pairs for tasks that N_SEEN pairs do not teach."""
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


ONE_LAYER = {"n_encoder_layers": 1, "n_decoder_layers": 1}
TWO_LAYERS = {"n_encoder_layers": 2, "n_decoder_layers": 2}

TOYS: dict[str, Toy] = {
    "toy-reverse": Toy("reverse", "the paper's post-norm", ONE_LAYER, steps=2000),
    "toy-reverse-learned": Toy(
        "reverse",
        "learned positions, one module a head",
        {**ONE_LAYER, "positions": "learned", "head_layout": "per_head"},
    ),
    "toy-reverse-encoder": Toy(
        "reverse",
        "an encoder alone",
        {"n_encoder_layers": 2, "n_decoder_layers": 0},
        steps=2500,
    ),
    "toy-reverse-decoder": Toy(
        "reverse",
        "a decoder alone",
        {"n_encoder_layers": 0, "n_decoder_layers": 2, "norm": "pre"},
    ),
    "toy-copy-pre-norm": Toy("copy", "pre-norm", {**ONE_LAYER, "norm": "pre"}),
    "toy-sort-no-bias": Toy(
        "sort",
        "no biases, d_v larger than d_k, epsilon 1e-6",
        {**ONE_LAYER, "attention_bias": False, "d_k": 12, "d_v": 24, "layer_norm_eps": 1e-6},
    ),
    "toy-sort-dot-product": Toy(
        "sort", "plain dot products", {**ONE_LAYER, "scoring": "dot_product"}
    ),
    "toy-sort-alibi": Toy(
        "sort",
        "ALiBi",
        {**ONE_LAYER, "positions": "alibi", "norm": "pre"},
        steps=4000,
        n_seen=MANY,
    ),
    "toy-count-temperature": Toy(
        "count",
        "a learned temperature",
        {**TWO_LAYERS, "scoring": "learned_temperature", "norm": "pre"},
        steps=2500,
        n_seen=MANY,
    ),
    "toy-numbers-fused": Toy(
        "numbers",
        "all projections fused",
        {**TWO_LAYERS, "fused_qkv": True, "norm": "pre"},
        steps=2500,
    ),
    "toy-dates-additive": Toy("dates", "additive scoring", {**ONE_LAYER, "scoring": "additive"}),
    "toy-dates-rotary": Toy(
        "dates",
        "rotary positions",
        {**ONE_LAYER, "positions": "rotary", "norm": "pre"},
        steps=900,
    ),
    "toy-dates-relative-bias": Toy(
        "dates",
        "T5's relative bias",
        {**ONE_LAYER, "positions": "relative_bias", "norm": "pre"},
    ),
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
