"""Positions: what the model knows about order, from its own table, and what it is for."""

from dataclasses import replace

from viz.pages import positions_changed as changed
from viz.pages import positions_formula as formula
from viz.pages import positions_table as table
from viz.pages import positions_words as words
from viz.pages.positions_asked import Asked
from viz.positions.view import KEYS, PARTS
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.shell import stage
from viz.shell.parts import Part, show_parts
from viz.shell.widgets import hint
from viz.shell.width import watch_width


def adds_positions(asked: Asked) -> bool:
    """Whether the model has a table of encodings, which is added to its embeddings."""
    return asked.model.positions.is_added


ORDER, OTHERS = "Order", "What if"
"""The tabs of several parts."""

OF_POSITIONS = {
    "table": Part(
        table.show_table,
        table.show_table_on_stage,
        applies=adds_positions,
        options=table.choose_table,
        columns=2,
    ),
    "likeness": Part(
        table.show_likeness,
        table.show_likeness_on_stage,
        applies=adds_positions,
        options=table.choose_likeness,
        columns=2,
    ),
    "words": Part(
        words.show_words,
        words.show_words_on_stage,
        applies=adds_positions,
        beside=words.choose_word,
        short="Words",
    ),
    "without": Part(
        changed.show_without,
        changed.show_without_on_stage,
        short="Remove",
        tab=ORDER,
    ),
    "shuffle": Part(
        changed.show_shuffle,
        changed.show_shuffle_on_stage,
        short="Shuffle",
        tab=ORDER,
    ),
    "formula": Part(
        formula.show_formula,
        formula.show_formula_on_stage,
        short="Formula",
        columns=2,
        tab=OTHERS,
    ),
    "learned": Part(
        table.show_learned,
        table.show_learned_on_stage,
        applies=adds_positions,
        short="Learned",
        columns=2,
        tab=OTHERS,
    ),
}


def show(question: ModelQuestion) -> None:
    """Everything, for a question that has an answer, and for the model's own translation."""
    asked = Asked(replace(question, target=""), session.translator(question.checkpoint))
    if stage.is_on():
        # The bar has named the typed target, of which nothing is shown here.
        stage.name(question.sentence, session.ask(asked.question.translate).translation.text)
    elif not adds_positions(asked):
        hint(
            "This model adds no positions to its embeddings; instead, every self-attention "
            f"{asked.model.positions.acts}."
        )
    part = show_parts(PARTS, OF_POSITIONS, asked, KEYS, "topic")
    watch_width(part.columns)
