"""The command line of every program here: its arguments, and errors as one sentence each."""

import argparse
import functools
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import torch

from model.checkpoints.shipped import CheckpointError
from model.console import INTERRUPTED, escape_unprintable
from model.files import replaces, unwritten
from model.paper.config import ConfigError
from model.paper.encoding import LengthError
from model.paper.search import DecodingError
from model.paper.tokenizer import TokenizerError
from model.survey.parallel_text import CorpusError
from model.training.settings import SettingsError
from model.translate.devices import DeviceError
from model.translate.sentences import TextError

REFUSALS = (
    *(CheckpointError, ConfigError, CorpusError, DecodingError, DeviceError, LengthError),
    *(SettingsError, TextError, TokenizerError),
)
"""Errors whose messages are sentences for a person."""


class Program(argparse.ArgumentParser):
    """The arguments of a program, with --threads for torch unless its default is 0.

    It takes the module's `__spec__` and docstring, whose first line describes the program.
    """

    def __init__(self, spec: ModuleSpec | None, document: str | None, threads: int = 1) -> None:
        super().__init__(
            prog=f"python -m {spec.name.removesuffix('.__main__')}" if spec else None,
            description=(document or "").strip().partition("\n")[0].partition(": `")[0],
        )
        if threads:
            usage = f"CPU threads of each process (default {threads})"
            self.add_argument("--threads", type=int, default=threads, help=usage)

    def files(self, flag: str, usage: str) -> None:
        """Add an option that takes any number of files, none by default."""
        self.add_argument(flag, nargs="*", type=Path, default=[], help=usage)

    def parse(self, argv: list[str] | None) -> argparse.Namespace:
        """The parsed arguments; torch uses their number of threads from now on."""
        arguments = self.parse_args(argv)
        read, written = (getattr(arguments, name, None) for name in ("checkpoint", "output"))
        if read and written and replaces(written, [read]):
            self.error("--output is the folder of --checkpoint, which is read; name another folder")
        if "threads" in arguments:
            torch.set_num_threads(arguments.threads)
        return arguments


def part(text: str) -> tuple[int, int]:
    """The number of a part and of all parts, from a text such as "1/2"."""
    number, slash, parts = text.partition("/")
    if slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts):
        return int(number), int(parts)
    raise argparse.ArgumentTypeError(f"{text!r} is no part such as 1/2")


def command(work: Callable[[list[str] | None], int | None]) -> Callable[..., int]:
    """A program's `main`, from a function that takes the arguments and may give an exit status."""

    @functools.wraps(work)
    def main(argv: list[str] | None = None) -> int:
        escape_unprintable()
        try:
            return work(argv) or 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except REFUSALS as error:
            print(error, file=sys.stderr)
        except OSError as error:
            print(unwritten(error), file=sys.stderr)
        return 1

    return main
