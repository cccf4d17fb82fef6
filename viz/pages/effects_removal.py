"""What is left of translations while heads are removed one after another."""

import streamlit as st

from model.checkpoints.checkpoint import snapshots
from model.checkpoints.shipped import CheckpointError
from model.explain.removal_file import read_removal
from viz.draw.labels import escape_markdown
from viz.effects.removal_curve import MEASURES, NO_CURVES, ExamplesCurve, RemovalCurve
from viz.effects.view import CURVES, KEYS, SENTENCE
from viz.pages.effects_asked import Asked
from viz.pages.effects_switches import offer_switches, show_without
from viz.service import session
from viz.service.jobs.removing import remove_heads
from viz.service.questions import ModelQuestion
from viz.shell import stage
from viz.shell.save_menu import show_picture
from viz.shell.widgets import hint
from viz.shell.width import is_narrow

ONLY_TRAINED = "Only the fully trained model has these curves; choose its last training step."


def curve_of(question: ModelQuestion) -> RemovalCurve:
    """The curve of this translation while heads are removed one after another."""
    left = session.ask(remove_heads(question.record))
    return RemovalCurve(left, question.sentence, question.target)


def example_curves(question: ModelQuestion) -> dict[str, ExamplesCurve]:
    """The curves over the model's examples by measure; none, with the reason shown, without any."""
    steps = snapshots(question.folder)
    if question.snapshot not in (None, len(steps) - 1):
        hint(ONLY_TRAINED)
        return {}
    model = session.translator(question.checkpoint)
    try:
        removal = read_removal(question.folder, len(model.sites) * model.model.config.n_heads)
    except CheckpointError as error:
        st.warning(escape_markdown(str(error)), icon=":material/error:")
        return {}
    if removal is None:
        hint(NO_CURVES)
        return {}
    return {each: ExamplesCurve(removal, each, question.model_name) for each in MEASURES}


def show_removal(asked: Asked) -> None:
    """The curve of this translation, and below it those of the examples."""
    question = asked.question
    show_picture(curve_of(question), KEYS("removal"), fills=True)
    show_without(asked)
    offer_switches(asked.view, asked.effects.ranked())
    st.subheader("On the model’s examples", anchor=False)
    curves = example_curves(question)
    if curves:
        for column, (measure, picture) in zip(
            st.columns(len(curves), gap="large"), curves.items(), strict=True
        ):
            with column:
                show_picture(picture, KEYS(measure), columns=len(curves))


def show_removal_on_stage(asked: Asked) -> None:
    """One curve; keys lead to the next."""
    question, view = asked.question, asked.view
    stage.offer(
        "Left and right: curve",
        across=stage.Step(KEYS("curve"), list(CURVES), view.curve, cycles=True),
    )
    with stage.picture():
        if view.curve == SENTENCE:
            picture: RemovalCurve | ExamplesCurve = curve_of(question)
        else:
            curves = example_curves(question)
            if not curves:
                return
            picture = curves[view.curve]
        stage.say(picture.title)
        stage.show((picture, KEYS("removal")), narrow=is_narrow())
