"""What a model loses where its heads follow rules instead: one head at a time, and many at once.

For each head the best rule is fitted on some sentences and judged on others (model.survey.fitting).
Then the rule stands in place of the head's weights: the loss of the model's own translations, and
BLEU of what it writes, while more and more heads are rules, beside the same heads removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model.explain.head_ablation import removal_orders
from model.paper.log_probs import token_log_probs
from model.paper.search import Search
from model.record.head_editing import TextsRead, reading_texts
from model.record.head_edits import Gate, HeadEdit
from model.record.intervention import Intervention
from model.record.mask_editing import intervening
from model.rules.weight_rules import Lexicon
from model.survey.corpus_survey import Effect, HeadRule, Rules, Scores
from model.survey.fitting import fitted
from model.survey.text_scores import counts_of, resampled, score_of
from model.trace.head import Head
from model.trace.trace import Trace
from model.translate.translator import Translator

RULED, JUDGED, TRANSLATED = 150, 1000, 200
"""Sentences that choose the rules, others that judge them, and of these, some translated for
BLEU."""

OVERLAPPED = 150
"""Of the sentences that judge, so many tell how far rules and weights overlap."""

STEPS, ORDERS = 6, 3
"""Numbers of heads above 0 that are rules at once, and random orders besides the best."""

IN_WORDS = 1
"""Of the random orders, so many are translated too: each takes as long as the best one."""

_GREEDY = Search(beam=1)
_TOGETHER = 64
"""Edits of one sentence that run in one batch."""

Values = NDArray[np.float64]

Edits = Mapping[Head, HeadEdit]
"""Of a model's heads, at once."""

Answers = list[list[Any]]
"""For each sentence and each of some edits: a log-probability, or a translation."""

Ask = Callable[[str, Sequence[str], Sequence[Edits], bool], Answers]
"""Asks what edits do: what for, the sentences, the edits, and whether translations are wanted."""


def rules_of_heads(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    learned: Sequence[tuple[Sequence[str], Sequence[str]]],
    lengths: Sequence[int],
    *,
    translated: int = TRANSLATED,
    steps: int = STEPS,
    orders: int = ORDERS,
    ask: Ask | None = None,
) -> Rules:
    """The rules of a model's heads.

    Args:
        translator: the model.
        pairs: sentences that it can read, with human translations; the last ones judge the rules
            that the others choose.
        learned: tokens of other sentences and of their translations, which the lexicon is learned
            from.
        lengths: tokens of the model's own translations of the sentences that judge, with </s>.
        translated: of these, how many are translated for BLEU.
        steps: as STEPS.
        orders: as ORDERS.
        ask: asks what edits do, so that several processes can answer; None answers here.
    """

    def here(_: str, sources: Sequence[str], edits: Sequence[Edits], writes: bool) -> Answers:
        return answers(translator, sources, edits, writes)

    ask = here if ask is None else ask
    judged, n_tokens = len(lengths), np.array(lengths)
    sources = [source for source, _ in pairs]
    judging = sources[-judged:]
    lexicon = Lexicon.learned(learned)
    learning, comparing = sources[:-judged], judging[:OVERLAPPED]
    rules = fitted([*translator.trace(learning)], [*translator.trace(comparing)], lexicon)
    places = list(rules)
    alone: list[Edits] = [{}, *({each: rules[each].weights} for each in places)]
    totals: Values = np.array(ask("one head as a rule", judging, alone, False))
    losses = totals[:, :1] - totals[:, 1:]
    heads = {
        place: HeadRule(rules[place].weights, rules[place].overlap, _effect(losses[:, number]))
        for number, place in enumerate(places)
    }
    cheapest = sorted(heads, key=lambda place: (heads[place].cost.mean, place))
    counts, in_order = removal_orders(cheapest, steps, orders, seed=0)
    edits: list[Edits] = [
        {place: heads[place].weights if is_rule else Gate(0) for place in order[:count]}
        for order in in_order
        for is_rule in (True, False)
        for count in counts
    ]
    totals = np.array(ask("many heads as rules", judging, edits, False))
    log_prob = _scores(
        lambda column, sample: totals[sample, column].sum() / n_tokens[sample].sum(),
        *(len(counts), orders, judged),
    )
    asked, in_words = pairs[-judged:][:translated], min(orders, IN_WORDS)
    # Without any edit, rules and removals of all orders write the same.
    wanted = edits[: 2 * len(counts) * (1 + in_words)]
    distinct: list[Edits] = [{}, *(each for each in wanted if each)]
    written = ask("translating with rules", [source for source, _ in asked], distinct, True)
    references = [target for _, target in asked]
    found = [counts_of("bleu", texts, references) for texts in zip(*written, strict=True)]
    number = iter(found[1:])
    counted = [next(number) if each else found[0] for each in wanted]
    bleu = _scores(
        lambda column, sample: score_of("bleu", counted[column][sample].sum(axis=0)),
        *(len(counts), in_words, len(asked)),
    )
    return Rules(
        heads,
        lexicon,
        len(pairs) - judged,
        judged,
        len(asked),
        tuple(counts),
        log_prob,
        bleu,
    )


