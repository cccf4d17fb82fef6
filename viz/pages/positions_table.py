"""The model's own table of positions, alone, beside another model's, and added to the words."""

import json
from pathlib import Path

import streamlit as st

from model.checkpoints.folder_files import CONFIG
from model.record.intervention import PositionError
from model.trace.attention_map import FloatArray
from model.translate.translator import Translator
from viz.browser.wave import wave
from viz.draw.labels import axis_texts, escape_markdown, lower_first
from viz.pages.positions_asked import Asked
from viz.positions.circle import Circle
from viz.positions.similarity import ByOffset, Similarity
from viz.positions.table import Positions, untrained_words
from viz.positions.view import KEYS, LENGTHS, PositionsView
from viz.positions.waves import Waves, wave_names
from viz.service import model_menu, session
from viz.service.questions import ModelQuestion
from viz.shell import address, stage
from viz.shell.fragments import fragment
from viz.shell.save_menu import show_picture
from viz.shell.widgets import hint, segments
from viz.shell.width import is_narrow

WAVES = KEYS("wave-choice")

MOST_WAVES = 8
FEW_POSITIONS = 64
"""Positions under the waves of a short sentence: fewer show no wave, many only a thicket."""


def table_of(asked: Asked) -> FloatArray | None:
    """The model's own table at the selected length; None if it has none of that length."""
    model, view = asked.model, asked.view
    limit = model.model.config.max_positions
    length = {"sentence": len(asked.source), "limit": limit, "beyond": 2 * limit}[view.length]
    try:
        return model.position_table(length)
    except PositionError as error:
        hint(escape_markdown(str(error)))
        return None


def picture_of(asked: Asked, table: FloatArray) -> Positions:
    """The matrix; of this sentence, its rows are named by the tokens."""
    model, sentence = asked.model, asked.question.sentence
    tokens = asked.source if asked.view.length == "sentence" else None
    return Positions(table, model.positions.base, model.trained_positions(), sentence, tokens)


def choose_table(asked: Asked) -> None:
    """How many positions are shown, and the dimensions of the waves below."""
    segments("Positions", LENGTHS, key=KEYS("length"), hides_label=False)
    view, d_model = asked.view, asked.model.model.config.d_model
    st.session_state[WAVES] = view.dimensions(d_model)
    st.multiselect(
        "Dimensions as waves",
        range(d_model),
        address.value_of(WAVES),
        key=WAVES,
        max_selections=MOST_WAVES,
        on_change=keep_waves,
        help=f"Up to {MOST_WAVES}. If you remove all, the first four come back.",
    )


def show_table(asked: Asked) -> None:
    """The matrix with the wave that one points at, some dimensions as waves, a pair as points."""
    table = table_of(asked)
    if table is None:
        return
    picture = picture_of(asked, table)
    model, view = asked.model, asked.view
    few = table
    if view.length == "sentence":
        count = min(max(FEW_POSITIONS, len(asked.source)), model.model.config.max_positions)
        few = model.position_table(count)
    show_picture(picture, KEYS("encoding"), after=" Point at a column to see its wave.")
    trained = few[: model.trained_positions()]
    names = wave_names(trained.shape[1], model.positions.base)
    wave(KEYS("encoding"), trained, names, axis_texts(asked.source))
    show_waves(model, view, few)
    show_circle(model)


def show_table_on_stage(asked: Asked) -> None:
    now = asked.view.length
    stage.say(f"The table: {lower_first(LENGTHS[now])}")
    stage.offer("Up and down: length", down=stage.Step(KEYS("length"), list(LENGTHS), now))
    table = table_of(asked)
    if table is not None:
        with stage.picture():
            stage.show((picture_of(asked, table), KEYS("encoding")))


def left_out(model: Translator, length: int) -> str:
    """The note of a picture that leaves out the table's rows that were never trained."""
    if not model.positions.is_learned:
        return ""
    return untrained_words(length, model.trained_positions())


def show_waves(model: Translator, view: PositionsView, table: FloatArray) -> None:
    """Some dimensions over position, without rows that training never reached."""
    said = left_out(model, len(table))
    trained = table[: model.trained_positions()]
    picked = view.dimensions(table.shape[1])
    if picked:
        picture = Waves(trained, picked, model.positions.base)
        show_picture(picture, KEYS("chosen-waves"), further=said)


def keep_waves() -> None:
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


def choose_likeness(asked: Asked) -> None:
    """Cosine or dot product."""
    st.toggle("Cosine instead of the dot product", asked.view.cosine, key=KEYS("cosine"))


def show_likeness(asked: Asked) -> None:
    """Every two positions compared, and the same by offset."""
    model, view = asked.model, asked.view
    said = left_out(model, model.max_tokens)
    for column, (picture, key) in zip(
        st.columns(2, gap="large"), likeness_of(model, cosine=view.cosine), strict=True
    ):
        with column:
            show_picture(picture, key, columns=2, further=said)


def show_likeness_on_stage(asked: Asked) -> None:
    cosine = asked.view.cosine
    stage.say(f"Similarity of positions: {'cosine' if cosine else 'dot product'}")
    stage.offer(
        "Up and down: cosine or dot product", down=stage.Step(KEYS("cosine"), (True, False), cosine)
    )
    with stage.picture():
        stage.show(*likeness_of(asked.model, cosine=cosine), narrow=True)


def likeness_of(model: Translator, *, cosine: bool) -> list[tuple[Similarity | ByOffset, str]]:
    """The pictures of how alike two positions are, each with its key."""
    table = model.position_table(model.trained_positions())
    return [
        (Similarity(table, cosine), KEYS("likeness")),
        (ByOffset(table, cosine), KEYS("by-offset")),
    ]


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


def show_learned(asked: Asked) -> None:
    """This model's positions beside those of a model with the other kind."""
    other = other_checkpoint(asked.model)
    if other is None:
        return
    for column, each, question in zip(
        st.columns(2, gap="large"),
        (asked.model, session.translator(other)),
        (asked.question, ModelQuestion(other, asked.question.sentence)),
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
                show_picture(picture, KEYS(name, kind), columns=2, further=after, question=question)


def show_learned_on_stage(asked: Asked) -> None:
    stage.say("Learned positions and sinusoids")
    other = other_checkpoint(asked.model)
    if other is None:
        return
    with stage.picture():
        stage.show(
            *(
                (
                    Positions(
                        each.position_table(),
                        each.positions.base,
                        each.trained_positions(),
                        heading=f"{each.name}: {each.model.config.positions}",
                    ),
                    f"encoding-{each.model.config.positions}",
                )
                for each in (asked.model, session.translator(other))
            ),
            narrow=True,
        )
