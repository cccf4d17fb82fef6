"""Each decoder layer's prediction, as if the model stopped there."""

from model.paper.search import Search
from viz.decoding.lens import LayerLens
from viz.decoding.view import KEYS, DecodingView
from viz.service import session
from viz.service.jobs.running import read_layers
from viz.service.questions import OfModel
from viz.shell import stage
from viz.shell.save_menu import show_picture


def show_layers(question: OfModel, view: DecodingView, search: Search) -> None:
    """The map of all layers and steps."""
    asked = question.version, question.sentence, search, view.changes.under
    lens = session.ask(read_layers(*asked))
    model = session.translator(question.checkpoint)
    picture = LayerLens(lens, question.sentence, search, model.has_final_norm, view.changes)
    stage.say(picture.title)
    show_picture(picture, KEYS("layers"))
