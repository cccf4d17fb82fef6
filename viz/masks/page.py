"""Masks: every mask the model uses, two side by side, and what the model does with others."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from model.checkpoint import CheckpointError
from model.intervention import Intervention
from model.mask_presets import PRESETS
from model.mask_rules import MaskError
from model.trace import AttentionKind, FloatArray, Site, Trace
from model.translator import DeviceError, TextError
from viz.browser.matrices import matrices
from viz.draw.labels import axis_texts, escape_markdown, visible
from viz.masks.edits import EDITABLE
from viz.masks.mask import (
    batch_masks,
    edited_mask,
    mask_difference,
    preset_mask,
    token_grid,
)
from viz.masks.page_change import show_editor
from viz.masks.page_chosen import (
    FIRST_SETTINGS,
    NO_SCORES,
    Chosen,
    current_edits,
    largest_score,
    preset_allowed,
    show_caption,
    show_probabilities,
    show_translations,
)
from viz.masks.page_stage import offer_keys, show_compared, show_factors, show_steps
from viz.masks.panels import (
    difference_words,
    grid_html,
    lesson_html,
    most_moved,
    moved_heads,
    moved_words,
    row_panels,
    sentence_name,
    square_panels,
)
from viz.masks.pictures import (
    BatchTokens,
    ComparedMasks,
    ComparedWeights,
    DecoderFactors,
    HeadSteps,
    LogProbs,
    MovedHeads,
    NamedMask,
    OtherMasks,
    RowLesson,
    TwoMasks,
)
from viz.masks.steps import Steps, fill_lesson, head_steps
from viz.masks.view import MOST_SENTENCES, PARTS, VIEW
from viz.shell import address, bar, session, stage
from viz.shell.save_menu import captioned, keep
from viz.shell.theme import is_dark
from viz.shell.width import watch_width

COMPARED_HEIGHT = 15
"""Of the matrices of a comparison in rem: on a small screen the translations fit above them."""


def choose(question: session.Question) -> Chosen | None:
    """The batch and what of it to look at; None where a sentence cannot be translated."""
    if stage.is_on():
        further = lines_of_batch()
        settle_number(1 + len(further))
        return chosen_of(question, further, *choose_head(question))
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.segmented_control(
            "Part",
            PARTS,
            default=address.value_of("part"),
            key="part",
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
        )
        further = further_sentences()
        count = settle_number(1 + len(further))
        if count > 1:
            st.selectbox(
                "Sentence",
                range(1, count + 1),
                address.value_of("number") - 1,
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
    return chosen_of(question, further, kind, layer, head)


def chosen_of(
    question: session.Question, further: list[str], kind: AttentionKind, layer: int, head: int
) -> Chosen | None:
    """What was chosen of a batch; None where a sentence cannot be translated."""
    asked = replace(
        question,
        further=tuple(further[: MOST_SENTENCES - 1]),
        number=st.session_state["number"] - 1,
    )
    made = batch_of(asked)
    return None if made is None else Chosen(asked, made, kind, layer, head)


def settle_number(typed: int) -> int:
    """Let the chosen sentence be one of the batch; how many it has of those that were typed."""
    count = min(typed, MOST_SENTENCES)
    st.session_state["number"] = min(st.session_state["number"], count)
    return count


def lines_of_batch() -> list[str]:
    """What was typed for the batch, one sentence a line."""
    return [line.strip() for line in st.session_state["batch"].splitlines() if line.strip()]


def further_sentences() -> list[str]:
    """The sentences of the batch below the one of the bar, where they can be typed."""
    count = min(len(lines_of_batch()) + 1, MOST_SENTENCES)
    with st.popover(
        f"Batch of {count}" if count > 1 else "One sentence",
        icon=":material/format_list_numbered:",
        key="batch-menu",
    ):
        st.text_area(
            "Further sentences in the batch, one a line",
            address.value_of("batch"),
            key="batch",
            height=170,
            width=440,
            placeholder="None: the batch then has one sentence, and no padding",
        )
        show_caption(
            f"Up to {MOST_SENTENCES} with the one above. They are padded to one length, as in "
            "training. Press Ctrl+Enter when they stand."
        )
    return lines_of_batch()


def choose_head(question: session.Question) -> tuple[AttentionKind, int, int]:
    """Which attention, layer and head; where all masks are shown there is nothing to choose."""
    is_needed = st.session_state["part"] != "see" and not stage.is_on()
    if is_needed:
        st.segmented_control(
            "Attention",
            [str(kind) for kind in EDITABLE],
            default=address.value_of("masked"),
            key="masked",
            required=True,
            format_func=lambda kind: AttentionKind(kind).short_name,
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
                address.value_of(name),
                key=name,
                format_func=f"{name.capitalize()} {{}}".format,
                label_visibility="collapsed",
                width=116,
            )
    return kind, st.session_state["layer"], st.session_state["head"]


def batch_of(question: session.Question) -> session.Batch | None:
    """The traces of a batch; what is wrong with a sentence is said, by its number."""
    for number, sentence in enumerate(question.sentences):
        try:
            session.translate(question.checkpoint, sentence)
        except TextError as error:
            named = sentence_name(number, sentence)
            st.warning(
                escape_markdown(f"{named}, cannot be translated. {error}"), icon=":material/edit:"
            )
            return None
    try:
        return session.batch(question)
    except TextError as error:
        st.warning(
            escape_markdown(f"These sentences do not make a batch. {error}"),
            icon=":material/edit:",
        )
        return None


def show_masks(chosen: Chosen) -> None:
    """The batch with its padding, and every mask of one sentence."""
    sides = {
        "Source": token_grid(chosen.batch.padded, "source"),
        "Target, as the decoder reads it": token_grid(chosen.batch.padded, "target"),
    }
    st.html(grid_html(sides, chosen.number, dark=is_dark()))
    captioned(
        "Sentences of one batch are padded to one length. Padding is hatched: no word may look "
        "at it. The chosen sentence is framed; its masks are below."
        if len(chosen.sentences) > 1
        else "One sentence alone needs no padding: its padding masks allow everything. Add "
        "sentences to the batch to see padding.",
        [BatchTokens(chosen.at, chosen.batch.padded)],
        "batch",
    )
    every = chosen.masks
    factors, others = DecoderFactors(chosen.at, every), OtherMasks(chosen.at, every)
    st.subheader(f"How the decoder's mask of sentence {chosen.number + 1} is made", anchor=False)
    matrices(factors.panels, key="factors", height=21)
    captioned(
        "Cell by cell: a query (row) may look at a key (column) where both factors allow it. Point "
        "at a cell to see it in all three.",
        [factors],
        "factors",
    )
    st.subheader(f"The other masks of sentence {chosen.number + 1}", anchor=False)
    matrices(square_panels(every), key="others", height=21)
    matrices(row_panels(every), key="rows", height=8)
    captioned(
        "The padding masks are one row, the same for every query; the model broadcasts them to the "
        "matrices above them.",
        [others],
        "others",
    )


def show_inside(chosen: Chosen) -> None:
    """From scores to output, with the mask and without it."""
    seen, head = chosen.seen, chosen.head
    if seen.scores is None or seen.v is None:
        st.info(NO_SCORES, icon=":material/info:")
        return
    with_mask = head_steps(seen, head)
    without = head_steps(seen, head, np.ones_like(with_mask.allowed))
    limit = largest_score(chosen, with_mask)
    longest = max(float(without.contributions.max()), float(with_mask.contributions.max()), 1e-6)
    for key, heading, inside in (
        ("with-mask", "With the mask", with_mask),
        ("without-mask", "Without the mask", without),
    ):
        st.subheader(f"{heading}: sentence {chosen.number + 1}", anchor=False)
        picture = HeadSteps(chosen.at, seen, inside, limit, longest, hatched=inside is with_mask)
        matrices(picture.panels, key=key, height=18)
        keep([picture], key)
    show_caption(
        f"{chosen.at.title}. The mask takes "
        "scores out before the softmax, so the weights of the other keys grow; the last picture "
        "is the length of weight times value: what each key adds to this head's output, before "
        "W_O. Without the mask, only this head's own step is computed again, from the same scores."
    )
    show_lesson(chosen, with_mask)


def show_lesson(chosen: Chosen, inside: Steps) -> None:
    """What becomes of a row with nothing to look at, by what is written over its scores."""
    st.subheader("A row with nothing to look at", anchor=False)
    queries, keys = (axis_texts(axis) for axis in (chosen.seen.queries, chosen.seen.keys))
    row = chosen.lengths[0] - 1
    lesson = fill_lesson(inside.scores[row], np.zeros(len(keys), dtype=np.bool_))
    st.html(lesson_html(lesson, keys, dark=is_dark()))
    captioned(
        escape_markdown(
            f"The query {queries[row]} ({row}) of this head with every key forbidden, in three "
            f"ways. {lesson.explanation}"
        ),
        [RowLesson(chosen.at, lesson, chosen.seen.keys)],
        "lesson",
    )


def slots(chosen: Chosen) -> dict[str, NamedMask]:
    """Every mask that can be compared, by its name in the address."""
    found = []
    for number in range(len(chosen.sentences)):
        for name, mask in batch_masks(chosen.batch.padded, number).items():
            title = f"Sentence {number + 1}: {mask.short}"
            found.append(NamedMask(f"{number + 1}.{name}", title, mask))
    own = chosen.own
    for name, preset in PRESETS.items():
        if chosen.kind in preset.kinds:
            allowed = preset_allowed(preset, chosen, FIRST_SETTINGS)
            made = preset_mask(
                preset.title,
                allowed,
                own.queries,
                own.keys,
                kind=chosen.kind,
                reason=preset.reason,
                causal=preset.causal,
            )
            found.append(NamedMask(f"preset.{name}", f"Preset: {preset.title}", made))
    for edit in current_edits(chosen):
        mask = edited_mask(chosen.masks[str(edit.kind)], edit.allowed)
        title = f"Edited: {edit.kind.short_name.lower()}"
        found.append(NamedMask(f"edited.{edit.kind}", title, mask))
    return {each.name: each for each in found}


def choose_slots(chosen: Chosen, found: Mapping[str, NamedMask]) -> TwoMasks:
    """The masks A and B."""
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
                    address.note(
                        slot,
                        f"There is no mask “{visible(asked)}” here; shown instead: "
                        f"{visible(found[usual[slot]].title)}.",
                    )
                st.session_state[slot] = usual[slot]
            if not stage.is_on():
                st.selectbox(
                    f"Mask {slot.upper()}",
                    list(found),
                    list(found).index(address.value_of(slot)),
                    key=slot,
                    format_func=lambda name, slot=slot: visible(
                        f"{slot.upper()}: {found[name].title}"
                    ),
                    label_visibility="collapsed",
                )
    return TwoMasks(found[st.session_state["a"]], found[st.session_state["b"]])


def show_comparison(chosen: Chosen) -> None:
    """What two masks change: in words, in one head and in all; then the masks, cell by cell."""
    found = slots(chosen)
    both = choose_slots(chosen, found)
    picture = ComparedMasks(chosen.at, both)
    if stage.is_on():
        show_compared(picture, list(found))
        return
    shape = chosen.own.cells.shape
    if any(mask.cells.shape != shape for mask in both.masks):
        show_masks_compared(picture)
        if both.a.mask.cells.shape == both.b.mask.cells.shape:
            st.info(
                f"These masks are not of the size of {chosen.kind.full_name.lower()} "
                f"({shape[0]} × {shape[1]}), so the model cannot run with them there. Choose masks "
                "of that attention to see what it does.",
                icon=":material/info:",
            )
        return
    one, other = (
        session.run(chosen.question, Intervention(masks={chosen.kind: mask.allowed}))
        for mask in both.masks
    )
    show_translations(chosen, one, other, both.names)
    show_moved(chosen, both, (one.forced, other.forced))
    st.subheader("The masks A and B", anchor=False)
    show_masks_compared(picture)
    sides = chosen.log_probs(one.forced), chosen.log_probs(other.forced)
    show_probabilities(LogProbs(chosen.at, both, sides))


def show_moved(chosen: Chosen, both: TwoMasks, passes: tuple[Trace, Trace]) -> None:
    """One head's weights in two passes, and how much every head moved."""
    first, second = (each.attention(chosen.kind, chosen.layer) for each in passes)
    weights = ComparedWeights(chosen.at, both, (first, second))
    lengths = chosen.batch.n_source[chosen.number], chosen.batch.n_target[chosen.number]
    moved = moved_heads(*passes, lengths)
    overview = MovedHeads(chosen.at, both, moved, lengths)
    head, heads = st.columns((3, 1), gap="small")
    with head:
        matrices(weights.panels, key="compared-weights", height=COMPARED_HEIGHT)
    with heads:
        matrices(overview.panels, key="moved-heads", height=COMPARED_HEIGHT)
    captioned(
        f"Weights: {chosen.at.title}, under teacher "
        "forcing, with A or B in all layers of this attention. A cell of the last matrix is a "
        "head: the share of its weight that moved to other keys, averaged over its rows. "
        f"{moved_words(moved)}",
        [weights, overview],
        "compared-weights",
    )
    offer_most_moved(chosen, moved)


