"""`headscope survey en-de --data PAIRS.tsv.xz`: what each head does over many sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import torch

from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.shipped import checkpoint_folder
from model.explain.labels import Sample
from model.survey.corpus_survey import Rules
from model.survey.head_profile import summed_up
from model.survey.part import Part, SurveyError
from model.survey.probes import probed
from model.survey.rule_costs import RULED, ruled
from model.survey.running import counts
from model.survey.survey_file import SURVEY, save_survey
from model.training.corpus import CorpusError, Pair, key, read_pairs
from model.translate.translator import Translator, load

REFUSED = (CheckpointError, CorpusError, SurveyError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "checkpoint",
        nargs="?",
        default=DEFAULT_CHECKPOINT,
        type=checkpoint_folder,
        metavar="MODEL",
        help="its name or its folder, which gets a survey.json; en-de if not given",
    )
    parser.add_argument(
        "--data",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help=".tsv or .tsv.xz files; the column before the last has the sentences",
    )
    parser.add_argument(
        "--reverse", action="store_true", help="take the sentences of the last column"
    )
    parser.add_argument(
        "--sentences", type=int, default=20_000, metavar="N", help="how many; 20,000 if not given"
    )
    parser.add_argument(
        "--rules",
        type=int,
        default=RULED,
        metavar="N",
        help=f"choose a rule for each head on N sentences and judge it on N others; {RULED} if not "
        "given, 0 for no rules",
    )
    parser.add_argument("--name", help="name of the data; the names of the files if not given")
    parser.add_argument("--licence", default="not stated", help="of the data")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("runs/survey"),
        metavar="FOLDER",
        help="keeps what is counted, so that the survey can go on; runs/survey if not given",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes on this machine"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask scheduler with workers elsewhere"
    )


def run(arguments: argparse.Namespace) -> None:
    """Count, and write survey.json into the checkpoint's folder."""
    pairs = read_pairs(arguments.data, reverse=arguments.reverse)
    pairs = list({key(pair.source): pair for pair in pairs}.values())
    Random(0).shuffle(pairs)
    pairs = pairs[: arguments.sentences]
    part = counts(
        arguments.checkpoint,
        [pair.source for pair in pairs],
        arguments.output,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        progress=True,
    )
    name = arguments.name or ", ".join(path.name for path in arguments.data)
    survey = summed_up(part, Sample(name, arguments.licence, len(part)))
    # As in the counting, and quicker: several threads of one small product wait for each other.
    torch.set_num_threads(1)
    translator = load(arguments.checkpoint, device="cpu")
    survey = replace(
        survey,
        probes=probed(translator, german=arguments.reverse),
        is_german=arguments.reverse,
        rules=_rules(translator, part, pairs, arguments.rules) if arguments.rules else None,
    )
    save_survey(arguments.checkpoint, survey)
    print(f"{arguments.checkpoint / SURVEY}: {len(part):,} sentences")


def _rules(translator: Translator, part: Part, pairs: Sequence[Pair], count: int) -> Rules | None:
    """The rules of the heads; None where too few sentences could be read."""
    n_ruled = 2 * count
    if len(part) < 2 * n_ruled:
        print(f"No rules: they need {2 * n_ruled} sentences, and there are {len(part):,}.")
        return None
    targets = {pair.source: pair.target for pair in pairs}
    ruling = [(source, targets[source]) for source, _ in part.texts[:n_ruled]]
    learned = list(zip(part.sources, part.predictions, strict=True))[n_ruled:]
    return ruled(
        translator,
        ruling,
        learned,
        judged=count,
        progress=lambda doing: print(f"{doing}…", flush=True),
    )
