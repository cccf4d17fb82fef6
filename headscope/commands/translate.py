"""`headscope translate "The cat sat on the mat."`, and `headscope translate <FILE >FILE`."""

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import torch
from tqdm import tqdm

from headscope.commands.asked import Asked, add_device
from headscope.commands.outputs import TEXT, add_output
from model.checkpoints.shipped import CHECKPOINTS, CheckpointError, checkpoint_folder
from model.files import unread, whole_file
from model.paper.search import DecodingError, Sampling, Search
from model.trace.translation import Translation
from model.translate.devices import DeviceError
from model.translate.lines import Line, read_lines, translated_lines
from model.translate.sentences import TextError
from model.translate.translator import Translator, load
from viz.draw.labels import character_name

DEFAULT_CHECKPOINT = CHECKPOINTS / "en-de"

MOST_SAMPLES = 100
"""Samples are drawn in one batch, so more would fill the memory."""


REFUSED = (CheckpointError, DecodingError, DeviceError, TextError)
"""Errors whose message is one sentence for the user."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument(
        "text",
        nargs="?",
        help="the sentence; without one, or with -, each line of standard input is translated",
    )
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="translate each line of this UTF-8 file"
    )
    add_output(
        parser,
        "--out",
        kinds=TEXT,
        metavar="FILE",
        help="write there, in UTF-8, instead of printing",
    )
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="write an empty line for a line that cannot be translated, and go on",
    )
    add_checkpoint(parser)
    add_snapshot(parser)
    add_device(parser)
    add_search_options(parser)
    parser.add_argument("--target", help="record this translation instead of the model's own")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print tokens, scores and log-probabilities as JSON; an object for each line",
    )
    add_output(
        parser,
        "--save-trace",
        kinds=("npz",),
        metavar="FILE.npz",
        help="write every attention matrix here",
    )


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the model."""
    parser.add_argument(
        "--checkpoint",
        "--model",
        default=DEFAULT_CHECKPOINT,
        type=checkpoint_folder,
        metavar="MODEL",
        help="a folder, or the name of an included model (default: en-de)",
    )


