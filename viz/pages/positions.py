"""Positions: what the model knows of order, read from its own table, and what it is for."""

import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from model.checkpoint import CONFIG, CheckpointError
from model.positions import PositionEdit, PositionError
from model.trace import FloatArray, Tokens
from model.translator import DeviceError, Translator
from viz import address, bar, masks, session, style
from viz import position_terms as terms
from viz import positions as figures
from viz.components.matrices import matrices
from viz.components.theme import is_dark
from viz.components.width import is_narrow, is_new_width, watch_width
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
SHORT_PARTS = {
    "table": "Table",
    "likeness": "Likeness",
    "words": "Words",
    "without": "Take away",
    "shuffle": "Shuffle",
    "learned": "Learned",
    "formula": "What if",
}
"""For a phone, where the whole names with their icons take four lines."""

PART_ICONS = {
    "table": ":material/grid_on:",
    "likeness": ":material/blur_linear:",
    "words": ":material/add:",
    "without": ":material/tune:",
    "shuffle": ":material/shuffle:",
    "learned": ":material/school:",
    "formula": ":material/calculate:",
}
ONE_COLUMN = {"words", "without", "formula", "shuffle"}
"""Parts that set no figures beside each other."""

LENGTHS = {"sentence": "This sentence", "limit": "The model's limit", "beyond": "Twice the limit"}
SIDES = {"both": "Both", "encoder": "Encoder", "decoder": "Decoder"}
FARTHEST = 16
"""Positions that a shift moves at most, either way."""

LONG_TEXT = 120
"""Characters of a translation from which on it is set smaller, so that two still fit the screen."""

PARTS_HEIGHT = 21
"""Of the matrices where positions meet words, in rem."""

MOST_WAVES = 8
FEW_POSITIONS = 64
"""Positions under the waves of a short sentence: fewer show no wave, and many only a thicket."""

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
        "Positions",
        LENGTHS,
        key="length",
        required=True,
        format_func=LENGTHS.__getitem__,
        label_visibility="collapsed",
    )
    table = table_of(model, len(tokens))
    if table is None:
        return
    base, dark = base_of(model), is_dark()
    is_short = st.session_state["length"] == "sentence"
    show(
        figures.encoding_heatmap(
            table, tokens=tokens if is_short else None, narrow=is_narrow(), dark=dark
        ),
        "encoding",
        figures.encoding_alt_text(table),
        figures.encoding_caption(table, base=base),
    )
    longest = model.model.config.max_positions
    few = min(max(FEW_POSITIONS, len(tokens)), longest)
    show_waves(model.position_table(few) if is_short else table, base)
    show_circle(model.position_table(), base)


