"""`headscope site --out DIR`: the pictures as files for any static host."""

import argparse
from pathlib import Path

from headscope.commands.outputs import add_output
from headscope.commands.translate import DEFAULT_CHECKPOINT
from model.checkpoints.shipped import CheckpointError, checkpoint_folder
from model.translate.sentences import TextError
from viz.site.model import PackError, packed
from viz.site.static import write_site

REFUSED = (CheckpointError, PackError, TextError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "--model",
        type=checkpoint_folder,
        action="append",
        metavar="MODEL",
        help="name of a shipped model, or a folder; may be given several times, the one that the "
        "site opens with first (default: en-de)",
    )
    add_output(parser, "--out", required=True, metavar="DIR", help="folder for the files")


def run(arguments: argparse.Namespace) -> None:
    """Write the site."""
    folders: list[Path] = arguments.model or [checkpoint_folder(DEFAULT_CHECKPOINT)]
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise PackError("Two of the models have the same name; rename one of their folders.")
    write_site(arguments.out, [packed(folder) for folder in folders])
