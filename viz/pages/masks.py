"""Masks: every mask the model uses, two side by side, and what the model does with others."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from model.checkpoint import CheckpointError
from model.masks import PRESETS, MaskError, Preset, sentence_lengths
from model.trace import AttentionKind, AttentionMap, BoolArray, Trace
from model.translator import DeviceError, TextError
from viz import address, bar, mask_edits, masks, session, style
from viz.components.matrices import Panel, edited, matrices
from viz.components.theme import is_dark
from viz.heads import KIND_NAMES, SHORT_NAMES, key_title, row_noun
from viz.labels import axis_texts, escape_html, escape_markdown, visible
from viz.mask_edits import EDITABLE, Edit
from viz.masks import CELL_NAMES, COMPARED_NAMES, Cell, Mask
from viz.reading import PADDING

MOST_SENTENCES = 6
"""In one batch, the sentence of the bar included."""

FURTHER = "Did you get her letter?\nHe doesn't come to work because he's ill."
"""The other sentences of a batch before anybody typed any."""

PARTS = {
    "see": "See",
    "inside": "Inside a head",
    "compare": "Compare",
    "change": "Change",
}
PART_ICONS = {
    "see": ":material/visibility:",
    "inside": ":material/account_tree:",
    "compare": ":material/compare:",
    "change": ":material/draw:",
}
LARGEST = 3
"""The largest k or width that a preset begins with."""

SLOT = r"[a-z0-9_.-]{0,40}"
PARAMETERS = (
    address.text("batch", FURTHER, most=session.MAX_CHARACTERS),
    address.integer("number", 1, low=1, high=MOST_SENTENCES),
    address.choice("part", "see", PARTS),
    address.choice("masked", str(AttentionKind.DECODER), map(str, EDITABLE)),
    address.integer("layer", 0, low=0, high=999),
    address.integer("head", 0, low=0, high=999),
    address.pattern("a", SLOT, "a mask such as 1.decoder"),
    address.pattern("b", SLOT, "a mask such as preset.window"),
    address.text("edit", most=mask_edits.MAX_CHARACTERS),
)
"""What this page keeps in the address."""

AHEAD = (
    "Word by word there are no later words to look at: opening future cells of the decoder shows "
    "under teacher forcing alone."
)
HONESTY = (
    "The model was trained with its own masks. Under others it is off its training distribution: a "
    "better number under teacher forcing, where the right words so far are given, is no better "
    "translation. What it writes on its own stands beside it."
)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What the page looks at.

    Attributes:
        question: of the sentence bar.
        sentences: the batch.
        batch: its traces.
        number: which sentence, from 0.
        kind: which attention.
        layer: from 0.
        head: from 0.
    """

    question: bar.Question
    sentences: tuple[str, ...]
    batch: session.Batch
    number: int
    kind: AttentionKind
    layer: int
    head: int

    @property
    def trace(self) -> Trace:
        """The chosen sentence's trace, with the rows and columns of its padding."""
        return self.batch.padded[self.number]

    @property
    def seen(self) -> AttentionMap:
        """The chosen site."""
        return self.trace.attention(self.kind, self.layer)

    @property
    def masks(self) -> dict[str, Mask]:
        """Every mask of the chosen sentence."""
        return masks.batch_masks(self.batch.padded, self.number)

    @property
    def own(self) -> Mask:
        """The model's own mask of the chosen attention."""
        return self.masks[str(self.kind)]


def mask_panel(mask: Mask, title: str, *, sign: str = "", note: str | None = None) -> Panel:
    """A mask, its cells coloured by the reason why they are forbidden."""
    return Panel(
        title=title,
        values=mask.cells,
        queries=mask.queries,
        keys=mask.keys,
        alt=masks.mask_alt_text(mask),
        names=list(CELL_NAMES.values()),
        colors={"light": style.LIGHT.cells, "dark": style.DARK.cells},
        note=f"{mask.shape}, {mask.dtype}" if note is None else note,
        sign=sign,
    )


