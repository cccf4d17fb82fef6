"""The command line: `python -m model translate "The cat sat on the mat."`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import CheckpointError
from model.files import unwritten
from model.foreign import save_without_pickle
from model.hugging_face import ExportError, export
from model.search import AS_IN_THE_PAPER, DecodingError, Sampling, Search
from model.translation import Translation
from model.translator import DeviceError, TextError, Translator, load

DEFAULT_CHECKPOINT = Path(__file__).parent.parent / "checkpoints" / "en-de"

MOST_SAMPLES = 100
"""They are drawn side by side, so more would fill the memory."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model", description="Translate with a trained Transformer, or export it."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    translate = commands.add_parser(
        "translate",
        help="translate a sentence",
        description="Translate a sentence and print the translation, or all samples, best first.",
    )
    translate.add_argument("text", help="the sentence; - reads it from standard input")
    translate.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT, metavar="DIR")
    _add_snapshot(translate)
    translate.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    add_search_options(translate)
    translate.add_argument("--target", help="record this translation instead of the model's own")
    translate.add_argument(
        "--json", action="store_true", help="print tokens, scores and log-probabilities as JSON"
    )
    translate.add_argument(
        "--save-trace", type=Path, metavar="FILE.npz", help="write every attention matrix here"
    )
    export_hf = commands.add_parser(
        "export-hf",
        help="write a checkpoint as Hugging Face's transformers loads it",
        description="Write a checkpoint as a folder that AutoModelForSeq2SeqLM and AutoTokenizer "
        "of Hugging Face's transformers load.",
    )
    export_hf.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="its folder")
    export_hf.add_argument(
        "folder", type=Path, metavar="FOLDER", help="to be written; a new or an empty one"
    )
    _add_snapshot(export_hf)
    unpickle = commands.add_parser(
        "unpickle",
        help="write a Hugging Face folder's pytorch_model.bin as safetensors",
        description="Write the weights of a folder's pytorch_model.bin, which is a pickle, beside "
        "it as model.safetensors, which is all that the app opens.",
    )
    unpickle.add_argument("folder", type=Path, metavar="FOLDER", help="as Hugging Face saves it")
    unpickle.add_argument(
        "--trust-author",
        action="store_true",
        help="needed: opening a pickle can run whatever its author wrote there, with your rights",
    )
    return parser


def _add_snapshot(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--snapshot",
        type=int,
        metavar="K",
        help="of a checkpoint with snapshots of its training: 0 is the first, -1 the last",
    )


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """How a translation is looked for, as `asked_search` reads it."""
    usual = AS_IN_THE_PAPER
    search = parser.add_argument_group("search")
    search.add_argument(
        "--beam",
        type=int,
        default=usual.beam,
        metavar="N",
        help=f"width of the beam, {usual.beam} if not given; 1 decodes greedily",
    )
    search.add_argument(
        "--length-penalty",
        type=float,
        default=usual.length_penalty,
        metavar="A",
        help=f"its exponent, {usual.length_penalty} if not given; 0 leaves lengths alone",
    )
    search.add_argument(
        "--prefix", default="", metavar="TEXT", help="what the translation must begin with"
    )
    sampling = parser.add_argument_group(
        "sampling", "Any of these draws each token instead of searching for the best translation."
    )
    sampling.add_argument("--samples", type=int, metavar="N", help="translations drawn; 1 if not")
    sampling.add_argument(
        "--temperature", type=float, metavar="T", help="below 1 sharper, above 1 flatter"
    )
    sampling.add_argument("--top-k", type=int, metavar="K", help="from the K likeliest tokens")
    sampling.add_argument(
        "--top-p", type=float, metavar="P", help="from the fewest tokens that reach P together"
    )
    sampling.add_argument("--seed", type=int, metavar="N", help="makes the draws repeatable")


def asked_search(arguments: argparse.Namespace, translator: Translator) -> Search:
    """How the options of `add_search_options` say that a translation is looked for.

    Raises:
        DecodingError: if an option has no such value.
        TextError: if the prefix is too long or no text.
    """
    asked = {
        "n_samples": arguments.samples,
        **{name: getattr(arguments, name) for name in ("temperature", "top_k", "top_p", "seed")},
    }
    if (arguments.samples or 0) > MOST_SAMPLES:
        raise DecodingError(f"At most {MOST_SAMPLES} samples are drawn; ask for fewer.")
    given = {name: value for name, value in asked.items() if value is not None}
    return Search(
        beam=arguments.beam,
        length_penalty=arguments.length_penalty,
        sampling=Sampling(**given) if given else None,
        prefix=translator.prefix(arguments.prefix),
    )


def _as_json(found: Sequence[Translation], translator: Translator) -> dict[str, Any]:
    best, *others = found
    return {
        "source": best.source_text,
        **_written(best),
        "source_tokens": list(best.source.tokens),
        "unseen_characters": list(best.unseen),
        "checkpoint": translator.name,
        "device": str(translator.device),
        "other_samples": [_written(each) for each in others],
    }


def _written(translation: Translation) -> dict[str, Any]:
    return {
        "translation": translation.text,
        "score": translation.score,
        "finished": translation.finished,
        "tokens": list(translation.tokens),
        "token_ids": list(translation.token_ids),
        "log_probs": list(translation.log_probs),
    }


def _translate(arguments: argparse.Namespace) -> None:
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    # The threads of one small forward pass cost more than they bring.
    torch.set_num_threads(1)
    translator = load(arguments.checkpoint, device=arguments.device, snapshot=arguments.snapshot)
    search = asked_search(arguments, translator)
    if search.sampling is None:
        found = [translator.translate(text, search=search)]
    else:
        found = translator.candidates(text, search=search)
    translation = found[0]
    if translation.unseen:
        unseen = " ".join(translation.unseen)
        print(f"{translator.never_saw('these')}: {unseen}", file=sys.stderr)
    if arguments.save_trace:
        if arguments.target is None:
            trace = translator.trace_of(translation)
        else:
            trace = translator.trace(text, target=arguments.target)
        trace.save(arguments.save_trace)
    if arguments.json:
        print(json.dumps(_as_json(found, translator), ensure_ascii=False, indent=2))
    else:
        print("\n".join(each.text for each in found))


def _unpickle(arguments: argparse.Namespace) -> None:
    if not arguments.trust_author:
        raise CheckpointError(
            "A .bin file is a pickle, and opening one can run whatever its author wrote there; "
            "add --trust-author if you trust whoever made this one."
        )
    print(save_without_pickle(arguments.folder))


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status: 0, 1 for what is refused, 2 for wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "export-hf":
            export(arguments.checkpoint, arguments.folder, snapshot=arguments.snapshot)
        elif arguments.command == "unpickle":
            _unpickle(arguments)
        else:
            _translate(arguments)
    except (CheckpointError, DecodingError, DeviceError, ExportError, TextError) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python must not complain while it closes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(unwritten(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
