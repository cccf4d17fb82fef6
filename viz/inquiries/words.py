"""Inquiries about a word that a person names: where it is looked at, and what became of it."""

import numpy as np

from model.numbers import percent
from model.trace.attention_map import AttentionKind
from viz.decoding.view import DecodingView
from viz.draw.labels import axis_texts
from viz.effects.effect_map import change_words
from viz.effects.view import EffectsView
from viz.inquiries.ablation import deletion_losses
from viz.inquiries.inquiry import Answer, Inquiries, Subject, has_word, share_of
from viz.inquiries.weights import at_head

inquiry = Inquiries()


def _source(subject: Subject) -> int:
    """The source token that was named, or else the one that all heads look at most."""
    if subject.place is not None:
        return subject.place
    weights = np.concatenate([each.weights for each in subject.maps(AttentionKind.CROSS)])
    return int(weights[:, :, :-1].mean(axis=(0, 1)).argmax())


@inquiry(
    "looked-at",
    "Which head looks most at one word?",
    has_word,
    named="Which head looks most at “{source}”?",
)
def looked_at(subject: Subject) -> Answer:
    place = _source(subject)
    shares = {
        (each.site, head): float(share)
        for each in subject.maps(AttentionKind.CROSS)
        for head, share in enumerate(each.weights[:, :, place].mean(axis=1))
    }
    site, head = max(shares, key=shares.__getitem__)
    return Answer(
        f"{site.head_name(head)}: {percent(shares[site, head])} of its weight goes to "
        f"“{axis_texts(subject.trace.source)[place]}”, the most of {len(shares)} heads.",
        at_head(site, head),
    )


@inquiry("looks-at", "Where does it look while it writes “{word}”?", has_word)
def looks_at(subject: Subject) -> Answer:
    place = subject.hardest
    assert place is not None, "it is offered only where a token is known"
    maps = subject.maps(AttentionKind.CROSS)
    shares = np.concatenate([each.weights[:, place] for each in maps]).mean(axis=0)
    source = int(shares.argmax())
    return Answer(
        f"Mostly at “{axis_texts(subject.trace.source)[source]}”: about to write "
        f"“{subject.predicted[place]}”, all cross-attention heads together give it "
        f"{percent(float(shares[source]))} of their weight.",
        DecodingView(at=place + 1),
    )


@inquiry(
    "became", "Which word became of one source word?", has_word, named="What became of “{source}”?"
)
def became(subject: Subject) -> Answer:
    source, log_probs = _source(subject), subject.trace.log_probs
    assert log_probs is not None, "every trace of a translator holds them"
    name = axis_texts(subject.trace.source)[source]
    losses = deletion_losses(subject)[: len(subject.trace.predictions) - 1, source]
    if losses.max() <= 0:
        sentence = f"Nothing depends on it: no word becomes less likely without “{name}”."
        return Answer(sentence, EffectsView(show="maps"))
    place = int(losses.argmax())
    change = change_words(float(log_probs[place]), float(losses[place]))
    return Answer(
        f"“{subject.predicted[place]}” depends on it most: without “{name}”, its probability "
        f"{change}.",
        EffectsView(show="maps", token=place + 1),
    )


@inquiry("sure-of", "How sure was it of “{word}”?", has_word)
def sure_of(subject: Subject) -> Answer:
    place, log_probs = subject.hardest, subject.trace.log_probs
    assert place is not None, "it is offered only where a token is known"
    assert log_probs is not None, "a token of the lowest probability has one"
    share = share_of(float(np.exp(np.float64(log_probs[place]))))
    return Answer(
        f"Given the words before it, the model gave “{subject.predicted[place]}” {share}.",
        DecodingView(at=place + 1),
    )
