"""Positions: what the model knows of order, read from its own table, and what it is for."""

import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from model.checkpoint import CONFIG, CheckpointError
from model.positions import PositionEdit, PositionError
from model.trace import FloatArray
from model.translator import DeviceError, Translator
from viz import address, bar, masks, session, style
from viz import position_terms as terms
from viz import positions as figures
from viz.components.theme import is_dark
from viz.components.word_order import chosen_order, word_order
from viz.labels import axis_texts, escape_html, escape_markdown, visible
from viz.shuffle import (
    distances_alt_text,
    distances_caption,
    distances_figure,
    moved_words,
    reordered,
)

PARTS = {
    "table": "The table",
    "likeness": "Likeness",
    "words": "Meeting the words",
    "without": "Take it away",
    "shuffle": "Shuffle the words",
    "learned": "Learned positions",
    "formula": "What if",
}
PART_ICONS = {
    "table": ":material/grid_on:",
    "likeness": ":material/blur_linear:",
    "words": ":material/add:",
    "without": ":material/tune:",
    "shuffle": ":material/shuffle:",
    "learned": ":material/school:",
    "formula": ":material/calculate:",
}
LENGTHS = {"sentence": "This sentence", "limit": "The model's limit", "beyond": "Twice the limit"}
SIDES = {"both": "Both", "encoder": "Encoder", "decoder": "Decoder"}
FARTHEST = 16
"""Positions that a shift moves at most, either way."""

MOST_WAVES = 8
ORDER = r"([0-9]{1,3}(\.[0-9]{1,3}){0,511})?"

PARAMETERS = (
    address.choice("topic", "table", PARTS),
    address.choice("length", "sentence", LENGTHS),
    address.pattern("waves", r"[0-9]{1,4}(\.[0-9]{1,4}){0,7}", "up to eight dimensions: 0.1.64"),
    address.integer("pair", 8, low=0, high=4095),
    address.integer("at", 5, low=0, high=4095),
    address.flag("cosine", True),
    address.integer("scale", 100, low=0, high=100),
    address.integer("shift", 0, low=-FARTHEST, high=FARTHEST),
    address.flag("reverse"),
    address.choice("side", "both", SIDES),
    address.pattern("shuffled", ORDER, "an order of places such as 2.0.1"),
    address.integer("d_model", 256, low=2, high=1024),
    address.integer("rows", 128, low=2, high=1024),
    address.integer("base", 10_000, low=2, high=100_000),
)
"""What this page keeps in the address."""


def show(figure: go.Figure, key: str, alt: str, caption: str) -> None:
    """A figure with its words."""
    st.plotly_chart(
        figure,
        width="stretch",
        theme=None,
        key=key,
        config=style.chart_config(f"headscope-{key}"),
        alt=alt,
    )
    st.caption(escape_markdown(caption))


def base_of(model: Translator) -> float | None:
    """The base of the model's wavelengths; None where it learned its positions."""
    return figures.BASE if model.model.config.positions == "sinusoidal" else None


def table_of(model: Translator, n_tokens: int) -> FloatArray | None:
    """The model's own table at the chosen length; None where it has none so long."""
    limit = model.model.config.max_positions
    length = {"sentence": n_tokens, "limit": limit, "beyond": 2 * limit}[st.session_state["length"]]
    try:
        return model.position_table(length)
    except PositionError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return None


def show_table(model: Translator, sentence: str) -> None:
    """The matrix, chosen dimensions as waves, and one pair on its circle."""
    tokens = session.translate(session.checkpoints()[model.name], sentence).translation.source
    st.segmented_control(
        "Positions", LENGTHS, key="length", required=True, format_func=LENGTHS.__getitem__
    )
    table = table_of(model, len(tokens))
    if table is None:
        return
    base, dark = base_of(model), is_dark()
    is_short = st.session_state["length"] == "sentence"
    show(
        figures.encoding_heatmap(table, tokens=tokens if is_short else None, dark=dark),
        "encoding",
        figures.encoding_alt_text(table),
        figures.encoding_caption(table, base=base),
    )
    longer = model.position_table()
    show_waves(longer, base)
    show_circle(longer, base)


