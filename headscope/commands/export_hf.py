"""`headscope export-hf en-de en-de-hf`: a checkpoint in Hugging Face's format."""

import argparse

from headscope.commands.outputs import add_output
from headscope.commands.translate import add_snapshot
from model.checkpoints.export_hf import ExportError, export
from model.checkpoints.shipped import CheckpointError, checkpoint_folder

REFUSED = (CheckpointError, ExportError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "checkpoint", type=checkpoint_folder, metavar="MODEL", help="a model's name or folder"
    )
    add_output(parser, "folder", metavar="FOLDER", help="the folder to write; new or empty")
    add_snapshot(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the folder."""
    export(arguments.checkpoint, arguments.folder, snapshot=arguments.snapshot)
