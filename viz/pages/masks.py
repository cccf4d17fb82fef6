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
from viz import address, bar, mask_edits, mask_panels, masks, session, style
from viz.components.matrices import edited, matrices
from viz.components.theme import is_dark
from viz.heads import KIND_NAMES, SHORT_NAMES
from viz.labels import axis_texts, escape_markdown, visible
from viz.mask_edits import EDITABLE, Edit
from viz.mask_panels import mask_panel, weights_panel
from viz.masks import Mask
from viz.panels import PAINTING_HELP
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
FIRST_SETTINGS: dict[str, Any] = {"k": 1, "width": 2, "keys": (0,)}
"""What a preset begins with."""

HAS_CAUSAL = {"none", "causal", "strictly_causal", "look_ahead", "causal_window"}
"""Presets that are no use together with the causal mask, or hold it already."""

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
    "translation. What it writes on its own stands above."
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

    @property
    def lengths(self) -> tuple[int, int]:
        """How many queries and keys of the chosen site are no padding."""
        n_source, n_target = (
            counts[self.number] for counts in (self.batch.n_source, self.batch.n_target)
        )
        return (
            n_source if self.kind is AttentionKind.ENCODER else n_target,
            n_target if self.kind is AttentionKind.DECODER else n_source,
        )

    @property
    def sentence(self) -> str:
        """The chosen sentence by number and first words."""
        return mask_panels.sentence_name(self.number, self.sentences[self.number])

    @property
    def painted(self) -> str:
        """What a stroke is one of, so that it never lands on another mask."""
        return f"{self.number}.{self.kind}.{self.layer}"

    def outcome(self, edits: tuple[Edit, ...]) -> session.Outcome:
        """What the model does with the chosen sentence under edited masks."""
        return session.outcome(
            self.question.checkpoint, self.sentences, self.number, edits, self.question.target
        )


def show_caption(text: str) -> None:
    """How to read what stands above."""
    st.caption(escape_markdown(text))