def number_panel(
    seen: AttentionMap,
    title: str,
    values: Any,
    *,
    shown: BoolArray | None = None,
    limit: float | None = None,
    high: float = 1.0,
    unit: str = "weight",
    sign: str = "",
) -> Panel:
    """Numbers of one head: from 0 to high, or signed ones from -limit to limit."""
    return Panel(
        title=title,
        values=np.nan_to_num(np.asarray(values, dtype=np.float32)),
        queries=seen.queries,
        keys=seen.keys,
        alt=f"{title}: {len(seen.queries)} queries by {len(seen.keys)} keys.",
        scale="weights" if limit is None else "signed",
        low=0.0 if limit is None else -limit,
        high=high if limit is None else limit,
        unit=unit,
        shown=shown,
        sign=sign,
        query_title=f"Query: {row_noun(seen.site.kind)}",
        key_title=key_title(seen.site.kind),
    )


def show_caption(text: str) -> None:
    """How to read what stands above."""
    st.caption(escape_markdown(text))


def choose(question: bar.Question) -> Chosen | None:
    """The batch and what of it to look at; None where a sentence cannot be translated."""
    st.text_area(
        "Further sentences in the batch, one a line",
        key="batch",
        height=68,
        placeholder="None: the batch then has one sentence, and no padding",
    )
    further = [line.strip() for line in st.session_state["batch"].splitlines() if line.strip()]
    if len(further) >= MOST_SENTENCES:
        st.warning(
            f"A batch has up to {MOST_SENTENCES} sentences here, the one above included; the last "
            f"{len(further) - MOST_SENTENCES + 1} are left out.",
            icon=":material/content_cut:",
        )
    sentences = (question.sentence, *further[: MOST_SENTENCES - 1])
    try:
        made = session.batch(question.checkpoint, sentences)
    except TextError as error:
        st.warning(
            escape_markdown(f"One of the sentences does not work. {error}"), icon=":material/edit:"
        )
        return None
    config = session.translator(question.checkpoint).model.config
    st.session_state["number"] = min(st.session_state["number"], len(sentences))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            "Part",
            PARTS,
            key="part",
            required=True,
            format_func=lambda part: f"{PART_ICONS[part]} {PARTS[part]}",
            label_visibility="collapsed",
        )
        if len(sentences) > 1:
            st.segmented_control(
                "Sentence", range(1, len(sentences) + 1), key="number", required=True
            )
        if st.session_state["part"] != "see":
            st.segmented_control(
                "Attention",
                [str(kind) for kind in EDITABLE],
                key="masked",
                required=True,
                format_func=lambda kind: SHORT_NAMES[AttentionKind(kind)],
            )
        kind = AttentionKind(st.session_state["masked"])
        encoder = kind is AttentionKind.ENCODER
        n_layers = config.n_encoder_layers if encoder else config.n_decoder_layers
        counts = {"layer": n_layers, "head": config.n_heads}
        for name, count in counts.items():
            st.session_state[name] = max(0, min(st.session_state[name], count - 1))
        if st.session_state["part"] != "see":
            for name, count in counts.items():
                st.selectbox(name.capitalize(), range(count), key=name, width=84)
    return Chosen(
        question,
        sentences,
        made,
        st.session_state["number"] - 1,
        kind,
        st.session_state["layer"],
        st.session_state["head"],
    )


def show_masks(chosen: Chosen) -> None:
    """The batch with its padding, and every mask of one sentence."""
    sides = {
        "Source": masks.token_grid(chosen.batch.padded, "source"),
        "Target, as the decoder reads it": masks.token_grid(chosen.batch.padded, "target"),
    }
    for named, (texts, is_padding) in sides.items():
        st.html(grid_html(named, texts, is_padding, chosen.number))
    show_caption(
        "Sentences of one batch are padded to one length. Padding is hatched: no word may look at "
        "it. The chosen sentence is framed; its masks are below."
    )
    every = chosen.masks
    causal, padding, both = masks.factors(every)
    st.subheader("How the decoder's mask is made")
    matrices(
        [
            mask_panel(causal, "Causal"),
            mask_panel(padding, "Target padding", sign="and"),
            mask_panel(both, "Decoder self-attention", sign="="),
        ],
        key="factors",
        height=21,
    )
    show_caption(
        "Cell by cell: a query (row) may look at a key (column) where both factors allow it. Point "
        "at a cell to see it in all three."
    )
    st.subheader("The other masks")
    matrices(
        [mask_panel(every["encoder"], "Encoder"), mask_panel(every["cross"], "Cross-attention")],
        key="others",
        height=21,
    )
    matrices(
        [
            mask_panel(every["source-padding"], "Source padding"),
            mask_panel(every["target-padding"], "Target padding"),
        ],
        key="rows",
        height=8,
    )
    show_caption(
        "The padding masks are one row, the same for every query; the model broadcasts them to the "
        "matrices above them."
    )


