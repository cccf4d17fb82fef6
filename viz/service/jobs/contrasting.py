"""A word of a translation and another one in its place; places count from 0."""

from model.contrast import head_sets, logit_terms, pairs, paths
from model.contrast.contrast import contrast_of
from model.contrast.pairs import pair_of
from model.contrast.passes import Means
from model.contrast.results import Contrast, HeadSet, LogitTerms, Paths, Question, Rivals
from model.trace.attention_map import FloatArray
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator
from viz.service.job import Ask, Job, of_trace
from viz.service.jobs.examples import average_heads
from viz.service.jobs.removing import REMOVING_EACH


def _means(ask: Ask, recording: Job[Trace], *_: object) -> Means:
    """What heads may be replaced by: their means over the examples; empty without these."""
    return ask(average_heads(recording.version))


@of_trace("Reading the likeliest words…")
def list_rivals(model: Translator, trace: Trace, place: int) -> Rivals:
    """The likeliest tokens in one place of a translation."""
    return pairs.rivals(model, trace, place)


@of_trace(REMOVING_EACH)
def contrast_words(model: Translator, trace: Trace, place: int, other: str) -> Contrast:
    """The probabilities of two words, and what these depend on."""
    return contrast_of(model, trace, pair_of(model, trace, place, other))


@of_trace("Taking the difference apart…")
def add_terms(model: Translator, trace: Trace, place: int, other: str) -> LogitTerms:
    """The terms that sum to the difference of two logits."""
    return logit_terms.logit_terms(model, trace, pair_of(model, trace, place, other))


@of_trace("Measuring the paths…", brings=_means)
def find_paths(model: Translator, trace: Trace, means: Means, place: int, other: str) -> Paths:
    """The strongest ways from source tokens through heads to a word."""
    return paths.paths(model, trace, pair_of(model, trace, place, other), means)


@of_trace("Looking for the fewest heads…", brings=_means)
def find_head_set(
    model: Translator, trace: Trace, means: Means, place: int, other: str, question: Question
) -> HeadSet:
    """The smallest set of heads found that decides between two words."""
    pair = pair_of(model, trace, place, other)
    return head_sets.head_set(model, trace, pair, question, means)


@of_trace("Trying random sets of heads…", brings=_means)
def try_random_sets(
    model: Translator,
    trace: Trace,
    means: Means,
    place: int,
    other: str,
    question: Question,
    size: int,
    numbers: range,
) -> FloatArray:
    """Log-probabilities under random sets of heads of one size, (set, 3)."""
    pair = pair_of(model, trace, place, other)
    return head_sets.random_sets(model, trace, pair, size, question, means, numbers=numbers)


@of_trace("Switching heads off one by one…")
def darken_heads(
    model: Translator, trace: Trace, place: int, other: str, heads: tuple[Head, ...], n_random: int
) -> FloatArray:
    """Log-probabilities while heads are removed one by one; see `head_sets.darkened`."""
    pair = pair_of(model, trace, place, other)
    return head_sets.darkened(model, trace, pair, heads, n_random)
