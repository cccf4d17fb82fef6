"""`headscope survey en-de --data PAIRS.tsv.xz`: what each head does over many sentences."""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.shipped import checkpoint_folder
from model.explain.labels import Sample
from model.survey.head_profile import summed_up
from model.survey.part import SurveyError
from model.survey.running import counts
from model.survey.survey_file import SURVEY, save_survey
from model.training.corpus import CorpusError, key, read_pairs

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
    texts = list({key(pair.source): pair.source for pair in pairs}.values())
    Random(0).shuffle(texts)
    part = counts(
        arguments.checkpoint,
        texts[: arguments.sentences],
        arguments.output,
        workers=arguments.workers,
        scheduler=arguments.scheduler,
        progress=True,
    )
    name = arguments.name or ", ".join(path.name for path in arguments.data)
    survey = summed_up(part, Sample(name, arguments.licence, len(part)))
    save_survey(arguments.checkpoint, survey)
    print(f"{arguments.checkpoint / SURVEY}: {len(part):,} sentences")
