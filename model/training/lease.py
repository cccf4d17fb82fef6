"""A better model from minutes on a GPU: `python -m model.training.lease --help`.

For a machine that is lent bare and for minutes, with one GPU of 80 GB and 16 cores, and from which
only a few files come back. In one call: the GPU is compared with the CPU; the paper's base model is
trained and translates the English side of the corpora; the shipped models train on, English-German
on these translations too (Kim and Rush 2016). Whatever fails or runs out of time, all that was
finished is written. `python -m model.training.leased` makes checkpoint folders of it.

The folder --data holds en-de/ and en-fr/ with their files, and templates.tsv, which
`model.training.templates` writes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from model.checkpoints.checkpoint import METRICS, TOKENIZER, load_checkpoint, save_checkpoint
from model.checkpoints.folder_files import read_json, write_json
from model.checkpoints.shipped import CheckpointError
from model.survey.parallel_text import CorpusError, columns_of, keys_in, read_pairs
from model.training.command import Program, command
from model.training.export import fused
from model.training.noisy_channel import new_sentences

TEACHER = "paper-base"
STUDENTS = {"en-de": "student", "de-en": "de-en", "en-fr": "en-fr"}
"""The shipped models that train on, with the name of each one's configuration."""

ARCHIVE = "lease.zip"
REPORT = "report.json"

MIB = 2**20
PART = 16 * MIB
"""The most bytes of a file that comes back."""
PARTS = 4
"""The most parts of the archive. Four files are left for others."""

ENDS = {"teacher": 0.42, "translate": 0.575, "students": 0.95}
"""The end of each part of the work, as a share of all the time; the rest is for writing."""

STARTING = 20
"""Seconds until a training takes its first step."""

ENDING = 12
"""Seconds from its last step until its weights are written."""

LOST = 6.0
"""The loss of a token, in nats, that a training reaches soon unless it diverged."""

TINY = [
    *("training.validate_every=4", "training.validate_sentences=4", "training.batch_tokens=200"),
    *("training.log_every=2", "training.warmup_steps=1"),
    *("training.noun_copies=0", "training.workers=1", "training.sampling_alpha=0"),
    *("model.d_model=16", "model.d_ff=16", "model.n_heads=2"),
    *("model.n_encoder_layers=1", "model.n_decoder_layers=1"),
]
"""Settings of a useless model, for a rehearsal on a CPU."""


@dataclass(slots=True)
class Job:
    """One command of this Python.

    Attributes:
        lost: whether it should be stopped, asked while it runs.
    """

    name: str
    command: list[str]
    lost: Callable[[], bool] = lambda: False


