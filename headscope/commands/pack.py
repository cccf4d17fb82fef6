"""`headscope pack --model en-de --out en-de.html`: a model that runs in one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path

from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.shipped import checkpoint_folder
from model.files import write_whole
from model.translate.sentences import TextError
from viz.site.model import PackError, packed
from viz.site.page import live_page

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
    model = packed(arguments.model, sentence=arguments.sentence or "")
    page = live_page(model, title=f"Every attention head of {model.name}")
    write_whole(arguments.out, page.encode())
