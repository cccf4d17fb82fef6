"""`headscope pack --model en-de --out en-de.html`: a model that runs in one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.checkpoint import (
    CONFIG,
    INDEX,
    TOKENIZER,
    WEIGHTS,
    CheckpointError,
    own_file,
    read_json,
    snapshot_file,
    snapshots,
)
from model.checkpoints.shipped import checkpoint_folder
from model.explain.examples import read_examples
from model.explain.labels_file import read_labels
from model.files import write_whole
from model.translate.sentences import TextError
from model.translate.translator import load
from viz.heads.live import PackError, live_page, require_runs

REFUSED = (CheckpointError, PackError, TextError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "--model",
        type=checkpoint_folder,
        default=DEFAULT_CHECKPOINT,
        metavar="MODEL",
        help="name of a shipped model, or a folder (default: en-de)",
    )
    parser.add_argument(
        "--sentence", help="sentence that the page opens with (default: the model's first example)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.html")


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    folder: Path = arguments.model
    config = read_json(own_file(folder, CONFIG))
    require_runs(config)
    model, survey, examples = load(folder, device="cpu"), read_labels(folder), read_examples(folder)
    sentence = arguments.sentence or (examples[0].source if examples else "")
    page = live_page(
        model.trace(sentence),
        survey.labels if survey else {},
        config=config,
        weights=_weights(folder),
        tokenizer=own_file(folder, TOKENIZER).read_bytes(),
        title=f"Every attention head of {folder.resolve().name}",
    )
    write_whole(arguments.out, page.encode())


def _weights(folder: Path) -> bytes:
    if (folder / INDEX).exists():
        raise PackError(
            f"The weights of {folder} are in several files, too large for a page; save it in eight "
            "bits first."
        )
    steps = snapshots(folder)
    if steps and not (folder / WEIGHTS).exists():
        return snapshot_file(folder, steps[-1]).read_bytes()
    return own_file(folder, WEIGHTS).read_bytes()
