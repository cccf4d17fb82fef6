"""A teacher's translations to train a smaller model on: `python -m model.training.distill`.

Sequence-level knowledge distillation (Kim and Rush 2016, section 3.2): the student learns the
teacher's beam-search translations of the training sources. A teacher is more regular than people,
and so easier to learn from. With --nearest, the student learns the hypothesis of the beam that is
nearest to the reference (section 3.3 there). A sentence with an empty reference has none: its best
hypothesis is taken.

Given again, the same command resumes a killed run. `--part 1/2` and `--part 2/2` share the work
among two processes; give both files to the training.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import sacrebleu
import torch
from tqdm import tqdm

from model.checkpoints.checkpoint import load_checkpoint
from model.checkpoints.folder_files import read_json, write_json
from model.paper.beam_search import beam_search
from model.paper.decoding import Hypothesis
from model.paper.linear import pack_linears
from model.paper.tokenizer import Tokenizer
from model.paper.transformer import Transformer
from model.survey.parallel_text import CorpusError, Pair, read_pairs
from model.training.batches import padded
from model.training.command import Program, command, part
from model.training.evaluate import reversed_columns
from model.translate.devices import resolve_device

LARGEST_RATIO = 2.2
"""Of the longer side's characters to the other's; beyond it, text is missing or repeated."""

SHORT = 20
"""Sides with fewer characters may have any ratio."""

LEAST_CHRF = 20.0
"""Below it, translation and reference have almost nothing in common."""

CHUNK = 2048
"""Sentences between two saved states, the most that a killed run loses."""


@dataclass(frozen=True, slots=True)
class Search:
    """The teacher's method of decoding; a run can be resumed only under the same.

    `nearest` takes the hypothesis nearest to the reference, not the best one; translations with
    less than `least_chrf` against it are left out.
    """

    beam: int = 4
    alpha: float = 0.6
    nearest: bool = False
    least_chrf: float = LEAST_CHRF


def distilled(
    model: Transformer,
    tokenizer: Tokenizer,
    pairs: Sequence[Pair],
    search: Search,
    *,
    batch: int = 64,
) -> Iterator[tuple[Pair, str]]:
    """Pairs of a source and the teacher's translation, each with a reason to leave it out, or "".

    They come ordered by length. The teacher is in eval mode, on any device. Raises DecodingError if
    beam or alpha is out of range.
    """
    device = next(model.parameters()).device
    encoded = tokenizer.encode_all([pair.source for pair in pairs])
    order = sorted(range(len(encoded)), key=lambda index: -len(encoded[index]))
    longest = model.config.max_positions
    for start in range(0, len(order), batch):
        places = [p for p in order[start : start + batch] if 0 < len(encoded[p]) < longest]
        if not places:
            continue
        source = padded([encoded[place] for place in places], device)
        beams = beam_search(model, source, beam=search.beam, alpha=search.alpha)
        for place, hypotheses in zip(places, beams, strict=True):
            pair = pairs[place]
            nearest, text = _nearest(
                hypotheses if search.nearest else hypotheses[:1], tokenizer, pair
            )
            yield Pair(pair.source, text), _fault(nearest, text, pair, search.least_chrf)


def _nearest(
    hypotheses: Sequence[Hypothesis], tokenizer: Tokenizer, pair: Pair
) -> tuple[Hypothesis, str]:
    """The hypothesis nearest to the reference, with its text."""
    if not pair.target:
        hypotheses = hypotheses[:1]
    texts = [tokenizer.target.decode(each.token_ids) for each in hypotheses]
    if len(texts) == 1 or texts[0] == pair.target:
        return hypotheses[0], texts[0]
    near = [sacrebleu.sentence_chrf(text, [pair.target]).score for text in texts]
    best = max(range(len(texts)), key=near.__getitem__)
    return hypotheses[best], texts[best]


def _fault(hypothesis: Hypothesis, text: str, pair: Pair, least_chrf: float) -> str:
    """The reason not to learn this translation; "" for a good one."""
    if not text.strip():
        return "empty"
    if not hypothesis.finished:
        return "cut at the length limit"
    if any(mark in text for mark in "\t\r\n"):
        return "more than one line"
    if text.casefold() == pair.source.casefold() != pair.target.casefold():
        return "copied"
    shorter, longer = sorted((len(pair.source), len(text)))
    if longer > SHORT and longer > LARGEST_RATIO * max(shorter, 1):
        return "of another length"
    if pair.target and sacrebleu.sentence_chrf(text, [pair.target]).score < least_chrf:
        return "far from the reference"
    return ""


def _write(arguments: argparse.Namespace) -> tuple[Counter[str], int]:
    """The counts of translations left out, by reason, and of all pairs, after translating them."""
    search = Search(arguments.beam, arguments.alpha, arguments.nearest, arguments.least_chrf)
    number, parts = arguments.part
    reverse = reversed_columns(arguments.teacher)
    pairs = read_pairs(arguments.data, reverse=reverse)[number - 1 :: parts]
    run = {
        **asdict(search),
        "teacher": arguments.teacher.name,
        "part": f"{number}/{parts}",
        "pairs": len(pairs),
    }
    output, state = arguments.output, arguments.output.with_name(f"{arguments.output.name}.state")
    done, size, faults = 0, 0, Counter[str]()
    if state.exists():
        saved = read_json(state)
        if saved.get("run") != run:
            raise CorpusError(
                f"{output} was begun by another command; give that command, or another --output."
            )
        done, size, faults = saved["done"], saved["size"], Counter(saved["faults"])
    elif output.exists():
        raise CorpusError(f"{output} exists already; choose another --output.")
    device = resolve_device(arguments.device)
    teacher = load_checkpoint(arguments.teacher)
    pack_linears(teacher.model)
    teacher.model.to(device)
    if device.type == "cuda":
        # Products in TF32 take a fifth of the time, and hypotheses are rarely that close.
        torch.set_float32_matmul_precision("high")
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("ab") as file, tqdm(total=len(pairs), initial=done, unit="pair") as bar:
        # The run repeats what a killed one wrote after its last state.
        file.truncate(size)
        while done < len(pairs):
            chunk = pairs[done : done + CHUNK]
            for pair, fault in distilled(
                teacher.model, teacher.tokenizer, chunk, search, batch=arguments.batch
            ):
                if fault:
                    faults[fault] += 1
                else:
                    columns = (pair.target, pair.source) if reverse else pair
                    file.write("\t".join(("distilled", *columns)).encode() + b"\n")
                bar.update()
            file.flush()
            done += len(chunk)
            progress = {"run": run, "done": done, "size": file.tell(), "faults": dict(faults)}
            fresh = state.with_name(f"{state.name}.new")
            write_json(fresh, progress)
            fresh.replace(state)
    return faults, len(pairs)


def _parser() -> Program:
    parser = Program(__spec__, __doc__)
    parser.add_argument("--teacher", type=Path, required=True, help="a checkpoint folder")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help=".tsv or .tsv.xz files")
    parser.add_argument("--output", type=Path, required=True, help="a .tsv file to write")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.6, help="of the length penalty")
    parser.add_argument(
        "--nearest", action="store_true", help="the hypothesis nearest to the reference"
    )
    parser.add_argument(
        "--least-chrf",
        type=float,
        default=LEAST_CHRF,
        help=f"leave out translations farther from their reference (default {LEAST_CHRF:g})",
    )
    parser.add_argument("--batch", type=int, default=64, help="sentences decoded together")
    parser.add_argument("--part", type=part, default=(1, 1), help="such as 1/2: this half alone")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    return parser


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    arguments = _parser().parse(argv)
    faults, total = _write(arguments)
    left_out = json.dumps(dict(faults.most_common()), ensure_ascii=False)
    print(f"{total - faults.total():,} of {total:,} pairs kept; left out: {left_out}")


if __name__ == "__main__":
    raise SystemExit(main())
