"""Score test sentences near the training data apart: `python -m model.training.overlap --help`.

A held-out set without any training sentence still has many that differ from one in a single word
("Tom is tall." and "Mary is tall."), and a model does better on those. Both scores go into the
checkpoint's metrics.json and card.md.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CARD, METRICS
from model.checkpoints.folder_files import read_json, write_json
from model.paper.tokenizer import normalize
from model.survey.parallel_text import Pair, read_pairs
from model.training.card import MEASURES, read_card, with_nearness
from model.training.command import Program, command
from model.training.evaluate import evaluate_checkpoint, reversed_columns, translation_scores

Words = tuple[str, ...]

_WORD = re.compile(r"\w+")


def words(sentence: str) -> Words:
    """The runs of letters and digits of a sentence, case ignored."""
    return tuple(_WORD.findall(normalize(sentence).casefold()))


def near(sentences: Sequence[str], training: Iterable[str]) -> list[bool]:
    """Whether each sentence is at most one word from a training sentence.

    The measure is the word-level edit distance (Levenshtein 1966): one word inserted, deleted or
    replaced. Two sentences are that close exactly if one is the other without a word, or both are
    equal without the word at the same place. So looking up each training sentence without each of
    its words finds all of them, in time linear in the training data.
    """
    whole: dict[Words, list[int]] = defaultdict(list)
    without: dict[Words, list[int]] = defaultdict(list)
    without_at: dict[tuple[int, Words], list[int]] = defaultdict(list)
    for index, sentence in enumerate(sentences):
        own = words(sentence)
        whole[own].append(index)
        for place, rest in _shortened(own):
            without[rest].append(index)
            without_at[place, rest].append(index)
    close: set[int] = set()
    for trained in {words(sentence) for sentence in training}:
        close.update(whole.get(trained, ()), without.get(trained, ()))
        for place, rest in _shortened(trained):
            close.update(whole.get(rest, ()), without_at.get((place, rest), ()))
    return [index in close for index in range(len(sentences))]


def _shortened(sentence: Words) -> Iterator[tuple[int, Words]]:
    """The sentence without each of its words, with the missing word's position."""
    return ((place, sentence[:place] + sentence[place + 1 :]) for place in range(len(sentence)))


def overlap_scores(
    test: Sequence[Pair], translations: Sequence[str], training: Sequence[Pair]
) -> dict[str, dict[str, Any]]:
    """Scores of the test pairs with a source "near" a training source, and of the "far" ones.

    Each has "sentences" and, if there are any, "bleu" and "chrf".
    """
    is_near = near([pair.source for pair in test], (pair.source for pair in training))
    scores: dict[str, dict[str, Any]] = {}
    for name, side in (("near", True), ("far", False)):
        places = [place for place, flag in enumerate(is_near) if flag is side]
        scores[name] = {"sentences": len(places)}
        if places:
            measured = translation_scores(
                [translations[place] for place in places], [test[place].target for place in places]
            )
            scores[name] |= {measure: measured[measure] for measure in MEASURES}
    return scores


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__, threads=2)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True, help="a .tsv file")
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="the training data")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    arguments = parser.parse(argv)
    metrics = read_json(arguments.checkpoint / METRICS)
    test, training = (
        read_pairs(paths, reverse=reversed_columns(arguments.checkpoint))
        for paths in ([arguments.test], arguments.data)
    )
    card = read_card(arguments.checkpoint / CARD)
    translations, scores = evaluate_checkpoint(
        arguments.checkpoint, test, device=arguments.device, beam=arguments.beam, progress=True
    )
    scores |= {"data": arguments.test.name, "beam": arguments.beam}
    scores |= overlap_scores(test, translations, training)
    card = with_nearness(card, scores)
    write_json(arguments.checkpoint / METRICS, {**metrics, "test": scores})
    (arguments.checkpoint / CARD).write_text(card, encoding="utf-8")
    for name, each in (("all", scores), ("near", scores["near"]), ("far", scores["far"])):
        print(f"{name}: {each['sentences']} sentences, BLEU {each.get('bleu')}")


if __name__ == "__main__":
    raise SystemExit(main())
