"""The options of commands over many texts, and their tables."""

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from headscope.commands.asked import Asked, add_device, add_processes, require_one_place
from headscope.commands.outputs import add_output
from headscope.commands.translate import add_search_options, asked_search
from model.checkpoints.shipped import CheckpointError
from model.explain.head_averages import HeadAverages
from model.files import unread, write_whole
from model.paper.search import DecodingError, Search
from model.survey.part import SurveyError
from model.trace.attention_map import TraceError
from model.trace.head import Head
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator
from viz.frames import frame

REFUSED = (CheckpointError, DecodingError, DeviceError, SurveyError, TextError, TraceError)
"""Errors whose message is one sentence for the user."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what every such command takes."""
    parser.add_argument(
        "--input",
        type=Path,
        required=True,
        metavar="FILE",
        help="the texts, a line each; empty lines are left out",
    )
    add_output(
        parser,
        "--out",
        kinds=("csv",),
        metavar="FILE.csv",
        help="write the table of all heads here instead of printing it, the largest mean first",
    )
    add_output(
        parser,
        "--keep",
        metavar="FOLDER",
        help="keeps what is found, so that an interrupted run goes on",
    )
    add_processes(parser)
    add_device(parser)
    add_search_options(parser)


def running(arguments: Asked) -> dict[str, Any]:
    """The arguments that say how functions over texts run."""
    require_one_place(arguments)
    named = {name: getattr(arguments, name) for name in ("keep", "workers", "scheduler")}
    return {**named, "progress": sys.stderr.isatty()}


def search_of(arguments: Asked, translator: Translator) -> Search:
    """The search; options that it does not use are refused."""
    search = asked_search(arguments, translator)
    if search.sampling:
        arguments.forbid("sampling", "beam")
    return search


def lines_of(path: Path) -> list[str]:
    """The lines of a UTF-8 file that are not empty; TextError if it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TextError(unread(path, error)) from None
    except UnicodeDecodeError:
        raise TextError(f"{path} is no UTF-8 text; save it as UTF-8.") from None
    return [line for line in lines if line.strip()]


def write(arguments: Asked, found: HeadAverages) -> None:
    """Write the table, or print a line a head."""
    if arguments.out:
        write_whole(arguments.out, frame(found).to_csv(index=False, lineterminator="\n").encode())
        return
    for site, number, mean in found.ranked():
        # A head without a partner, or without a token that both share.
        if math.isnan(mean):
            continue
        head = Head(site, number)
        partner = f"\t{found.partners[head]}" if head in found.partners else ""
        low, high = (ends[site][number] for ends in (found.low, found.high))
        # One text has no interval.
        interval = "" if math.isnan(low) else f"\t{low:.4g} to {high:.4g}"
        print(f"{head}{partner}\t{mean:.4g}{interval}")
    if found.note:
        print(found.note, file=sys.stderr)
