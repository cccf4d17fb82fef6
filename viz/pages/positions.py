"""Positions: what the model knows about order, from its own table, and what it is for."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import streamlit as st

from model.checkpoints.checkpoint import CONFIG
from model.explain import position_measures
from model.record.intervention import Intervention, PositionEdit, PositionError
from model.trace.attention_map import FloatArray, Tokens
from model.translate.translator import Translator
from viz.browser.formula import formula
from viz.browser.matrices import matrices
from viz.browser.word_order import dragged_order, word_order
from viz.draw import css, word_diff
from viz.draw.labels import NOTHING, axis_texts, escape_html, escape_markdown, visible
from viz.pages import positions_stage as on_stage
from viz.positions.embedding_sum import EmbeddingSum
from viz.positions.neighbours import NeighbourHeads, neighbour_heads
from viz.positions.score_terms import TermShares
from viz.positions.shuffle import ShuffledDistances, moved_words, reordered
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Formula, Positions, untrained_words
from viz.positions.view import FARTHEST, KEYS, LENGTHS, PARTS, SIDES, PositionsView, written_order
from viz.positions.waves import Circle, FormulaWaves, Waves
from viz.service import model_menu, session
from viz.service.jobs.running import term_shares
from viz.service.questions import OfModel
from viz.shell import address, opening, stage
from viz.shell.fragments import fragment
from viz.shell.save_menu import captioned, show_picture
from viz.shell.theme import is_dark
from viz.shell.widgets import hint, options, segments
from viz.shell.width import is_narrow, watch_width

ORIGINAL = "Original order"

SHORT_PARTS = {
    "table": "Table",
    "likeness": "Similarity",
    "words": "Words",
    "without": "Remove",
    "shuffle": "Shuffle",
    "learned": "Learned",
    "formula": "What if",
}
"""For a phone, where the full names with their icons take four lines."""

PART_ICONS = {
    "table": ":material/grid_on:",
    "likeness": ":material/blur_linear:",
    "words": ":material/add:",
    "without": ":material/tune:",
    "shuffle": ":material/shuffle:",
    "learned": ":material/school:",
    "formula": ":material/calculate:",
}
WAVES, ORDER = KEYS("wave-choice"), KEYS("word-order")

OF_ANY_MODEL = ("without", "shuffle", "formula")
"""Parts that need no table of encodings."""

ONE_COLUMN = {"words", "without", "shuffle"}
"""Parts that place no figures side by side."""

LONG_TEXT = 120
"""Translations of more characters are set smaller, so that two still fit on the screen."""

PARTS_HEIGHT = 17
"""The height in rem of a matrix where positions meet words."""

MOST_WAVES = 8
FEW_POSITIONS = 64
"""Positions under the waves of a short sentence: fewer show no wave, many only a thicket."""


def parts_of(model: Translator) -> dict[str, str]:
    """The parts that apply to the model; `topic` becomes one of them."""
    parts = {name: PARTS[name] for name in (PARTS if model.positions.is_added else OF_ANY_MODEL)}
    if address.read(PositionsView).topic not in parts:
        address.change(topic=next(iter(parts)))
    return parts


def table_of(model: Translator, view: PositionsView, n_tokens: int) -> FloatArray | None:
    """The model's own table at the selected length; None if it has none of that length."""
    limit = model.model.config.max_positions
    length = {"sentence": n_tokens, "limit": limit, "beyond": 2 * limit}[view.length]
    try:
        return model.position_table(length)
    except PositionError as error:
        hint(escape_markdown(str(error)))
        return None


def show_table(question: OfModel, model: Translator, view: PositionsView) -> None:
    """The matrix, some dimensions as waves, and one pair on its circle."""
    tokens = session.ask(question.translate).translation.source
    segments("Positions", LENGTHS, key=KEYS("length"))
    table = table_of(model, view, len(tokens))
    if table is None:
        return
    base, trained = model.positions.base, model.trained_positions()
    is_short = view.length == "sentence"
    show_picture(
        Positions(table, base, trained, question.sentence, tokens if is_short else None),
        KEYS("encoding"),
    )
    few = min(max(FEW_POSITIONS, len(tokens)), model.model.config.max_positions)
    show_waves(model, view, model.position_table(few) if is_short else table)
    show_circle(model)


