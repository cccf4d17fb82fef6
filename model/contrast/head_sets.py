"""Which heads decide between two words: small sets that are enough, found and held against others.

The search removes heads one after another, each time the one without which the other word gains
most, and then puts back what turns out not to be needed. The smallest set of all would take 2⁹⁶
passes for 96 heads; what is found is a small one.
"""

from collections.abc import Callable, Sequence
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray

from model.contrast.pairs import Pair, set_passes_of
from model.contrast.passes import Judged, Means, SetPasses
from model.contrast.results import HeadSet, Question, decided, leads
from model.trace.attention_map import FloatArray
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator

MOST_HEADS = 24
"""The most heads of a set."""

RANDOM_SETS = 200
"""How many random sets a set is held against."""

_TOGETHER = 16
"""How many of the most promising heads are tried at each step after the first."""

Margins = NDArray[np.float64]
"""By how much each of some sets has decided, (set,): above 0, it has."""


def head_set(
    translator: Translator,
    trace: Trace,
    pair: Pair,
    question: Question = "remove",
    means: Means | None = None,
) -> HeadSet:
    """The smallest set of heads found that decides between two words.

    Args:
        trace: of the sentence, without an intervention.
        question: "remove" looks for heads without which the other word becomes likelier than the
            word; "keep" for heads with which alone the word stays the likeliest of all.
        means: what all other heads give for "keep"; None for nothing.

    Returns:
        A `HeadSet` of at most MOST_HEADS heads, which says whether it decides.
    """
    removes = _removes(question)
    passes = set_passes_of(translator, trace, pair, None if removes else means)
    n_heads = len(passes.heads)

    def margins(selected: NDArray[np.bool_]) -> Margins:
        return (-1 if removes else 1) * leads(
            _judged(passes, selected, question).log_probs, question
        )

    chosen, single = found(margins, n_heads, MOST_HEADS)
    every: Sequence[int] = () if removes else range(n_heads)
    both, likeliest = _judged(passes, _rows([chosen, single, every], n_heads), question)
    decides, single_decides, _ = decided(both, question).tolist()
    return HeadSet(
        heads=tuple(passes.heads[each] for each in chosen),
        decides=decides,
        log_probs=both[0],
        likeliest=translator.target_tokens(likeliest[:1].tolist()),
        every_log_probs=both[2],
        single=tuple(passes.heads[each] for each in single),
        single_log_probs=both[1],
        single_decides=single_decides,
        question=question,
        by_mean=passes.by_mean,
        most=MOST_HEADS,
    )


def random_sets(
    translator: Translator,
    trace: Trace,
    pair: Pair,
    size: int,
    question: Question = "remove",
    means: Means | None = None,
    *,
    numbers: range = range(RANDOM_SETS),
) -> FloatArray:
    """Log-probabilities under random sets of heads of one size, (set, 3), as in `HeadSet`.

    Arguments as of `head_set`. A set of a number and a size is the same every time.
    """
    passes = set_passes_of(translator, trace, pair, None if _removes(question) else means)
    n_heads = len(passes.heads)
    drawn = [
        np.random.default_rng([size, number]).permutation(n_heads)[:size].tolist()
        for number in numbers
    ]
    return _judged(passes, _rows(drawn, n_heads), question).log_probs


def darkened(
    translator: Translator, trace: Trace, pair: Pair, heads: Sequence[Head], n_random: int
) -> FloatArray:
    """Log-probabilities while one head after another is removed, and as many at random.

    Args:
        heads: in the order in which they are removed.
        n_random: how many random orders; each is the same every time.

    Returns:
        (1 + n_random, 1 + len(heads), 3), as in `HeadSet`: first the given order, and in each
        first all heads.
    """
    passes = set_passes_of(translator, trace, pair, None)
    n_heads = len(passes.heads)
    orders = [[passes.heads.index(each) for each in heads]]
    for number in range(n_random):
        drawn = np.random.default_rng([len(heads), number]).permutation(n_heads)
        orders.append(drawn[: len(heads)].tolist())
    sets = [order[:size] for order in orders for size in range(len(heads) + 1)]
    judged = _judged(passes, _rows(sets, n_heads), "remove").log_probs
    return judged.reshape(len(orders), len(heads) + 1, 3)


def found(
    margins: Callable[[NDArray[np.bool_]], Margins], n: int, most: int
) -> tuple[list[int], list[int]]:
    """A small set of n things that decides, in the order in which it grew, and the best alone.

    Args:
        margins: measures sets, (set, n) booleans.
        most: the most that are tried.

    Returns:
        The set, which does not decide if `most` are not enough; then as many things as it has,
        those with the largest margins alone.
    """
    chosen: list[int] = []
    (margin,) = margins(_rows([[]], n))
    gains = margins(np.eye(n, dtype=np.bool_)) - margin
    order = np.argsort(-gains, kind="stable").tolist()
    while margin <= 0 and len(chosen) < min(most, n):
        if chosen:
            left = [each for each in np.argsort(-gains).tolist() if each not in chosen][:_TOGETHER]
            tried = margins(_rows([[*chosen, each] for each in left], n))
            gains[left] = tried - margin
        else:
            left, tried = list(range(n)), gains + margin
        best = int(tried.argmax())
        chosen.append(left[best])
        margin = tried[best]
    while margin > 0 and chosen:
        spared = margins(_rows([[e for e in chosen if e != out] for out in chosen], n))
        if spared.max() <= 0:
            break
        chosen.pop(int(spared.argmax()))
        margin = spared.max()
    return chosen, order[: len(chosen)]


def _judged(passes: SetPasses, selected: NDArray[np.bool_], question: Question) -> Judged:
    """What sets say where the selected heads are removed, or they alone are kept."""
    kept = torch.from_numpy(~selected if _removes(question) else selected)
    return passes.judge_kept(kept.to(passes.source.device))


def _rows(sets: Sequence[Sequence[int]], n: int) -> NDArray[np.bool_]:
    rows = np.zeros((len(sets), n), dtype=np.bool_)
    for row, each in zip(rows, sets, strict=True):
        row[list(each)] = True
    return rows


def _removes(question: Question) -> bool:
    if question not in get_args(Question):
        raise ValueError(f"There is no question {question!r}; choose remove or keep.")
    return question == "remove"