def answers(
    translator: Translator, sources: Sequence[str], edits: Sequence[Edits], writes: bool
) -> Answers:
    """What a model writes greedily, or makes of its own translations, under each of some edits.

    Args:
        translator: the model.
        sources: sentences.
        edits: of its heads.
        writes: whether translations are wanted, and not the log-probabilities of the model's own.
    """
    if writes:
        return [[_written(translator, source, each) for each in edits] for source in sources]
    under = [Intervention(heads=each) for each in edits]
    return [
        log_probs_of(translator, trace, under).tolist() for trace in translator.trace(list(sources))
    ]


@torch.inference_mode()
def log_probs_of(translator: Translator, trace: Trace, under: Sequence[Intervention]) -> Values:
    """The log-probability of a trace's translation under some interventions, (intervention,)."""
    source, target, labels = translator.trace_ids(trace)
    totals = []
    for start in range(0, len(under), _TOGETHER):
        each = under[start : start + _TOGETHER]
        read = TextsRead(
            [trace.source.tokens] * len(each),
            [trace.target.tokens] * len(each),
            translator.tokenizer.target.pieces,
        )
        with reading_texts(read), intervening(each, exact=False, sites=translator.sites):
            logits = translator.model(source.expand(len(each), -1), target.expand(len(each), -1))
        log_probs = token_log_probs(logits, labels.expand(len(each), -1))
        totals.append(log_probs.sum(dim=-1).cpu().numpy())
    return np.concatenate(totals).astype(np.float64)


def _written(translator: Translator, source: str, edits: Mapping[Head, HeadEdit]) -> str:
    """What the model writes greedily under edits."""
    return translator.translate(source, search=_GREEDY, under=Intervention(heads=edits)).text


def _effect(losses: Values) -> Effect:
    error = losses.std(ddof=1) / len(losses) ** 0.5 if len(losses) > 1 else float("nan")
    return Effect(float(losses.mean()), float(error), len(losses))


def _scores(
    score: Callable[[int, NDArray[np.intp]], float], n_counts: int, orders: int, n_sentences: int
) -> Scores:
    """The scores of columns: by order, as rules and removed, at each count."""
    whole = np.arange(n_sentences)
    every = [score(column, whole) for column in range(2 * (orders + 1) * n_counts)]
    of_order = np.reshape(every, (orders + 1, 2, n_counts))
    drawn = resampled(
        n_sentences, lambda sample: [score(column, sample) for column in range(n_counts)]
    )
    low, high = np.quantile(drawn[:, :1] - drawn, [0.025, 0.975], axis=0)
    return Scores(
        tuple(of_order[0, 0].tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        tuple(of_order[0, 1].tolist()),
        tuple(map(tuple, of_order[1:, 0].tolist())),
        tuple(map(tuple, of_order[1:, 1].tolist())),
    )
