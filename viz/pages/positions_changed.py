"""The translation and the heads while positions fade, and while the words are shuffled."""

from functools import partial

import numpy as np
import streamlit as st

from model.record.intervention import Intervention, PositionEdit, PositionError
from viz.browser.word_order import dragged_order, word_order
from viz.draw import css, word_diff
from viz.draw.labels import NOTHING, axis_texts, escape_html, escape_markdown, visible
from viz.pages.positions_asked import Asked
from viz.positions.neighbours import NeighbourHeads, neighbour_heads
from viz.positions.shuffle import ShuffledDistances, moved_words, reordered
from viz.positions.view import FARTHEST, KEYS, SIDES, PositionsView, written_order
from viz.service import session
from viz.service.questions import ModelQuestion
from viz.service.results import Outcome
from viz.shell import address, opening, stage
from viz.shell.fragments import fragment
from viz.shell.save_menu import show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, options, segments
from viz.shell.width import is_narrow

ORIGINAL = "Original order"

ORDER = KEYS("word-order")

SCALES = range(100, -1, -10)
"""Strengths of the encoding in percent; up is more."""

LONG_TEXT = 120
"""Translations of more characters are set smaller, so that two still fit on the screen."""


@fragment
def show_without(asked: Asked) -> None:
    """The translation and the heads while positions fade, shift or are reversed."""
    view = address.read(PositionsView)
    if opening.is_first("without") and view.edit.at_rest:
        address.change(scale=0)
    if view.reverse:
        # While the decoder writes, its last position is not known.
        address.change(side="encoder")
    view = address.read(PositionsView)
    one, other = st.columns([1, 3], gap="large")
    with one:
        st.slider(
            "Strength of the encoding",
            0,
            100,
            view.scale,
            key=KEYS("scale"),
            format="%d%%",
            help="100% is the model as it is, 0% removes positions.",
        )
        with options(KEYS("without-options")):
            st.slider("Shift by positions", -FARTHEST, FARTHEST, view.shift, key=KEYS("shift"))
            st.toggle(
                "Reverse",
                view.reverse,
                key=KEYS("reverse"),
                help="The first word gets the last position. Encoder only: while the decoder "
                "writes, its last position is unknown.",
            )
            segments("Where", SIDES, key=KEYS("side"), hides_label=False, disabled=view.reverse)
    question = asked.question
    both = passes_of(question, view.edit)
    if both is None:
        return
    before, after = both
    with other:
        show_translations("The translation", before.free.text, after.free.text)
    heads = neighbour_heads(before.forced, after.forced)
    if heads:
        picture = NeighbourHeads(heads, question.sentence, view.edit)
        show_picture(picture, KEYS("neighbours"))
    address.write_address()


def passes_of(question: ModelQuestion, edit: PositionEdit) -> tuple[Outcome, Outcome] | None:
    """What the model writes as it is and edited; None, with the reason shown, if it cannot."""
    before = session.run(question)
    try:
        return before, session.run(question, Intervention(positions=edit))
    except PositionError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return None


def show_without_on_stage(asked: Asked) -> None:
    view = asked.view
    stage.say(f"{view.scale}% of the encoding")
    stage.offer("Up and down: strength", down=stage.Step(KEYS("scale"), SCALES, view.scale))
    both = passes_of(asked.question, view.edit)
    if both is None:
        return
    before, after = both
    heads = neighbour_heads(before.forced, after.forced)
    with stage.picture():
        st.html(
            word_diff.translations_html(
                before.free.text, after.free.text, ("Before", "After"), dark=is_dark()
            )
        )
        if heads:
            picture = NeighbourHeads(heads, asked.question.sentence, view.edit)
            stage.show((picture, KEYS("neighbours")))


def show_translations(heading: str, before: str, after: str) -> None:
    """Two translations, what changed between them, and which words moved."""
    st.subheader(f"{heading} {'stays the same' if before == after else 'changes'}", anchor=False)
    size = ' style="font-size: 1.1rem"' if max(len(before), len(after)) > LONG_TEXT else ""
    st.html(
        f"<style>{css.CHANGE_CSS}</style>"
        f'<div class="change"{size}><span>Before</span>'
        f"<div>{escape_html(visible(before)) or NOTHING}</div><span>After</span>"
        f"<div>{word_diff.diff_html(before, after, dark=is_dark()) or NOTHING}</div></div>"
    )
    words = moved_words(before, after)
    if words:
        listed = ", ".join(f"“{word}”" for word in words)
        st.caption(escape_markdown(f"In both, but elsewhere: {listed}."))