def offer_most_moved(chosen: Chosen, moved: Mapping[Site, FloatArray]) -> None:
    """A button to the head of this attention that moved most, unless it is shown already."""
    here = {site: heads for site, heads in moved.items() if site.kind is chosen.kind}
    site, head = most_moved(here)
    if (site.layer, head) == (chosen.layer, chosen.head) or not here[site][head]:
        return
    st.button(
        f"Show layer {site.layer}, head {head}, which moved most in this attention",
        icon=":material/trending_up:",
        key="most-moved",
        on_click=st.session_state.update,
        args=({"layer": site.layer, "head": head},),
    )


def show_masks_compared(picture: ComparedMasks) -> None:
    """Two masks, and where they are of one size what differs."""
    matrices(picture.panels, key="compared", height=20)
    try:
        difference = mask_difference(*picture.both.masks)
    except ValueError as error:
        keep([picture], "compared")
        st.info(escape_markdown(str(error)), icon=":material/info:")
        return
    captioned(
        f"{difference_words(difference)} Point at a cell to see it in all three; zoom "
        "and scrolling go together.",
        [picture],
        "compared",
    )


def show_page(question: session.Question) -> None:
    """Everything, for a question that has an answer."""
    chosen = choose(question)
    if chosen is None:
        return
    if stage.is_on():
        offer_keys(chosen, PARTS)
    match st.session_state["part"]:
        case "inside" if stage.is_on():
            show_steps(chosen)
        case "inside":
            show_inside(chosen)
        case "compare":
            show_comparison(chosen)
        case "change":
            show_editor(chosen)
        case _ if stage.is_on():
            show_factors(chosen)
        case _:
            show_masks(chosen)


address.open_address(VIEW.parameters)
question = bar.asked()
if question is not None:
    try:
        show_page(question)
    except (CheckpointError, DeviceError, MaskError) as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
watch_width()