def show_waves(table: FloatArray, base: float | None) -> None:
    """Chosen dimensions over position."""
    d_model = table.shape[1]
    written = st.session_state["waves"]
    usual = [0, d_model // 8, d_model // 4, d_model // 2]
    chosen = dict.fromkeys(map(int, written.split(".")) if written else usual)
    st.session_state["wave-choice"] = [each for each in chosen if each < d_model]
    st.multiselect(
        "Dimensions as waves",
        range(d_model),
        key="wave-choice",
        max_selections=MOST_WAVES,
        on_change=keep_waves,
        help=f"Up to {MOST_WAVES} of them. Take all away, and the first four come back.",
    )
    picked = st.session_state["wave-choice"]
    if picked:
        formula = (
            f" The wavelength of dimensions 2i and 2i + 1 is 2π · {base:,.0f}^(2i / {d_model}) "
            "positions."
            if base
            else ""
        )
        show(
            figures.waves(table, picked, base=base, narrow=is_narrow(), dark=is_dark()),
            "waves",
            figures.waves_alt_text(table, picked, base=base),
            figures.waves_caption(table, picked, base=base) + formula,
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
    one, other = st.columns(2, gap="small" if is_narrow() else "large")
    one.slider("Pair of dimensions", 0, d_model // 2 - 1, key="pair")
    other.slider("Position", 0, length - 1, key="at")
    pair, at = st.session_state["pair"], st.session_state["at"]
    narrow, dark = is_narrow(2), is_dark()
    dimensions = (2 * pair, 2 * pair + 1)
    one, other = st.columns(2, gap="large")
    with one:
        show(
            figures.circle(table, pair, at, base=base, narrow=narrow, dark=dark),
            "circle",
            figures.circle_alt_text(table, pair, at),
            figures.circle_caption(table, pair),
        )
    with other:
        show(
            figures.waves(table, dimensions, base=base, position=at, narrow=narrow, dark=dark),
            "pair-waves",
            figures.waves_alt_text(table, dimensions, base=base),
            "The same two numbers as waves: the upright line stands where the point is.",
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
            figures.likeness_heatmap(table, cosine=cosine, narrow=is_narrow(2), dark=dark),
            "likeness",
            figures.likeness_alt_text(table, cosine=cosine),
            figures.likeness_caption(table),
        )
    with other:
        show(
            figures.by_offset_figure(table, cosine=cosine, narrow=is_narrow(2), dark=dark),
            "by-offset",
            figures.by_offset_alt_text(table, cosine=cosine),
            figures.by_offset_caption(table),
        )


def show_words(checkpoint: Path, model: Translator, sentence: str) -> None:
    """Word, scaling, position and their sum, and what the first layer's scores come from."""
    parts = model.embedding_parts(sentence)
    matrices(terms.parts_panels(parts), key="parts", height=PARTS_HEIGHT)
    st.caption(escape_markdown(terms.parts_caption(parts)))
    try:
        shares = session.term_shares(checkpoint, sentence)
    except PositionError as error:
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    show(
        terms.terms_figure(shares, narrow=is_narrow(), dark=is_dark()),
        "terms",
        terms.terms_alt_text(shares),
        terms.terms_caption(),
    )


@st.fragment
def show_without(checkpoint: Path, sentence: str) -> None:
    """The translation and the heads while positions fade, move on or turn round."""
    if st.session_state["reverse"]:
        # While the decoder writes, nobody knows its last position.
        st.session_state["side"] = "encoder"
    with st.container(
        horizontal=True, vertical_alignment="bottom", gap="xsmall" if is_narrow() else "large"
    ):
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
        st.segmented_control(
            "Where",
            SIDES,
            key="side",
            required=True,
            format_func=SIDES.__getitem__,
            disabled=st.session_state["reverse"],
        )
    edit = PositionEdit(
        scale=st.session_state["scale"] / 100,
        shift=st.session_state["shift"],
        reverse=st.session_state["reverse"],
        side=st.session_state["side"],
    )
    before = session.moved(checkpoint, sentence, None)
    try:
        after = session.moved(checkpoint, sentence, None if edit.at_rest else edit)
    except PositionError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return
    show_translations("The translation", before.free.text, after.free.text)
    heads = terms.neighbour_heads(before.forced, after.forced)
    if heads:
        show(
            terms.neighbours_figure(heads, narrow=is_narrow(), dark=is_dark()),
            "neighbours",
            terms.neighbours_alt_text(heads),
            terms.neighbours_caption(heads),
        )
    address.write_address()


def show_translations(heading: str, before: str, after: str) -> None:
    """Two translations, what changed between them, and which words moved."""
    st.subheader(f"{heading} {'stays the same' if before == after else 'changes'}", anchor=False)
    size = ' style="font-size: 1.1rem"' if max(len(before), len(after)) > LONG_TEXT else ""
    st.html(
        f"<style>{style.CHANGE_CSS}</style>"
        f'<div class="change"{size}><span>Before</span>'
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
    usual, order = tuple(range(len(texts))), order_of(len(texts))
    st.caption(
        "Drag the source's tokens into another order, or move one with the arrow keys. The end of "
        "the sentence stays last."
    )
    st.session_state["_n_words"] = len(texts)
    word_order(texts, order or usual, key="word-order", on_order=keep_order)
    with st.container(horizontal=True):
        st.button("Shuffle", icon=":material/shuffle:", on_click=shuffle, disabled=len(texts) < 2)
        st.button("As it was", icon=":material/undo:", on_click=put_back, disabled=order == usual)
    if order is None:
        st.info(
            f"The order in the address is none of this sentence's {len(texts)} tokens, so they "
            "stand in their own. Drag them, or press Shuffle.",
            icon=":material/info:",
        )
        order = usual
    if order == usual:
        st.markdown(
            "Nothing has moved yet: drag a token, or press Shuffle. Without positions the encoder "
            "cannot tell one order from another; with them it can."
        )
    else:
        show_reordered(checkpoint, model, sentence, order)
    address.write_address()


def show_reordered(
    checkpoint: Path, model: Translator, sentence: str, order: tuple[int, ...]
) -> None:
    """What another order changes, with positions and without."""
    one, other = st.columns(2, gap="small" if is_narrow() else "large")
    for column, heading, edit in (
        (one, "With positions, the translation", None),
        (other, "Without positions, it", PositionEdit(scale=0)),
    ):
        with column:
            before = session.moved(checkpoint, sentence, edit)
            after = session.moved(checkpoint, sentence, edit, order)
            show_translations(heading, before.free.text, after.free.text)
    tokens = session.translate(checkpoint, sentence).translation.source
    show_distances(model, sentence, tokens, order)


def show_distances(
    model: Translator, sentence: str, tokens: Tokens, order: tuple[int, ...]
) -> None:
    """How far each token's row moved in the encoder's output."""
    place = [*order, len(order)]
    distances = {}
    for name, edit in (("with positions", None), ("without positions", PositionEdit(scale=0))):
        before = model.encode(sentence, positions=edit)
        after = model.encode(sentence, positions=edit, source_order=order)
        distances[name] = np.linalg.norm(after - before[place], axis=-1)
    length = float(np.linalg.norm(model.encode(sentence), axis=-1).mean())
    now = reordered(tokens, place)
    show(
        distances_figure(now, distances, narrow=is_narrow(), dark=is_dark()),
        "distances",
        distances_alt_text(now, distances),
        distances_caption(distances, length),
    )


def order_of(n_words: int) -> tuple[int, ...] | None:
    """The order in the address, or the sentence's own; None if it is none of so many words."""
    written = st.session_state["shuffled"]
    order = tuple(map(int, written.split("."))) if written else tuple(range(n_words))
    return order if sorted(order) == list(range(n_words)) else None


def keep_order() -> None:
    """Take over what was dragged."""
    order = chosen_order("word-order", st.session_state["_n_words"])
    if order is not None:
        write_order(order)


def shuffle() -> None:
    """Another order by chance."""
    n_words = st.session_state["_n_words"]
    before = order_of(n_words) or tuple(range(n_words))
    chance = np.random.default_rng()
    order = before
    # Of few words, chance often gives the order that they have.
    while order == before:
        order = tuple(chance.permutation(n_words).tolist())
    write_order(order)


def put_back() -> None:
    """The sentence's own order."""
    st.session_state["shuffled"] = ""


def write_order(order: tuple[int, ...]) -> None:
    """Keep an order for the address, which needs none for the sentence's own."""
    is_usual = order == tuple(range(len(order)))
    st.session_state["shuffled"] = "" if is_usual else ".".join(map(str, order))


def checkpoint_with(kind: str) -> Path | None:
    """The first checkpoint whose positions are of a kind."""
    for folder in session.checkpoints().values():
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(config, dict) and config.get("positions") == kind:
            return folder
    return None


def show_learned(model: Translator) -> None:
    """This model's positions beside those of one that learned its own, or sinusoids."""
    wanted = "sinusoidal" if model.model.config.positions == "learned" else "learned"
    other = checkpoint_with(wanted)
    if other is None:
        st.info(
            f"There is no checkpoint with {wanted} positions beside this one: train one with "
            f"`--set model.positions={wanted}`, and put its folder under checkpoints.",
            icon=":material/info:",
        )
        return
    narrow, dark = is_narrow(2), is_dark()
    for column, each in zip(
        st.columns(2, gap="large"), (model, session.translator(other)), strict=True
    ):
        kind = each.model.config.positions
        table = each.position_table()
        base = base_of(each)
        with column:
            st.subheader(escape_markdown(f"{each.name}: {kind}"))
            show(
                figures.encoding_heatmap(table, narrow=narrow, dark=dark),
                f"encoding-{kind}",
                figures.encoding_alt_text(table),
                figures.encoding_caption(table, base=base),
            )
            show(
                figures.likeness_heatmap(table, cosine=True, narrow=narrow, dark=dark),
                f"likeness-{kind}",
                figures.likeness_alt_text(table, cosine=True),
                figures.likeness_caption(table),
            )
            show(
                figures.by_offset_figure(table, cosine=True, narrow=narrow, dark=dark),
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
    # A sine needs its cosine.
    st.session_state["d_model"] -= st.session_state["d_model"] % 2
    one, two, three = st.columns(3, gap="small" if is_narrow() else "large")
    one.slider("d_model", 2, 1024, step=2, key="d_model")
    two.slider("Positions", 2, 1024, key="rows")
    three.slider("Base", 2, 100_000, key="base", help="10,000 in the paper.")
    d_model = st.session_state["d_model"]
    base = float(st.session_state["base"])
    table = figures.formula_table(d_model, st.session_state["rows"], base)
    title = figures.FORMULA_TITLE
    show(
        figures.encoding_heatmap(table, title=title, narrow=is_narrow(), dark=is_dark()),
        "formula",
        figures.encoding_alt_text(table, title=title),
        figures.encoding_caption(table, base=base),
    )
    dimensions = sorted({0, d_model // 8, d_model // 4, d_model // 2})
    show(
        figures.waves(table, dimensions, base=base, narrow=is_narrow(), dark=is_dark()),
        "formula-waves",
        figures.waves_alt_text(table, dimensions, base=base),
        figures.waves_caption(table, dimensions, base=base),
    )
    address.write_address()


def part_name(part: str) -> str:
    """What a part is called on its button."""
    return SHORT_PARTS[part] if is_narrow() else f"{PART_ICONS[part]} {PARTS[part]}"


def show_page(question: bar.Question) -> None:
    """The chosen part."""
    model = session.translator(question.checkpoint)
    st.segmented_control(
        "Part",
        PARTS,
        key="topic",
        required=True,
        format_func=part_name,
        label_visibility="collapsed",
    )
    match st.session_state["topic"]:
        case "likeness":
            show_likeness(model)
        case "words":
            show_words(question.checkpoint, model, question.sentence)
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
if is_new_width():
    notices = st.session_state.get("_position_notices", notices)
st.session_state["_position_notices"] = notices
if notices:
    st.warning(escape_markdown(" ".join(notices)), icon=":material/link_off:")
question = bar.asked()
if question is not None:
    try:
        show_page(question)
    except (CheckpointError, DeviceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
watch_width(1 if st.session_state["topic"] in ONE_COLUMN else 2)
