"""Inquiries about how a translation is written: its certainty, its search, its layers."""

import math
from dataclasses import replace

import numpy as np

from model.numbers import count_of, fixed, number
from viz.compare.view import CompareView
from viz.decoding.view import DecodingView
from viz.draw.labels import token_text
from viz.inquiries.inquiry import Answer, Inquiries, Subject, has_word, is_model, quoted, share_of
from viz.links.searches import USUAL, WIDEST, of_every_width
from viz.service import session
from viz.service.jobs.running import read_layers

UNSURE = 0.5
"""A token with a lower probability is doubtful."""

LISTED = 3


inquiry = Inquiries()


def _probabilities(subject: Subject) -> list[float]:
    log_probs = subject.trace.log_probs
    assert log_probs is not None, "every trace of a translator holds them"
    return [float(each) for each in np.exp(log_probs.astype(np.float64))]


def _hardest(subject: Subject) -> int:
    assert subject.hardest is not None, "it is offered only where a token is known"
    return subject.hardest


@inquiry("hardest", "Which word was the hardest?", has_word)
def hardest_word(subject: Subject) -> Answer:
    place = _hardest(subject)
    share = _probabilities(subject)[place]
    return Answer(
        f"“{subject.predicted[place]}”, step {place + 1}: the model gave it {share_of(share)}, "
        "the least of any token of the text.",
        DecodingView(at=place + 1),
    )


@inquiry("what-else", "What else could it have written for “{word}”?", has_word)
def what_else(subject: Subject) -> Answer:
    place = _hardest(subject)
    blocks = session.ask(subject.of_model.read_blocks)
    own = subject.trace.predictions.ids[place]
    offers = blocks.likeliest[place]
    other = next(rank for rank, token_id in enumerate(offers.ids) if token_id != own)
    share = share_of(float(blocks.probabilities[place][other]))
    return Answer(
        f"“{token_text(offers.tokens[other])}”: {share}, where “{subject.predicted[place]}” had "
        f"{share_of(_probabilities(subject)[place])}.",
        DecodingView(at=place + 1),
    )


@inquiry("how-sure", "How sure is the model?", has_word)
def how_sure(subject: Subject) -> Answer:
    shares = _probabilities(subject)
    whole = math.prod(shares)
    each = whole ** (1 / len(shares))
    return Answer(
        f"It gives the whole {subject.written} a probability of {share_of(whole)}, which is "
        f"{share_of(each)} a token (the geometric mean of {len(shares)}).",
        DecodingView(section="certainty"),
    )


@inquiry("doubtful", "Where did the model hesitate?", has_word)
def doubtful(subject: Subject) -> Answer:
    shares = _probabilities(subject)
    unsure = sorted((n for n, share in enumerate(shares) if share < UNSURE), key=shares.__getitem__)
    view = DecodingView(section="certainty")
    if not unsure:
        return Answer(f"Nowhere: each of its {len(shares)} tokens had 50% or more.", view)
    listed = ", ".join(
        f"“{subject.predicted[place]}” {share_of(shares[place])}" for place in unsure[:LISTED]
    )
    more = f" and {len(unsure) - LISTED} more" if len(unsure) > LISTED else ""
    return Answer(
        f"Below 50% it had {len(unsure)} of {count_of(len(shares), 'token')}: {listed}{more}.",
        view,
    )


@inquiry("beam", "Does beam search change it?", is_model)
def beam_changes(subject: Subject) -> Answer:
    question = replace(subject.of_model, target="")
    usual, greedy = (
        session.ask(question.decode(each.search())).decoding.translation
        for each in (USUAL, replace(USUAL, beam=1))
    )
    view = CompareView(versus="search")
    if usual.text == greedy.text:
        return Answer(
            f"No: greedy decoding, a beam of 1, writes the same as a beam of {USUAL.beam}.",
            view,
        )
    one, other = (number(sum(each.log_probs)) for each in (usual, greedy))
    return Answer(
        f"Yes: greedy decoding writes {quoted(greedy.text)} (log-probability {other}), a beam of "
        f"{USUAL.beam} {quoted(usual.text)} ({one}).",
        view,
    )


@inquiry("runner-up", "What was the second-best translation?", is_model)
def runner_up(subject: Subject) -> Answer:
    question = replace(subject.of_model, target="")
    decoded = session.ask(question.decode(USUAL.search())).decoding
    view = DecodingView(section="beams")
    if len(decoded.ranked) < 2:
        return Answer("None: the search ended with one hypothesis.", view)
    node = decoded.ranked[1]
    text = subject.model.tokenizer.target.decode(decoded.token_ids(node))
    assert node.score is not None, "results have scores"
    return Answer(
        f"{quoted(text)}, with a score of {fixed(node.score, 2)} against "
        f"{fixed(decoded.translation.score, 2)} of the best.",
        view,
    )


@inquiry("widths", "Would a wider beam help?", is_model)
def widths(subject: Subject) -> Answer:
    question = replace(subject.of_model, target="")
    texts = {
        session.ask(question.decode(each)).decoding.translation.text
        for each in of_every_width(USUAL.search())
    }
    counted = "the same text" if len(texts) == 1 else f"{len(texts)} different texts"
    return Answer(f"Beams of 1 to {WIDEST} write {counted}.", DecodingView(section="widths"))


def _has_layers(subject: Subject) -> bool:
    return subject.is_model and subject.model.model.config.n_decoder_layers > 1


@inquiry("decided", "At which layer is a word decided?", _has_layers)
def decided(subject: Subject) -> Answer:
    question = replace(subject.of_model, target="")
    lens = session.ask(read_layers(question.version, question.sentence, USUAL.search()))
    first = lens.ranks == 1
    # The layer from which on it stays first; the number of layers where it never is.
    since = [int(np.argmin([*column[::-1], False])) for column in first.T]
    n_layers, n_steps = first.shape
    early = sum(count > 1 for count in since)
    return Answer(
        f"First before the last of {n_layers} decoder layers, and first from there on: "
        f"{early or 'none'} of {count_of(n_steps, 'token')}.",
        DecodingView(section="layers"),
    )