@fragment
def show_shuffle(asked: Asked) -> None:
    """The source's words in another order, with positions and without."""
    texts = axis_texts(asked.source)[:-1]
    usual = tuple(range(len(texts)))
    if opening.is_first("shuffle") and not address.read(PositionsView).shuffled:
        address.change(shuffled=opening_order(asked.question, usual))
    order = address.read(PositionsView).order(len(texts))
    word_order(texts, order or usual, key=ORDER, on_order=partial(keep_order, len(texts)))
    with st.container(horizontal=True):
        st.button(
            "Shuffle",
            icon=":material/shuffle:",
            on_click=shuffle,
            args=(len(texts),),
            disabled=len(texts) < 2,
        )
        st.button(
            ORIGINAL,
            icon=":material/undo:",
            on_click=address.change,
            kwargs={"shuffled": ""},
            disabled=order == usual,
        )
    if order is None:
        refuse_order(len(texts))
        order = usual
    if order == usual:
        st.caption("Drag a token or move it with the arrow keys, or press Shuffle.")
    else:
        show_reordered(asked, order)
    address.write_address()


def show_reordered(asked: Asked, order: tuple[int, ...]) -> None:
    """The effect of another order, with and without positions."""
    one, other = st.columns(2, gap="small" if is_narrow() else "large")
    for column, heading, edit in (
        (one, "With positions, the translation", PositionEdit()),
        (other, "Without positions, it", PositionEdit(scale=0)),
    ):
        with column:
            before, after = (
                session.run(asked.question, Intervention(positions=edit, source_order=each))
                for each in (None, order)
            )
            show_translations(heading, before.free.text, after.free.text)
    show_picture(distances_picture(asked, order), KEYS("distances"))


def show_shuffle_on_stage(asked: Asked) -> None:
    tokens = asked.source
    n_words = len(tokens) - 1
    usual = tuple(range(n_words))
    order = asked.view.order(n_words)
    if order is None:
        refuse_order(n_words)
        order = usual
    with stage.picture():
        word_order(axis_texts(tokens)[:-1], order, key=ORDER, on_order=partial(keep_order, n_words))
        show_reordered_on_stage(asked.question, order)
        if order != usual:
            stage.show((distances_picture(asked, order), KEYS("distances")))
    written = [""] if order == usual else ["", written_order(order)]
    stage.offer(
        "Down: shuffle · Up: as it was",
        down=stage.Step(
            KEYS("shuffled"), [*written, written_order(other_order(order))], written[-1]
        ),
    )


def show_reordered_on_stage(question: ModelQuestion, order: tuple[int, ...]) -> None:
    """The translations of another order, with and without positions."""

    def text_under(positions: PositionEdit) -> str:
        under = Intervention(positions=positions, source_order=order)
        return escape_html(visible(session.run(question, under).free.text)) or NOTHING

    written = "".join(
        f"<span>{name}</span><div>{text_under(edit)}</div>"
        for name, edit in (("With positions", PositionEdit()), ("Without", PositionEdit(scale=0)))
    )
    st.html(f'<style>{css.CHANGE_CSS}</style><div class="change">{written}</div>')


def distances_picture(asked: Asked, order: tuple[int, ...]) -> ShuffledDistances:
    """How far each token's row moved when the tokens stand in that order."""
    model, sentence = asked.model, asked.question.sentence
    place = [*order, len(order)]
    distances = {}
    for name, edit in {
        "with positions": PositionEdit(),
        "without positions": PositionEdit(scale=0),
    }.items():
        before, after = (
            model.encode(sentence, under=Intervention(positions=edit, source_order=each))
            for each in (None, order)
        )
        distances[name] = np.linalg.norm(after - before[place], axis=-1)
    length = float(np.linalg.norm(model.encode(sentence), axis=-1).mean())
    return ShuffledDistances(reordered(asked.source, place), distances, length, sentence, order)


def refuse_order(n_words: int) -> None:
    hint(
        f"The order in the address does not fit this sentence's {n_words} tokens; they keep their "
        "own. Drag them, or press Shuffle."
    )


def keep_order(n_words: int) -> None:
    order = dragged_order(ORDER, n_words)
    if order is not None:
        address.change(shuffled=written_order(order))


def shuffle(n_words: int) -> None:
    order = address.read(PositionsView).order(n_words) or tuple(range(n_words))
    address.change(shuffled=written_order(other_order(order)))


def opening_order(question: ModelQuestion, usual: tuple[int, ...]) -> str:
    """The order that the words open in: one that shows something, where one is known."""
    listed = session.experiments(question.checkpoint).get("shuffle", ())
    known = {each.source: each.setting for each in listed}
    return known.get(question.sentence) or written_order(other_order(usual))


def other_order(before: tuple[int, ...]) -> tuple[int, ...]:
    """A random order, other than before if there is another."""
    chance = np.random.default_rng()
    order = before
    # For a few words, chance often gives the same order.
    while order == before and len(before) > 1:
        order = tuple(chance.permutation(len(before)).tolist())
    return order