class Lease:
    """The work of one call, in a folder that stays on the machine, and what it writes elsewhere."""

    def __init__(self, data: Path, work: Path, out: Path, device: str, *, tiny: bool) -> None:
        self.data, self.work, self.out = data, work, out
        self.device, self.tiny = device, tiny
        self.began = time.monotonic()
        self.took: dict[str, dict[str, float | bool]] = {}
        for folder in (work, out):
            folder.mkdir(parents=True, exist_ok=True)

    def now(self) -> float:
        """Seconds since the call began."""
        return time.monotonic() - self.began

    def run(self, jobs: Sequence[Job], until: float) -> None:
        """Run commands at the same time, and stop what still runs at that time."""
        running: list[tuple[Job, subprocess.Popen[bytes], float]] = []
        for job in jobs:
            print(f"{self.now():5.0f} s  {job.name} …", flush=True)
            log = (self.work / f"{job.name}.log").open("ab")
            process = subprocess.Popen(
                [sys.executable, *job.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # With the processes that it starts.
                start_new_session=True,
            )
            log.close()
            running.append((job, process, self.now()))
        while running:
            for entry in list(running):
                job, process, began = entry
                stops = self.now() > until or job.lost()
                if stops and process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                if process.poll() is not None:
                    running.remove(entry)
                    self.took[job.name] = {
                        "seconds": round(self.now() - began, 1),
                        "finished": process.returncode == 0,
                    }
                    print(f"{self.now():5.0f} s  {job.name}: {self.took[job.name]}", flush=True)
            time.sleep(0.2)

    def files(self, pair: str) -> list[str]:
        """The training data of a pair of languages, as paths."""
        folder = self.data / pair
        names = [folder / "dev.tsv"] if self.tiny else sorted(folder.glob("*.tsv.xz"))
        templates = (
            sorted(self.data.glob("templates*")) if pair == "en-de" and not self.tiny else []
        )
        return [str(path) for path in [*names, *templates]]

    def training(
        self, name: str, config: str, seconds: float, files: Iterable[str], *more: str, start: str
    ) -> list[str]:
        """The command of a training; with a start, from those weights, else with its vocabulary."""
        pair = "en-fr" if name == "en-fr" else "en-de"
        settings = [*more, f"training.seconds={max(1.0, seconds):.0f}"]
        settings += TINY if self.tiny else []
        output = self.work / name
        return [
            *("-m", "model.training.train", "--config", config, "--device", self.device),
            *("--output", str(output), "--valid", str(self.data / pair / "dev.tsv")),
            *("--data", *files, *(("--checkpoint", start) if start else ())),
            *("--set", *settings),
        ]

    def teacher(self, norm: str, until: float) -> Job:
        """The training of the paper's base model."""
        output = self.work / TEACHER
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        shutil.copy(Path("checkpoints/en-de") / TOKENIZER, output / TOKENIZER)
        seconds = until - self.now() - STARTING - ENDING
        late = self.now() + STARTING + seconds * 0.5

        def lost() -> bool:
            # Under the paper's long warm-up, a loss says little before half of the time.
            loss = last_loss(output) if norm == "post" and self.now() > late else None
            return not self.tiny and loss is not None and loss > LOST

        files = self.files("en-de")
        arguments = self.training(
            TEACHER, "teacher", seconds, files, f"model.norm={norm}", *self.unweighted(), start=""
        )
        return Job(f"{TEACHER}-{norm}-norm", arguments, lost)

    def unweighted(self) -> list[str]:
        """What a rehearsal changes: its data have no sources, so none can have a weight."""
        return ["training.weights={}"] if self.tiny else []

    def checks(self) -> Job:
        """The comparison of the GPU with the CPU."""
        return Job(
            "checks",
            [
                *("-m", "model.training.device_checks", "--checkpoint", "checkpoints/en-de"),
                *("--device", self.device, "--output", str(self.work / "checks.json")),
                *(("--sentences", "1") if self.tiny else ()),
            ],
        )

    def sentences(self, held_out: Sequence[Path]) -> Path:
        """A file of what the teacher translates: training pairs, and English from elsewhere.

        Sentences from elsewhere have an empty reference.
        """
        path = self.work / "sentences.tsv"
        english_german = [Path(file) for file in self.files("en-de")]
        known = keys_in([*english_german, *held_out])
        others = new_sentences(read_pairs([Path(file) for file in self.files("en-fr")]), known)
        written = columns_of(
            [file for file in english_german if not file.name.startswith("templates")]
        )
        lines = [
            f"{source}\t{target}\n"
            for *origin, source, target in written
            # A dictionary's words are no sentences.
            if origin[1:2] not in (["word"], ["phrase"])
        ]
        lines += [f"{sentence}\t\n" for sentence in others]
        path.write_text("".join(lines[:20] if self.tiny else lines), encoding="utf-8")
        return path

    def translations(self, sentences: Path, processes: int) -> list[Job]:
        """The teacher's translations, shared by processes."""
        teacher = trained(self.work / TEACHER)
        if teacher is None:
            return []
        return [
            Job(
                f"translate-{part}",
                [
                    *("-m", "model.training.distill", "--teacher", str(teacher), "--nearest"),
                    *("--data", str(sentences), "--device", self.device, "--batch", "512"),
                    *("--part", f"{part}/{processes}"),
                    *("--output", str(self.work / f"distilled-{part}.tsv")),
                    *(("--least-chrf", "0") if self.tiny else ()),
                ],
            )
            for part in range(1, processes + 1)
        ]

    def students(self, names: Sequence[str], until: float) -> list[Job]:
        """The trainings of the shipped models, from their weights."""
        written = [path for path in self.work.glob("distilled-*.tsv") if path.stat().st_size]
        jobs = []
        for name in names:
            seconds = until - self.now() - STARTING - ENDING
            pair = "en-fr" if name == "en-fr" else "en-de"
            files = self.files(pair) + ([str(path) for path in written] if pair == "en-de" else [])
            more = self.unweighted()
            if name != "en-de" and not self.tiny:
                more += list(ON_A_GPU)
            start = "" if self.tiny else f"checkpoints/{name}"
            if self.tiny:
                (self.work / name).mkdir(exist_ok=True)
                shutil.copy(Path("checkpoints") / name / TOKENIZER, self.work / name / TOKENIZER)
            arguments = self.training(name, STUDENTS[name], seconds, files, *more, start=start)
            jobs.append(Job(name, arguments))
        return jobs

    def score(self) -> list[Job]:
        """The teacher's scores: its weights may be too large to return."""
        teacher = trained(self.work / TEACHER)
        test = self.data / "en-de" / ("dev.tsv" if self.tiny else "test-tatoeba.tsv")
        if teacher is None or not test.exists():
            return []
        return [
            Job(
                f"{TEACHER}-scores",
                [
                    *("-m", "model.training.evaluate", "--json", "--device", self.device),
                    *("--checkpoint", str(teacher), "--data", str(test)),
                    *(("--beam", "1") if self.tiny else ()),
                ],
            )
        ]

    def write(self, names: Sequence[str]) -> None:
        """Write what there is so far: a report, logs, and models in eight bits, as far as they fit.

        Models come in order; the archive is cut into parts.
        """
        report = {"seconds": round(self.now(), 1), "took": self.took}
        write_json(self.out / REPORT, report)
        archive = self.work / ARCHIVE
        left_out = []
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
            for path in sorted([*self.work.glob("*.log"), *self.work.glob("checks.json")]):
                file.write(path, path.name)
            for name in names:
                for log in self.work.glob(f"{name}/metrics.jsonl"):
                    file.write(log, f"{name}.jsonl")
                folder = packed(self.work, name)
                if folder is None:
                    continue
                model = zip_folder(folder, self.work / f"{name}.zip")
                if file.fp is not None and file.fp.tell() + model.stat().st_size > PART * PARTS:
                    left_out.append(name)
                    continue
                file.write(model, f"{name}.zip", zipfile.ZIP_STORED)
        write_json(self.out / REPORT, report | {"too_large": left_out})
        content = archive.read_bytes()
        for number in range(PARTS):
            part = self.out / f"{ARCHIVE}.{number + 1}"
            piece = content[number * PART : (number + 1) * PART]
            if piece:
                part.write_bytes(piece)
            else:
                part.unlink(missing_ok=True)


ON_A_GPU = (
    "training.batch_tokens=12288",
    "training.accumulate=1",
    "training.average_last=1",
    "training.validate_every=1000",
    "training.validate_sentences=64",
    "training.save_every=1000000",
    "training.workers=3",
)
"""Settings of a training that is made for two CPU cores, where there is a GPU for minutes."""


def trained(run: Path) -> Path | None:
    """The better checkpoint folder of a run, by BLEU: of its mean or of its best weights.

    A run that was cut off has no mean, and the mean of weights far apart can be poor.
    """

    def bleu(folder: Path) -> float:
        return float(read_json(folder / METRICS)["valid"]["bleu"])

    folders = [each for each in (run / "averaged", run / "best") if (each / METRICS).exists()]
    return max(folders, key=bleu, default=None)


def last_loss(run: Path) -> float | None:
    """The last training loss in a run's log, if there is one."""
    try:
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    losses = [json.loads(line).get("loss") for line in lines if line.endswith("}")]
    return next((loss for loss in reversed(losses) if loss is not None), None)


def packed(work: Path, name: str) -> Path | None:
    """A run's model as a checkpoint folder in eight bits; None if the run has written none."""
    run = trained(work / name)
    if run is None:
        return None
    folder = work / f"{name}-8-bits"
    try:
        checkpoint = load_checkpoint(run)
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return None
    save_checkpoint(
        folder,
        fused(checkpoint.model),
        checkpoint.tokenizer,
        metrics=checkpoint.metrics,
        bits=8,
    )
    return folder


def zip_folder(folder: Path, path: Path) -> Path:
    """The files of a folder in an archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as file:
        for each in sorted(folder.iterdir()):
            file.write(each, each.name)
    return path


def work_through(
    lease: Lease, seconds: float, students: Sequence[str], held_out: Sequence[Path], processes: int
) -> None:
    """All parts of the work in order, writing after each one that leaves weights."""
    ends = {name: share * seconds for name, share in ENDS.items()}
    with ThreadPoolExecutor(1) as beside:
        # Reading the corpora takes many seconds, in which the GPU would wait.
        sentences = beside.submit(lease.sentences, held_out)
        # The checks need the GPU while the teacher's data are prepared.
        lease.run([lease.checks(), lease.teacher("post", ends["teacher"])], ends["teacher"])
        if trained(lease.work / TEACHER) is None and lease.now() < 0.75 * ends["teacher"]:
            lease.run([lease.teacher("pre", ends["teacher"])], ends["teacher"])
        lease.write([TEACHER])
        lease.run(lease.translations(sentences.result(), processes), ends["translate"])
    lease.run([*lease.students(students, ends["students"]), *lease.score()], ends["students"])
    lease.write([*students, TEACHER])


@command
def main(argv: list[str] | None) -> int:
    """The command line; status 1 unless every student was trained."""
    parser = Program(__spec__, __doc__, threads=4)
    parser.add_argument("--data", type=Path, required=True, help="contains en-de/ and en-fr/")
    parser.add_argument("--seconds", type=float, default=540.0, help="of this call (default 540)")
    parser.add_argument("--out", type=Path, required=True, help="the folder that comes back")
    parser.add_argument("--work", type=Path, default=Path("runs/lease"), help="for all other files")
    parser.add_argument("--device", default="cuda", help="cuda (the default) or cpu")
    parser.add_argument(
        "--students",
        nargs="+",
        choices=list(STUDENTS),
        default=["en-de"],
        help="shipped models to train on (default en-de)",
    )
    parser.files("--held-out", "more files of sentences that the teacher must not translate")
    parser.add_argument("--processes", type=int, default=8, help="that translate (default 8)")
    parser.add_argument("--tiny", action="store_true", help="a rehearsal with useless models")
    arguments = parser.parse(argv)
    held_out = [*arguments.data.glob("*/dev.tsv"), *arguments.data.glob("*/test*.tsv")]
    if not held_out:
        raise CorpusError(f"{arguments.data} has no en-de/dev.tsv; name the folder of the corpora.")
    lease = Lease(
        arguments.data, arguments.work, arguments.out, arguments.device, tiny=arguments.tiny
    )
    try:
        work_through(
            lease,
            arguments.seconds,
            arguments.students,
            [*held_out, *arguments.held_out] if not arguments.tiny else [],
            arguments.processes,
        )
    except BaseException:
        # What was finished is worth more than a clean end.
        lease.write([*arguments.students, TEACHER])
        raise
    print((arguments.out / REPORT).read_text(encoding="utf-8"))
    return 0 if all(trained(lease.work / name) for name in arguments.students) else 1


if __name__ == "__main__":
    raise SystemExit(main())
