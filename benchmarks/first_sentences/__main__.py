"""Count the first sentences that a checkpoint translates correctly.

`python -m benchmarks.first_sentences --checkpoint checkpoints/en-de`
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.first_sentences.sentences import (
    CHOOSING,
    FINAL,
    FirstSentence,
    list_names,
    read_list,
)
from model.checkpoints.checkpoint import load_checkpoint
from model.checkpoints.shipped import CheckpointError
from model.paper.linear import pack_linears
from model.training.evaluate import translate_all


def report(sentences: Sequence[FirstSentence], translations: Sequence[str]) -> str:
    """The score of each kind and of all, then every failure with its translation.

    Args:
        sentences: those translated.
        translations: one for each sentence.
    """
    asked, right = Counter[str](), Counter[str]()
    failures = []
    for sentence, translation in zip(sentences, translations, strict=True):
        asked[sentence.kind] += 1
        if sentence.accepts(translation):
            right[sentence.kind] += 1
        else:
            failures.append(f"{sentence.kind}: {sentence.source}\n    {translation}")
    rows = [*((kind, right[kind], asked[kind]) for kind in asked)]
    rows.append(("all", right.total(), asked.total()))
    scores = [f"{kind:<12} {count:>3} of {total:>3}" for kind, count, total in rows]
    share = right.total() / asked.total()
    return "\n".join([*scores, f"{share:.1%} right", "", *failures])


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_sentences",
        description="Count the first sentences that a checkpoint translates correctly.",
    )
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument(
        "--list",
        choices=list_names(),
        help="the list; without it, the one named like the checkpoint's folder, or en-de",
    )
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (default 1)")
    parser.add_argument(
        "--final",
        action="store_true",
        help="score the second half instead: look once, when nothing is left to choose",
    )
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    named = arguments.checkpoint.resolve().name
    name = arguments.list or (named if named in list_names() else "en-de")
    part = FINAL if arguments.final else CHOOSING
    sentences = [sentence for sentence in read_list(name) if sentence.part == part]
    try:
        checkpoint = load_checkpoint(arguments.checkpoint)
    except CheckpointError as error:
        print(error, file=sys.stderr)
        return 1
    pack_linears(checkpoint.model)
    sources = [sentence.source for sentence in sentences]
    translations = translate_all(
        checkpoint.model, checkpoint.tokenizer, sources, beam=arguments.beam
    )
    print(report(sentences, translations))
    return 0


if __name__ == "__main__":
    sys.exit(main())
