"""`headscope export-hf en-de en-de-hf`: a checkpoint as Hugging Face's transformers loads it."""

from __future__ import annotations

import argparse
from pathlib import Path

from headscope.commands.translate import add_snapshot
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.export_hf import ExportError, export
from model.checkpoints.shipped import checkpoint_folder

REFUSED = (CheckpointError, ExportError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "checkpoint", type=checkpoint_folder, metavar="MODEL", help="its name or its folder"
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="to be written; a new or an empty one"
    )
    add_snapshot(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the folder."""
    export(arguments.checkpoint, arguments.folder, snapshot=arguments.snapshot)