def grid_html(named: str, texts: list[list[str]], is_padding: BoolArray, framed: int) -> str:
    """The sentences of a batch as a table of tokens, padding hatched."""
    rows = []
    for number, (row, padding) in enumerate(zip(texts, is_padding.tolist(), strict=True)):
        cells = "".join(
            f'<td class="{"padding" if empty else "token"}">{escape_html(text)}</td>'
            for text, empty in zip(row, padding, strict=True)
        )
        frame = ' class="framed"' if number == framed else ""
        rows.append(f"<tr{frame}><th>{number + 1}</th>{cells}</tr>")
    return (
        f"<style>{style.grid_css(style.look(is_dark()))}</style>"
        f'<div class="token-grid"><table><caption>{html.escape(named)}</caption>'
        f"{''.join(rows)}</table></div>"
    )


def show_inside(chosen: Chosen) -> None:
    """From scores to output, with the mask and without it."""
    seen, head = chosen.seen, chosen.head
    if seen.scores is None or seen.v is None:
        st.info("This model's scores were not recorded.", icon=":material/info:")
        return
    with_mask = masks.stages(seen, head)
    without = masks.stages(seen, head, np.ones_like(with_mask.allowed))
    limit = max(float(np.abs(with_mask.scores).max()), 1e-6)
    longest = max(float(without.contributions.max()), float(with_mask.contributions.max()), 1e-6)
    for key, heading, one in (
        ("with-mask", "With the mask", with_mask),
        ("without-mask", "Without the mask", without),
    ):
        st.subheader(heading)
        open_cells = None if one is without else one.allowed
        matrices(
            [
                number_panel(seen, "Scores QKᵀ/√d_k", one.scores, limit=limit, unit="score"),
                number_panel(
                    seen,
                    "Scores after the mask",
                    one.masked,
                    shown=open_cells,
                    limit=limit,
                    unit="score",
                    sign="→",
                ),
                number_panel(seen, "Weights", one.weights, shown=open_cells, sign="softmax →"),
                number_panel(
                    seen,
                    "Length of weight · v",
                    one.contributions,
                    shown=open_cells,
                    high=longest,
                    unit="length",
                    sign="× V →",
                ),
            ],
            key=key,
            height=18,
        )
    show_caption(
        f"{KIND_NAMES[chosen.kind]}, layer {chosen.layer}, head {chosen.head}. The mask takes "
        "scores out before the softmax, so the weights of the other keys grow; the last picture "
        "is how much each key adds to the output. Without the mask, only this head's own step is "
        "computed again, from the same scores."
    )
    show_lesson(chosen, with_mask)


def show_lesson(chosen: Chosen, inside: masks.Stages) -> None:
    """What becomes of a row with nothing to look at, by what is written over its scores."""
    st.subheader("A row with nothing to look at")
    texts = axis_texts(chosen.seen.keys)
    row = len(inside.scores) - 1
    lesson = masks.fill_lesson(inside.scores[row], np.zeros(len(texts), dtype=np.bool_))
    st.html(lesson_html(lesson, texts))
    show_caption(
        f"The last row of this head with every key forbidden, in three ways. {lesson.explanation}"
    )


