r"""Find words that a model could have written otherwise, and save them for the effects page.

    python -m model.training.word_pairs --checkpoint checkpoints/en-de --data dev.tsv

Adds them to experiments.json of the checkpoint folder. Candidates are sentences that the model was
not trained on and translates exactly like their references. A pair is two forms of one paradigm, or
two senses, such as "sein" and "ihr": one that the model wrote, and one among its ten likeliest
there. Of each kind, those whose rival is likeliest are kept.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm

from model.checkpoints.checkpoint import EXPERIMENTS
from model.contrast.head_sets import head_set
from model.contrast.pairs import Pair, spelled
from model.explain.experiments import Experiment, read_experiments, save_experiments
from model.numbers import count_of, fixed
from model.survey.parallel_text import read_pairs
from model.trace.token_schemes import WORD_START
from model.trace.trace import Trace
from model.trace.translation import LIKELIEST
from model.training.command import Program, command
from model.training.evaluate import reversed_columns
from model.training.experiments import candidates, plain
from model.training.tables import grouped
from model.translate.translator import Translator, load

COUNT = 20
"""Pairs of a checkpoint."""

LEAST, SURE = 0.003, 0.5
"""The least probability of the other word, and of the word itself."""

PARADIGMS = {
    kind: [words for (words,) in listed] for kind, listed in grouped("paradigms.tsv").items()
}
"""Words that can stand in each other's place, by what tells them apart."""

_KINDS = {
    frozenset((one, other)): kind
    for kind, groups in reversed(PARADIGMS.items())
    for group in groups
    for one in group.split()
    for other in group.split()
    if one != other
}


class Found(NamedTuple):
    """A pair in a translation, its kind, and the probabilities of both words."""

    kind: str
    trace: Trace
    pair: Pair
    word: float
    other: float


@torch.inference_mode()
def pairs_in(model: Translator, trace: Trace) -> Iterator[Found]:
    """The pairs in one translation."""
    source, target, _ = model.trace_ids(trace)
    likeliest = model.model(source, target)[0].float().log_softmax(dim=-1).topk(LIKELIEST)
    for step, own in enumerate(trace.predictions.ids):
        piece = trace.predictions.tokens[step]
        ids, shares = likeliest.indices[step].tolist(), likeliest.values[step].exp().tolist()
        if not piece.startswith(WORD_START) or ids[0] != own or shares[0] < SURE:
            continue
        for other, share in zip(ids[1:], shares[1:], strict=True):
            rival = model.target_tokens([other]).tokens[0]
            kind = _KINDS.get(frozenset((spelled(piece).lower(), spelled(rival).lower())))
            # “Sie” and “du” differ in their first letter; “Er” and “er” would stand elsewhere.
            fits = kind == "politeness" or piece[1:2].isupper() == rival[1:2].isupper()
            if kind and fits and rival.startswith(WORD_START) and share >= LEAST:
                pair = Pair(step, (own, other), spelled(piece), spelled(rival))
                yield Found(kind, trace, pair, shares[0], share)


def chosen(found: Sequence[Found], count: int = COUNT) -> list[Found]:
    """The pairs whose rivals are likeliest, each kind in turn, and every sentence and pair once."""
    by_kind = [
        sorted((each for each in found if each.kind == kind), key=lambda each: -each.other)
        for kind in PARADIGMS
    ]
    listed: dict[tuple[str, str], Found] = {}
    sentences: set[str] = set()
    for each in (one for row in zip_longest(*by_kind) for one in row if one is not None):
        words = (each.pair.word.lower(), each.pair.other.lower())
        if words not in listed and each.trace.source_text not in sentences:
            listed[words] = each
            sentences.add(each.trace.source_text)
    return list(listed.values())[:count]


def experiment(model: Translator, found: Found) -> Experiment:
    """What the effects page opens for a pair."""
    decisive = head_set(model, found.trace, found.pair)
    heads = f"Without {count_of(len(decisive.heads), 'head')}, the other is likelier."
    shows = (
        f"Why “{found.pair.word}” ({fixed(found.word, 2)}) and not “{found.pair.other}” "
        f"({fixed(found.other, 3)})? {heads if decisive.decides else ''}"
    )
    return Experiment(
        found.trace.source_text,
        shows.strip(),
        math.log(found.word / found.other),
        f"{found.pair.step + 1}.{found.pair.other}",
    )


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help=f"its {EXPERIMENTS} grows")
    parser.add_argument(
        "--data",
        nargs="+",
        type=Path,
        required=True,
        help=".tsv or .tsv.xz files of sentences that the model was not trained on",
    )
    parser.add_argument("--count", type=int, default=150, help="candidates (default 150)")
    arguments = parser.parse(argv)
    model = load(arguments.checkpoint, device="cpu")
    read = read_pairs(arguments.data, reverse=reversed_columns(arguments.checkpoint))
    traces = tqdm(candidates(model, plain(model, read), arguments.count), total=arguments.count)
    listed = chosen([found for trace in traces for found in pairs_in(model, trace)])
    words = [experiment(model, each) for each in listed]
    save_experiments(
        arguments.checkpoint, {**read_experiments(arguments.checkpoint), "words": words}
    )
    for each in words:
        print(f"{each.source}: {each.shows}")


if __name__ == "__main__":
    raise SystemExit(main())
