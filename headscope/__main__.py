"""The command: `headscope`, or `python -m headscope`."""

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from model.console import INTERRUPTED, escape_unprintable
from model.version import VERSION

COMMANDS = {
    "open": ("open", "open a saved trace or a model's folder in the app"),
    "desktop": ("app", "open the app in a desktop window"),
    "translate": ("translate", "translate a sentence, or the lines of a text"),
    "export": ("export", "write a figure, its numbers or the whole heads view to a file"),
    "export-hf": ("export_hf", "write a model as a folder that transformers can load"),
    "import-hf": ("import_hf", "write a Hugging Face folder as one of Headscope's checkpoints"),
    "pack": ("pack", "write a model, or a talk, as one HTML page that runs offline"),
    "site": ("site", "write models as a site of files that runs in the browser"),
    "effects": ("effects", "measure what the translations of many texts lose without each head"),
    "compare": ("compare", "compare the heads of two models on many texts"),
    "find": ("find", "find sentences by what a head does there, or heads by a measure"),
    "survey": ("survey", "measure what each head of a model does over many sentences"),
    "unpickle": ("unpickle", "write a Hugging Face folder's pytorch_model.bin as safetensors"),
}
"""By name: the module in headscope.commands, and a description."""


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headscope",
        description="See every attention head of a Transformer. Without a command, the app opens "
        "in the browser.",
    )
    parser.add_argument(
        "--port", type=int, help="port of the app (default: 8501 or the next free one)"
    )
    parser.add_argument(
        "--address", help="address to listen on (default: localhost); 0.0.0.0 lets others in"
    )
    parser.add_argument("--version", action="version", version=VERSION)
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (module, about) in COMMANDS.items():
        command = commands.add_parser(
            name, help=about, description=f"{about[0].upper()}{about[1:]}."
        )
        # Other imports would load torch, and `--help` would take seconds.
        if name in arguments:
            module_of_command = import_module(f"{__package__}.commands.{module}")
            module_of_command.fill(command)
            command.set_defaults(
                run=module_of_command.run,
                refused=module_of_command.REFUSED,
                wrong_usage=command.error,
            )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments; None means those of this process.

    Returns:
        The exit status: 0; 1 if the request is refused or the output is closed; 130 after Ctrl+C.
        Wrong usage exits with 2.
    """
    escape_unprintable()
    try:
        try:
            return _status(sys.argv[1:] if argv is None else list(argv))
        finally:
            # Here a closed pipe and a full disk end the command quietly; Python would complain.
            print(end="", flush=True)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is None:
            with contextlib.suppress(io.UnsupportedOperation):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            from model.files import unwritten

            print(unwritten(error), file=sys.stderr)
        return 1


def _status(arguments: Sequence[str]) -> int:
    parsed = _parser(arguments).parse_args(arguments)
    if parsed.run is None:
        from headscope.commands.app import serve

        serve(parsed)
        return 0
    from headscope.commands.asked import Asked, given_by
    from headscope.commands.outputs import OutputError, require_outputs

    try:
        require_outputs(parsed)
        asked = Asked(parsed, given_by(_parser(arguments), list(arguments)))
        asked.forbid("a command", "port", "address")
        parsed.run(asked)
    except (OutputError, *parsed.refused) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
