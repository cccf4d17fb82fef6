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
"""Samples are drawn in one batch, so more would fill the memory."""


REFUSED = (CheckpointError, DecodingError, DeviceError, TextError)
"""Errors whose message is one sentence for the user."""


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
    """Add the option that names the model."""
    parser.add_argument(
        "--checkpoint",
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
    usual = AS_IN_THE_PAPER
    search = parser.add_argument_group("search")
    search.add_argument(
        "--beam",
        type=int,
        default=usual.beam,
        metavar="N",
        help=f"beam width (default: {usual.beam}); 1 decodes greedily",
    )
    search.add_argument(
        "--length-penalty",
        type=float,
        default=usual.length_penalty,
        metavar="A",
        help=f"exponent of the length penalty (default: {usual.length_penalty}); 0 ignores length",
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


def asked_search(arguments: argparse.Namespace, translator: Translator) -> Search:
    """The search described by the options of `add_search_options`.

    Raises:
        DecodingError: if an option's value is out of range.
        TextError: if the prefix is too long or invalid.
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


def run(arguments: argparse.Namespace) -> None:
    """Print a translation, or all samples, best first."""
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    # One small forward pass is faster with a single thread.
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