def lesson_html(lesson: masks.FillLesson, texts: Sequence[str]) -> str:
    """The three softmaxes of one row as a table."""
    head = "".join(f"<th>{escape_html(text)}</th>" for text in texts)
    rows = "".join(
        f"<tr><th>{escape_html(name)}</th>"
        + "".join(
            f"<td>{'NaN' if np.isnan(value) else f'{value:.2f}'}</td>" for value in row.tolist()
        )
        + "</tr>"
        for name, row in lesson.rows
    )
    return (
        f"<style>{style.grid_css(style.look(is_dark()))}</style>"
        f'<div class="token-grid"><table><tr><th></th>{head}</tr>{rows}</table></div>'
    )


def slots(chosen: Chosen) -> dict[str, tuple[str, Mask]]:
    """Every mask that can be compared, by its name in the address, with what a menu says."""
    found: dict[str, tuple[str, Mask]] = {}
    for number in range(len(chosen.sentences)):
        for name, mask in masks.batch_masks(chosen.batch.padded, number).items():
            found[f"{number + 1}.{name}"] = (f"Sentence {number + 1}: {mask.short}", mask)
    own = chosen.own
    for name, preset in PRESETS.items():
        if chosen.kind in preset.kinds:
            allowed = preset_allowed(preset, chosen, default_settings(preset, chosen))
            made = masks.preset_mask(preset.title, allowed, own.queries, own.keys, kind=chosen.kind)
            found[f"preset.{name}"] = (f"Preset: {preset.title}", made)
    for edit in current_edits(chosen):
        base = chosen.masks[str(edit.kind)]
        found[f"edited.{edit.kind}"] = (
            f"Edited: {SHORT_NAMES[edit.kind].lower()}",
            masks.edited_mask(base, edit.allowed),
        )
    return found


def show_comparison(chosen: Chosen) -> None:
    """Two masks, cell by cell, and what the model does under each."""
    found = slots(chosen)
    usual = {"a": f"{chosen.number + 1}.{chosen.kind}", "b": "preset.none"}
    picked: dict[str, Mask] = {}
    with st.container(horizontal=True, gap="medium"):
        for slot in ("a", "b"):
            if st.session_state[slot] not in found:
                if st.session_state[slot]:
                    st.warning(
                        escape_markdown(
                            f"There is no mask “{st.session_state[slot]}” here; shown instead: "
                            f"{found[usual[slot]][0]}."
                        ),
                        icon=":material/link_off:",
                    )
                st.session_state[slot] = usual[slot]
            st.selectbox(
                f"Mask {slot.upper()}",
                list(found),
                key=slot,
                format_func=lambda name: visible(found[name][0]),
            )
            picked[slot] = found[st.session_state[slot]][1]
    first, second = picked["a"], picked["b"]
    panels = [mask_panel(first, "A"), mask_panel(second, "B")]
    try:
        difference = masks.mask_difference(first, second)
    except ValueError as error:
        matrices(panels, key="compared", height=24)
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    # One category a sentence, in the colour of what it means, so that each cell says what differs.
    panels.append(difference_panel(difference))
    matrices(panels, key="compared", height=24)
    show_caption(
        "A and B side by side, and what differs. Point at a cell to see it in all three; zoom and "
        "scrolling go together."
    )
    shape = chosen.own.cells.shape
    if first.cells.shape != shape:
        st.info(
            f"These masks are not of the size of {KIND_NAMES[chosen.kind].lower()} "
            f"({shape[0]} × {shape[1]}), so the model cannot run with them there. Choose masks of "
            "that attention to see what it does.",
            icon=":material/info:",
        )
        return
    edits = [(Edit(chosen.kind, None, mask.allowed),) for mask in (first, second)]
    show_outcomes(chosen, edits[0], edits[1], ("A", "B"))


def difference_panel(difference: masks.Difference) -> Panel:
    """Which cells two masks agree on."""
    place = {answer: index for index, answer in enumerate(COMPARED_NAMES)}
    said = difference.said
    used, cells = np.unique(said, return_inverse=True)
    answers = [
        place[masks.Compared(difference.cells[said == sentence].flat[0])] for sentence in used
    ]
    names = [
        f"{COMPARED_NAMES[masks.Compared(answer)]} ({difference.sentences[sentence]})"
        for answer, sentence in zip(answers, used.tolist(), strict=True)
    ]
    return Panel(
        title="What differs",
        values=cells.reshape(said.shape).astype(np.uint8),
        queries=difference.a.queries,
        keys=difference.a.keys,
        alt=masks.difference_alt_text(difference),
        names=names,
        legend=[COMPARED_NAMES[masks.Compared(answer)] for answer in answers],
        colors={
            name: [theme.compared[answer] for answer in answers]
            for name, theme in (("light", style.LIGHT), ("dark", style.DARK))
        },
        sign="→",
    )


