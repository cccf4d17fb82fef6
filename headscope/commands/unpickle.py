"""`headscope unpickle FOLDER`: the weights of a Hugging Face folder as safetensors."""

import argparse
from pathlib import Path

from model.checkpoints.shipped import CheckpointError
from model.translate.hf_folder import save_without_pickle

REFUSED = (CheckpointError,)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a Hugging Face folder")
    parser.add_argument(
        "--trust-author",
        action="store_true",
        help="required: opening a pickle can run any code its author put there, with your rights",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write model.safetensors beside pytorch_model.bin, and print its path."""
    if not arguments.trust_author:
        raise CheckpointError(
            "A .bin file is a pickle, and opening it can run any code its author put there; add "
            "--trust-author if you trust the author."
        )
    print(save_without_pickle(arguments.folder))
