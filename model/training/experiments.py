r"""Choose sentences on which experiments show something, by the size of the effect.

    python -m model.training.experiments --checkpoint checkpoints/en-de --data dev.tsv

Writes experiments.json into the checkpoint folder. Candidates are sentences that the model was not
trained on and translates exactly like their references, so that what an experiment does to them is
no mistake of its own. A toy needs no data: its task draws its sentences.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import torch
from tqdm import tqdm

from model.checkpoints.checkpoint import EXPERIMENTS, trained_without_causal_mask
from model.explain.experiments import KINDS, Experiment, Kind, read_experiments, save_experiments
from model.explain.head_ablation import effects_of
from model.paper.search import Search
from model.record.intervention import Intervention, PositionEdit, PositionError
from model.survey.parallel_text import Pair
from model.trace.attention_map import AttentionKind
from model.trace.head import Head
from model.trace.trace import Trace
from model.training.command import Program, command
from model.training.toy_recipes import UNSEEN, unseen_pairs
from model.translate.sentences import TextError
from model.translate.translator import Translator, load

COUNT = 3
"""Sentences of each kind."""

WORDS = range(4, 11)
"""Words of a candidate: enough to change places, and few enough for one line."""

PIECES = 2
"""So many tokens more than words: a point and one more. Scattered pieces of a word say little."""

LEAST: dict[Kind, float] = dict.fromkeys(KINDS, math.log(2)) | {"search": math.log(1.25)}
"""A smaller effect, such as a probability not even halved, is nothing to open a page with; two
searches often differ by less."""

Measure = Callable[[Translator, Trace, str], Experiment | None]


def times(effect: float) -> str:
    """How many times less likely something is, to two digits."""
    if effect >= math.log(1e6):
        return "over a million"
    return f"about {float(f'{math.exp(effect):.2g}'):,g}"


def _head(model: Translator, trace: Trace, noun: str) -> Experiment | None:
    site, head, _ = effects_of(model, trace).ranked()[0]
    under = Intervention(heads={(site, head): 0})
    name = Head(site, head).short_name
    return _rewritten(model, trace, under, f"Without {name}", noun, f"{site}.{head}")


def _mask(model: Translator, trace: Trace, noun: str) -> Experiment | None:
    length = len(trace.target)
    everything = torch.ones(length, length, dtype=torch.bool)
    under = Intervention(masks={AttentionKind.DECODER: everything})
    effect = _lost(model, trace, under)
    shows = f"Without the decoder's mask, its {noun} is {times(effect)} times less likely."
    return Experiment(trace.source_text, shows, effect)


def _remove(model: Translator, trace: Trace, noun: str) -> Experiment | None:
    under = Intervention(positions=PositionEdit(scale=0))
    return _rewritten(model, trace, under, "Without positions", noun)


def _shuffle(model: Translator, trace: Trace, noun: str) -> Experiment | None:
    order = list(range(len(trace.source) - 1))
    Random(trace.source_text).shuffle(order)
    setting = ".".join(map(str, order))
    under = Intervention(source_order=order)
    return _rewritten(model, trace, under, "With its words in another order", noun, setting)


def _search(model: Translator, trace: Trace, noun: str) -> Experiment | None:
    greedy = model.translate(trace.source_text, search=Search(beam=1))
    if greedy.text == trace.text or not greedy.finished:
        return None
    effect = float(_log_probs(trace).sum() - sum(greedy.log_probs))
    shows = f"Greedy decoding writes another {noun}, {times(effect)} times less likely."
    return Experiment(trace.source_text, shows, effect)


MEASURES: dict[Kind, Measure] = {
    "head": _head,
    "mask": _mask,
    "remove": _remove,
    "shuffle": _shuffle,
    "search": _search,
}


def measure(model: Translator, kind: Kind, trace: Trace, noun: str) -> Experiment | None:
    """What one experiment shows on one sentence.

    Args:
        noun: for what the model writes, such as "translation".

    Returns:
        None if that is nothing, or if the model has no such experiment.
    """
    try:
        found = MEASURES[kind](model, trace, noun)
    except PositionError:
        return None
    return found if found is not None and found.effect >= LEAST[kind] else None


def _rewritten(
    model: Translator, trace: Trace, under: Intervention, how: str, noun: str, setting: str = ""
) -> Experiment | None:
    if model.translate(trace.source_text, under=under).text == trace.text:
        return None
    effect = _lost(model, trace, under)
    shows = f"{how}, it writes another {noun}; the usual one is {times(effect)} times less likely."
    return Experiment(trace.source_text, shows, effect, setting)


def _lost(model: Translator, trace: Trace, under: Intervention) -> float:
    """How much the log-probability of the translation falls under an intervention."""
    left = model.trace(trace.source_text, trace.text, under=under)
    return float(_log_probs(trace).sum() - _log_probs(left).sum())


def _log_probs(trace: Trace) -> np.ndarray:
    assert trace.log_probs is not None, "every trace of a translator holds them"
    return trace.log_probs.astype(np.float64)


def plain(model: Translator, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs whose source is of a fitting length, with nearly every word one token."""
    return [
        pair
        for pair in pairs
        for words in [len(pair.source.split())]
        if words in WORDS and len(model.tokenizer.encode(pair.source)) <= words + PIECES
    ]