def current_edits(chosen: Chosen) -> tuple[Edit, ...]:
    """The edits in the address, if they fit this batch; what does not fit is said and dropped."""
    text = st.session_state["edit"]
    shapes = {kind: chosen.masks[str(kind)].cells.shape for kind in EDITABLE}
    try:
        return mask_edits.parse(text, shapes)
    except ValueError as error:
        st.session_state["edit"] = ""
        st.warning(escape_markdown(str(error)), icon=":material/link_off:")
        return ()


def store(edits: Sequence[Edit], *, anew: bool) -> None:
    """Keep edits; `anew` when they come from elsewhere than the painted matrix."""
    try:
        st.session_state["edit"] = mask_edits.write(edits)
    except ValueError as error:
        st.session_state["_mask_notice"] = str(error)
        return
    if anew:
        st.session_state["_mask_epoch"] = st.session_state.get("_mask_epoch", 0) + 1


def edit_of(edits: Sequence[Edit], kind: AttentionKind) -> Edit | None:
    """The edit of one kind of attention."""
    return next((edit for edit in edits if edit.kind is kind), None)


def default_settings(preset: Preset, chosen: Chosen) -> dict[str, Any]:
    """What a preset begins with."""
    own = chosen.own
    usual: dict[str, Any] = {
        "k": 1,
        "width": 2,
        "keys": (0,),
        "lengths": sentence_lengths(own.queries),
        "key_lengths": sentence_lengths(own.keys),
    }
    return {name: usual[name] for name in preset.settings}


def preset_allowed(preset: Preset, chosen: Chosen, settings: Mapping[str, Any]) -> BoolArray:
    """A preset on the padded axes; padding stays forbidden unless the preset is about it."""
    own = chosen.own
    allowed = preset(len(own.queries), len(own.keys), **settings).numpy()
    if preset.over_padding:
        return np.asarray(allowed, dtype=np.bool_)
    no_padding = np.array([token != PADDING for token in own.keys], dtype=np.bool_)
    return np.asarray(allowed & no_padding, dtype=np.bool_)


def show_presets(chosen: Chosen, edits: tuple[Edit, ...], layers: tuple[int, ...] | None) -> None:
    """Masks to begin with."""
    known = {name: each for name, each in PRESETS.items() if chosen.kind in each.kinds}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = st.selectbox(
            "Preset", list(known), format_func=lambda name: known[name].title, width=220
        )
        preset = known[name]
        settings = default_settings(preset, chosen)
        for setting in {"k", "width"} & settings.keys():
            settings[setting] = st.number_input(
                {"k": "Positions ahead", "width": "Positions each way"}[setting],
                0,
                max(len(chosen.own.queries), len(chosen.own.keys)),
                settings[setting],
                width=150,
            )
        if "keys" in settings:
            texts = axis_texts(chosen.own.keys)
            settings["keys"] = st.multiselect(
                "Words that nobody may look at",
                range(len(texts)),
                default=settings["keys"],
                format_func=lambda place: escape_markdown(f"{texts[place]} ({place})"),
            )
        keeps = chosen.kind is AttentionKind.DECODER and name not in ("none", "look_ahead")
        causal = keeps and st.toggle(
            "And causal", value=True, help="Forbids later positions as well, as in training."
        )
        if st.button("Apply", icon=":material/check:", type="primary"):
            allowed = preset_allowed(preset, chosen, settings)
            if causal:
                allowed = allowed & chosen.masks["causal"].allowed
            others = [edit for edit in edits if edit.kind is not chosen.kind]
            store([*others, Edit(chosen.kind, layers, allowed)], anew=True)
            st.rerun(scope="fragment")
    show_caption(preset.description)


