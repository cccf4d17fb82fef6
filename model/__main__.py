"""The command line: `python -m model translate "The cat sat on the mat."`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch

from model.checkpoint import CheckpointError
from model.files import unwritten
from model.search import DecodingError, Sampling, Search
from model.translation import Translation
from model.translator import DeviceError, TextError, Translator, load

DEFAULT_CHECKPOINT = Path(__file__).parent.parent / "checkpoints" / "en-de"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m model", description="Translate with a trained Transformer."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    translate = commands.add_parser(
        "translate",
        help="translate a sentence",
        description="Translate a sentence and print the translation.",
    )
    translate.add_argument("text", help="the sentence; - reads it from standard input")
    translate.add_argument("--checkpoint", type=Path, default=DEFAULT_CHECKPOINT, metavar="DIR")
    translate.add_argument(
        "--snapshot",
        type=int,
        metavar="K",
        help="of a checkpoint with snapshots of its training: 0 is the first, -1 the last",
    )
    translate.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    translate.add_argument(
        "--beam", type=int, default=4, metavar="N", help="width of the beam; 1 decodes greedily"
    )
    translate.add_argument("--alpha", type=float, default=0.6, help="of the length penalty")
    translate.add_argument("--target", help="record this translation instead of the model's own")
    translate.add_argument("--sample", action="store_true", help="draw each token")
    translate.add_argument("--temperature", type=float, default=1.0, help="with --sample")
    translate.add_argument("--top-k", type=int, metavar="K", help="with --sample")
    translate.add_argument("--top-p", type=float, metavar="P", help="with --sample")
    translate.add_argument("--seed", type=int, help="with --sample")
    translate.add_argument(
        "--json", action="store_true", help="print tokens, scores and log-probabilities as JSON"
    )
    translate.add_argument(
        "--save-trace", type=Path, metavar="FILE.npz", help="write every attention matrix here"
    )
    return parser


def _as_json(translation: Translation, translator: Translator) -> dict[str, Any]:
    return {
        "source": translation.source_text,
        "translation": translation.text,
        "score": translation.score,
        "finished": translation.finished,
        "source_tokens": list(translation.source.tokens),
        "tokens": list(translation.tokens),
        "token_ids": list(translation.token_ids),
        "log_probs": list(translation.log_probs),
        "unseen_characters": list(translation.unseen),
        "checkpoint": translator.name,
        "device": str(translator.device),
    }


def _translate(arguments: argparse.Namespace) -> None:
    text = sys.stdin.read() if arguments.text == "-" else arguments.text
    # The threads of one small forward pass cost more than they bring.
    torch.set_num_threads(1)
    translator = load(arguments.checkpoint, device=arguments.device, snapshot=arguments.snapshot)
    sampling = None
    if arguments.sample:
        sampling = Sampling(
            temperature=arguments.temperature,
            top_k=arguments.top_k,
            top_p=arguments.top_p,
            seed=arguments.seed,
        )
    search = Search(beam=arguments.beam, length_penalty=arguments.alpha, sampling=sampling)
    translation = translator.translate(text, search=search)
    if translation.unseen:
        unseen = " ".join(translation.unseen)
        print(f"The model never saw these characters in training: {unseen}", file=sys.stderr)
    if arguments.save_trace:
        if arguments.target is None:
            trace = translator.trace_of(translation)
        else:
            trace = translator.trace(text, target=arguments.target)
        trace.save(arguments.save_trace)
    if arguments.json:
        print(json.dumps(_as_json(translation, translator), ensure_ascii=False, indent=2))
    else:
        print(translation.text)


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status: 0, 1 for a refused text, 2 for wrong usage."""
    arguments = _parser().parse_args(argv)
    try:
        _translate(arguments)
    except (CheckpointError, DecodingError, DeviceError, TextError) as error:
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