def left_out(model: Translator, length: int) -> str:
    """The note of a picture that leaves out the table's rows that were never trained."""
    if not model.positions.is_learned:
        return ""
    return untrained_words(length, model.trained_positions())


def show_waves(model: Translator, view: PositionsView, table: FloatArray) -> None:
    """Some dimensions over position, without rows that training never reached."""
    base, said = model.positions.base, left_out(model, len(table))
    table = table[: model.trained_positions()]
    d_model = table.shape[1]
    st.session_state[WAVES] = view.dimensions(d_model)
    with options(KEYS("waves-options")):
        st.multiselect(
            "Dimensions as waves",
            range(d_model),
            address.value_of(WAVES),
            key=WAVES,
            max_selections=MOST_WAVES,
            on_change=keep_waves,
            help=f"Up to {MOST_WAVES}. If you remove all, the first four come back.",
        )
    picked = st.session_state[WAVES]
    if picked:
        show_picture(
            Waves(table, picked, base),
            KEYS("chosen-waves"),
            further=said,
        )


def keep_waves() -> None:
    """Keep the selected dimensions in the address."""
    address.change(waves=".".join(map(str, st.session_state[WAVES])))


@fragment
def show_circle(model: Translator) -> None:
    """The sine and cosine of one frequency as a point that the slider moves."""
    base, table = model.positions.base, model.position_table(model.trained_positions())
    length, d_model = table.shape
    if d_model % 2:
        return
    view = address.read(PositionsView)
    pair, at = min(view.pair, d_model // 2 - 1), min(view.at, length - 1)
    address.change(pair=pair, at=at)
    one, other = st.columns(2, gap="small" if is_narrow() else "large")
    one.slider("Pair of dimensions", 0, d_model // 2 - 1, pair, key=KEYS("pair"))
    other.slider("Position", 0, length - 1, at, key=KEYS("at"))
    dimensions = (2 * pair, 2 * pair + 1)
    one, other = st.columns(2, gap="large")
    with one:
        show_picture(
            Circle(table, pair, at, base),
            KEYS("circle"),
            columns=2,
            further=left_out(model, model.max_tokens),
        )
    with other:
        show_picture(Waves(table, dimensions, base, at), KEYS("pair-waves"), columns=2)
    address.write_address()


def show_likeness(model: Translator, view: PositionsView) -> None:
    """Every two positions compared, and the same by offset."""
    st.toggle("Cosine instead of the dot product", view.cosine, key=KEYS("cosine"))
    table = model.position_table(model.trained_positions())
    said = left_out(model, model.max_tokens)
    one, other = st.columns(2, gap="large")
    with one:
        show_picture(Similarity(table, view.cosine), KEYS("likeness"), columns=2, further=said)
    with other:
        show_picture(ByOffset(table, view.cosine), KEYS("by-offset"), columns=2, further=said)


def show_words(question: OfModel, model: Translator) -> None:
    """Word, scaling, position and their sum, and the terms of the first layer's scores."""
    sentence = question.sentence
    parts = model.embedding_parts(sentence)
    picture = EmbeddingSum(parts, sentence)
    matrices(picture.panels, key=KEYS("parts"), height=PARTS_HEIGHT, abreast=2)
    captioned(escape_markdown(picture.caption), [picture], KEYS("parts-of-words"))
    try:
        shares = session.ask(term_shares(question.version, sentence))
    except PositionError as error:
        hint(escape_markdown(str(error)))
        return
    show_picture(TermShares(shares, sentence), KEYS("terms"))


@fragment
def show_without(question: OfModel) -> None:
    """The translation and the heads while positions fade, shift or are reversed."""
    view = address.read(PositionsView)
    if opening.is_first("without") and view.edit.at_rest:
        address.change(scale=0)
    if view.reverse:
        # While the decoder writes, its last position is not known.
        address.change(side="encoder")
    view = address.read(PositionsView)
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="xsmall" if is_narrow() else "large"
    ):
        st.slider(
            "Strength of the encoding",
            0,
            100,
            view.scale,
            key=KEYS("scale"),
            format="%d%%",
            width=300,
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
    before = session.run(question)
    try:
        after = session.run(question, Intervention(positions=view.edit))
    except PositionError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return
    show_translations("The translation", before.free.text, after.free.text)
    heads = neighbour_heads(before.forced, after.forced)
    if heads:
        picture = NeighbourHeads(heads, question.sentence, view.edit)
        show_picture(picture, KEYS("neighbours"))
    address.write_address()


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
def show_shuffle(question: OfModel, model: Translator) -> None:
    """The source's words in another order, with positions and without."""
    tokens = session.ask(question.translate).translation.source
    texts = axis_texts(tokens)[:-1]
    usual = tuple(range(len(texts)))
    if opening.is_first("shuffle") and not address.read(PositionsView).shuffled:
        address.change(shuffled=opening_order(question, usual))
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
        show_reordered(question, model, order)
    address.write_address()


def show_reordered(question: OfModel, model: Translator, order: tuple[int, ...]) -> None:
    """The effect of another order, with and without positions."""
    one, other = st.columns(2, gap="small" if is_narrow() else "large")
    for column, heading, edit in (
        (one, "With positions, the translation", PositionEdit()),
        (other, "Without positions, it", PositionEdit(scale=0)),
    ):
        with column:
            before, after = (
                session.run(question, Intervention(positions=edit, source_order=each))
                for each in (None, order)
            )
            show_translations(heading, before.free.text, after.free.text)
    sentence = question.sentence
    tokens = session.ask(question.translate).translation.source
    show_distances(model, sentence, tokens, order)


def show_distances(
    model: Translator, sentence: str, tokens: Tokens, order: tuple[int, ...]
) -> None:
    """How far each token's row moved in the encoder's output."""
    show_picture(distances_picture(model, sentence, tokens, order), KEYS("distances"))


def distances_picture(
    model: Translator, sentence: str, tokens: Tokens, order: tuple[int, ...]
) -> ShuffledDistances:
    """How far each token's row moved when the tokens stand in that order."""
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
    return ShuffledDistances(reordered(tokens, place), distances, length, sentence, order)


def refuse_order(n_words: int) -> None:
    """Say that the order is for another sentence."""
    hint(
        f"The order in the address does not fit this sentence's {n_words} tokens; they keep their "
        "own. Drag them, or press Shuffle."
    )


def keep_order(n_words: int) -> None:
    """Take over a dragged order."""
    order = dragged_order(ORDER, n_words)
    if order is not None:
        address.change(shuffled=written_order(order))


def shuffle(n_words: int) -> None:
    """Shuffle the words."""
    order = address.read(PositionsView).order(n_words) or tuple(range(n_words))
    address.change(shuffled=written_order(other_order(order)))


def opening_order(question: OfModel, usual: tuple[int, ...]) -> str:
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


def checkpoint_with(kind: str) -> Path | None:
    """The first checkpoint with a kind of positions."""
    for folder in model_menu.checkpoints().values():
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(config, dict) and config.get("positions") == kind:
            return folder
    return None


def other_checkpoint(model: Translator) -> Path | None:
    """A checkpoint with the other kind of positions; None, with a hint, if there is none."""
    wanted = "sinusoidal" if model.positions.is_learned else "learned"
    other = checkpoint_with(wanted)
    if other is None:
        hint(
            f"There is no checkpoint with {wanted} positions; train one with "
            f"`--set model.positions={wanted}` and put its folder under checkpoints."
        )
    return other


def show_learned(question: OfModel, model: Translator) -> None:
    """This model's positions beside those of a model with the other kind."""
    other = other_checkpoint(model)
    if other is None:
        return
    for column, each, asked in zip(
        st.columns(2, gap="large"),
        (model, session.translator(other)),
        (question, OfModel(other, question.sentence)),
        strict=True,
    ):
        kind = each.model.config.positions
        table, trained = each.position_table(), each.trained_positions()
        reached = table[:trained]
        said = left_out(each, len(table))
        with column:
            st.subheader(escape_markdown(f"{each.name}: {kind}"))
            for picture, name, after in (
                (Positions(table, each.positions.base, trained), "encoding", ""),
                (Similarity(reached), "likeness", said),
                (ByOffset(reached), "by-offset", said),
            ):
                show_picture(picture, KEYS(name, kind), columns=2, further=after, question=asked)


@fragment
def show_formula() -> None:
    """The formula for any width, length and base."""
    view = address.read(PositionsView)
    # A sine needs its cosine.
    d_model, base = view.d_model - view.d_model % 2, float(view.base)
    address.change(d_model=d_model)
    table = position_measures.formula_table(d_model, view.rows, base)
    one, other = st.columns([5, 3], gap="large")
    with one:
        show_picture(
            Formula(table, base),
            KEYS("formula"),
            columns=2,
            after=" Point at a cell to compute it.",
        )
    with other:
        formula(KEYS("formula"), base=base, d_model=d_model, length=view.rows)
        st.caption("Section 3.5 of the paper, not the model's own table.")
        st.slider("d_model", 2, 1024, d_model, step=2, key=KEYS("d_model"))
        st.slider("Positions", 2, 1024, view.rows, key=KEYS("rows"))
        st.slider("Base", 2, 100_000, view.base, key=KEYS("base"), help="10,000 in the paper.")
    dimensions = sorted({0, d_model // 8, d_model // 4, d_model // 2})
    show_picture(FormulaWaves(table, dimensions, base), KEYS("formula-waves"))
    address.write_address()


def part_name(part: str) -> str:
    """A part's name on its button."""
    return SHORT_PARTS[part] if is_narrow() else f"{PART_ICONS[part]} {PARTS[part]}"


def show(question: OfModel) -> None:
    """Everything, for a question that has an answer."""
    show_part(question)
    watch_width(1 if address.read(PositionsView).topic in ONE_COLUMN else 2)


def show_part(question: OfModel) -> None:
    """The selected part, for the model's own translation."""
    model, question = session.translator(question.checkpoint), replace(question, target="")
    if stage.is_on():
        show_on_stage(question, model)
        return
    parts = parts_of(model)
    view = address.read(PositionsView)
    if not model.positions.is_added:
        hint(
            "This model adds no positions to its embeddings; instead, every self-attention "
            f"{model.positions.acts}."
        )
    segments("Part", {part: part_name(part) for part in parts}, key=KEYS("topic"))
    match view.topic:
        case "likeness":
            show_likeness(model, view)
        case "words":
            show_words(question, model)
        case "without":
            show_without(question)
        case "shuffle":
            show_shuffle(question, model)
        case "learned":
            show_learned(question, model)
        case "formula":
            show_formula()
        case _:
            show_table(question, model, view)


def show_on_stage(question: OfModel, model: Translator) -> None:
    """The main figure of the selected part."""
    sentence = question.sentence
    parts = parts_of(model)
    view = address.read(PositionsView)
    # The bar has named the typed target, of which nothing is shown here.
    stage.name(sentence, session.ask(question.translate).translation.text)
    stage.offer("Left and right: part", across=stage.Step(KEYS("topic"), list(parts), view.topic))
    stage.say(PARTS[view.topic])
    match view.topic:
        case "likeness":
            on_stage.show_likeness(model, view.cosine)
        case "words":
            on_stage.show_words(model, sentence)
        case "without":
            on_stage.show_without(question, view)
        case "shuffle":
            show_shuffle_on_stage(question, model, view)
        case "learned":
            other = other_checkpoint(model)
            if other is not None:
                on_stage.show_learned(model, session.translator(other))
        case "formula":
            on_stage.show_formula(view)
        case _:
            tokens = session.ask(question.translate).translation.source
            on_stage.offer_lengths(view.length)
            table = table_of(model, view, len(tokens))
            if table is not None:
                is_short = view.length == "sentence"
                trained = model.trained_positions()
                base = model.positions.base
                on_stage.show_table(
                    Positions(table, base, trained, sentence, tokens if is_short else None)
                )


def show_shuffle_on_stage(question: OfModel, model: Translator, view: PositionsView) -> None:
    """The words, and the effects of their order."""
    sentence = question.sentence
    tokens = session.ask(question.translate).translation.source
    n_words = len(tokens) - 1
    usual = tuple(range(n_words))
    order = view.order(n_words)
    if order is None:
        refuse_order(n_words)
        order = usual
    with stage.picture():
        word_order(axis_texts(tokens)[:-1], order, key=ORDER, on_order=partial(keep_order, n_words))
        on_stage.show_reordered(question, order)
        if order != usual:
            stage.show((distances_picture(model, sentence, tokens, order), KEYS("distances")))
    written = [""] if order == usual else ["", written_order(order)]
    stage.offer(
        "Down: shuffle · Up: as it was",
        down=stage.Step(
            KEYS("shuffled"), [*written, written_order(other_order(order))], written[-1]
        ),
    )