def show_waves(table: FloatArray, base: float | None) -> None:
    """Chosen dimensions over position."""
    d_model = table.shape[1]
    written = st.session_state["waves"]
    usual = [0, d_model // 8, d_model // 4, d_model // 2]
    chosen = [int(part) for part in written.split(".")] if written else usual
    st.session_state["wave-choice"] = [each for each in chosen if each < d_model]
    st.multiselect(
        "Dimensions as waves",
        range(d_model),
        key="wave-choice",
        max_selections=MOST_WAVES,
        on_change=keep_waves,
    )
    picked = st.session_state["wave-choice"]
    if picked:
        show(
            figures.waves(table, picked, base=base, dark=is_dark()),
            "waves",
            figures.waves_alt_text(table, picked, base=base),
            figures.waves_caption(table, picked, base=base),
        )


def keep_waves() -> None:
    """Keep the chosen dimensions for the address."""
    st.session_state["waves"] = ".".join(map(str, st.session_state["wave-choice"]))


@st.fragment
def show_circle(table: FloatArray, base: float | None) -> None:
    """The sine and cosine of one frequency as a point that the slider moves."""
    length, d_model = table.shape
    if d_model % 2:
        return
    for name, most in (("pair", d_model // 2 - 1), ("at", length - 1)):
        st.session_state[name] = min(st.session_state[name], most)
    one, other = st.columns(2, gap="large")
    one.slider("Pair of dimensions", 0, d_model // 2 - 1, key="pair")
    other.slider("Position", 0, length - 1, key="at")
    pair, at = st.session_state["pair"], st.session_state["at"]
    show(
        figures.circle(table, pair, at, base=base, dark=is_dark()),
        "circle",
        figures.circle_alt_text(table, pair, at),
        figures.circle_caption(table, pair),
    )
    address.write_address()


def show_likeness(model: Translator) -> None:
    """Every two positions compared, and the same by offset."""
    st.toggle("Cosine instead of the dot product", key="cosine")
    cosine, dark = st.session_state["cosine"], is_dark()
    table = model.position_table()
    one, other = st.columns(2, gap="large")
    with one:
        show(
            figures.likeness_heatmap(table, cosine=cosine, dark=dark),
            "likeness",
            figures.likeness_alt_text(table, cosine=cosine),
            figures.likeness_caption(table),
        )
    with other:
        show(
            figures.by_offset_figure(table, cosine=cosine, dark=dark),
            "by-offset",
            figures.by_offset_alt_text(table, cosine=cosine),
            figures.by_offset_caption(table),
        )


def show_words(model: Translator, sentence: str) -> None:
    """Word, scaling, position and their sum, and what the first layer's scores come from."""
    parts = model.embedding_parts(sentence)
    show(
        terms.parts_figure(parts, dark=is_dark()),
        "parts",
        terms.parts_alt_text(parts),
        terms.parts_caption(parts),
    )
    try:
        shares = terms.term_shares(model.score_terms(sentence).terms)
    except PositionError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    show(
        terms.terms_figure(shares, dark=is_dark()),
        "terms",
        terms.terms_alt_text(shares),
        terms.terms_caption(),
    )


@st.fragment
def show_without(checkpoint: Path, sentence: str) -> None:
    """The translation and the heads while positions fade, move on or turn round."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        st.slider(
            "Strength of the encoding",
            0,
            100,
            key="scale",
            format="%d %%",
            width=300,
            help="100 % is the model as it is, 0 % takes positions away.",
        )
        st.slider("Shift by positions", -FARTHEST, FARTHEST, key="shift", width=260)
        st.toggle(
            "Reverse",
            key="reverse",
            help="The first word gets the last position. Only in the encoder: while the decoder "
            "writes, nobody knows its last position.",
        )
        reverse = st.session_state["reverse"]
        st.segmented_control(
            "Where",
            SIDES,
            key="side",
            required=True,
            format_func=SIDES.__getitem__,
            disabled=reverse,
        )
    edit = PositionEdit(
        scale=st.session_state["scale"] / 100,
        shift=st.session_state["shift"],
        reverse=reverse,
        side="encoder" if reverse else st.session_state["side"],
    )
    before = session.moved(checkpoint, sentence, None)
    try:
        after = session.moved(checkpoint, sentence, edit)
    except PositionError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return
    show_translations(before.free.text, after.free.text)
    heads = terms.neighbour_heads(before.forced, after.forced)
    if heads:
        show(
            terms.neighbours_figure(heads, dark=is_dark()),
            "neighbours",
            terms.neighbours_alt_text(heads),
            terms.neighbours_caption(heads),
        )
    address.write_address()


def show_translations(before: str, after: str) -> None:
    """Two translations, what changed between them, and which words moved."""
    st.subheader("The translation" + (" stays the same" if before == after else " changes"))
    st.html(
        f"<style>{style.CHANGE_CSS}</style>"
        f'<div class="change"><span>Before</span>'
        f"<div>{escape_html(visible(before)) or '∅'}</div><span>After</span>"
        f"<div>{masks.diff_html(before, after, dark=is_dark()) or '∅'}</div></div>"
    )
    words = moved_words(before, after)
    if words:
        listed = ", ".join(f"“{word}”" for word in words)
        st.caption(escape_markdown(f"In both, at another place: {listed}."))


@st.fragment
def show_shuffle(checkpoint: Path, model: Translator, sentence: str) -> None:
    """The source's words in another order, with positions and without."""
    tokens = session.translate(checkpoint, sentence).translation.source
    texts = axis_texts(tokens)[:-1]
    order = order_of(len(texts))
    st.caption(
        "Drag the source's tokens into another order, or move one with the arrow keys. The end of "
        "the sentence stays last."
    )
    st.session_state["_n_words"] = len(texts)
    word_order(texts, order, key="word-order", on_order=keep_order)
    with st.container(horizontal=True):
        st.button("Shuffle", icon=":material/shuffle:", on_click=shuffle)
        st.button("As it was", icon=":material/undo:", on_click=put_back)
    taken = PositionEdit(scale=0)
    place = [*order, len(texts)]
    distances = {}
    for name, edit in (("with positions", None), ("without positions", taken)):
        usual = model.encode(sentence, positions=edit)
        found = model.encode(sentence, positions=edit, source_order=order)
        distances[name] = np.linalg.norm(found - usual[place], axis=-1)
    length = float(np.linalg.norm(model.encode(sentence), axis=-1).mean())
    now = reordered(tokens, place)
    show(
        distances_figure(now, distances, dark=is_dark()),
        "distances",
        distances_alt_text(now, distances),
        distances_caption(distances, length),
    )
    one, other = st.columns(2, gap="large")
    for column, name, edit in ((one, "With positions", None), (other, "Without", taken)):
        with column:
            st.markdown(f"**{name}**")
            own = session.moved(checkpoint, sentence, edit)
            show_translations(
                own.free.text, session.moved(checkpoint, sentence, edit, order).free.text
            )
    address.write_address()


def order_of(n_words: int) -> tuple[int, ...]:
    """The order in the address if it is one of so many words, else the sentence's own."""
    written = st.session_state["shuffled"]
    order = tuple(map(int, written.split("."))) if written else ()
    return order if sorted(order) == list(range(n_words)) else tuple(range(n_words))


def keep_order() -> None:
    """Take over what was dragged."""
    order = chosen_order("word-order", st.session_state["_n_words"])
    if order is not None:
        st.session_state["shuffled"] = ".".join(map(str, order))


def shuffle() -> None:
    """Another order by chance."""
    order = np.random.default_rng().permutation(st.session_state["_n_words"])
    st.session_state["shuffled"] = ".".join(map(str, order.tolist()))


def put_back() -> None:
    """The sentence's own order."""
    st.session_state["shuffled"] = ""


def learned_checkpoint() -> Path | None:
    """The first checkpoint that learned its positions."""
    for folder in session.checkpoints().values():
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(config, dict) and config.get("positions") == "learned":
            return folder
    return None


def show_learned(model: Translator) -> None:
    """This model's positions beside those of one that learned its own, or sinusoids."""
    other = learned_checkpoint()
    usual = session.checkpoints()[session.DEFAULT_CHECKPOINT]
    if model.model.config.positions == "learned":
        other = usual
    if other is None:
        st.info(
            "There is no checkpoint with learned positions beside this one: train one with "
            "`--set model.positions=learned`, and put its folder under checkpoints.",
            icon=":material/info:",
        )
        return
    dark = is_dark()
    for column, each in zip(
        st.columns(2, gap="large"), (model, session.translator(other)), strict=True
    ):
        kind = each.model.config.positions
        table = each.position_table()
        base = base_of(each)
        with column:
            st.subheader(escape_markdown(f"{each.name}: {kind}"))
            show(
                figures.encoding_heatmap(table, dark=dark),
                f"encoding-{kind}",
                figures.encoding_alt_text(table),
                figures.encoding_caption(table, base=base),
            )
            show(
                figures.likeness_heatmap(table, cosine=True, dark=dark),
                f"likeness-{kind}",
                figures.likeness_alt_text(table, cosine=True),
                figures.likeness_caption(table),
            )
            show(
                figures.by_offset_figure(table, cosine=True, dark=dark),
                f"by-offset-{kind}",
                figures.by_offset_alt_text(table, cosine=True),
                figures.by_offset_caption(table),
            )


@st.fragment
def show_formula() -> None:
    """The formula alone, for any width, length and base."""
    st.warning(
        "This is the formula of section 3.5, and not the model: nothing here was read from a "
        "checkpoint.",
        icon=":material/calculate:",
    )
    one, two, three = st.columns(3, gap="large")
    one.slider("d_model", 2, 1024, step=2, key="d_model")
    two.slider("Positions", 2, 1024, key="rows")
    three.slider("Base", 2, 100_000, key="base", help="10,000 in the paper.")
    d_model = st.session_state["d_model"] // 2 * 2
    base = float(st.session_state["base"])
    table = figures.formula_table(d_model, st.session_state["rows"], base)
    title = figures.FORMULA_TITLE
    show(
        figures.encoding_heatmap(table, title=title, dark=is_dark()),
        "formula",
        figures.encoding_alt_text(table, title=title),
        figures.encoding_caption(table, base=base),
    )
    dimensions = sorted({0, d_model // 8, d_model // 4, d_model // 2})
    show(
        figures.waves(table, dimensions, base=base, dark=is_dark()),
        "formula-waves",
        figures.waves_alt_text(table, dimensions, base=base),
        figures.waves_caption(table, dimensions, base=base),
    )
    address.write_address()


def show_page(question: bar.Question) -> None:
    """The chosen part."""
    model = session.translator(question.checkpoint)
    st.segmented_control(
        "Part",
        PARTS,
        key="topic",
        required=True,
        format_func=lambda part: f"{PART_ICONS[part]} {PARTS[part]}",
        label_visibility="collapsed",
    )
    match st.session_state["topic"]:
        case "likeness":
            show_likeness(model)
        case "words":
            show_words(model, question.sentence)
        case "without":
            show_without(question.checkpoint, question.sentence)
        case "shuffle":
            show_shuffle(question.checkpoint, model, question.sentence)
        case "learned":
            show_learned(model)
        case "formula":
            show_formula()
        case _:
            show_table(model, question.sentence)


notices = address.open_address(PARAMETERS)
if notices:
    st.warning(escape_markdown(" ".join(notices)), icon=":material/link_off:")
question = bar.asked()
if question is not None:
    try:
        show_page(question)
    except (CheckpointError, DeviceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