def candidates(model: Translator, pairs: Sequence[Pair], count: int) -> Iterator[Trace]:
    """Traces of sentences that the model translates exactly like their references.

    Args:
        pairs: sentences and references, in any order.
        count: the most traces.
    """
    for pair in Random(0).sample(pairs, len(pairs)):
        with suppress(TextError):
            translation = model.translate(pair.source)
            if translation.text == pair.target:
                yield model.trace_of(translation)
                count -= 1
        if not count:
            return


def chosen(
    model: Translator,
    traces: Sequence[Trace],
    noun: str,
    *,
    first: Sequence[Trace] = (),
    progress: bool = False,
) -> dict[Kind, list[Experiment]]:
    """For each kind, the sentences with the largest effects, after those of `first` with any."""
    found: dict[Kind, list[Experiment]] = {kind: [] for kind in MEASURES}
    leading: dict[Kind, list[Experiment]] = {kind: [] for kind in MEASURES}
    for trace in tqdm([*first, *traces], disable=not progress):
        for kind in MEASURES:
            if (each := measure(model, kind, trace, noun)) is not None:
                (leading if trace in first else found)[kind].append(each)
    for listed in found.values():
        listed.sort(key=lambda each: -each.effect)
    return {kind: [*leading[kind], *found[kind]][:COUNT] for kind in MEASURES}


@command
def main(argv: list[str] | None) -> None:
    """The command line."""
    parser = Program(__spec__, __doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help=f"gets an {EXPERIMENTS}")
    parser.files("--data", UNSEEN)
    parser.add_argument("--count", type=int, default=60, help="candidates (default 60)")
    parser.add_argument(
        "--first", nargs="+", default=[], help="sentences to name first where they show something"
    )
    arguments = parser.parse(argv)
    model = load(arguments.checkpoint, device="cpu")
    if trained_without_causal_mask(model.metrics):
        parser.error("a model that copies its target has no translation that could change")
    pairs, toy = unseen_pairs(parser, arguments)
    pairs, noun = (pairs, "output") if toy else (plain(model, pairs), "translation")
    first = [model.trace(sentence) for sentence in arguments.first]
    traces = list(candidates(model, pairs, arguments.count))
    found = chosen(model, traces, noun, first=first, progress=True)
    # Words are found by model.training.word_pairs.
    save_experiments(arguments.checkpoint, {**read_experiments(arguments.checkpoint), **found})
    for kind, listed in found.items():
        print(f"{kind}: {len(listed)}; {listed[0].source if listed else 'none'}")


if __name__ == "__main__":
    raise SystemExit(main())
