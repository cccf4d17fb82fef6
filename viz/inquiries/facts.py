"""Inquiries about the sentence as tokens and about the model."""

from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np

from model.checkpoints.checkpoint import training_runs
from model.checkpoints.shipped import CheckpointError
from model.explain.growth import Growth
from model.numbers import count_of, fixed, percent
from model.trace.attention_map import AttentionKind, Tokens
from model.trace.token_schemes import WORD_START, joined, special
from model.trace.word_grouping import words
from viz.about.view import AboutView
from viz.decoding.view import DecodingView
from viz.draw.labels import CONTINUED, axis_texts
from viz.heads.about_trace import shape_of
from viz.heads.view import TRAINING, HeadsView
from viz.inquiries.inquiry import Answer, Inquiries, Subject, has_word, is_model
from viz.inquiries.weights import at_head
from viz.inquiries.writing import hardest_word
from viz.links.parameters import MOST_CHARACTERS
from viz.model_page.view import ModelPageView
from viz.service import session
from viz.service.model_menu import Kind, openables, titles, toy_task
from viz.service.questions import ModelQuestion, ReaderQuestion

LISTED, MOST_PIECES = 3, 6

inquiry = Inquiries()


@inquiry("how-many-layers", "How many layers does it have?")
def layers(subject: Subject) -> Answer:
    if not subject.is_model:
        return Answer(f"{shape_of(subject.trace)}.", ModelPageView())
    config = subject.model.model.config
    return Answer(
        f"{count_of(config.n_encoder_layers, 'encoder layer')} and "
        f"{count_of(config.n_decoder_layers, 'decoder layer')}.",
        ModelPageView(),
    )


def _first_kind(subject: Subject) -> str:
    return str(next(iter(subject.trace.maps)).kind)


@inquiry("how-many-heads", "How many heads does it have?")
def heads(subject: Subject) -> Answer:
    view = HeadsView(attention=_first_kind(subject))
    total = count_of(subject.n_heads, "head")
    if not subject.is_model:
        return Answer(f"{total}: {shape_of(subject.trace)}.", view)
    config = subject.model.model.config
    encoder = count_of(config.n_encoder_layers, "encoder layer")
    decoder = count_of(config.n_decoder_layers, "decoder layer")
    return Answer(
        f"{total}: {config.n_heads} in each of {encoder}, and {config.n_heads} for self-attention "
        f"and {config.n_heads} for cross-attention in each of {decoder}.",
        view,
    )


@inquiry("languages", "Which languages can it translate?")
def languages(subject: Subject) -> Answer:
    entries = openables()
    named = titles(entries)
    own = subject.question.name
    others = [
        named[name]
        for name, each in entries.items()
        if each.kind is Kind.CHECKPOINT and name != own and toy_task(each.path) is None
    ]
    here = f"This is {named[own]}. " if own in named else ""
    more = f"The menu at the right of the sentence opens others: {'; '.join(others)}."
    return Answer(
        here + (more if others else "There is no other model of languages here."), ModelPageView()
    )


@inquiry("where-runs", "Where does the model run?")
def machine(subject: Subject) -> Answer:
    where = "On the machine that runs Headscope, not on a service elsewhere"
    match subject.question:
        case ModelQuestion(translate=translate):
            timed = session.ask(translate)
            seconds, device = timed.seconds, timed.device
        case ReaderQuestion(timed=read):
            seconds, device = read.seconds, read.answer.device
        case _:
            return Answer(f"{where}; a saved trace needs no model.", ModelPageView())
    took = f"{seconds:.2f} s on the {device.upper()}"
    return Answer(
        f"{where}: this sentence took {took}. It works without internet.", ModelPageView()
    )


@inquiry("privacy", "Is what I type stored?")
def privacy(subject: Subject) -> Answer:
    return Answer(
        "What you type goes only to the machine that runs Headscope; it is not written to disk "
        "and not sent elsewhere. Your browser has it in the page's address.",
        ModelPageView(),
    )


def _about(sentence: str) -> Answer:
    return Answer(sentence, AboutView())


@inquiry("licence", "Is it free to use?")
def licence(subject: Subject) -> Answer:
    return _about(
        "Yes: the code is under the MIT licence. The training data have their own terms, which "
        "each model's card names."
    )


@inquiry("who-made", "Who made this?")
def makers(subject: Subject) -> Answer:
    return _about(
        "Headscope is by the Headscope authors; the Transformer is by Vaswani et al. 2017, "
        "“Attention is all you need”. This page lists the papers behind the pictures."
    )


def read_tokens(subject: Subject) -> Tokens:
    """What the model reads."""
    trace = subject.trace
    return trace.source or trace.target or next(iter(trace.maps.values())).queries


@inquiry("how-long-can", "How long can a sentence be?", is_model)
def limits(subject: Subject) -> Answer:
    most = subject.model.model.config.max_positions
    return Answer(
        f"This model takes at most {most:,} tokens, and the app {MOST_CHARACTERS:,} characters; "
        f"your sentence has {count_of(len(read_tokens(subject)), 'token')}.",
        ModelPageView(),
    )


def _tested(subject: Subject) -> dict[str, Any]:
    tested = subject.model.metrics.get("test") if subject.is_model else None
    return tested if isinstance(tested, dict) else {}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def has_score(subject: Subject) -> bool:
    """Whether a test of the model is recorded."""
    tested = _tested(subject)
    return _number(tested.get("sentences")) and any(
        _number(tested.get(name)) for name in ("bleu", "exact")
    )