def hear_edit() -> None:
    """Take over what was painted."""
    chosen: Chosen = st.session_state["_masks_chosen"]
    own = chosen.own
    allowed = edited("editor", str(chosen.kind), own.cells.shape)
    if allowed is None:
        return
    edits = current_edits(chosen)
    old = edit_of(edits, chosen.kind)
    others = [edit for edit in edits if edit.kind is not chosen.kind]
    if np.array_equal(allowed, own.allowed):
        store(others, anew=False)
    else:
        store([*others, Edit(chosen.kind, old.layers if old else None, allowed)], anew=False)


def hear_layers() -> None:
    """Take over in which layers an edit applies."""
    chosen: Chosen = st.session_state["_masks_chosen"]
    edits = current_edits(chosen)
    layers = chosen_layers(chosen)
    store(
        [
            Edit(edit.kind, layers, edit.allowed) if edit.kind is chosen.kind else edit
            for edit in edits
        ],
        anew=False,
    )


def chosen_layers(chosen: Chosen) -> tuple[int, ...] | None:
    """The layers that are ticked; None for all of them."""
    every = chosen.trace.layers(chosen.kind)
    ticked = tuple(sorted(st.session_state.get(f"layers-{chosen.kind}") or every))
    return None if ticked == every else ticked


@st.fragment
def show_editor(chosen: Chosen) -> None:
    """The mask to paint on, and what the model does with it."""
    st.session_state["_masks_chosen"] = chosen
    edits = current_edits(chosen)
    edit = edit_of(edits, chosen.kind)
    key = f"layers-{chosen.kind}"
    every = chosen.trace.layers(chosen.kind)
    st.session_state[key] = (
        list(edit.layers) if edit and edit.layers else list(chosen_layers(chosen) or every)
    )
    st.pills("In the layers", every, selection_mode="multi", key=key, on_change=hear_layers)
    show_presets(chosen, edits, chosen_layers(chosen))
    notice = st.session_state.pop("_mask_notice", None)
    if notice:
        st.warning(escape_markdown(notice), icon=":material/warning:")
    own = chosen.own
    allowed = edit.allowed if edit else own.allowed
    shown = masks.edited_mask(own, allowed)
    before = chosen.seen
    try:
        result = session.outcome(chosen.question.checkpoint, chosen.sentences, chosen.number, edits)
    except MaskError as error:
        st.warning(escape_markdown(str(error)), icon=":material/warning:")
        return
    after = result.forced.attention(chosen.kind, chosen.layer)
    matrices(
        [
            editor_panel(own, shown, allowed, chosen.kind),
            weights_panel(before, chosen.head, "Weights before"),
            weights_panel(after, chosen.head, "Weights after", sign="→"),
            difference_of_weights(before, after, chosen.head),
        ],
        key="editor",
        height=22,
        epoch=st.session_state.get("_mask_epoch", 0),
        name=str(chosen.kind),
        on_edit=hear_edit,
    )
    show_caption(
        "Drag on the first matrix to turn cells, on its labels to turn rows or columns. Beside "
        f"it: layer {chosen.layer}, head {chosen.head} on the model's own translation, before and "
        "after."
    )
    others = [str(other) for other in edits if other.kind is not chosen.kind]
    if others:
        st.info(escape_markdown(f"Edited as well: {'; '.join(others)}."), icon=":material/layers:")
    show_empty(shown)
    show_outcomes(chosen, (), edits, ("Before", "After"))
    address.write_address()
    st.html(
        f'<span class="headscope-done" data-done="{html.escape(st.session_state["edit"])}"></span>'
    )


def editor_panel(own: Mask, shown: Mask, allowed: BoolArray, kind: AttentionKind) -> Panel:
    """The mask that can be painted on."""
    return Panel(
        title="The mask",
        values=shown.cells,
        queries=own.queries,
        keys=own.keys,
        alt=masks.mask_alt_text(shown),
        names=list(CELL_NAMES.values()),
        colors={"light": style.LIGHT.cells, "dark": style.DARK.cells},
        query_title=f"Query: {row_noun(kind)}",
        key_title=key_title(kind),
        base=own.cells,
        start=allowed,
        by_edit=int(Cell.OTHER),
    )


