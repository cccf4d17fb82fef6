"""Inquiries about what a translation loses without heads or without source tokens."""

import math
from functools import partial

import numpy as np

from model.explain.alignment_table import Read
from model.explain.attribution import METHODS
from model.numbers import count_of, fixed, percent
from model.record.intervention import Intervention
from model.trace.attention_map import AttentionKind, FloatArray
from model.trace.head import Head
from viz.draw.labels import axis_texts, lower_first
from viz.effects.effect_map import change_words, effect_sentences
from viz.effects.view import EVERY, EffectsView
from viz.inquiries.inquiry import Answer, Inquiries, Subject, has_word, is_model, share_of
from viz.links.head_refs import MOST_HEADS
from viz.service import session
from viz.service.jobs.removing import (
    delete_tokens,
    measure_agreement,
    measure_effects,
    remove_heads,
    write_without,
)

LARGELY, PARTLY = 0.7, 0.3
"""Rank correlations from which an estimate is called largely and partly right."""


inquiry = Inquiries()

# ---- single heads -------------------------------------------------------------------------------


@inquiry("matters-most", "Which head matters most for this sentence?", is_model)
def matters_most(subject: Subject) -> Answer:
    effects = session.ask(measure_effects(subject.of_model.record))
    return Answer(effect_sentences(effects, None, 1)[0], EffectsView())


@inquiry("matters-for-word", "Which head matters most for “{word}”?", has_word)
def matters_for_word(subject: Subject) -> Answer:
    place = subject.hardest
    assert place is not None, "it is offered only where a token is known"
    effects = session.ask(measure_effects(subject.of_model.record))
    return Answer(effect_sentences(effects, place, 1)[0], EffectsView(token=place + 1))


@inquiry("without-best", "What would it write without its most important head?", is_model)
def without_best(subject: Subject) -> Answer:
    effects = session.ask(measure_effects(subject.of_model.record))
    site, head, loss = max(effects.ranked(), key=lambda each: each[2])
    after = subject.under(Intervention(heads={(site, head): 0})).free.text
    return Answer(
        f"Without {lower_first(site.head_name(head))}, which costs {fixed(loss, 2)} of "
        f"log-probability, {subject.change(after)}",
        EffectsView(off=(Head(site, head),)),
    )


@inquiry("harmful", "Does any head do harm?", is_model)
def harmful(subject: Subject) -> Answer:
    effects = session.ask(measure_effects(subject.of_model.record))
    site, head, loss = min(effects.ranked(), key=lambda each: each[2])
    likelier = sum(each[2] < 0 for each in effects.ranked())
    name = lower_first(site.head_name(head))
    if loss >= 0:
        sentence = f"No: without any one of the {subject.n_heads} heads it becomes no likelier."
        return Answer(sentence, EffectsView())
    times = fixed(math.exp(-loss), 2)
    return Answer(
        f"Its {subject.written} becomes likelier without {count_of(likelier, 'head')} of "
        f"{subject.n_heads}, one at a time; most without {name}: {times} times as likely.",
        EffectsView(off=(Head(site, head),)),
    )


@inquiry("changes-words", "How many heads change the words?", is_model)
def changes_words(subject: Subject) -> Answer:
    question = subject.of_model
    after = [
        text
        for site in subject.model.sites
        for text in session.ask(write_without(question.version, question.sentence, site))
    ]
    count = sum(text != subject.own for text in after)
    return Answer(
        f"Removing a single head changes the {subject.written} for {count or 'none'} of the "
        f"{count_of(len(after), 'head')}.",
        EffectsView(show="words"),
    )


# ---- many heads ---------------------------------------------------------------------------------


@inquiry("spared", "How many heads could go?", is_model)
def spared(subject: Subject) -> Answer:
    left = session.ask(remove_heads(subject.of_model.record))
    losses = left.least_first[0] - left.least_first
    halved = np.flatnonzero(losses > math.log(2))
    last = int(halved[0]) - 1 if len(halved) else len(left.removed) - 1
    view = EffectsView(show="removal")
    total = left.removed[-1]
    if last == len(left.removed) - 1:
        return Answer(
            f"All {total}, removed least costly first: the probability of this {subject.written} "
            "never halves.",
            view,
        )
    return Answer(
        f"{left.removed[last] or 'None'} of {total}, removed least costly first, before the "
        f"probability of this {subject.written} halves; with {left.removed[last + 1]} removed it "
        f"keeps {share_of(math.exp(-float(losses[last + 1])))}.",
        view,
    )


def heads_of(subject: Subject, kind: AttentionKind) -> list[Head]:
    """All heads of a kind of attention."""
    return [Head(each.site, head) for each in subject.maps(kind) for head in range(each.n_heads)]


def fits_stack(kind: AttentionKind, subject: Subject) -> bool:
    """Whether its heads can be switched off by an address."""
    return subject.is_model and 0 < len(heads_of(subject, kind)) <= MOST_HEADS


