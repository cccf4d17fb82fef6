"""Masks: every mask the model uses, two side by side, and what the model does with others."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import streamlit as st

from model.record.intervention import Intervention
from model.record.mask_presets import PRESETS
from model.trace.attention_map import AttentionKind, FloatArray, Site
from model.trace.trace import Trace
from model.translate.sentences import TextError
from viz.browser.matrices import matrices
from viz.draw.labels import axis_texts, escape_markdown, visible
from viz.links.mask_edits import EDITABLE
from viz.masks.mask import batch_masks, edited_mask, preset_mask, token_grid
from viz.masks.panels import (
    grid_html,
    lesson_html,
    most_moved,
    moved_heads,
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
from viz.masks.steps import Steps, fill_lesson, head_steps, most_masked
from viz.masks.view import FURTHER, MOST_SENTENCES, PARTS, USUAL, VIEW, MasksView
from viz.pages.masks_change import show_editor
from viz.pages.masks_selection import (
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
from viz.pages.masks_stage import offer_keys, show_compared, show_factors, show_steps
from viz.service import jobs, session
from viz.shell import address, bar, current_head, stage
from viz.shell.save_menu import captioned, save_button
from viz.shell.theme import is_dark
from viz.shell.width import watch_width

_SUITED = "_suited_batch"
"""What was taken from a model's examples, for want of sentences that somebody typed."""

COMPARED_HEIGHT = 15
"""Of the matrices of a comparison in rem: on a small screen the translations fit above them."""


def bring_head() -> None:
    """Show the head that another page hands on, or again the one that was shown here."""
    heads = current_head.brought(VIEW.name)
    if heads is None:
        return
    if not heads:
        address.bring(layer=USUAL, head=USUAL)
        return
    # The joint picture shows one of each kind.
    masked = address.read(MasksView).masked
    site, head = next((each for each in heads if str(each[0].kind) == masked), heads[0])
    if str(site.kind) in map(str, EDITABLE):
        address.bring(masked=str(site.kind), layer=site.layer, head=head)


def clamp_view(question: session.Question) -> MasksView:
    """The view, with the sentence, the layer and the head in the range of this batch and model."""
    view = address.read(MasksView)
    places = {"layer": view.layer, "head": view.head}
    if USUAL in places.values():
        opening = opening_head(question, view)
        places = {
            name: opening[name] if place == USUAL else place for name, place in places.items()
        }
        if view.masked == MasksView().masked:
            current_head.open_with(VIEW.name, [(Site(view.kind, places["layer"]), places["head"])])
    for name, count in counts(question, view.kind).items():
        places[name] = max(0, min(places[name], count - 1))
    address.change(number=min(view.number, view.n_sentences), **places)
    return address.read(MasksView)


def opening_head(question: session.Question, view: MasksView) -> dict[str, int]:
    """The layer and head from which the mask hides most; the first where it hides nothing."""
    number = min(view.number, view.n_sentences)
    chosen = chosen_of(question, replace(view, number=number, layer=0, head=0))
    found = None
    if chosen is not None:
        sites = [seen for site, seen in chosen.trace.maps.items() if site.kind is view.kind]
        found = most_masked(sites, chosen.lengths)
    return dict(zip(("layer", "head"), found or (0, 0), strict=True))


def counts(question: session.Question, kind: AttentionKind) -> dict[str, int]:
    """How many layers and heads an attention of the model has."""
    config = session.translator(question.checkpoint).model.config
    is_encoder = kind is AttentionKind.ENCODER
    return {
        "layer": config.n_encoder_layers if is_encoder else config.n_decoder_layers,
        "head": config.n_heads,
    }


