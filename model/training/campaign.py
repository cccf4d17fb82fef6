"""Everything that needs a GPU, in resumable steps: `python -m model.training.campaign --help`.

A borrowed GPU is available for minutes at a time. Each call of this command works through the
remaining steps for `--minutes`, and the next call continues: an interrupted training or
distillation resumes from its last saved state, other steps start again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from model.checkpoints.checkpoint import CheckpointError, read_json, write_json
from model.training.command import Program

STATE = "campaign.json"
MAX_FAILURES = 2
"""After this many failures, a step is skipped with all that need it."""

SEARCH = {
    "dropout-02": ["model.dropout=0.2"],
    "dropout-04": ["model.dropout=0.4"],
    "pieces-4000": ["training.vocab_size=4000"],
    "pieces-16000": [
        "training.vocab_size=16000", "training.tokenizer=bpe", "training.apostrophes=true"
    ],
    "bpe-dropout": [
        "training.tokenizer=bpe", "training.apostrophes=true", "training.sampling_alpha=0.1"
    ],
    "r-drop": ["training.r_drop=5.0"],
}  # fmt: skip
"""Variants of the flagship to compare on the dev set, each for a tenth of its steps."""

TOY = [
    *("training.max_steps=4", "training.validate_every=4", "training.validate_sentences=4"),
    *("training.vocab_size=330", "training.batch_tokens=100"),
    *("training.save_every=2", "training.log_every=2"),
    *("training.warmup_steps=1", "training.optimizer=adam", "training.precision=float32"),
    *("model.d_model=16", "model.d_ff=16", "model.n_heads=2"),
    *("model.n_encoder_layers=1", "model.n_decoder_layers=1"),
]
"""A useless model, for a rehearsal of all steps on a CPU."""

TOY_PAIRS = 100
"""Pairs of each dev set for its training and its tests."""


@dataclass(frozen=True, slots=True)
class Step:
    """One command of this Python, with the steps that must be done before it."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """Whether a step succeeded, its seconds over all calls, and how often it failed."""

    done: bool = False
    seconds: float = 0.0
    failures: int = 0


def plan(data: Path, output: Path, *, device: str, toy: bool = False) -> list[Step]:
    """The steps, the most valuable first; of a useless model, on the dev set alone, for a toy.

    The data have en-de/ and en-fr/, each with train.tsv.xz, train-short.tsv.xz, dev.tsv and
    test-tatoeba.tsv.
    """

    def corpus(pair: str) -> list[str]:
        names = ["dev.tsv"] if toy else ["train.tsv.xz", "train-short.tsv.xz"]
        return [str(data / pair / name) for name in names]

    def train(name: str, config: str, files: list[str], pair: str, *overrides: str) -> Step:
        settings = [*overrides, *(TOY if toy else [])]
        return Step(
            name,
            (
                *("-m", "model.training.train", "--config", config, "--device", device),
                *("--output", str(output / name), "--valid", str(data / pair / "dev.tsv")),
                *("--data", *files),
                *(("--set", *settings) if settings else ()),
            ),
        )

    def score(name: str, pair: str) -> Step:
        return Step(
            f"{name}-scores",
            (
                *("-m", "model.training.evaluate", "--device", device, "--json"),
                *("--checkpoint", str(output / name / "averaged")),
                *("--data", str(data / pair / ("dev.tsv" if toy else "test-tatoeba.tsv"))),
            ),
            (name,),
        )

    distilled = output / "distilled.tsv"
    short = "training.max_steps=1200"
    tried = [
        train(f"search-{name}", "flagship", corpus("en-de"), "en-de", short, *changes)
        for name, changes in SEARCH.items()
    ]
    student = train("student", "small", [str(distilled)], "en-de", "model.fused_attention=true")
    return [
        train("flagship", "flagship", corpus("en-de"), "en-de"),
        score("flagship", "en-de"),
        Step(
            "tests",
            ("-m", "pytest", "-q", "-m", "gpu", "tests/model" if toy else "tests"),
        ),
        Step(
            "distilled",
            (
                *("-m", "model.training.distill", "--device", device, "--nearest"),
                *("--teacher", str(output / "flagship" / "averaged"), "--batch", "512"),
                *("--data", *corpus("en-de"), "--output", str(distilled)),
                *(("--beam", "1", "--least-chrf", "0") if toy else ()),
            ),
            ("flagship",),
        ),
        Step(student.name, student.command, ("distilled",)),
        score("student", "en-de"),
        train("en-fr", "flagship", corpus("en-fr"), "en-fr"),
        score("en-fr", "en-fr"),
        train("de-en", "flagship", corpus("en-de"), "en-de", "training.reverse=true"),
        score("de-en", "en-de"),
        *tried,
        Step(
            "throughput",
            (
                *("-m", "benchmarks.throughput", "--device", device, "--data", *corpus("en-de")),
                *(("--steps", "1", "--runs", "1") if toy else ("--config", "flagship")),
            ),
        ),
        Step(
            "peers",
            ("-m", "benchmarks.peers", "--device", device, *(("--runs", "1") if toy else ())),
        ),
    ]


def work(steps: Sequence[Step], output: Path, *, seconds: float) -> dict[str, Outcome]:
    """The outcomes after working through the remaining steps, in order, for these seconds.

    The output of a step goes into a file of its name, the outcomes into STATE. A step that runs out
    of time remains to be done. Raises CheckpointError if the state of an earlier call is damaged.
    """
    path = output / STATE
    outcomes = {step.name: Outcome() for step in steps}
    if path.exists():
        saved = read_json(path)
        outcomes |= {name: Outcome(**saved[name]) for name in outcomes if name in saved}
    end = time.monotonic() + seconds
    for step in steps:
        outcome = outcomes[step.name]
        if outcome.done or outcome.failures >= MAX_FAILURES:
            continue
        if not all(outcomes[name].done for name in step.needs):
            continue
        began = time.monotonic()
        if began >= end:
            break
        print(f"{step.name} …", flush=True)
        with (output / f"{step.name}.log").open("ab") as log:
            try:
                ended = subprocess.run(
                    [sys.executable, *step.command],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=end - began,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                ended = None
        outcome.seconds += time.monotonic() - began
        if ended is not None:
            outcome.done = ended.returncode == 0
            outcome.failures += not outcome.done
        # Replaced whole, so that a killed call leaves the previous state.
        fresh = path.with_name(f"{STATE}.new")
        write_json(fresh, {name: asdict(each) for name, each in outcomes.items()})
        fresh.replace(path)
    return outcomes


def main(argv: list[str] | None = None) -> int:
    """The command line: status 0 if all is done, 2 if steps remain, 1 if the rest failed."""
    parser = Program(__spec__, __doc__, threads=0)
    parser.add_argument("--data", type=Path, required=True, help="contains en-de/ and en-fr/")
    parser.add_argument("--output", type=Path, default=Path("runs/campaign"))
    parser.add_argument("--minutes", type=float, default=9.0, help="of this call (default 9)")
    parser.add_argument("--device", default="cuda", help="cuda (the default) or cpu")
    parser.add_argument("--toy", action="store_true", help="a rehearsal with a useless model")
    parser.add_argument("--only", nargs="+", metavar="STEP", help="these steps alone")
    parser.add_argument("--list", action="store_true", help="print the steps and do nothing")
    arguments = parser.parse(argv)
    data = arguments.output / "toy" if arguments.toy else arguments.data
    steps = plan(data, arguments.output, device=arguments.device, toy=arguments.toy)
    unknown = set(arguments.only or ()) - {step.name for step in steps}
    if unknown:
        parser.error(f"there is no step {min(unknown)!r}; --list prints them")
    if arguments.list:
        for step in steps:
            print(f"{step.name}: python {' '.join(step.command)}")
        return 0
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.toy:
        for file in arguments.data.glob("*/dev.tsv"):
            few = data / file.parent.name / file.name
            few.parent.mkdir(parents=True, exist_ok=True)
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            few.write_text("".join(lines[:TOY_PAIRS]), encoding="utf-8")
    selected = [step for step in steps if step.name in (arguments.only or {step.name})]
    try:
        outcomes = work(steps=selected, output=arguments.output, seconds=60 * arguments.minutes)
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({name: asdict(each) for name, each in outcomes.items()}, indent=2))
    if all(each.done for each in outcomes.values()):
        return 0
    failed = {name for name, each in outcomes.items() if each.failures >= MAX_FAILURES}
    blocked = {step.name for step in selected if failed.intersection(step.needs)}
    left = {name for name, each in outcomes.items() if not each.done} - failed - blocked
    return 2 if left else 1


if __name__ == "__main__":
    sys.exit(main())