def without_stack(kind: AttentionKind, subject: Subject) -> Answer:
    """What is written without all heads of a kind."""
    heads = heads_of(subject, kind)
    after = subject.under(Intervention(heads=dict.fromkeys(heads, 0))).free.text
    noun = f"{kind.full_name.lower()} head"
    return Answer(
        f"With {'its ' if len(heads) == 1 else 'all '}{count_of(len(heads), noun)} switched off, "
        f"{subject.change(after)}",
        EffectsView(off=tuple(heads)),
    )


for _kind, _key, _text in (
    (AttentionKind.CROSS, "no-cross", "What if the decoder could not look at the source?"),
    (AttentionKind.DECODER, "no-decoder", "What if the decoder forgot what it wrote?"),
    (
        AttentionKind.ENCODER,
        "no-encoder",
        "What if the words of the source could not see each other?",
    ),
):
    inquiry(_key, _text, partial(fits_stack, _kind))(partial(without_stack, _kind))


# ---- source tokens ------------------------------------------------------------------------------


def deletion_losses(subject: Subject) -> FloatArray:
    record, n_source = subject.of_model.record, len(subject.trace.source)
    parts = [
        session.ask(
            delete_tokens(record, range(n_source)[start : start + session.DELETED_TOGETHER])
        )
        for start in range(0, n_source, session.DELETED_TOGETHER)
    ]
    losses: FloatArray = np.concatenate(parts, axis=1)[:, :-1]
    return losses


@inquiry("depends-on", "Which source word does “{word}” depend on?", has_word)
def depends_on(subject: Subject) -> Answer:
    place, log_probs = subject.hardest, subject.trace.log_probs
    assert place is not None, "it is offered only where a token is known"
    assert log_probs is not None, "a token of the lowest probability has one"
    losses = deletion_losses(subject)[place]
    view = EffectsView(show="maps", token=place + 1)
    word = subject.predicted[place]
    if losses.max() <= 0:
        sentence = f"On none: “{word}” becomes no less likely without any one source token."
        return Answer(sentence, view)
    source = int(losses.argmax())
    name = axis_texts(subject.trace.source)[source]
    change = change_words(float(log_probs[place]), float(losses[source]))
    return Answer(
        f"Most on “{name}”: without it, the probability of “{word}” {change}.",
        view,
    )


def _is_short(subject: Subject) -> bool:
    trace = subject.trace
    cells = len(trace.source) * len(trace.target)
    return subject.is_model and len(trace.source) > 2 and cells <= session.AT_ONCE_CELLS


@inquiry("believed", "Can attention be believed?", _is_short)
def believed(subject: Subject) -> Answer:
    agreements = session.ask(measure_agreement(subject.of_model.record))
    mean = agreements["weights", None, None].correlation.mean
    view = EffectsView(show="maps")
    if math.isnan(mean):
        return Answer("This sentence cannot tell: it is too short.", view)
    verdict = "Largely" if mean >= LARGELY else "Partly" if mean >= PARTLY else "Hardly"
    ranks = f"their mean ranks the source tokens as deleting them does with {fixed(mean, 2)}"
    return Answer(
        f"{verdict}, on this sentence: {ranks} (rank correlation; 1 is the same order, 0 none).",
        view,
    )


@inquiry("best-estimate", "Which method tells best what matters?", _is_short)
def best_estimate(subject: Subject) -> Answer:
    agreements = session.ask(measure_agreement(subject.of_model.record))
    means = {
        method: held.correlation.mean
        for (method, site, _), held in agreements.items()
        if site is None and not math.isnan(held.correlation.mean)
    }
    view = EffectsView(show="maps", method=EVERY)
    if not means:
        return Answer("This sentence cannot tell: it is too short.", view)
    best = max(means, key=lambda method: means[method])
    return Answer(
        f"{METHODS[best].title}, on this sentence: its rank correlation with deletion is "
        f"{fixed(means[best], 2)}, and that of the plain weights "
        f"{fixed(means.get('weights', math.nan), 2)}.",
        view,
    )


def _has_gold(subject: Subject) -> bool:
    return subject.is_model and session.alignment(subject.of_model.checkpoint) is not None


@inquiry("aligned", "Which head is closest to alignments made by hand?", _has_gold)
def aligned(subject: Subject) -> Answer:
    table = session.alignment(subject.of_model.checkpoint)
    assert table is not None, "it is offered only where it was measured"
    heads = [read for read in table.rates if read.head is not None]
    best: Read = min(heads, key=lambda read: table.rates[read].error)
    row = "once it has read a word" if best.later else "while it writes a word"
    return Answer(
        f"Layer {best.layer}, head {best.head} links words {row} with an alignment error of "
        f"{percent(table.rates[best].error, 1)} on {table.n_pairs} sentence pairs, the lowest of "
        f"{len(heads) // 2} heads and selected on these pairs.",
        EffectsView(show="alignment"),
    )
