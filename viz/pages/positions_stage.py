"""The positions page on a stage: the main figure of each part, and the keys."""

import streamlit as st

from model.explain import position_measures
from model.record.intervention import Intervention, PositionEdit, PositionError
from model.translate.translator import Translator
from viz.browser.matrices import matrices
from viz.draw import css
from viz.draw.labels import NOTHING, escape_html, escape_markdown, visible
from viz.draw.word_diff import translations_html
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.neighbours import NeighbourHeads, neighbour_heads
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Formula, Positions
from viz.positions.view import KEYS, LENGTHS, PositionsView
from viz.service import session
from viz.service.questions import OfModel
from viz.shell import stage
from viz.shell.theme import is_dark

SCALES = range(100, -1, -10)
"""Strengths of the encoding in percent; up is more."""

BASES = (10, 100, 1_000, 10_000, 100_000)


def offer_lengths(now: str) -> None:
    """Keys for how many positions the table has."""
    stage.say(f"The table: {LENGTHS[now][0].lower()}{LENGTHS[now][1:]}")
    stage.offer("Up and down: length", down=stage.Step(KEYS("length"), list(LENGTHS), now))


def show_table(picture: Positions) -> None:
    """The matrix."""
    with stage.picture():
        stage.show((picture, KEYS("encoding")))


def show_likeness(model: Translator, cosine: bool) -> None:
    """Every two positions compared, and the same by offset."""
    stage.say(f"Similarity of positions: {'cosine' if cosine else 'dot product'}")
    stage.offer(
        "Up and down: cosine or dot product", down=stage.Step(KEYS("cosine"), (True, False), cosine)
    )
    table = model.position_table(model.trained_positions())
    with stage.picture():
        stage.show(
            (Similarity(table, cosine), KEYS("likeness")),
            (ByOffset(table, cosine), KEYS("by-offset")),
            narrow=True,
        )


def show_words(model: Translator, sentence: str) -> None:
    """Word, scaling, position and their sum."""
    with stage.picture():
        panels = EmbeddingSum(model.embedding_parts(sentence), sentence).panels
        matrices(panels, key=KEYS("parts"), abreast=2, stage=True)


def show_without(question: OfModel, view: PositionsView) -> None:
    """The translation and the heads while positions fade."""
    stage.say(f"{view.scale}% of the encoding")
    stage.offer("Up and down: strength", down=stage.Step(KEYS("scale"), SCALES, view.scale))
    before = session.run(question)
    try:
        after = session.run(question, Intervention(positions=view.edit))
    except PositionError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return
    heads = neighbour_heads(before.forced, after.forced)
    with stage.picture():
        st.html(
            translations_html(
                before.free.text, after.free.text, ("Before", "After"), dark=is_dark()
            )
        )
        if heads:
            picture = NeighbourHeads(heads, question.sentence, view.edit)
            stage.show((picture, KEYS("neighbours")))


def show_reordered(question: OfModel, order: tuple[int, ...]) -> None:
    """The translations of another order, with and without positions."""

    def text_under(positions: PositionEdit) -> str:
        under = Intervention(positions=positions, source_order=order)
        return text_html(session.run(question, under).free.text)

    written = "".join(
        f"<span>{name}</span><div>{text_under(edit)}</div>"
        for name, edit in (("With positions", PositionEdit()), ("Without", PositionEdit(scale=0)))
    )
    st.html(f'<style>{css.CHANGE_CSS}</style><div class="change">{written}</div>')


def text_html(text: str) -> str:
    """A translation, any text, as HTML."""
    return escape_html(visible(text)) or NOTHING


def show_learned(one: Translator, other: Translator) -> None:
    """This model's positions beside those of a model with the other kind."""
    drawn = []
    for each in (one, other):
        kind = each.model.config.positions
        picture = Positions(
            each.position_table(),
            each.positions.base,
            each.trained_positions(),
            heading=f"{each.name}: {kind}",
        )
        drawn.append((picture, f"encoding-{kind}"))
    stage.say("Learned positions and sinusoids")
    with stage.picture():
        stage.show(*drawn, narrow=True)


def show_formula(view: PositionsView) -> None:
    """The formula for any base."""
    base = view.base
    d_model = view.d_model - view.d_model % 2
    stage.say(
        f"What if the base were {base:,}? sin and cos of pos / {base:,}^(2i / {d_model}), not the "
        "model"
    )
    stage.offer("Up and down: base", down=stage.Step(KEYS("base"), BASES[::-1], base))
    table = position_measures.formula_table(d_model, view.rows, float(base))
    with stage.picture():
        stage.show((Formula(table, float(base)), KEYS("formula")))
