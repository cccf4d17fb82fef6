"""Inquiries about the sentence as tokens and about the model."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from model.checkpoints.checkpoint import CheckpointError, training_runs
from model.explain.growth import Growth
from model.numbers import count_of, fixed, percent
from model.trace.attention_map import AttentionKind, Tokens
from model.trace.word_grouping import WORD_START, special, words
from viz.about.view import VIEW as ABOUT
from viz.about.view import AboutView
from viz.door.view import VIEW as DOOR
from viz.door.view import DoorView
from viz.draw.labels import CONTINUED, axis_texts
from viz.heads.about_trace import shape_of
from viz.heads.view import TRAINING, HeadsView
from viz.heads.view import VIEW as HEADS
from viz.inquiries.inquiry import Answer, Inquiry, Subject
from viz.inquiries.weights import at_head
from viz.service import session
from viz.service.jobs import ReadBlocks
from viz.service.questions import OfModel, OfReader

LISTED, MOST_PIECES = 3, 6


def _always(subject: Subject) -> bool:
    return True


def _is_model(subject: Subject) -> bool:
    return subject.is_model


def _read(subject: Subject) -> Tokens:
    """What the model reads."""
    trace = subject.trace
    return trace.source or trace.target or next(iter(trace.maps.values())).queries


def how_long(subject: Subject) -> Answer:
    """The number of tokens on each side."""
    trace = subject.trace
    sides = []
    for name, tokens in (("read", _read(subject)), ("written", trace.predictions)):
        if len(tokens) and (name == "read" or trace.source):
            n_special = sum(map(special, tokens))
            counted = count_of(len(tokens), "token")
            sides.append(f"{counted} {name}" + (f" ({n_special} special)" if n_special else ""))
    return Answer(f"{' and '.join(sides)}.", DOOR, DoorView())


def split_words(subject: Subject) -> Answer:
    """The words that several tokens make."""
    tokens = _read(subject)
    split = [place for place in words(tokens) if place.stop - place.start > 1]
    view = HeadsView(attention=_first_kind(subject), words=True)
    if not split:
        return Answer("None: every word that it reads is one token.", HEADS, view)
    listed = ", ".join(
        f"“{''.join(tokens.tokens[place]).replace(WORD_START, '')}” is {_pieces(tokens[place])}"
        for place in split[:LISTED]
    )
    more = f" and {len(split) - LISTED} more" if len(split) > LISTED else ""
    return Answer(f"{count_of(len(split), 'word')}: {listed}{more}.", HEADS, view)


def _pieces(tokens: Tokens) -> str:
    texts = [text.removeprefix(CONTINUED) for text in axis_texts(tokens)]
    shown = texts if len(texts) <= MOST_PIECES else [*texts[: MOST_PIECES - 1], CONTINUED]
    return " + ".join(shown)


def _first_kind(subject: Subject) -> str:
    return str(next(iter(subject.trace.maps)).kind)


def _has_marks(subject: Subject) -> bool:
    return any(token.startswith(WORD_START) for token in _read(subject))


def which_model(subject: Subject) -> Answer:
    """What is open, with its size."""
    match subject.question:
        case OfModel():
            model, config = subject.model, subject.model.model.config
            what = f"{model.n_parameters / 1e6:.1f} million parameters, {config.norm}-norm"
        case OfReader(facts=facts, timed=timed):
            kind = facts.architecture or facts.model_type
            what = f"{kind}, {timed.answer.n_parameters / 1e6:.1f} million parameters"
        case _:
            what = "a saved trace"
    return Answer(
        f"{subject.question.name}: {what}; {shape_of(subject.trace)}.", ABOUT, AboutView()
    )


def _tested(subject: Subject) -> dict[str, Any]:
    tested = subject.model.metrics.get("test") if subject.is_model else None
    return tested if isinstance(tested, dict) else {}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_score(subject: Subject) -> bool:
    tested = _tested(subject)
    return _number(tested.get("sentences")) and any(
        _number(tested.get(name)) for name in ("bleu", "exact")
    )


def how_good(subject: Subject) -> Answer:
    """Its score on test sentences."""
    tested = _tested(subject)
    if _number(tested.get("bleu")):
        chrf = f" and chrF {fixed(tested['chrf'], 1)}" if _number(tested.get("chrf")) else ""
        score = f"BLEU {fixed(tested['bleu'], 1)}{chrf} on"
        return _about(f"{score} {tested['sentences']:,.0f} test sentences.")
    return _about(
        f"{percent(tested['exact'], 1)} of its outputs are exactly right, on "
        f"{tested['sentences']:,.0f} inputs that training never saw."
    )


def _about(sentence: str) -> Answer:
    return Answer(sentence, ABOUT, AboutView())


def _has_training(subject: Subject) -> bool:
    return subject.is_model and training_runs(subject.model.metrics) is not None


def how_trained(subject: Subject) -> Answer:
    """The length of its training."""
    runs = training_runs(subject.model.metrics) or []
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    return _about(f"{steps:,} steps on {tokens / 1e6:.1f} million target tokens.")


def _has_labels(subject: Subject) -> bool:
    with suppress(CheckpointError):
        return any(label and label.earned for each in subject.labels.values() for label in each)
    return False


def what_heads_do(subject: Subject) -> Answer:
    """How many heads have a label, and the most frequent one."""
    labels = [label for each in subject.labels.values() for label in each]
    earned = Counter(label.text for label in labels if label and label.earned)
    text, count = earned.most_common(1)[0]
    site, head = next(
        (site, head)
        for site, each in subject.labels.items()
        for head, label in enumerate(each)
        if label and label.earned and label.text == text
    )
    return Answer(
        f"{earned.total()} of {count_of(len(labels), 'head')} have a label, earned on new "
        f"sentences; most often “{text}” ({count_of(count, 'head')}).",
        HEADS,
        at_head(site, head),
    )


def _growth(subject: Subject) -> Growth | None:
    if not subject.is_model:
        return None
    with suppress(CheckpointError):
        return session.growth(subject.of_model.checkpoint)
    return None


def _has_growth(subject: Subject) -> bool:
    growth = _growth(subject)
    return growth is not None and any(True for _ in growth.lasting_labels())


def when_heads_came(subject: Subject) -> Answer:
    """The first label that lasts."""
    growth = _growth(subject)
    assert growth is not None, "it is offered only where it was measured"
    kept = list(growth.lasting_labels())
    site, head, text, step = min(kept, key=lambda each: each[3])
    latest = max(each[3] for each in kept)
    return Answer(
        f"First “{text}” in {site.head_name(head)[0].lower()}{site.head_name(head)[1:]}, from step "
        f"{step:,} of {growth.steps[-1]:,} on; the last of {count_of(len(kept), 'label')} from "
        f"step {latest:,} on.",
        HEADS,
        HeadsView(attention=str(site.kind), layer=site.layer, head=head, below=TRAINING),
    )


def feed_forward(subject: Subject) -> Answer:
    """Where a feed-forward layer adds most."""
    blocks = session.ask(ReadBlocks(subject.of_model.record))
    tokens = {
        AttentionKind.ENCODER: subject.trace.source,
        AttentionKind.DECODER: subject.trace.target,
    }
    kind, added = max(blocks.added.items(), key=lambda each: float(each[1].max()))
    layer, place = map(int, np.unravel_index(int(added.argmax()), added.shape))
    return Answer(
        f"In the {kind}, layer {layer}, at “{axis_texts(tokens[kind])[place]}”: what it adds is "
        f"{fixed(float(added[layer, place]), 2)} times as long as the token's vector.",
        DOOR,
        DoorView(),
    )


INQUIRIES = (
    Inquiry(
        "how-long",
        "How many tokens is the sentence?",
        "length long count words pieces",
        _always,
        how_long,
    ),
    Inquiry(
        "split-words",
        "Which words are made of several tokens?",
        "tokenizer subword pieces split bpe sentencepiece",
        _has_marks,
        split_words,
    ),
    Inquiry(
        "feed-forward",
        "Where do the feed-forward layers add most?",
        "ffn mlp residual norm block",
        _is_model,
        feed_forward,
    ),
    Inquiry(
        "what-heads-do",
        "What do the heads do over many sentences?",
        "label labels role kinds types job general",
        _has_labels,
        what_heads_do,
    ),
    Inquiry(
        "heads-came",
        "When did the heads come to do that?",
        "training growth emerge snapshots steps childhood learn",
        _has_growth,
        when_heads_came,
    ),
    Inquiry(
        "which-model",
        "Which model is this?",
        "size parameters layers heads name architecture",
        _always,
        which_model,
    ),
    Inquiry(
        "how-good",
        "How good is this model?",
        "bleu score quality test accuracy chrf right wrong",
        _has_score,
        how_good,
    ),
    Inquiry(
        "how-trained",
        "How long was it trained?",
        "training steps tokens data corpus",
        _has_training,
        how_trained,
    ),
)
