"""Inquiries about one word against another."""

from model.contrast.pairs import spelled
from model.contrast.results import Contrast
from viz.effects.contrast_map import contrast_sentences
from viz.effects.contrasted import quoted, standing
from viz.effects.deciding_heads import DecidingHeads
from viz.effects.logit_waterfall import LogitWaterfall
from viz.effects.path_graph import PathGraph
from viz.effects.two_words import WordsWithoutTokens
from viz.effects.view import MOST_WORD, EffectsView
from viz.inquiries.inquiry import Answer, Inquiries, Subject, has_word
from viz.service import session
from viz.service.jobs.contrasting import (
    add_terms,
    contrast_words,
    find_head_set,
    find_paths,
    list_rivals,
)

inquiry = Inquiries()


def _pair(subject: Subject) -> tuple[int, str]:
    """A word's place, and the other word, or its likeliest rival, as an address spells it."""
    place = subject.hardest
    assert place is not None, "it is offered only where a token is known"
    if subject.other:
        return place, subject.other
    found = session.ask(list_rivals(subject.of_model.record, place)).tokens
    own = subject.trace.predictions.ids[place]
    rival = next(
        piece for piece, token in zip(found.tokens, found.ids, strict=True) if token != own
    )
    return place, spelled(rival)[:MOST_WORD]


def _contrast(subject: Subject, pair: tuple[int, str]) -> Contrast:
    return session.ask(contrast_words(subject.of_model.record, *pair))


def _view(pair: tuple[int, str], show: str) -> EffectsView:
    return EffectsView(show=show, token=pair[0] + 1, instead=pair[1])


@inquiry(
    "why-not",
    "Why “{word}” and not the next likeliest?",
    has_word,
    named="Why “{word}” and not “{other}”?",
)
def why_not(subject: Subject) -> Answer:
    pair = _pair(subject)
    contrast = _contrast(subject, pair)
    sentence = f"{standing(contrast)} {contrast_sentences(contrast, 1)[0]}"
    return Answer(sentence, _view(pair, "probability"))


@inquiry("why-source", "Which source word decides for “{word}”?", has_word)
def words_for_it(subject: Subject) -> Answer:
    pair = _pair(subject)
    picture = WordsWithoutTokens(_contrast(subject, pair), *pair)
    return Answer(picture.sentences[0], _view(pair, "tokens"))


@inquiry("fewest-heads", "How few heads decide for “{word}”?", has_word)
def fewest_heads(subject: Subject) -> Answer:
    pair = _pair(subject)
    found = session.ask(find_head_set(subject.of_model.record, *pair, "remove"))
    picture = DecidingHeads(_contrast(subject, pair), *pair, found, found.log_probs[None])
    return Answer(picture.sentences[0], _view(pair, "set"))


@inquiry("adds-up", "What adds up to “{word}”?", has_word)
def adds_up(subject: Subject) -> Answer:
    pair = _pair(subject)
    terms = session.ask(add_terms(subject.of_model.record, *pair))
    return Answer(
        LogitWaterfall(_contrast(subject, pair), *pair, terms).sentence,
        _view(pair, "sum"),
    )


@inquiry("paths", "Which way does the source reach “{word}”?", has_word)
def strongest_path(subject: Subject) -> Answer:
    pair = _pair(subject)
    ways = session.ask(find_paths(subject.of_model.record, *pair))
    contrast = _contrast(subject, pair)
    graph = PathGraph(contrast, *pair, ways)
    return Answer(
        f"For {quoted(contrast.word)} and not {quoted(contrast.other)}, the strongest of "
        f"{ways.measured} measured lines runs from {graph.said(ways.edges[0])}.",
        _view(pair, "paths"),
    )
