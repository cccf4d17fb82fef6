"""`headscope import-hf opus-mt-en-de --out en-de`: a Hugging Face folder as a checkpoint."""

import argparse
from pathlib import Path

from headscope.commands.outputs import add_output
from model.checkpoints.checkpoint import import_checkpoint
from model.checkpoints.shipped import CheckpointError

REFUSED = (CheckpointError,)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument("source", type=Path, metavar="FOLDER", help="a Hugging Face folder")
    add_output(
        parser, "--out", required=True, metavar="NEW", help="the folder to write; new or empty"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the checkpoint."""
    import_checkpoint(arguments.source, arguments.out)
