"""Make a toy's checkpoint: `python -m model.training.toys NAME --output DIR`.

Data, vocabulary, training, scores on unseen inputs, examples and card, in minutes on one core.
Equal seeds give equal data.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from model.checkpoints.checkpoint import CARD, EXAMPLES, METRICS, save_checkpoint
from model.checkpoints.folder_files import read_json, write_json
from model.checkpoints.toy_tasks import TASKS, Task
from model.files import write_whole
from model.paper.config import TransformerConfig
from model.paper.single_stack import DecoderOnly, EncoderOnly, SingleStack, single_stack
from model.paper.tokenizer import BOS, EOS, PAD, Tokenizer
from model.paper.transformer import Transformer
from model.survey.parallel_text import Pair
from model.training.batches import filled
from model.training.card import shape, table
from model.training.command import Program
from model.training.evaluate import translate_all
from model.training.examples import Bad, Good, entries
from model.training.labels import loaded, write_labels
from model.training.removal import write_removal
from model.training.toy_recipes import (
    SEED,
    TOY_DATA,
    TOY_LICENCE,
    TOYS,
    Toy,
    pairs_of,
    pairs_to_choose_by,
    toy_pairs,
)
from model.translate.text_models import StackReader
from model.translate.translator import Translator

N_BEYOND = 200
BATCH, WARMUP, LEARNING_RATE = 128, 100, 5e-3
BEAM = 4
N_EXAMPLES = 10
SPECIAL = 4 + 256
"""Pieces of every vocabulary: special tokens and bytes."""

CHARACTERS = "model/training/toy_characters.tsv"
"""The rules of NFKC that end in characters of a task; the others would only enlarge every toy."""

SIZE: dict[str, Any] = {
    "d_model": 64,
    "d_ff": 128,
    "n_heads": 4,
    "dropout": 0.0,
    "max_positions": 64,
    "fused_attention": False,
}


def tokenizer_of(task: Task) -> Tokenizer:
    """A vocabulary in which each word of the task and each digit is one piece."""
    texts = [word for word in task.words for _ in range(100)]
    kind = "word" if task.spaced else "bpe"
    return Tokenizer.train(texts, SPECIAL + task.n_pieces, model_type=kind, rules=CHARACTERS)


def lessons(
    model: Transformer | SingleStack, tokenizer: Tokenizer, pairs: Sequence[Pair]
) -> tuple[list[Tensor], Tensor]:
    """The inputs of a model for the pairs, with the right predictions; PAD where none counts.

    An encoder alone predicts the target at the positions of the source, which must be equally long.
    A decoder alone reads source and target as one text, with an end token after each.
    """
    sources, targets = (tokenizer.encode_all([pair[side] for pair in pairs]) for side in (0, 1))
    source, expected = (filled([[*ids, EOS] for ids in side]) for side in (sources, targets))
    if isinstance(model, EncoderOnly):
        return [source], expected
    if isinstance(model, DecoderOnly):
        whole = [
            (len(s) + 1, [BOS, *s, EOS, *t, EOS]) for s, t in zip(sources, targets, strict=True)
        ]
        read = filled([ids[:-1] for _, ids in whole])
        return [read], filled([[PAD] * n_given + ids[n_given + 1 :] for n_given, ids in whole])
    return [source, filled([[BOS, *ids] for ids in targets])], expected


def train(
    model: Transformer | SingleStack, tokenizer: Tokenizer, pairs: Sequence[Pair], steps: int
) -> None:
    """Train a model on the pairs."""
    read, expected = lessons(model, tokenizer, pairs)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, 1) * (1 - step / steps)
    )
    model.train()
    for _ in tqdm(range(steps), unit="step"):
        rows = torch.randint(len(pairs), (BATCH,))
        logits = model(*(each[rows] for each in read))
        loss = F.cross_entropy(logits.transpose(1, 2), expected[rows], ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def make(
    name: str,
    directory: Path,
    *,
    steps: int | None = None,
    seed: int = SEED,
    choosing: bool = False,
) -> float:
    """The share of unseen inputs that a toy gets right, after writing its checkpoint folder.

    Without steps it trains for the toy's own number. Choosing compares recipes, which must not use
    the test inputs; then the folder has no scores.
    """
    toy = TOYS[name]
    task, steps = TASKS[toy.task], steps or toy.steps
    seen, unseen = pairs_of(task, seed, toy.n_seen)
    tokenizer = tokenizer_of(task)
    torch.manual_seed(seed)
    config = TransformerConfig(vocab_size=len(tokenizer), **SIZE, **toy.variant)
    model = single_stack(config) if config.single_stack else Transformer(config)
    start = time.monotonic()
    train(model, tokenizer, seen, steps)
    longest = {
        side: 1 + max(map(len, tokenizer.encode_all([pair[place] for pair in seen])))
        for place, side in enumerate(("source", "target"))
    }
    metrics = {
        "task": toy.task,
        "steps": steps,
        "training_seconds": round(time.monotonic() - start),
        "training": {"pairs": len(seen), "batch": BATCH, "seed": seed},
        "longest": longest,
    }
    save_checkpoint(directory, model, tokenizer, metrics=metrics)
    if choosing:
        unseen = pairs_to_choose_by(task, seed, toy.n_seen)
    written = written_by(directory, [pair.source for pair in unseen])
    right = [text == pair.target for text, pair in zip(written, unseen, strict=True)]
    exact = sum(right) / len(right)
    if choosing:
        return exact
    beam = {} if config.single_stack else {"beam": BEAM}
    metrics["test"] = {"sentences": len(unseen), "exact": exact, **beam}
    write_json(directory / METRICS, metrics)
    _tell(directory, toy, task, unseen, written)
    return exact


def written_by(directory: Path, texts: Sequence[str]) -> list[str]:
    """What the model of a folder makes of texts."""
    model = loaded(directory)
    if isinstance(model, StackReader):
        return list(map(model.write, texts))
    return translate_all(model.model, model.tokenizer, texts, beam=BEAM)


def _tell(
    directory: Path, toy: Toy, task: Task, unseen: Sequence[Pair], written: Sequence[str]
) -> None:
    """Write examples, card and removal.json."""
    model = loaded(directory)
    good = [
        Good(*pair, task.shows(pair.source))
        for pair, text in zip(unseen, written, strict=True)
        if text == pair.target and len(model.tokenizer.encode(pair.source)) >= _MIN_TOKENS
    ][:N_EXAMPLES]
    if isinstance(model, Translator):
        # The app writes without a beam.
        good = [each for each in good if model.translate(each.source).text == each.translation]
    wrong = [
        Bad(pair.source, text, pair.target)
        for pair, text in zip(unseen, written, strict=True)
        if text != pair.target
    ]
    random = Random(0)
    beyond = [task.beyond(random) for _ in range(N_BEYOND)]
    answers = written_by(directory, beyond)
    failed = [
        Bad(source, text, task.solve(source))
        for source, text in zip(beyond, answers, strict=True)
        if text != task.solve(source)
    ]
    listed = json.dumps(entries(good), indent=2, ensure_ascii=False)
    write_whole(directory / EXAMPLES, f"{listed}\n".encode())
    metrics = read_json(directory / METRICS)
    test = metrics["test"]
    with_beam = f", with a beam of {test['beam']}" if "beam" in test else ""
    sections = [
        # The variant's most telling part: a menu shows this title.
        f"# {directory.name}: {task.title}, {toy.shows.partition(', ')[0]}",
        f"A toy: a tiny Transformer that {task.does}. It shows {toy.shows}. "
        f"{task.look_alone if model.model.config.single_stack else task.look}",
        f"It reads {task.reads}.",
        shape(model.model.config, model.n_parameters),
        f"## Scores\n\n{test['exact']:.2%} of {test['sentences']:,} inputs that training never "
        f"saw are answered exactly right{with_beam}.",
        f"## Training\n\n{metrics['steps']:,} steps of {BATCH} pairs, drawn from "
        f"{metrics['training']['pairs']:,}; {metrics['training_seconds']} seconds on one CPU core "
        f"that others use too. Repeat with `python -m model.training.toys {directory.name} "
        f"--output DIR`.",
        "## Data and licences\n\n"
        "Made by a rule in `model/checkpoints/toy_tasks.py`, so nobody owns it.",
        "## Good at\n\nInputs that training never saw:\n\n"
        + table(("input", "output"), [(each.source, each.translation) for each in good]),
        f"## Bad at\n\nInputs beyond its training: {len(failed) / N_BEYOND:.0%} of {N_BEYOND} such "
        "inputs are answered wrong.\n\n"
        + table(
            ("input", "what it says", "right"),
            [(e.source, e.translation, e.reference) for e in [*wrong, *failed][:N_EXAMPLES]],
        ),
    ]
    (directory / CARD).write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    if good and isinstance(model, Translator):
        write_removal(directory)


_MIN_TOKENS = 4
"""Of an example's source: a head's label needs five tokens, the end token included."""


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = Program(__spec__, __doc__)
    parser.add_argument("name", choices=TOYS, help="which toy")
    parser.add_argument("--output", type=Path, required=True, help="the checkpoint folder to write")
    parser.add_argument("--steps", type=int, help="of training; otherwise the toy's own number")
    parser.add_argument(
        "--choose",
        action="store_true",
        help="score on inputs of neither training nor test, to choose a recipe by",
    )
    arguments = parser.parse(argv)
    if arguments.steps is not None and arguments.steps < 1:
        parser.error("--steps must be 1 or more")
    toy = TOYS[arguments.name]
    if arguments.choose and not pairs_to_choose_by(TASKS[toy.task], SEED, toy.n_seen):
        parser.error(f"{arguments.name} has no inputs beyond those of training and test")
    exact = make(arguments.name, arguments.output, steps=arguments.steps, choosing=arguments.choose)
    if not arguments.choose and arguments.steps is None:
        pairs = toy_pairs(arguments.output, toy)
        write_labels(arguments.output, pairs, data=TOY_DATA, licence=TOY_LICENCE)
    print(f"{arguments.name}: {exact:.2%} of unseen inputs exactly right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
