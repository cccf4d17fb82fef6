"""Compare: two sentences, with parts of one put into the other, two models, or two searches."""

from viz.compare.view import KEYS, VERSUS, CompareView
from viz.pages import compare_models as models
from viz.pages import compare_searches as searches
from viz.pages import compare_sentences as sentences
from viz.service.questions import ModelQuestion
from viz.shell import address, opening
from viz.shell.parts import Part, show_parts
from viz.shell.width import watch_width

OF_RUNS = {
    "sentence": Part(
        sentences.show_sentences,
        sentences.show_sentences_on_stage,
        beside=sentences.choose_sentence,
        options=sentences.choose_view,
        short="Sentences",
    ),
    "model": Part(
        models.show_models,
        models.show_models_on_stage,
        beside=models.choose_model,
        short="Models",
    ),
    "search": Part(
        searches.show_searches,
        searches.show_searches_on_stage,
        beside=searches.choose_searches,
        short="Searches",
    ),
}


def show(question: ModelQuestion) -> None:
    bring_pair(question)
    show_parts(VERSUS, OF_RUNS, question, KEYS, "versus")
    watch_width()


def bring_pair(question: ModelQuestion) -> None:
    """Let the page open with a second sentence that differs from the first one in one thing.

    It follows the first one until a person brings theirs.
    """
    other = address.read(CompareView).other
    is_linked = address.is_followed() and not address.is_plain()
    opens = address.is_plain() and not other
    follows = opening.is_brought(other=other) and not is_linked
    if opens or follows:
        pairs = [*opening.own_pairs(question)[:1], *opening.pairs_for(question.checkpoint)]
        if second := dict(pairs).get(question.sentence):
            opening.bring(other=second)
