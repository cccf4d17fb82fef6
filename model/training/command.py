"""The command line of every program here: an error is one sentence and exit status 1."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

from model.checkpoints.checkpoint import CheckpointError
from model.files import unwritten
from model.paper.config import ConfigError
from model.paper.positions import LengthError
from model.paper.search import DecodingError
from model.paper.tokenizer import TokenizerError
from model.training.corpus import CorpusError
from model.training.settings import SettingsError
from model.translate.devices import DeviceError
from model.translate.sentences import TextError

REFUSALS = (
    *(CheckpointError, ConfigError, CorpusError, DecodingError, DeviceError, LengthError),
    *(SettingsError, TextError, TokenizerError),
)
"""Errors whose messages are sentences for a person."""


def command(work: Callable[[list[str] | None], int | None]) -> Callable[..., int]:
    """A program's `main`, from a function that takes the arguments and may give an exit status."""

    @functools.wraps(work)
    def main(argv: list[str] | None = None) -> int:
        try:
            return work(argv) or 0
        except REFUSALS as error:
            print(error, file=sys.stderr)
        except OSError as error:
            # A write to an open file fails without a name.
            error.filename = error.filename or "The output"
            print(unwritten(error), file=sys.stderr)
        return 1

    return main