def score(subject: Subject) -> str:
    """The model's score on test sentences, without a full stop."""
    tested = _tested(subject)
    if _number(tested.get("bleu")):
        chrf = f" and chrF {fixed(tested['chrf'], 1)}" if _number(tested.get("chrf")) else ""
        return f"BLEU {fixed(tested['bleu'], 1)}{chrf} on {tested['sentences']:,.0f} test sentences"
    return (
        f"{percent(tested['exact'], 1)} of its outputs are exactly right, on "
        f"{tested['sentences']:,.0f} inputs that training never saw"
    )


@inquiry("why-wrong", "Why is the translation wrong?", has_word)
def mistakes(subject: Subject) -> Answer:
    scored = f" ({score(subject)})" if has_score(subject) else ""
    return Answer(
        f"It is a small model, with {subject.model.n_parameters / 1e6:.1f} million parameters"
        f"{scored}, and makes mistakes. Here it was least sure of {hardest_word(subject).sentence}",
        DecodingView(section="certainty"),
    )


@inquiry("how-long", "How many tokens is the sentence?")
def how_long(subject: Subject) -> Answer:
    trace = subject.trace
    sides = []
    for name, tokens in (("read", read_tokens(subject)), ("written", trace.predictions)):
        if len(tokens) and (name == "read" or trace.source):
            n_special = sum(map(special, tokens))
            counted = count_of(len(tokens), "token")
            sides.append(f"{counted} {name}" + (f" ({n_special} special)" if n_special else ""))
    return Answer(f"{' and '.join(sides)}.", ModelPageView())


def _has_marks(subject: Subject) -> bool:
    return any(token.startswith(WORD_START) for token in read_tokens(subject))


@inquiry("split-words", "Which words are made of several tokens?", _has_marks)
def split_words(subject: Subject) -> Answer:
    tokens = read_tokens(subject)
    split = [place for place in words(tokens) if place.stop - place.start > 1]
    view = HeadsView(attention=_first_kind(subject), words=True)
    if not split:
        return Answer("None: every word that it reads is one token.", view)
    listed = ", ".join(
        f"“{joined(tokens.tokens[place]).replace(WORD_START, '')}” is {_pieces(tokens[place])}"
        for place in split[:LISTED]
    )
    more = f" and {len(split) - LISTED} more" if len(split) > LISTED else ""
    return Answer(f"{count_of(len(split), 'word')}: {listed}{more}.", view)


def _pieces(tokens: Tokens) -> str:
    texts = [text.removeprefix(CONTINUED) for text in axis_texts(tokens)]
    shown = texts if len(texts) <= MOST_PIECES else [*texts[: MOST_PIECES - 1], CONTINUED]
    return " + ".join(shown)


@inquiry("feed-forward", "Where do the feed-forward layers add most?", is_model)
def feed_forward(subject: Subject) -> Answer:
    blocks = session.ask(subject.of_model.read_blocks)
    tokens = {
        AttentionKind.ENCODER: subject.trace.source,
        AttentionKind.DECODER: subject.trace.target,
    }
    kind, added = max(blocks.added.items(), key=lambda each: float(each[1].max()))
    layer, place = map(int, np.unravel_index(int(added.argmax()), added.shape))
    return Answer(
        f"In the {kind}, layer {layer}, at “{axis_texts(tokens[kind])[place]}”: what it adds is "
        f"{fixed(float(added[layer, place]), 2)} times as long as the token's vector.",
        ModelPageView(),
    )


def _has_labels(subject: Subject) -> bool:
    with suppress(CheckpointError):
        return any(label and label.earned for each in subject.labels.values() for label in each)
    return False


@inquiry("what-heads-do", "What do the heads do over many sentences?", _has_labels)
def what_heads_do(subject: Subject) -> Answer:
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


@inquiry("heads-came", "When did the heads come to do that?", _has_growth)
def when_heads_came(subject: Subject) -> Answer:
    growth = _growth(subject)
    assert growth is not None, "it is offered only where it was measured"
    kept = list(growth.lasting_labels())
    site, head, text, step = min(kept, key=lambda each: each[3])
    latest = max(each[3] for each in kept)
    return Answer(
        f"First “{text}” in {site.head_name(head)[0].lower()}{site.head_name(head)[1:]}, from step "
        f"{step:,} of {growth.steps[-1]:,} on; the last of {count_of(len(kept), 'label')} from "
        f"step {latest:,} on.",
        HeadsView(attention=str(site.kind), layer=site.layer, head=head, below=TRAINING),
    )


@inquiry("which-model", "Which model is this?")
def which_model(subject: Subject) -> Answer:
    match subject.question:
        case ModelQuestion():
            model, config = subject.model, subject.model.model.config
            what = f"{model.n_parameters / 1e6:.1f} million parameters, {config.norm}-norm"
        case ReaderQuestion(facts=facts, timed=timed):
            kind = facts.architecture or facts.model_type
            what = f"{kind}, {timed.answer.n_parameters / 1e6:.1f} million parameters"
        case _:
            what = "a saved trace"
    return Answer(f"{subject.question.name}: {what}; {shape_of(subject.trace)}.", AboutView())


@inquiry("how-good", "How good is this model?", has_score)
def how_good(subject: Subject) -> Answer:
    return _about(f"{score(subject)}.")


def _has_training(subject: Subject) -> bool:
    return subject.is_model and training_runs(subject.model.metrics) is not None


@inquiry("how-trained", "How long was it trained?", _has_training)
def how_trained(subject: Subject) -> Answer:
    runs = training_runs(subject.model.metrics) or []
    steps, tokens = (sum(run[name] for run in runs) for name in ("steps", "target_tokens"))
    return _about(f"{steps:,} steps on {tokens / 1e6:.1f} million target tokens.")