def choose(question: bar.Question) -> Chosen | None:
    """The batch and what of it to look at; None where a sentence cannot be translated."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.segmented_control(
            "Part",
            PARTS,
            key="part",
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
        )
        further = further_sentences()
        sentences = (question.sentence, *further[: MOST_SENTENCES - 1])
        st.session_state["number"] = min(st.session_state["number"], len(sentences))
        if len(sentences) > 1:
            st.selectbox(
                "Sentence",
                range(1, len(sentences) + 1),
                key="number",
                format_func=lambda number: f"Sentence {number}",
                label_visibility="collapsed",
                width=136,
            )
        kind, layer, head = choose_head(question)
    if len(further) >= MOST_SENTENCES:
        st.warning(
            f"A batch has up to {MOST_SENTENCES} sentences here, the one above included; the last "
            f"{len(further) - MOST_SENTENCES + 1} are left out.",
            icon=":material/content_cut:",
        )
    made = batch_of(question, sentences)
    if made is None:
        return None
    return Chosen(question, sentences, made, st.session_state["number"] - 1, kind, layer, head)


def further_sentences() -> list[str]:
    """The sentences of the batch below the one of the bar."""

    def lines() -> list[str]:
        return [line.strip() for line in st.session_state["batch"].splitlines() if line.strip()]

    count = min(len(lines()) + 1, MOST_SENTENCES)
    with st.popover(
        f"Batch of {count}" if count > 1 else "One sentence",
        icon=":material/format_list_numbered:",
        key="batch-menu",
    ):
        st.text_area(
            "Further sentences in the batch, one a line",
            key="batch",
            height=170,
            width=440,
            placeholder="None: the batch then has one sentence, and no padding",
        )
        show_caption(
            f"Up to {MOST_SENTENCES} with the one above. They are padded to one length, as in "
            "training. Press Ctrl+Enter when they stand."
        )
    return lines()


def choose_head(question: bar.Question) -> tuple[AttentionKind, int, int]:
    """Which attention, layer and head; where all masks are shown there is nothing to choose."""
    is_needed = st.session_state["part"] != "see"
    if is_needed:
        st.segmented_control(
            "Attention",
            [str(kind) for kind in EDITABLE],
            key="masked",
            required=True,
            format_func=lambda kind: SHORT_NAMES[AttentionKind(kind)],
            label_visibility="collapsed",
        )
    kind = AttentionKind(st.session_state["masked"])
    config = session.translator(question.checkpoint).model.config
    encoder = kind is AttentionKind.ENCODER
    n_layers = config.n_encoder_layers if encoder else config.n_decoder_layers
    for name, count in {"layer": n_layers, "head": config.n_heads}.items():
        st.session_state[name] = max(0, min(st.session_state[name], count - 1))
        if is_needed:
            st.selectbox(
                name.capitalize(),
                range(count),
                key=name,
                format_func=f"{name.capitalize()} {{}}".format,
                label_visibility="collapsed",
                width=116,
            )
    return kind, st.session_state["layer"], st.session_state["head"]


def batch_of(question: bar.Question, sentences: tuple[str, ...]) -> session.Batch | None:
    """The traces of a batch; what is wrong with a sentence is said, by its number."""
    for number, sentence in enumerate(sentences):
        try:
            session.translate(question.checkpoint, sentence)
        except TextError as error:
            named = mask_panels.sentence_name(number, sentence)
            st.warning(
                escape_markdown(f"{named}, cannot be translated. {error}"), icon=":material/edit:"
            )
            return None
    try:
        return session.batch(question.checkpoint, sentences, question.target)
    except TextError as error:
        st.warning(
            escape_markdown(f"These sentences do not make a batch. {error}"),
            icon=":material/edit:",
        )
        return None


def show_masks(chosen: Chosen) -> None:
    """The batch with its padding, and every mask of one sentence."""
    sides = {
        "Source": masks.token_grid(chosen.batch.padded, "source"),
        "Target, as the decoder reads it": masks.token_grid(chosen.batch.padded, "target"),
    }
    st.html(mask_panels.grid_html(sides, chosen.number, dark=is_dark()))
    if len(chosen.sentences) > 1:
        show_caption(
            "Sentences of one batch are padded to one length. Padding is hatched: no word may look "
            "at it. The chosen sentence is framed; its masks are below."
        )
    else:
        show_caption(
            "One sentence alone needs no padding: its padding masks allow everything. Add "
            "sentences to the batch to see padding."
        )
    every = chosen.masks
    causal, padding, both = masks.factors(every)
    st.subheader(f"How the decoder's mask of sentence {chosen.number + 1} is made", anchor=False)
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
    st.subheader(f"The other masks of sentence {chosen.number + 1}", anchor=False)
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


def show_inside(chosen: Chosen) -> None:
    """From scores to output, with the mask and without it."""
    seen, head = chosen.seen, chosen.head
    if seen.scores is None or seen.v is None:
        st.info("This model's scores were not recorded.", icon=":material/info:")
        return
    with_mask = masks.stages(seen, head)
    without = masks.stages(seen, head, np.ones_like(with_mask.allowed))
    # Padding may have scores far beyond those of words, whose colours it would wash out.
    n_queries, n_keys = chosen.lengths
    limit = max(float(np.abs(with_mask.scores[:n_queries, :n_keys]).max()), 1e-6)
    longest = max(float(without.contributions.max()), float(with_mask.contributions.max()), 1e-6)
    for key, heading, one in (
        ("with-mask", "With the mask", with_mask),
        ("without-mask", "Without the mask", without),
    ):
        st.subheader(f"{heading}: sentence {chosen.number + 1}", anchor=False)
        matrices(
            mask_panels.stage_panels(
                seen, one, limit=limit, longest=longest, hatched=one is with_mask
            ),
            key=key,
            height=18,
        )
    show_caption(
        f"{mask_panels.head_name(chosen.kind, chosen.layer, chosen.head)}. The mask takes "
        "scores out before the softmax, so the weights of the other keys grow; the last picture "
        "is how much each key adds to the output. Without the mask, only this head's own step is "
        "computed again, from the same scores."
    )
    show_lesson(chosen, with_mask)


def show_lesson(chosen: Chosen, inside: masks.Stages) -> None:
    """What becomes of a row with nothing to look at, by what is written over its scores."""
    st.subheader("A row with nothing to look at", anchor=False)
    queries, keys = (axis_texts(axis) for axis in (chosen.seen.queries, chosen.seen.keys))
    row = chosen.lengths[0] - 1
    lesson = masks.fill_lesson(inside.scores[row], np.zeros(len(keys), dtype=np.bool_))
    st.html(mask_panels.lesson_html(lesson, keys, dark=is_dark()))
    show_caption(
        f"The query {queries[row]} ({row}) of this head with every key forbidden, in three ways. "
        f"{lesson.explanation}"
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
            allowed = preset_allowed(preset, chosen, FIRST_SETTINGS)
            made = masks.preset_mask(preset.title, allowed, own.queries, own.keys, kind=chosen.kind)
            found[f"preset.{name}"] = (f"Preset: {preset.title}", made)
    for edit in current_edits(chosen):
        base = chosen.masks[str(edit.kind)]
        found[f"edited.{edit.kind}"] = (
            f"Edited: {SHORT_NAMES[edit.kind].lower()}",
            masks.edited_mask(base, edit.allowed),
        )
    return found


def choose_slots(chosen: Chosen, found: Mapping[str, tuple[str, Mask]]) -> dict[str, str]:
    """The names of the masks A and B."""
    # Only in the decoder does the model's own mask differ from none in more than padding.
    other = "none" if chosen.kind is AttentionKind.DECODER else "window"
    usual = {"a": f"{chosen.number + 1}.{chosen.kind}", "b": f"preset.{other}"}
    before = st.session_state.get("_usual_slots", {})
    st.session_state["_usual_slots"] = usual
    with st.container(horizontal=True, gap="medium"):
        for slot in ("a", "b"):
            asked = st.session_state[slot]
            # What nobody chose goes along with another sentence or another attention.
            if asked not in found or asked == before.get(slot):
                if asked and asked not in found:
                    st.warning(
                        escape_markdown(
                            f"There is no mask “{asked}” here; shown instead: "
                            f"{found[usual[slot]][0]}."
                        ),
                        icon=":material/link_off:",
                    )
                st.session_state[slot] = usual[slot]
            st.selectbox(
                f"Mask {slot.upper()}",
                list(found),
                key=slot,
                format_func=lambda name, slot=slot: visible(f"{slot.upper()}: {found[name][0]}"),
                label_visibility="collapsed",
            )
    return {slot: st.session_state[slot] for slot in ("a", "b")}


def show_comparison(chosen: Chosen) -> None:
    """Two masks, cell by cell, and what the model does under each."""
    found = slots(chosen)
    picked = choose_slots(chosen, found)
    first, second = (found[picked[slot]][1] for slot in ("a", "b"))
    panels = [
        mask_panel(found[picked[slot]][1], f"{slot.upper()}: {found[picked[slot]][0]}")
        for slot in ("a", "b")
    ]
    try:
        difference = masks.mask_difference(first, second)
    except ValueError as error:
        matrices(panels, key="compared", height=20)
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    panels.append(mask_panels.difference_panel(difference))
    matrices(panels, key="compared", height=20)
    show_caption(
        f"{mask_panels.difference_words(difference)} Point at a cell to see it in all three; zoom "
        "and scrolling go together."
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
    one, other = (
        chosen.outcome((Edit(chosen.kind, None, mask.allowed),)) for mask in (first, second)
    )
    maps = [each.forced.attention(chosen.kind, chosen.layer) for each in (one, other)]
    st.subheader(f"The weights of sentence {chosen.number + 1} under A and B", anchor=False)
    matrices(
        [
            weights_panel(maps[0], chosen.head, "Weights under A"),
            weights_panel(maps[1], chosen.head, "Weights under B"),
            mask_panels.change_panel(maps[0], maps[1], chosen.head),
        ],
        key="compared-weights",
        height=20,
    )
    show_caption(
        f"{mask_panels.head_name(chosen.kind, chosen.layer, chosen.head)}, with A or B in all "
        "layers of this attention. The difference runs from −1 to 1."
    )
    show_translations(chosen, one, other, ("A", "B"))
    show_probabilities(chosen, one, other, ("A", "B"))


def current_edits(chosen: Chosen) -> tuple[Edit, ...]:
    """The edits in the address, if they fit this batch; what does not fit is said and dropped."""
    shapes = {kind: chosen.masks[str(kind)].cells.shape for kind in EDITABLE}
    try:
        edits = mask_edits.parse(st.session_state["edit"], shapes)
        for edit in edits:
            require_layers(edit, chosen.trace.layers(edit.kind))
    except ValueError as error:
        st.session_state["edit"] = ""
        st.warning(
            escape_markdown(f"{error} The model's own masks are shown."), icon=":material/link_off:"
        )
        return ()
    return edits


def require_layers(edit: Edit, layers: tuple[int, ...]) -> None:
    """Raises ValueError if an edit is for a layer that the model does not have."""
    missing = [layer for layer in edit.layers or () if layer not in layers]
    if missing:
        raise ValueError(
            f"The mask in the address is for layer {missing[0]} of {edit.kind} attention, and this "
            f"model has layers 0 to {layers[-1]}."
        )


def store(edits: Sequence[Edit]) -> None:
    """Keep edits in the address; what keeps them from it is said in the next run."""
    try:
        st.session_state["edit"] = mask_edits.write(edits)
    except ValueError as error:
        st.session_state["_mask_notice"] = str(error)


def edit_of(edits: Sequence[Edit], kind: AttentionKind, layer: int) -> Edit | None:
    """The edit of one kind of attention that holds in a layer, or else another of that kind."""
    of_kind = [edit for edit in edits if edit.kind is kind]
    here = [edit for edit in of_kind if edit.layers is not None and layer in edit.layers]
    everywhere = [edit for edit in of_kind if edit.layers is None]
    return next(iter([*here, *everywhere, *of_kind]), None)


def edited_to(chosen: Chosen, allowed: BoolArray) -> list[Edit]:
    """All edits, with this mask in the place of the one that is shown."""
    edits = current_edits(chosen)
    old = edit_of(edits, chosen.kind, chosen.layer)
    others = [edit for edit in edits if edit is not old]
    # Beside another edit of the same attention, the model's own mask in some layers is an edit too.
    alone = all(edit.kind is not chosen.kind for edit in others)
    if alone and np.array_equal(allowed, chosen.own.allowed):
        return others
    return [*others, Edit(chosen.kind, chosen_layers(chosen), allowed)]


def preset_allowed(preset: Preset, chosen: Chosen, settings: Mapping[str, Any]) -> BoolArray:
    """A preset on the padded axes; padding stays forbidden unless the preset is about it."""
    own = chosen.own
    known = {
        **settings,
        "lengths": sentence_lengths(own.queries),
        "key_lengths": sentence_lengths(own.keys),
    }
    allowed = preset(
        len(own.queries), len(own.keys), **{name: known[name] for name in preset.settings}
    ).numpy()
    if preset.over_padding:
        return np.asarray(allowed, dtype=np.bool_)
    no_padding = np.array([token != PADDING for token in own.keys], dtype=np.bool_)
    return np.asarray(allowed & no_padding, dtype=np.bool_)


def show_presets(chosen: Chosen, edits: tuple[Edit, ...]) -> None:
    """Masks to begin with."""
    known = {name: each for name, each in PRESETS.items() if chosen.kind in each.kinds}
    if st.session_state.get("preset") not in known:
        st.session_state["preset"] = next(iter(known))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        name = st.selectbox(
            "Preset",
            list(known),
            key="preset",
            format_func=lambda name: known[name].title,
            label_visibility="collapsed",
            width=200,
        )
        preset = known[name]
        show_settings(preset, chosen)
        if has_causal_toggle(chosen):
            st.toggle(
                "And causal",
                value=True,
                key="preset-causal",
                help="Forbids later positions as well, as in training.",
            )
        show_layers(chosen, edit_of(edits, chosen.kind, chosen.layer))
        st.button("Apply", type="primary", on_click=apply_preset, key="apply")
        show_edits(edits)
        show_caption(f"{preset.description} Or paint on the mask below.")


def show_settings(preset: Preset, chosen: Chosen) -> None:
    """What a preset can be told, under keys such as preset-k."""
    most = max(len(chosen.own.queries), len(chosen.own.keys))
    for setting, said in {"k": "Positions ahead", "width": "Positions each way"}.items():
        if setting not in preset.settings:
            continue
        key = f"preset-{setting}"
        st.session_state[key] = min(st.session_state.get(key, FIRST_SETTINGS[setting]), most)
        st.number_input(said, 0, most, key=key, label_visibility="collapsed", width=130)
    if "keys" in preset.settings:
        texts = axis_texts(chosen.own.keys)
        blocked = st.session_state.get("preset-keys", FIRST_SETTINGS["keys"])
        st.session_state["preset-keys"] = [place for place in blocked if place < len(texts)]
        st.multiselect(
            "Words that nobody may look at",
            range(len(texts)),
            key="preset-keys",
            format_func=lambda place: escape_markdown(f"{texts[place]} ({place})"),
            placeholder="Words to block",
            label_visibility="collapsed",
            width=300,
        )


def has_causal_toggle(chosen: Chosen) -> bool:
    """Whether the chosen preset can be joined with the causal mask."""
    return chosen.kind is AttentionKind.DECODER and st.session_state["preset"] not in HAS_CAUSAL


def apply_preset() -> None:
    """Put the chosen preset in the place of the mask."""
    chosen: Chosen = st.session_state["_masks_chosen"]
    settings = {
        name: st.session_state.get(f"preset-{name}", first)
        for name, first in FIRST_SETTINGS.items()
    }
    preset = PRESETS[st.session_state["preset"]]
    allowed = preset_allowed(preset, chosen, settings)
    if has_causal_toggle(chosen) and st.session_state.get("preset-causal", True):
        allowed = allowed & chosen.masks["causal"].allowed
    edits = edited_to(chosen, allowed)
    store(edits)
    if np.array_equal(allowed, chosen.own.allowed):
        st.session_state["_mask_notice"] = (
            f"“{preset.title}” is the model's own mask here, so it edits nothing."
        )


def show_layers(chosen: Chosen, edit: Edit | None) -> None:
    """In which layers an edit holds."""
    every = chosen.trace.layers(chosen.kind)
    key = f"layers-{chosen.kind}"
    if edit is not None:
        st.session_state[key] = list(edit.layers or every)
    elif not st.session_state.get(key):
        st.session_state[key] = list(every)
    layers = chosen_layers(chosen)
    if layers is None:
        said = f"In all {len(every)} layers"
    else:
        said = f"In layer{'s' * (len(layers) > 1)} {', '.join(map(str, layers))}"
    with st.popover(said, key="layers-menu"):
        st.pills(
            "The mask holds in the layers",
            every,
            selection_mode="multi",
            key=key,
            on_change=hear_layers,
        )


def hear_edit() -> None:
    """Take over what was painted."""
    chosen: Chosen = st.session_state["_masks_chosen"]
    allowed = edited("editor", chosen.painted, chosen.own.cells.shape)
    if allowed is None:
        return
    store(edited_to(chosen, allowed))
    # The painted matrix shows this already; any other text begins it anew.
    st.session_state["_mask_heard"] = st.session_state["edit"]


def hear_layers() -> None:
    """Take over in which layers an edit holds."""
    chosen: Chosen = st.session_state["_masks_chosen"]
    edits = current_edits(chosen)
    old = edit_of(edits, chosen.kind, chosen.layer)
    layers = chosen_layers(chosen)
    store([Edit(edit.kind, layers, edit.allowed) if edit is old else edit for edit in edits])
    st.session_state["_mask_heard"] = st.session_state["edit"]


def chosen_layers(chosen: Chosen) -> tuple[int, ...] | None:
    """The layers that are ticked; None for all of them."""
    every = chosen.trace.layers(chosen.kind)
    ticked = tuple(sorted(st.session_state.get(f"layers-{chosen.kind}") or every))
    return None if ticked == every else ticked


def epoch() -> int:
    """Counts how often the mask came from elsewhere than from painting: a preset, a link, Back."""
    if st.session_state["edit"] != st.session_state.get("_mask_heard", ""):
        st.session_state["_mask_heard"] = st.session_state["edit"]
        st.session_state["_mask_epoch"] = st.session_state.get("_mask_epoch", 0) + 1
    count: int = st.session_state.get("_mask_epoch", 0)
    return count


@st.fragment
def show_editor(chosen: Chosen) -> None:
    """The mask to paint on, and what the model does with it."""
    st.session_state["_masks_chosen"] = chosen
    edits = current_edits(chosen)
    show_presets(chosen, edits)
    edit = edit_of(edits, chosen.kind, chosen.layer)
    own = chosen.own
    allowed = edit.allowed if edit else own.allowed
    before, after = chosen.outcome(()), chosen.outcome(edits)
    maps = [each.forced.attention(chosen.kind, chosen.layer) for each in (before, after)]
    matrices(
        [
            mask_panels.editor_panel(own, allowed, "The mask"),
            weights_panel(maps[0], chosen.head, "Weights before"),
            weights_panel(maps[1], chosen.head, "Weights after", sign="→"),
            mask_panels.change_panel(maps[0], maps[1], chosen.head),
        ],
        key="editor",
        height=16,
        epoch=epoch(),
        name=chosen.painted,
        on_edit=hear_edit,
    )
    show_translations(chosen, before, after, ("Before", "After"))
    show_notices(chosen, edits, before, after)
    show_probabilities(chosen, before, after, ("Before", "After"))
    show_caption(
        "Painting: drag on the first matrix to turn cells, on its labels to turn rows or columns; "
        f"{PAINTING_HELP} Beside it: "
        f"{mask_panels.head_name(chosen.kind, chosen.layer, chosen.head)}, under teacher forcing."
    )
    address.write_address()
    st.html(
        f'<span class="headscope-done" data-done="{html.escape(st.session_state["edit"])}"></span>'
    )


def show_notices(
    chosen: Chosen, edits: tuple[Edit, ...], before: session.Outcome, after: session.Outcome
) -> None:
    """What has to be said of the edits."""
    if notice := st.session_state.pop("_mask_notice", None):
        st.info(escape_markdown(notice), icon=":material/info:")
    unchanged = mask_panels.is_unchanged((before.forced, before.free), (after.forced, after.free))
    if edits and unchanged:
        st.info(
            "This edit changes nothing: every weight, every probability and the translation are as "
            "before.",
            icon=":material/info:",
        )
    shown = edit_of(edits, chosen.kind, chosen.layer)
    if shown and (said := mask_panels.empty_words(masks.edited_mask(chosen.own, shown.allowed))):
        st.warning(escape_markdown(said), icon=":material/visibility_off:")


def show_edits(edits: tuple[Edit, ...]) -> None:
    """Every edit by name, and how to be rid of it."""
    counted = f"{len(edits)} edit{'s' * (len(edits) > 1)}" if edits else "No edit"
    with st.popover(counted, key="edits-menu", disabled=not edits):
        for place, edit in enumerate(edits):
            st.button(
                f"Clear {edit}",
                key=f"clear-{place}",
                icon=":material/close:",
                on_click=store,
                args=([other for other in edits if other is not edit],),
            )
        if len(edits) > 1:
            st.button("Clear all edits", key="clear-all", on_click=store, args=([],))


def show_translations(
    chosen: Chosen, one: session.Outcome, other: session.Outcome, names: tuple[str, str]
) -> None:
    """What the model writes on its own under two sets of masks."""
    before, after = one.free.text, other.free.text
    same = "stays the same" if before == after else "changes"
    st.subheader(f"Written word by word, the translation {same}", anchor=False)
    st.html(mask_panels.translations_html(before, after, names, dark=is_dark()))
    show_caption(f"{chosen.sentence}: the model reads its own words so far.")


def show_probabilities(
    chosen: Chosen, one: session.Outcome, other: session.Outcome, names: tuple[str, str]
) -> None:
    """How probable the given words are under two sets of masks."""
    n_target = chosen.batch.n_target[chosen.number]
    forced = [
        (trace.predictions[:n_target], np.asarray(trace.log_probs)[:n_target])
        for trace in (one.forced, other.forced)
    ]
    alike = np.array_equal(forced[0][1], forced[1][1])
    changed = "stay as probable" if alike else "become more or less probable"
    st.subheader(f"Under teacher forcing, the given words {changed}", anchor=False)
    st.plotly_chart(
        masks.log_prob_bars(*forced[0], *forced[1], names, dark=is_dark()),
        width="stretch",
        theme=None,
        key="log-probs",
        config=style.chart_config("headscope-log-probabilities"),
        alt=masks.log_prob_alt_text(*forced[0], *forced[1], names),
    )
    given = "the target you typed" if is_typed(chosen) else "the model's own translation"
    show_caption(
        f"{chosen.sentence}: {given} is given, and each bar is how probable its next token is. "
        + masks.log_prob_caption(forced[0][0], forced[1][0])
    )
    show_caption(f"{HONESTY} {AHEAD}" if chosen.kind is AttentionKind.DECODER else HONESTY)


def is_typed(chosen: Chosen) -> bool:
    """Whether the chosen sentence is looked at with a target that the reader typed."""
    return chosen.number == 0 and bool(chosen.question.target)


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
    except (CheckpointError, DeviceError, MaskError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
