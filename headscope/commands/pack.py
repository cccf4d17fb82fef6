"""`headscope pack --model en-de --out en-de.html`: a model, or a talk, that runs in one file."""

import argparse
import sys
from pathlib import Path

from headscope.commands.outputs import add_output
from headscope.commands.translate import add_checkpoint
from model.checkpoints.shipped import CheckpointError
from model.files import unread, write_whole
from model.translate.sentences import TextError
from viz.site.model import PackError, size_note
from viz.talk.scenes import MAX_BYTES, Talk, TalkError
from viz.talk.take_home import take_home
from viz.talk.talk_reader import parse

REFUSED = (CheckpointError, PackError, TalkError, TextError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "talk",
        nargs="?",
        type=Path,
        metavar="TALK.json",
        help="a talk for the page to open with, as the app downloads it",
    )
    add_checkpoint(parser)
    parser.add_argument(
        "--sentence", help="sentence that the page opens with (default: the model's first example)"
    )
    add_output(parser, "--out", kinds=("html",), required=True, metavar="FILE.html")


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    talk = None if arguments.talk is None else _read(arguments.talk)
    if note := size_note(arguments.checkpoint):
        print(note, file=sys.stderr)
    page = take_home(talk, arguments.checkpoint, sentence=arguments.sentence or "")
    write_whole(arguments.out, page.encode())


def _read(file: Path) -> Talk:
    try:
        with file.open("rb") as opened:
            # A pipe or a device may never end.
            return parse(opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise TalkError(unread(file, error)) from None
