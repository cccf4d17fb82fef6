"""Score a checkpoint apart on what it nearly saw: `python -m model.training.overlap --help`.

A held-out set that shares no sentence with the training data still holds many that are one word
away from it ("Tom is tall." and "Mary is tall."), and a model does better on those. Both scores go
into the checkpoint's metrics.json and card.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from model.checkpoints.checkpoint import CARD, METRICS, CheckpointError, read_json, write_json
from model.paper.positions import LengthError
from model.paper.search import DecodingError
from model.paper.tokenizer import normalize
from model.training.card import MEASURES, with_nearness
from model.training.corpus import CorpusError, Pair, read_pairs
from model.training.evaluate import evaluate_checkpoint, reversed_columns, translation_scores
from model.translate.devices import DeviceError

Words = tuple[str, ...]

_WORD = re.compile(r"\w+")


def words(sentence: str) -> Words:
    """The runs of letters and digits of a sentence, case ignored."""
    return tuple(_WORD.findall(normalize(sentence).casefold()))


def near(sentences: Sequence[str], training: Iterable[str]) -> list[bool]:
    """Which sentences are at most one word from a training sentence.

    One word is put in, left out or replaced by another: a word-level edit distance (Levenshtein
    1966) of at most 1. Two sentences are so close exactly if one is the other without a word, or
    both are alike without the word at the same place, so looking up what is left of each training
    sentence without each of its words finds them all in time linear in the training data.

    Args:
        sentences: those to ask about.
        training: those to compare with.

    Returns:
        one answer a sentence.
    """
    whole: dict[Words, list[int]] = defaultdict(list)
    without: dict[Words, list[int]] = defaultdict(list)
    without_at: dict[tuple[int, Words], list[int]] = defaultdict(list)
    for index, sentence in enumerate(sentences):
        asked = words(sentence)
        whole[asked].append(index)
        for place, rest in _shortened(asked):
            without[rest].append(index)
            without_at[place, rest].append(index)
    found: set[int] = set()
    for seen in {words(sentence) for sentence in training}:
        found.update(whole.get(seen, ()), without.get(seen, ()))
        for place, rest in _shortened(seen):
            found.update(whole.get(rest, ()), without_at.get((place, rest), ()))
    return [index in found for index in range(len(sentences))]


def _shortened(sentence: Words) -> Iterator[tuple[int, Words]]:
    """A sentence without each of its words, and which one it lacks."""
    return ((place, sentence[:place] + sentence[place + 1 :]) for place in range(len(sentence)))


def overlap_scores(
    test: Sequence[Pair], translations: Sequence[str], training: Sequence[Pair]
) -> dict[str, dict[str, Any]]:
    """Scores of the test pairs whose source is near a training source, and of all others.

    Returns:
        "near" and "far", each with "sentences" and, if there are any, "bleu" and "chrf".
    """
    is_near = near([pair.source for pair in test], (pair.source for pair in training))
    scores: dict[str, dict[str, Any]] = {}
    for name, wanted in (("near", True), ("far", False)):
        chosen = [place for place, flag in enumerate(is_near) if flag is wanted]
        scores[name] = {"sentences": len(chosen)}
        if chosen:
            measured = translation_scores(
                [translations[place] for place in chosen], [test[place].target for place in chosen]
            )
            scores[name] |= {measure: measured[measure] for measure in MEASURES}
    return scores


def main(argv: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.overlap",
        description="Score a checkpoint on the test sentences that are at most one word from a "
        "training sentence, and on the others; write both to its metrics.json and card.md.",
    )
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True, help="a .tsv file")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="the training data")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default 2)")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    try:
        metrics = read_json(arguments.checkpoint / METRICS)
        test, training = (
            read_pairs(paths, reverse=reversed_columns(arguments.checkpoint))
            for paths in ([arguments.test], arguments.data)
        )
        card = (arguments.checkpoint / CARD).read_text(encoding="utf-8")
        translations, scores = evaluate_checkpoint(
            arguments.checkpoint,
            test,
            device=arguments.device,
            beam=arguments.beam,
            progress=True,
        )
        scores |= {"data": arguments.test.name, "beam": arguments.beam}
        scores |= overlap_scores(test, translations, training)
        card = with_nearness(card, scores)
    except OSError as error:
        print(f"The card {error.filename} cannot be read.", file=sys.stderr)
        return 1
    except (CheckpointError, CorpusError, DecodingError, DeviceError, LengthError) as error:
        print(error, file=sys.stderr)
        return 1
    write_json(arguments.checkpoint / METRICS, {**metrics, "test": scores})
    (arguments.checkpoint / CARD).write_text(card, encoding="utf-8")
    for name, each in (("all", scores), ("near", scores["near"]), ("far", scores["far"])):
        print(f"{name}: {each['sentences']} sentences, BLEU {each.get('bleu')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
