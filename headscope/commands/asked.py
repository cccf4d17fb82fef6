"""The arguments that a person gave to a command: each is used, or refused."""

import argparse
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from model.trace.head import Head
from viz.links.head_refs import read_heads


class Asked(argparse.Namespace):
    """Arguments that know which of them were given and which of them have been read.

    Args:
        given: how each argument that was given is written, such as "--head", by its name here.
    """

    def __init__(self, parsed: argparse.Namespace, given: Mapping[str, str]) -> None:
        super().__init__(**vars(parsed))
        self._given = given
        self._read: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            self._read.add(name)
        return super().__getattribute__(name)

    def allow(self, what: str, *names: str) -> None:
        """Refuse, as wrong usage, every given argument but these.

        Args:
            what: the beginning of the sentence, such as "a search for heads".
        """
        self._refuse(what, self._given.keys() - set(names))

    def forbid(self, what: str, *names: str) -> None:
        """Refuse these arguments if they were given."""
        self._refuse(what, self._given.keys() & set(names))

    def require_all_read(self, what: str) -> None:
        """Refuse every given argument that nothing has read."""
        self._refuse(what, self._given.keys() - self._read)

    def _refuse(self, what: str, names: Collection[str]) -> None:
        if names:
            unused = [written for name, written in self._given.items() if name in names]
            it = "it" if len(unused) == 1 else "them"
            self.wrong_usage(f"{what} does not use {' or '.join(unused)}; leave {it} out")


def whole(least: int) -> Any:
    """A type of arguments: whole numbers from `least` on."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"it counts from {least}; {text} is too small")
        return int(text)

    number.__name__ = "whole number"
    return number


def heads(most: int | None = None) -> Any:
    """A type of arguments: heads, at most so many."""

    def listed(text: str) -> list[Head]:
        with suppress(ValueError):
            found = list(read_heads(text))
            if most is None or len(found) <= most:
                return found
        form = "a head such as encoder.0.5" if most == 1 else "heads such as cross.3.5-encoder.0.1"
        raise argparse.ArgumentTypeError(f"give {form}")

    return listed


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where a model computes."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 or mps")


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command whose work several processes can share."""
    parser.add_argument(
        "--workers", type=whole(1), default=1, metavar="N", help="processes on this machine"
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of a Dask scheduler with workers elsewhere"
    )


def require_one_place(arguments: Asked) -> None:
    """Refuse processes here beside a scheduler elsewhere."""
    if arguments.scheduler:
        arguments.forbid("a scheduler elsewhere", "workers")


def given_by(parser: argparse.ArgumentParser, arguments: list[str]) -> dict[str, str]:
    """How each given optional argument is written, by its name; those that must be given are not.

    The parser is of no further use: its defaults are gone.
    """
    written: dict[str, str] = {}
    parsers = [parser]
    for each in parsers:
        for action in each._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers.extend(action.choices.values())
            elif not action.required:
                written[action.dest] = max(action.option_strings, default=action.dest, key=len)
            action.default = argparse.SUPPRESS
    given = vars(parser.parse_args(arguments))
    return {name: spelling for name, spelling in written.items() if name in given}