def weights_panel(seen: AttentionMap, head: int, title: str, *, sign: str = "") -> Panel:
    """One head's weights."""
    allowed = seen.allowed if seen.allowed.ndim == 2 else seen.allowed[head]
    return number_panel(seen, title, seen.weights[head], shown=allowed, sign=sign)


def difference_of_weights(before: AttentionMap, after: AttentionMap, head: int) -> Panel:
    """How one head's weights changed, from -1 to 1."""
    change = after.weights[head] - before.weights[head]
    return number_panel(before, "Difference", change, limit=1.0, unit="difference", sign="=")


def show_empty(mask: Mask) -> None:
    """Which queries have nothing left to look at."""
    empty = masks.empty_queries(mask)
    if not empty:
        return
    named = ", ".join(f"“{text}” ({place})" for place, text in empty[: masks.LISTED_QUERIES])
    more = len(empty) - masks.LISTED_QUERIES
    rest = f" and {more} more" if more > 0 else ""
    st.warning(
        escape_markdown(
            f"Nothing left to look at: {named}{rest}. The model then takes zeros for the weights, "
            "so this attention adds nothing but its bias there."
        ),
        icon=":material/visibility_off:",
    )


def show_outcomes(
    chosen: Chosen, first: tuple[Edit, ...], second: tuple[Edit, ...], names: tuple[str, str]
) -> None:
    """Weights, translations and log-probabilities under two sets of masks."""
    results = [
        session.outcome(chosen.question.checkpoint, chosen.sentences, chosen.number, edits)
        for edits in (first, second)
    ]
    one, other = results
    if names == ("A", "B"):
        maps = [each.forced.attention(chosen.kind, chosen.layer) for each in results]
        matrices(
            [
                weights_panel(maps[0], chosen.head, "Weights under A"),
                weights_panel(maps[1], chosen.head, "Weights under B"),
                difference_of_weights(maps[0], maps[1], chosen.head),
            ],
            key="compared-weights",
            height=22,
        )
        show_caption(
            f"{KIND_NAMES[chosen.kind]}, layer {chosen.layer}, head {chosen.head}, with A or B in "
            "all layers of this attention. The difference runs from −1 to 1."
        )
    before, after = one.free.text, other.free.text
    same = before == after
    st.subheader("The translation" + (" stays the same" if same else " changes"))
    st.html(
        f"<style>{style.CHANGE_CSS}</style>"
        f'<div class="change"><span>{names[0]}</span>'
        f"<div>{escape_html(visible(before)) or '∅'}</div><span>{names[1]}</span>"
        f"<div>{masks.diff_html(before, after, dark=is_dark()) or '∅'}</div></div>"
    )
    n_target = chosen.batch.n_target[chosen.number]
    forced = [
        (trace.predictions[:n_target], np.asarray(trace.log_probs)[:n_target])
        for trace in (one.forced, other.forced)
    ]
    st.plotly_chart(
        masks.log_prob_bars(*forced[0], *forced[1], names, dark=is_dark()),
        width="stretch",
        theme=None,
        key="log-probs",
        config=style.chart_config("headscope-log-probabilities"),
        alt=masks.log_prob_alt_text(*forced[0], *forced[1], names),
    )
    show_caption(
        "Teacher forcing: the model's own translation is given, and each bar is how probable its "
        "next token is. " + masks.log_prob_caption(forced[0][0], forced[1][0])
    )
    show_caption(f"{HONESTY} {AHEAD}" if chosen.kind is AttentionKind.DECODER else HONESTY)


def show_page(question: bar.Question) -> None:
    """Everything, for a question that has an answer."""
    chosen = choose(question)
    if chosen is None:
        return
    match st.session_state["part"]:
        case "inside":
            show_inside(chosen)
        case "compare":
            show_comparison(chosen)
        case "change":
            show_editor(chosen)
        case _:
            show_masks(chosen)


notices = address.open_address(PARAMETERS)
if notices:
    st.warning(escape_markdown(" ".join(notices)), icon=":material/link_off:")
question = bar.asked()
if question is not None:
    try:
        show_page(question)
    except (CheckpointError, DeviceError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
