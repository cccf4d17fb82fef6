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
    """Let the page open with the second sentence of a pair whose first one is asked."""
    second = dict(opening.pairs_for(question.checkpoint)).get(question.sentence)
    if second and address.is_plain() and not address.read(CompareView).other:
        opening.bring(other=second)