def add_snapshot(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses a snapshot."""
    parser.add_argument(
        "--snapshot",
        type=int,
        metavar="K",
        help="a snapshot of the training, if the model has any: 0 is the first, -1 the last",
    )


def add_search_options(parser: argparse.ArgumentParser) -> None:
    """Add the search options that `asked_search` reads."""
    search = parser.add_argument_group("search")
    search.add_argument(
        "--beam",
        type=int,
        metavar="N",
        help="beam width; 1 decodes greedily (default: the model's own, 4 for ours)",
    )
    search.add_argument(
        "--length-penalty",
        type=float,
        metavar="A",
        help="exponent of the length penalty; 0 ignores length (default: the model's own, 0.6 for "
        "ours)",
    )
    search.add_argument(
        "--prefix", default="", metavar="TEXT", help="what the translation must begin with"
    )
    sampling = parser.add_argument_group(
        "sampling", "Any of these samples each token instead of searching for the best translation."
    )
    sampling.add_argument(
        "--samples", type=int, metavar="N", help="number of translations (default: 1)"
    )
    sampling.add_argument(
        "--temperature",
        type=float,
        metavar="T",
        help="below 1 sharpens the distribution, above 1 flattens it",
    )
    sampling.add_argument(
        "--top-k", type=int, metavar="K", help="sample from the K likeliest tokens"
    )
    sampling.add_argument(
        "--top-p",
        type=float,
        metavar="P",
        help="sample from the fewest tokens whose probabilities add up to P",
    )
    sampling.add_argument("--seed", type=int, metavar="N", help="makes samples repeatable")


def asked_search(arguments: Asked, translator: Translator) -> Search:
    """The search described by the options of `add_search_options`.

    Raises:
        DecodingError: if an option's value is out of range.
        TextError: if the prefix is too long or invalid.
    """
    options = {
        "n_samples": arguments.samples,
        **{name: getattr(arguments, name) for name in ("temperature", "top_k", "top_p", "seed")},
    }
    if (arguments.samples or 0) > MOST_SAMPLES:
        raise DecodingError(f"At most {MOST_SAMPLES} samples are drawn; ask for fewer.")
    sampling = {name: value for name, value in options.items() if value is not None}
    asked = {
        # A sample is drawn without a beam.
        "beam": None if sampling else arguments.beam,
        "length_penalty": arguments.length_penalty,
        "sampling": Sampling(**sampling) if sampling else None,
        "prefix": translator.prefix(arguments.prefix),
    }
    return replace(
        translator.search, **{name: value for name, value in asked.items() if value is not None}
    )


def _as_json(translations: Sequence[Translation], translator: Translator) -> dict[str, Any]:
    best, *others = translations
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


def _line_as_json(line: Line, translator: Translator) -> dict[str, Any]:
    if line.translation is not None:
        return {"line": line.number, **_as_json([line.translation], translator)}
    # Whatever bytes a line has, JSON is UTF-8.
    source = line.text.encode(errors="replace").decode()
    untranslated = {"line": line.number, "source": source, "translation": ""}
    return untranslated | ({"error": line.refused} if line.refused else {})


def run(arguments: Asked) -> None:
    """Print a translation, or all samples, best first; or the translation of each line."""
    has_sentence = arguments.text not in (None, "-")
    if has_sentence and arguments.input:
        arguments.wrong_usage("give a sentence or --input, not both")
    if has_sentence:
        arguments.forbid("one sentence", "keep_going")
    else:
        _require_lines(arguments)
    if not arguments.save_trace:
        arguments.forbid("a translation without --save-trace", "target")
    if arguments.out and arguments.out.suffix.lower() in {".json", ".jsonl"} and not arguments.json:
        arguments.wrong_usage("--out names a JSON file; add --json, or end the name in .txt")
    # One small forward pass is faster with a single thread.
    torch.set_num_threads(1)
    translator = load(arguments.checkpoint, device=arguments.device, snapshot=arguments.snapshot)
    search = asked_search(arguments, translator)
    if search.sampling:
        arguments.forbid("sampling", "beam")
    with contextlib.ExitStack() as opened:
        if arguments.out:
            file = opened.enter_context(whole_file(arguments.out))
            written = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            opened.callback(written.detach)
            out: TextIO = written
        else:
            out = sys.stdout
        refused = 0
        if has_sentence:
            _translate(arguments, translator, search, out)
        else:
            refused = _translate_lines(arguments, translator, search, out)
    if refused:
        raise TextError(
            f"{'One line was' if refused == 1 else f'{refused:,} lines were'} not translated."
        )


def _translate(arguments: Asked, translator: Translator, search: Search, out: TextIO) -> None:
    if search.sampling is None:
        translations = [translator.translate(arguments.text, search=search)]
    else:
        translations = translator.candidates(arguments.text, search=search)
    translation = translations[0]
    if translation.unseen:
        print(_unseen(translation, translator), file=sys.stderr)
    if arguments.save_trace:
        if arguments.target is None:
            trace = translator.trace_of(translation)
        else:
            trace = translator.trace(arguments.text, target=arguments.target)
        trace.save(arguments.save_trace)
    if arguments.json:
        print(_json(_as_json(translations, translator), out, indent=2), file=out)
    else:
        print("\n".join(each.text for each in translations), file=out)


def _unseen(translation: Translation, translator: Translator) -> str:
    return f"{translator.lacks('these')}: {', '.join(map(character_name, translation.unseen))}"


def _json(value: dict[str, Any], out: TextIO, indent: int | None = None) -> str:
    # An escape of the console's would be no JSON.
    is_unicode = (out.encoding or "").lower().startswith("utf")
    return json.dumps(value, ensure_ascii=not is_unicode, indent=indent)


def _require_lines(arguments: Asked) -> None:
    """Refuse what only one sentence can have, and a person who has typed none."""
    for name in ("target", "save_trace"):
        if getattr(arguments, name) is not None:
            arguments.wrong_usage(f"--{name.replace('_', '-')} is for one sentence; give it here")
    if (arguments.samples or 1) > 1:
        arguments.wrong_usage("several samples are for one sentence; give it here")
    if arguments.text is None and arguments.input is None and (not sys.stdin or sys.stdin.isatty()):
        arguments.wrong_usage("give a sentence, or --input FILE, or the lines of a pipe")


def _translate_lines(arguments: Asked, translator: Translator, search: Search, out: TextIO) -> int:
    """Write the translation of each line, and return how many were refused."""
    refused = 0
    with contextlib.ExitStack() as opened:
        if arguments.input:
            file, total = _opened(arguments.input)
            opened.enter_context(file)
        else:
            file, total = sys.stdin.buffer, None
        # Lines on the same terminal show the progress themselves.
        is_hidden = not sys.stderr.isatty() or (out is sys.stdout and out.isatty())
        bar = opened.enter_context(
            tqdm(total=total, unit=" lines", disable=is_hidden, leave=False, dynamic_ncols=True)
        )
        for line in translated_lines(translator, read_lines(file), search=search):
            if line.refused:
                refused += 1
                said = f"Line {line.number:,}: {line.refused}"
                if not arguments.keep_going:
                    raise TextError(f"{said} With --keep-going, an empty line is written for it.")
                tqdm.write(said, file=sys.stderr)
            elif line.translation and line.translation.unseen:
                unseen = _unseen(line.translation, translator)
                tqdm.write(f"Line {line.number:,}: {unseen}", file=sys.stderr)
            if arguments.json:
                written = _json(_line_as_json(line, translator), out)
            else:
                written = line.translation.text if line.translation else ""
            print(written, file=out, flush=True)
            bar.update()
    return refused


def _opened(path: Path) -> tuple[BinaryIO, int | None]:
    """A file, and its number of lines; a pipe can be read only once."""
    try:
        total = None
        if path.is_file():
            with path.open("rb") as file:
                total = sum(1 for _ in file)
        return path.open("rb"), total
    except OSError as error:
        raise TextError(unread(path, error)) from None
