"""`headscope compare en-de en-de-learned --input en.txt`: two models on texts."""

import argparse

from headscope.commands.asked import Asked
from headscope.commands.over_texts import REFUSED as REFUSED
from headscope.commands.over_texts import add_options, lines_of, running, search_of, write
from headscope.comparing import compare
from model.checkpoints.shipped import checkpoint_folder
from model.translate.translator import load


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    for name in ("one", "other"):
        parser.add_argument(
            name, type=checkpoint_folder, metavar="MODEL", help="a folder, or a name"
        )
    add_options(parser)


def run(arguments: Asked) -> None:
    """Print or write the share of each head's weight that lies elsewhere in the other model."""
    one, other = (
        load(folder, device=arguments.device) for folder in (arguments.one, arguments.other)
    )
    search = search_of(arguments, one)
    found = compare(one, other, lines_of(arguments.input), search=search, **running(arguments))
    write(arguments, found)
