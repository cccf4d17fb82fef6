"""`headscope translate "The cat sat on the mat."`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.shipped import CHECKPOINTS, checkpoint_folder
from model.paper.search import AS_IN_THE_PAPER, DecodingError, Sampling, Search
from model.trace.translation import Translation
from model.translate.devices import DeviceError
from model.translate.sentences import TextError
from model.translate.translator import Translator, load

DEFAULT_CHECKPOINT = CHECKPOINTS / "en-de"

MOST_SAMPLES = 100
"""They are drawn side by side, so more would fill the memory."""


REFUSED = (CheckpointError, DecodingError, DeviceError, TextError)
"""Whose message is one sentence for the person who asked."""


def fill(parser: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    parser.add_argument("text", help="the sentence; - reads it from standard input")
    add_checkpoint(parser)
    add_snapshot(parser)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    add_search_options(parser)
    parser.add_argument("--target", help="record this translation instead of the model's own")
    parser.add_argument(
        "--json", action="store_true", help="print tokens, scores and log-probabilities as JSON"
    )
    parser.add_argument(
        "--save-trace", type=Path, metavar="FILE.npz", help="write every attention matrix here"
    )


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Which model is asked."""
    parser.add_argument(
        "--checkpoint",
        default=DEFAULT_CHECKPOINT,
        type=checkpoint_folder,
        metavar="MODEL",
        help="the name of a model that comes with Headscope, en-de if not given, or a folder",
    )


def add_snapshot(parser: argparse.ArgumentParser) -> None:
    """Which of a model's snapshots is asked."""
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
    options = {
        "n_samples": arguments.samples,
        **{name: getattr(arguments, name) for name in ("temperature", "top_k", "top_p", "seed")},
    }
    if (arguments.samples or 0) > MOST_SAMPLES:
        raise DecodingError(f"At most {MOST_SAMPLES} samples are drawn; ask for fewer.")
    sampling = {name: value for name, value in options.items() if value is not None}
    return Search(
        beam=arguments.beam,
        length_penalty=arguments.length_penalty,
        sampling=Sampling(**sampling) if sampling else None,
        prefix=translator.prefix(arguments.prefix),
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


def run(arguments: argparse.Namespace) -> None:
    """Print a translation, or all samples, best first."""
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    # The threads of one small forward pass cost more than they bring.
    torch.set_num_threads(1)
    translator = load(arguments.checkpoint, device=arguments.device, snapshot=arguments.snapshot)
    search = asked_search(arguments, translator)
    if search.sampling is None:
        translations = [translator.translate(text, search=search)]
    else:
        translations = translator.candidates(text, search=search)
    translation = translations[0]
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
        print(json.dumps(_as_json(translations, translator), ensure_ascii=False, indent=2))
    else:
        print("\n".join(each.text for each in translations))