def show_choice(question: session.Question, view: MasksView) -> None:
    """The part, the batch, and which of its sentences and of the model's heads to look at."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.segmented_control(
            "Part",
            PARTS,
            default=view.part,
            key="part",
            required=True,
            format_func=PARTS.__getitem__,
            label_visibility="collapsed",
        )
        show_further(view)
        if view.n_sentences > 1:
            st.selectbox(
                "Sentence",
                range(1, view.n_sentences + 1),
                view.number - 1,
                key="number",
                format_func=lambda number: f"Sentence {number}",
                label_visibility="collapsed",
                width=136,
            )
        # Where all masks are shown there is no head to choose.
        if view.part != "see":
            show_heads(question, view)
    if len(view.further) >= MOST_SENTENCES:
        st.warning(
            f"A batch has up to {MOST_SENTENCES} sentences here, the one above included; the last "
            f"{len(view.further) - MOST_SENTENCES + 1} are left out.",
            icon=":material/content_cut:",
        )


def show_further(view: MasksView) -> None:
    """The sentences of the batch below the one of the bar, where they can be typed."""
    count = view.n_sentences
    with st.popover(
        f"Batch of {count}" if count > 1 else "One sentence",
        icon=":material/format_list_numbered:",
        key="batch-menu",
    ):
        st.text_area(
            "Further sentences in the batch, one a line",
            view.batch,
            key="batch",
            height=170,
            width=440,
            placeholder="None: the batch then has one sentence, and no padding",
        )
        show_caption(
            f"Up to {MOST_SENTENCES} with the one above. They are padded to one length, as in "
            "training. Press Ctrl+Enter when they stand."
        )


def show_heads(question: session.Question, view: MasksView) -> None:
    """Which attention, layer and head."""
    st.segmented_control(
        "Attention",
        [str(kind) for kind in EDITABLE],
        default=view.masked,
        key="masked",
        required=True,
        format_func=lambda kind: AttentionKind(kind).short_name,
        label_visibility="collapsed",
    )
    for name, count in counts(question, view.kind).items():
        st.selectbox(
            name.capitalize(),
            range(count),
            address.value_of(name),
            key=name,
            format_func=f"{name.capitalize()} {{}}".format,
            label_visibility="collapsed",
            width=116,
        )


def chosen_of(question: session.Question, view: MasksView) -> Chosen | None:
    """The batch and what of it to look at; None where a sentence cannot be translated."""
    asked = replace(
        question, further=tuple(view.further[: MOST_SENTENCES - 1]), number=view.number - 1
    )
    made = batch_of(asked)
    return None if made is None else Chosen(asked, made, view.kind, view.layer, view.head)


def batch_of(question: session.Question) -> jobs.Batch | None:
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
        f"{factors.caption} Point at a cell to see it in all three.",
        [factors],
        "factors",
    )
    st.subheader(f"The other masks of sentence {chosen.number + 1}", anchor=False)
    matrices(square_panels(every), key="others", height=21)
    matrices(row_panels(every), key="rows", height=8)
    captioned(
        others.caption,
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
        save_button([picture], key)
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
    view = address.read(MasksView)
    with st.container(horizontal=True, gap="medium"):
        for slot, asked in {"a": view.a, "b": view.b}.items():
            # What nobody chose goes along with another sentence or another attention.
            if asked not in found or asked == before.get(slot):
                if asked and asked not in found:
                    address.note(
                        slot,
                        f"There is no mask “{visible(asked)}” here; shown instead: "
                        f"{visible(found[usual[slot]].title)}.",
                    )
                address.change(**{slot: usual[slot]})
            if not stage.is_on():
                titles = {
                    name: visible(f"{slot.upper()}: {each.title}") for name, each in found.items()
                }
                st.selectbox(
                    f"Mask {slot.upper()}",
                    list(titles),
                    list(titles).index(address.value_of(slot)),
                    key=slot,
                    format_func=titles.__getitem__,
                    label_visibility="collapsed",
                )
    view = address.read(MasksView)
    return TwoMasks(found[view.a], found[view.b])


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
        f"forcing, with A or B in all layers of this attention. {overview.caption}",
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
        on_click=address.change,
        kwargs={"layer": site.layer, "head": head},
    )


def show_masks_compared(picture: ComparedMasks) -> None:
    """Two masks, and where they are of one size what differs."""
    matrices(picture.panels, key="compared", height=20)
    a, b = picture.both.masks
    hint = " Point at a cell to see it in all three." if a.cells.shape == b.cells.shape else ""
    captioned(picture.caption + hint, [picture], "compared")


def suit_batch(question: session.Question) -> None:
    """Let the other sentences, while nobody typed any, be of the language or task of the model."""
    batch = address.read(MasksView).batch
    if batch not in (FURTHER, st.session_state.get(_SUITED)):
        return
    suited = FURTHER
    if not bar.reads(question.folder, FURTHER.splitlines()[0]):
        found = [each.source for each in session.examples(question.folder)]
        others = sorted((each for each in found if each != question.sentence), key=len)
        suited = "\n".join([*others[:1], *others[len(others) // 2 :][:1]])
    if suited != batch:
        address.change(batch=suited)
    st.session_state[_SUITED] = suited


def show(question: session.Question) -> None:
    """Everything, for a question that has an answer."""
    show_part(question)
    watch_width()


def show_part(question: session.Question) -> None:
    """The chosen part."""
    suit_batch(question)
    bring_head()
    view = clamp_view(question)
    if not stage.is_on():
        show_choice(question, view)
    current_head.note(VIEW.name, [(Site(view.kind, view.layer), view.head)])
    chosen = chosen_of(question, view)
    if chosen is None:
        return
    if stage.is_on():
        offer_keys(chosen, view.part)
    match view.part:
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
