"""Each decoder layer's prediction, as if the model stopped there."""

from viz.decoding.lens import LayerLens
from viz.decoding.view import KEYS
from viz.pages.decoded import Shown
from viz.service import session
from viz.service.jobs.running import read_layers
from viz.shell import stage
from viz.shell.save_menu import show_picture


def show_layers(asked: Shown) -> None:
    question, view, search = asked.question, asked.view, asked.search
    lens = session.ask(read_layers(question.version, question.sentence, search, view.changes.under))
    model = session.translator(question.checkpoint)
    picture = LayerLens(lens, question.sentence, search, model.has_final_norm, view.changes)
    stage.say(picture.title)
    show_picture(picture, KEYS("layers"))
